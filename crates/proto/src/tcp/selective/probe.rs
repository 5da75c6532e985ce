//! Tail loss probes: one more segment detects losses at the end of a burst (RFC 8985 §7).

use crate::tcp::Config;
use crate::tcp::rtt::Rtt;
use duetime_core::{Span, Time};

/// Wait before a round trip has been measured (RFC 8985 §7.2).
const UNMEASURED: Span = Span::from_secs(1);

/// State of the current probe (RFC 8985 §7.1). Names in comments are the RFC's.
#[derive(Clone, Debug)]
pub(super) struct Probe {
    /// End of all data when the probe was sent (`TLP.end_seq`); zero if there is no probe.
    end: u64,
    /// True if the probe is a retransmission (`TLP.is_retrans`).
    repeats: bool,
    /// True if a probe is sent next, regardless of the window.
    pub due: bool,
    /// True if a round trip was measured since the last probe.
    pub measured: bool,
}

/// Properties of an acknowledgement that matter to probes.
pub(super) struct Answer {
    pub ack: u64,
    /// True if nothing new is acknowledged.
    pub repeats: bool,
    pub has_blocks: bool,
    /// Duplicate data reported by the acknowledgement.
    pub duplicate: Option<(u64, u64)>,
}

impl Probe {
    pub fn new() -> Self {
        Self {
            end: 0,
            repeats: false,
            due: false,
            measured: false,
        }
    }

    /// Cancels the probe.
    pub fn forget(&mut self) {
        (self.end, self.due) = (0, false);
    }

    /// Returns true if no probe is in flight.
    pub fn is_idle(&self) -> bool {
        self.end == 0
    }

    /// Handles the probe timer: a probe is due unless one is in flight or nothing was measured since the last one
    /// (§7.3).
    pub fn expire(&mut self) {
        self.due = self.end == 0 && self.measured;
    }

    /// Records that a probe was sent when all data up to `end` was sent.
    pub fn sent(&mut self, end: u64, repeats: bool) {
        *self = Self {
            end,
            repeats,
            due: false,
            measured: false,
        };
    }

    /// Returns true if the answer shows that the probe repaired the only loss (§7.4.2).
    pub fn repaired(&mut self, answer: &Answer) -> bool {
        if self.end == 0 || answer.ack < self.end {
            return false;
        }
        let needless = match answer.duplicate {
            Some((_, end)) => end == self.end,
            None => answer.repeats && !answer.has_blocks,
        };
        let repaired = self.repeats && !needless && answer.ack > self.end;
        if !self.repeats || needless || repaired {
            self.end = 0;
        }
        repaired
    }
}

/// Returns the time to wait for an acknowledgement before a probe (§7.2, `TLP_calc_PTO`).
#[inline]
fn wait(config: &Config, smoothed: Span, is_single: bool) -> Span {
    if smoothed == Span::ZERO {
        return UNMEASURED;
    }
    let round_trips = smoothed + smoothed;
    if is_single {
        round_trips + config.max_ack_delay
    } else {
        round_trips + config.timeout_min
    }
}

/// Times at which a sender has to act.
#[derive(Clone, Debug)]
pub(super) struct Timers {
    /// Expiry of the retransmission timer.
    pub retransmission: Time,
    /// Expiry of the tail loss probe timer, after which the retransmission timer restarts.
    pub probe: Time,
    /// Time at which RACK checks for losses again.
    pub reordering: Time,
}

impl Timers {
    pub const STOPPED: Self = Self {
        retransmission: Time::MAX,
        probe: Time::MAX,
        reordering: Time::MAX,
    };

    /// Starts the retransmission timer unless it is running (RFC 6298 §5.1).
    #[inline]
    pub fn start_retransmission(&mut self, now: Time, rtt: &Rtt) {
        if self.retransmission == Time::MAX {
            self.retransmission = now + rtt.timeout();
        }
    }

    /// Restarts the probe timer while unacknowledged data and no probe is in flight. `smoothed` is SRTT; `is_single` is
    /// true if one segment is in flight.
    #[inline]
    pub fn restart_probe(&mut self, config: &Config, now: Time, smoothed: Span, is_single: bool) {
        self.probe = if config.tail_loss_probe {
            (now + wait(config, smoothed, is_single)).min(self.retransmission)
        } else {
            Time::MAX
        };
    }

    #[inline]
    pub fn earliest(&self) -> Time {
        self.retransmission.min(self.probe).min(self.reordering)
    }
}
