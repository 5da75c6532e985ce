//! Sizes of networks, by the share of their state that the processor's caches hold when it is needed.

/// The caches hold all.
pub const SMALL: u8 = 0;
/// The caches hold most: the packet of the next event is prefetched.
pub const MEDIUM: u8 = 1;
/// The caches hold little: the state that several events need is prefetched together (see `prefetch`).
pub const LARGE: u8 = 2;

/// Minimum number of links of a medium network.
pub const MEDIUM_LINKS: usize = 512;
/// Minimum number of links of a large network. Its sub-partitions run in windows where latencies allow them (see
/// `windows`).
pub const LARGE_LINKS: usize = 8_192;
