//! TCP as two state machines: a [`Sender`] and a [`Receiver`] for one direction of a connection.

mod config;
mod outgoing;
mod reassembly;
mod receiver;
mod recovery;
mod rtt;
mod sack;
mod segment;
mod selective;
mod sender;
mod transmit;

pub use config::{Coalescing, Config, Growth, Recovery};
pub use receiver::{Delivery, Receiver};
pub(crate) use rtt::Rtt;
pub use sack::Sack;
pub use segment::{Flags, Segment, expand};
pub use sender::{Counters, Sender};

/// Timer of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// Retransmission of an unanswered SYN.
    Handshake,
    /// Retransmission timeout of data or a FIN (RFC 6298).
    Retransmission,
    /// Tail loss probe, when the last segments are not acknowledged (RFC 8985 §7).
    TailLossProbe,
    /// End of RACK's wait for reordered segments, after which they may count as lost (RFC 8985 §6).
    Reordering,
}
