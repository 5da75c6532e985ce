//! Switch ports and links without I/O or clock. The simulator, the software switch and the tests use the same port to
//! mark, drop and delay packets.
//!
//! A [`Port`] feeds one link. A FIFO port with a fixed rate needs no dequeue event: when a packet arrives, its
//! departure, the occupancy, and the mark or drop are computed immediately. Under strict priority this is also done
//! until a packet overtakes others; then the next packet is chosen when the port is next accessed. A dequeue event is
//! needed only if the driver must be notified of each departure ([`Port::notify_departures`]). A [`SharedBuffer`]
//! divides one memory among the ports of a switch.
#![forbid(unsafe_code)]
#![expect(clippy::inline_always, reason = "the packet path: measured")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "the packet path: sequence numbers wrap, and indices and sizes are bounded at construction"
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

/// Properties of a packet that a port needs.
pub trait Frame: Copy {
    /// Returns the length on the wire in bytes, below 2¹⁶.
    fn wire_bytes(&self) -> u32;
    /// Returns true if a queue may mark the packet instead of dropping it (ECT, RFC 3168).
    fn is_ecn_capable(&self) -> bool;
    /// Sets CE.
    fn mark(&mut self);
    /// Returns the strict-priority class; 0 is the highest.
    fn class(&self) -> usize;
}
