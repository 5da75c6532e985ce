//! TCP as a pair of state machines: a [`Sender`] and a [`Receiver`] of one direction of a connection.

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

pub use receiver::{Delivery, Receiver};
pub(crate) use rtt::Rtt;
pub use sack::Sack;
pub use segment::{Flags, Segment, expand};
pub use sender::{Counters, Sender};

use crate::window::CongestionControl;
use duetime_core::Span;

/// Timer of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// The SYN was not answered.
    Handshake,
    /// Data or a FIN was not acknowledged: the retransmission timeout (RFC 6298).
    Retransmission,
    /// The last segments were not acknowledged: a tail loss probe is due (RFC 8985 §7).
    TailLossProbe,
    /// Time for reordering has passed: segments may count as lost (RFC 8985 §6).
    Reordering,
}

/// Options of one TCP stack, shared by all its connections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Largest payload of a segment, in bytes (1460: a packet of 1500 B with its 40 B of headers).
    pub mss: u32,
    /// Initial window, in segments.
    pub initial_window: u32,
    /// Floor of the window after a reduction by marks, in segments (RFC 8257 §3.3: 2).
    pub min_window: u32,
    /// Initial slow-start threshold, in segments; `None`: infinite.
    pub initial_ssthresh: Option<u32>,
    /// Smallest retransmission timeout.
    pub rto_min: Span,
    /// Timeout before the first round-trip sample; at least `rto_min`.
    pub rto_initial: Span,
    /// Largest retransmission timeout after backoff.
    pub rto_max: Span,
    /// Segments acknowledged together; 1 acknowledges each.
    pub delayed_ack: u32,
    /// Longest delay of an acknowledgement.
    pub delayed_ack_timeout: Span,
    /// Hold acknowledgements back as receive offload does; `None`: each leaves when it is due.
    pub ack_coalescing: Option<Coalescing>,
    /// Segments by which one acknowledgement opens the window at most in slow start (RFC 5681 §3.1: 1; RFC 3465 §2.2,
    /// L: 2); at least 1.
    pub slow_start_limit: u32,
    /// What congestion avoidance counts.
    pub growth: Growth,
    /// Send a new segment for each of the first two duplicate acknowledgements (RFC 3042).
    pub limited_transmit: bool,
    /// How losses are found and repaired.
    pub recovery: Recovery,
    /// With [`Recovery::Sack`]: find losses by time (RACK, RFC 8985 §6), not by how many segments have overtaken.
    pub rack: bool,
    /// With `rack`: send a segment when acknowledgements stop, to learn of losses at the end of a burst (RFC 8985 §7).
    pub tail_loss_probe: bool,
    /// How much longer a tail loss probe waits when one segment is in flight (RFC 8985 §7.2).
    pub max_ack_delay: Span,
    /// Added to the wait of a tail loss probe for more than one segment, and to RACK's reordering timer. Linux adds two
    /// ticks of its clock to both (`TCP_TIMEOUT_MIN`).
    pub timeout_min: Span,
    /// With [`Recovery::Sack`]: spread the reduction by a loss over the recovery (RFC 6937).
    pub rate_reduction: bool,
    /// With [`Recovery::Sack`]: the window grows only while it limits the sender, as in Linux (`tcp_cwnd_validate`, after
    /// RFC 2861).
    pub window_validation: bool,
    /// Segments that a receiver acknowledges one by one at the start, after an idle time above `rto_min` and after data
    /// that it had; at most 255.
    pub quick_ack: u8,
    /// Fall back to the initial window after an idle time above the RTO (RFC 5681 §4.1). With `window_validation` the
    /// window halves for each RTO of idle time instead, as in Linux (`tcp_cwnd_restart`).
    pub slow_start_restart: bool,
    /// The receiver's window, in bytes.
    pub receive_window: u64,
    /// The congestion controller.
    pub congestion_control: CongestionControl,
}

/// How a sender finds and repairs losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// By cumulative acknowledgements alone (RFC 6582).
    NewReno,
    /// By selective acknowledgements (RFC 2018, RFC 6675), of which receivers tell then.
    Sack,
}

/// Receive offload, as far as the sender can see it: the NIC passes several segments of a flow to TCP as one,
/// and one acknowledgement answers them. An acknowledgement that is due is held back until one of these has come; the
/// end of a message, data out of order, a FIN and a change of the mark end the wait at once. What is delivered to the
/// application, and when, does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coalescing {
    /// Segments that one acknowledgement answers at most; at least 1.
    pub segments: u32,
    /// Longest time that an acknowledgement which is due is held back.
    pub within: Span,
}

/// What adds up to one window before congestion avoidance adds one segment (RFC 5681 §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Acknowledged bytes: one segment per round trip, however many segments an acknowledgement answers.
    Bytes,
    /// Acknowledgements, each as one segment (equation 3): with one acknowledgement per n segments 1/n segment per
    /// round trip.
    Acknowledgements,
}

impl Default for Config {
    /// NewReno as the D3 experiments ran it, with a smallest RTO of 10 ms.
    fn default() -> Self {
        Self {
            mss: 1460,
            initial_window: 2,
            min_window: 2,
            initial_ssthresh: None,
            rto_min: Span::from_ms(10),
            rto_initial: Span::from_ms(10),
            rto_max: Span::from_secs(60),
            delayed_ack: 2,
            delayed_ack_timeout: Span::from_ms(1),
            ack_coalescing: None,
            slow_start_limit: 1,
            growth: Growth::Bytes,
            limited_transmit: true,
            recovery: Recovery::NewReno,
            rack: false,
            tail_loss_probe: false,
            max_ack_delay: Span::from_ms(1),
            timeout_min: Span::ZERO,
            rate_reduction: false,
            window_validation: false,
            quick_ack: 0,
            slow_start_restart: true,
            receive_window: 1 << 30,
            congestion_control: CongestionControl::NewReno,
        }
    }
}
