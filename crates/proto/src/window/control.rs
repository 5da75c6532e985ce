//! Interface of congestion controllers: their methods, which default to NewReno, and the window that they adjust.

use crate::tcp::{Config, Rtt};
use duetime_core::fixed::Fraction;
use duetime_core::{Span, Time};

/// Window that a controller adjusts.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Window {
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Slow-start threshold in bytes; `u64::MAX` means infinity.
    pub ssthresh: u64,
    /// Bytes acknowledged towards the next segment of growth.
    pub growth: u64,
}

/// State of a flow at a reduction by marks.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Deadline of the current message, if any.
    pub deadline: Option<Time>,
    /// B: unacknowledged bytes of the current message.
    pub remaining: u64,
    /// W: window before the reduction, in bytes.
    pub window: u64,
    /// Length of a full segment in bytes.
    pub mss: u32,
    /// Smoothed round-trip time, or zero if not measured yet.
    pub srtt: Span,
}

/// State of a congestion controller. The default methods implement NewReno (RFC 5681).
pub(crate) trait Control: Sized {
    /// True if packets are sent ECN-capable and marks reduce the window.
    const USES_MARKS: bool = false;
    /// True if `on_ack` replaces NewReno's growth.
    const CUSTOM_GROWTH: bool = false;

    /// Counts acknowledged data: everything up to `ack` is acknowledged, `marked` bytes of it newly and with a mark,
    /// and `next` is the next new position to send. Called for each acknowledgement that advances, if the controller
    /// uses marks.
    #[inline(always)]
    fn on_ecn_feedback(&mut self, _marked: u64, _ack: u64, _next: u64) {}

    /// Records a round-trip time, where everything up to `ack` is acknowledged and `next` is sent next. Called before
    /// `on_ack`, with selective acknowledgements only.
    #[inline(always)]
    fn on_rtt_sample(&mut self, _rtt: Span, _ack: u64, _next: u64) {}

    /// Grows the window in slow start or congestion avoidance after `bytes` were acknowledged without a mark. Called if
    /// `CUSTOM_GROWTH` is true.
    #[inline(always)]
    fn on_ack(
        &mut self,
        _config: &Config,
        _now: Time,
        _window: &mut Window,
        _rtt: &Rtt,
        _bytes: u64,
    ) {
    }

    /// Reduces the window. Called for the first mark in a window of data. `progress` computes the state of the flow.
    #[inline(always)]
    fn on_explicit_congestion(
        &mut self,
        _config: &Config,
        _now: Time,
        _window: &mut Window,
        _progress: impl FnOnce() -> Progress,
    ) {
    }

    /// Sets the slow-start threshold after a loss with `flight` bytes in flight. Fast recovery sets the window.
    fn on_congestion_event(&mut self, config: &Config, window: &mut Window, flight: u64) {
        window.halve(config, flight);
    }

    /// Sets the slow-start threshold after a first retransmission timeout outside fast recovery, with `flight` bytes in
    /// flight. The window is reduced to one segment.
    fn on_timeout(&mut self, config: &Config, window: &mut Window, flight: u64) {
        window.halve(config, flight);
    }

    /// Called for a retransmission timeout in fast recovery, which has set the slow-start threshold. The window is
    /// reduced to one segment.
    #[inline(always)]
    fn on_recovery_timeout(&mut self) {}

    /// Called before data is sent after an idle time. `restarts` is true if the window is reduced.
    #[inline(always)]
    fn on_idle_end(&mut self, _idle: Span, _restarts: bool) {}

    /// Returns α, the average marked fraction (RFC 8257).
    fn alpha(&self) -> Fraction {
        Fraction::ZERO
    }
}
