//! Results of port operations, and counters.

use duetime_core::Time;

/// Result of offering a packet to a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// Dropped because the port or its shared memory is full.
    Dropped,
    /// Accepted; the packet arrives at the far end at a known time. Under strict priority on demand, other packets may
    /// still overtake it before its transmission begins.
    Sent(Sent),
    /// Waiting in a class (strict priority).
    Queued {
        /// Time at which the link becomes free and the driver must call [`Port::departure`](super::Port::departure), if
        /// the port was set up with [`Port::notify_departures`](super::Port::notify_departures); `None` if a call is
        /// already due.
        wake: Option<Time>,
    },
}

/// Packet in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Arrival time of the last bit at the far end.
    pub arrival: Time,
    /// True if no other packet is in flight, so that the driver must schedule an event for this arrival.
    pub first: bool,
}

/// Cumulative counters of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets accepted.
    pub packets: u64,
    /// Bytes accepted.
    pub bytes: u64,
    /// Packets dropped for lack of buffer space.
    pub drops: u64,
    /// Bytes dropped for lack of buffer space.
    pub drop_bytes: u64,
    /// Packets marked.
    pub marks: u64,
    /// Largest occupancy in bytes, the packet in service included.
    pub queue_max_bytes: u64,
    /// Sum of bytes × time in the port, without delays, over the packets whose departure is known, in bytes × 1024 ps.
    /// By Little's law this is the time integral of the queue once the port is empty.
    /// [`Port::queue_integral`](super::Port::queue_integral) is exact at any time.
    pub queue_integral: u64,
}
