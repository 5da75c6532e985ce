//! Options of TCP.

use crate::window::CongestionControl;
use duetime_core::Span;

/// Options of one TCP stack, shared by all its connections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Maximum payload of a segment, in bytes (1460: a packet of 1500 B less 40 B of headers).
    pub mss: u32,
    /// Initial window, in segments.
    pub initial_window: u32,
    /// Minimum window after a reduction by marks, in segments (RFC 8257 §3.3: 2).
    pub min_window: u32,
    /// Minimum retransmission timeout.
    pub rto_min: Span,
    /// Timeout before the first round-trip sample; raised to `rto_min` if below.
    pub rto_initial: Span,
    /// Maximum retransmission timeout after backoff.
    pub rto_max: Span,
    /// Number of segments per acknowledgement; 1 acknowledges each segment.
    pub delayed_ack: u32,
    /// Maximum delay of an acknowledgement.
    pub delayed_ack_timeout: Span,
    /// Delay of acknowledgements by receive offload, or `None` to send them when due.
    pub ack_coalescing: Option<Coalescing>,
    /// Maximum window growth per acknowledgement in slow start, in segments; at least 1 (RFC 5681 §3.1: 1; RFC 3465
    /// §2.2, L: 2).
    pub slow_start_limit: u32,
    /// Unit that congestion avoidance counts.
    pub growth: Growth,
    /// True to send a new segment for each of the first two duplicate acknowledgements (RFC 3042).
    pub limited_transmit: bool,
    /// Loss detection and repair.
    pub recovery: Recovery,
    /// True to detect losses by time (RACK, RFC 8985 §6) instead of by the number of later segments that arrived.
    /// Requires [`Recovery::Sack`].
    pub rack: bool,
    /// True to send a probe when acknowledgements stop, to detect losses at the end of a burst (RFC 8985 §7). Requires
    /// `rack`.
    pub tail_loss_probe: bool,
    /// Additional wait of a tail loss probe when one segment is in flight (RFC 8985 §7.2).
    pub max_ack_delay: Span,
    /// Added to the wait of a tail loss probe for more than one segment, and to RACK's reordering timer. Linux adds two
    /// clock ticks to both (`TCP_TIMEOUT_MIN`).
    pub timeout_min: Span,
    /// True to spread the reduction after a loss over the recovery (RFC 6937). Requires [`Recovery::Sack`].
    pub rate_reduction: bool,
    /// True to let the window grow only while it limits the sender, as in Linux (`tcp_cwnd_validate`, after RFC 2861).
    /// Requires [`Recovery::Sack`].
    pub window_validation: bool,
    /// Number of segments that a receiver acknowledges individually at the start, after an idle time above `rto_min`
    /// and after duplicate data; at most 255.
    pub quick_ack: u8,
    /// True to return to the initial window after an idle time above the RTO (RFC 5681 §4.1). With `window_validation`
    /// the window is halved per RTO of idle time instead, as in Linux (`tcp_cwnd_restart`).
    pub slow_start_restart: bool,
    /// Receive window in bytes.
    pub receive_window: u64,
    /// Congestion controller.
    pub congestion_control: CongestionControl,
}

/// Method of loss detection and repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Cumulative acknowledgements only (RFC 6582).
    NewReno,
    /// Selective acknowledgements (RFC 2018, RFC 6675); receivers then send them.
    Sack,
}

/// Receive offload as visible to the sender: the NIC passes several segments of a flow to TCP as one, and one
/// acknowledgement covers them. A due acknowledgement is delayed until one of the limits is reached. The end of a
/// message, out-of-order data, a FIN and a change of the mark end the delay at once. Delivery to the application is
/// unaffected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coalescing {
    /// Maximum number of segments per acknowledgement; at least 1.
    pub segments: u32,
    /// Maximum delay of a due acknowledgement.
    pub within: Span,
}

/// Unit of growth in congestion avoidance: one window of these units grows the window by one segment (RFC 5681 §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Acknowledged bytes: one segment per round trip, independent of the number of segments per acknowledgement.
    Bytes,
    /// Acknowledgements, each counted as one segment (equation 3): with one acknowledgement per n segments, the window
    /// grows by 1/n segment per round trip.
    Acknowledgements,
}

impl Default for Config {
    /// Returns NewReno as in the D3 experiments, with a minimum RTO of 10 ms.
    fn default() -> Self {
        Self {
            mss: 1460,
            initial_window: 2,
            min_window: 2,
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
