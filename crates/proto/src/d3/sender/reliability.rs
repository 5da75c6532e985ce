//! Acknowledgements, losses and timers.

use super::super::{Config, Flags, Packet};
use super::transmit::payload;
use super::{Sender, State};
use duetime_core::{Span, Time};

/// Arrivals beyond a gap that prove a loss.
const GAPS_FOR_LOSS: u8 = 3;
/// Unanswered timeouts in a row after which a flow is given up; fewer when only the FIN's answer is missing.
const MAX_SILENCE: u8 = 32;
const MAX_FIN_SILENCE: u8 = 8;
/// Doublings of the retransmission timeout at most.
pub(super) const MAX_BACKOFF: u32 = 6;
/// The shortest wait for feedback.
const MIN_REQUEST_WAIT: Span = Span::from_ms(1);

impl Sender {
    pub(super) fn acknowledgement(&mut self, config: &Config, now: Time, packet: &Packet) {
        if packet.seq == self.size + 1 && self.state == State::Closing {
            self.fin_acked = true;
        }
        let acked = packet.seq.min(self.size);
        if acked > self.next {
            return; // nothing that we sent
        }
        if acked > self.acked {
            let progress = acked - self.acked;
            self.acked = acked;
            self.gaps = 0;
            self.backoff = 0;
            self.resend = self.resend.max(acked);
            if acked >= self.recover {
                self.fast_recovery = false;
            } else if self.fast_recovery && self.resend >= self.resend_end {
                self.resend_first(config); // the next hole
            }
            if self.state == State::Closing && self.resend < self.resend_end {
                // The allocation is returned: what remains is clocked by what arrives.
                self.budget = (self.budget + progress + u64::from(config.header_bytes))
                    .min(self.tail(config));
            }
            self.arm_data_timer(config, now);
        } else if packet.flags.contains(Flags::GAP) && acked == self.acked && acked < self.next {
            self.gaps = self.gaps.saturating_add(1);
            if self.gaps == GAPS_FOR_LOSS && acked >= self.recover {
                self.fast_recovery = true;
                self.recover = self.next;
                self.counters.fast_retransmits += 1;
                self.resend_first(config);
            }
        }
    }

    fn resend_first(&mut self, config: &Config) {
        self.resend = self.acked;
        self.resend_end = self.next.min(self.acked + u64::from(payload(config, 0)));
        if self.state == State::Closing {
            self.budget = self.budget.max(u64::from(config.mtu));
        }
    }

    /// What may be on its way after the FIN has returned the allocation.
    fn tail(&self, config: &Config) -> u64 {
        (self.slot >> (1 + u32::from(self.backoff))).max(u64::from(config.mtu))
    }

    /// To be called when `next_timeout()` has come; harmless otherwise.
    pub fn timeout(&mut self, config: &Config, now: Time) {
        if self.request_timer <= now {
            self.request_lost(config);
        }
        if self.data_timer <= now {
            self.data_lost(config, now);
        }
    }

    fn request_lost(&mut self, config: &Config) {
        self.request_timer = Time::MAX;
        self.outstanding = false;
        self.request_due = true;
        self.recovering = true;
        self.request_backoff = self.request_backoff.saturating_add(1);
        if self.state == State::Opening {
            self.counters.timeouts += 1;
        } else {
            self.counters.lost_requests += 1;
            if !self.extended {
                // The old rate for one more round trip, then silence.
                self.extended = true;
                self.grant_slot(config);
            }
        }
        self.no_answer(MAX_SILENCE);
    }

    fn data_lost(&mut self, config: &Config, now: Time) {
        self.data_timer = Time::MAX;
        let unacknowledged = self.acked < self.next && !self.quenched;
        let unfinished = self.state == State::Closing && !self.fin_acked;
        if !unacknowledged && !unfinished {
            return;
        }
        if unacknowledged && self.resend < self.resend_end && self.state == State::Open {
            // Still waiting for an allocation to send them again.
            self.arm_data_timer(config, now);
            return;
        }
        self.counters.timeouts += 1;
        self.backoff = self.backoff.saturating_add(1);
        self.fast_recovery = false;
        self.gaps = 0;
        if unacknowledged {
            self.recover = self.next;
            self.resend = self.acked;
            self.resend_end = self.next;
            if self.state == State::Closing {
                self.budget = self.tail(config);
            }
        } else {
            self.fin_due = true;
        }
        self.arm_data_timer(config, now);
        self.no_answer(if unacknowledged {
            MAX_SILENCE
        } else {
            MAX_FIN_SILENCE
        });
    }

    /// Counts a timeout; too many in a row end the flow.
    fn no_answer(&mut self, limit: u8) {
        self.silence += 1;
        if self.silence > limit {
            self.close();
        }
    }

    pub(super) fn close(&mut self) {
        self.state = State::Closed;
        self.request_timer = Time::MAX;
        self.data_timer = Time::MAX;
    }

    pub(super) fn sample(&mut self, rtt: Span) {
        if self.srtt == Span::ZERO {
            self.srtt = rtt;
            self.rttvar = rtt / 2;
            return;
        }
        let error = self.srtt.saturating_sub(rtt) + rtt.saturating_sub(self.srtt);
        self.rttvar = self.rttvar - self.rttvar / 4 + error / 4;
        self.srtt = self.srtt - self.srtt / 8 + rtt / 8;
    }

    /// How long an answer may take (D3 leaves it open).
    pub(super) fn request_wait(&self) -> Span {
        (self.srtt * 2)
            .max(self.srtt + self.rttvar * 4)
            .max(MIN_REQUEST_WAIT)
    }

    pub(super) fn rto(&self, config: &Config) -> Span {
        (self.srtt + self.rttvar * 4).max(config.rto_min)
    }

    pub(super) fn arm_data_timer(&mut self, config: &Config, now: Time) {
        let waiting = self.acked < self.next || self.state == State::Closing;
        let wait = self.rto(config).as_ps() << u32::from(self.backoff).min(MAX_BACKOFF);
        self.data_timer = if waiting {
            now + Span::from_ps(wait)
        } else {
            Time::MAX
        };
    }
}
