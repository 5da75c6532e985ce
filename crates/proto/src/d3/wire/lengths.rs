//! Lengths of the headers.

/// Length of the transport header in bytes.
pub(super) const TRANSPORT_BYTES: usize = 20;
/// Length of the header of a datagram without the congestion header, in bytes.
pub const HEADER_BYTES: usize = TRANSPORT_BYTES + 24;
/// Length of the IPv4 and transport headers: `header_bytes` of simulated packets.
pub const IP_BYTES: u32 = 20 + TRANSPORT_BYTES as u32;
/// Length of the IPv4, UDP and datagram headers: `header_bytes` of the [`Config`](crate::d3::Config).
pub const UDP_IPV4_BYTES: u32 = 20 + 8 + HEADER_BYTES as u32;
/// Length of the IPv6, UDP and datagram headers.
pub const UDP_IPV6_BYTES: u32 = 40 + 8 + HEADER_BYTES as u32;
