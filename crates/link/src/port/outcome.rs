//! What a port says of a packet, and what it counts.

use duetime_core::Time;

/// What became of a packet offered to a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// The port, or the memory that it shares, was full.
    Dropped,
    /// It will arrive at the far end.
    Sent(Sent),
    /// Strict priority: it waits.
    Queued {
        /// After [`Port::tell_departures`](super::Port::tell_departures): when the link is free, for the driver to call
        /// [`Port::departure`](super::Port::departure) then; `None` when the driver already knows.
        wake: Option<Time>,
    },
}

/// A packet on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When its last bit arrives at the far end.
    pub arrival: Time,
    /// Nothing was on the way before it, so the driver must ask to be woken then.
    pub first: bool,
}

/// What a port has done since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets accepted.
    pub packets: u64,
    /// Bytes accepted.
    pub bytes: u64,
    /// Packets dropped for want of buffer.
    pub drops: u64,
    /// Bytes dropped for want of buffer.
    pub drop_bytes: u64,
    /// Packets marked.
    pub marks: u64,
    /// Largest occupancy in bytes, the packet in service included.
    pub queue_max_bytes: u64,
    /// Σ bytes × time in the port, without delays, over the packets whose departure is known, in bytes × 1024 ps: by
    /// Little's law the time integral of the queue when none is left.
    /// [`Port::queue_integral`](super::Port::queue_integral) is exact at any time.
    pub queue_integral: u64,
}
