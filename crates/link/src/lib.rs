//! Switch ports and links without I/O or clock: the same port marks, drops and delays packets in the simulator, in
//! the software switch and in tests.
//!
//! A [`Port`] feeds one link. A FIFO port with a fixed rate needs no dequeue event: on arrival of a packet its
//! departure, the occupancy and so the mark or the drop are known at once. Strict priority decides which packet follows
//! when the port is next looked at, and needs a dequeue event only where the driver must know of each departure
//! ([`Port::tell_departures`]). A [`SharedBuffer`] divides one memory among the ports of a switch.
#![forbid(unsafe_code)]
#![expect(clippy::inline_always, reason = "the packet path: measured")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "the packet path: sequence numbers wrap, and indices and sizes are bounded where they are made"
)]

mod classes;
mod port;
mod ring;
#[cfg(test)]
mod sample;
mod shared;

pub use port::{Counters, Limit, Offer, Port, Sent};
pub use ring::Ring;
pub use shared::SharedBuffer;

/// What a port must know of a packet.
pub trait Frame: Copy {
    /// Its length on the wire, in bytes; below 2¹⁶.
    fn wire_bytes(&self) -> u32;
    /// Whether a queue may mark it instead of dropping it (ECT, RFC 3168).
    fn is_ecn_capable(&self) -> bool;
    /// Sets CE.
    fn mark(&mut self);
    /// Its strict-priority class, 0 first.
    fn class(&self) -> usize;
}
