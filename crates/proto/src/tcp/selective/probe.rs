//! Tail loss probes: what is lost at the end of a burst is found by one more segment (RFC 8985 §7).

use crate::tcp::Config;
use duetime_core::{Span, Time};

/// The wait before a round trip was measured (RFC 8985 §7.2).
const UNMEASURED: Span = Span::from_secs(1);

/// The probe under way (RFC 8985 §7.1). Names in the comments are the RFC's.
#[derive(Clone, Debug)]
pub(super) struct Probe {
    /// What was sent when the probe left (`TLP.end_seq`); zero: none is under way.
    end: u64,
    /// It was sent before (`TLP.is_retrans`).
    repeats: bool,
    /// One leaves next, whatever the window says.
    pub due: bool,
    /// A round trip was measured since the last probe.
    pub measured: bool,
}

/// An acknowledgement, as far as probes go.
pub(super) struct Answer {
    pub ack: u64,
    /// It acknowledges nothing new.
    pub repeats: bool,
    pub has_blocks: bool,
    /// The data that came twice.
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

    /// No probe is under way any more.
    pub fn forget(&mut self) {
        (self.end, self.due) = (0, false);
    }

    /// Whether no probe is under way.
    pub fn is_over(&self) -> bool {
        self.end == 0
    }

    /// The wait has passed: one leaves, unless one is under way or nothing was measured since the last (§7.3).
    pub fn expire(&mut self) {
        self.due = self.end == 0 && self.measured;
    }

    /// One has left, and everything up to `end` is sent.
    pub fn sent(&mut self, end: u64, repeats: bool) {
        *self = Self {
            end,
            repeats,
            due: false,
            measured: false,
        };
    }

    /// §7.4.2: whether the answer says that the probe has repaired the one loss there was.
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

/// How long to wait for an acknowledgement before a probe (§7.2, `TLP_calc_PTO`).
pub(super) fn wait(config: &Config, smoothed: Span, is_single: bool) -> Span {
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

/// The earliest of the times at which a sender has to act.
#[derive(Clone, Debug)]
pub(super) struct Timers {
    /// The retransmission timer.
    pub retransmission: Time,
    /// A tail loss probe; instead of the retransmission timer, which starts anew then.
    pub probe: Time,
    /// RACK looks again for losses.
    pub reordering: Time,
}

impl Timers {
    pub const STOPPED: Self = Self {
        retransmission: Time::MAX,
        probe: Time::MAX,
        reordering: Time::MAX,
    };

    pub fn earliest(&self) -> Time {
        self.retransmission.min(self.probe).min(self.reordering)
    }
}
