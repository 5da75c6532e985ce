//! Acknowledgements, loss recovery and timers.

use super::super::{Config, EncodedRate, Flags, Packet};
use super::transmit::payload;
use super::{Fin, Repair, RequestState, Sender, State, Timer};
use duetime_core::{Span, Time};

/// Number of arrivals beyond a gap that indicate a loss.
const GAPS_FOR_LOSS: u8 = 3;
/// Number of consecutive unanswered timeouts after which a flow is abandoned; fewer if only the FIN is unanswered.
const MAX_SILENCE: u8 = 32;
const MAX_FIN_SILENCE: u8 = 8;
/// Maximum number of doublings of the retransmission timeout.
pub(super) const MAX_BACKOFF: u32 = 6;
/// Minimum wait for feedback.
const MIN_REQUEST_WAIT: Span = Span::from_ms(1);

impl Sender {
    /// Processes an acknowledgement of all data before `seq` that has no request, like [`input`](Self::input) with a
    /// packet whose only flag is [`Flags::ACK`].
    #[inline]
    pub fn input_plain(&mut self, config: &Config, now: Time, seq: u64) {
        let is_repairing = self.resend < self.resend_end || self.repair == Repair::Holes;
        if self.state != State::Open || is_repairing || seq <= self.acked || seq > self.next {
            return self.input_plain_rarely(config, now, seq);
        }
        self.silence = 0;
        self.acked = seq;
        self.backoff = 0;
        self.resend = self.resend.max(seq);
        self.repair = Repair::Gaps(0);
        self.arm_data_timer(config, now);
    }

    /// Processes a plain acknowledgement in a state that is not usual.
    #[inline(never)]
    fn input_plain_rarely(&mut self, config: &Config, now: Time, seq: u64) {
        let packet = Packet {
            seq,
            flags: Flags::ACK,
            ..Packet::default()
        };
        self.input(config, now, &packet);
    }

    pub(super) fn acknowledgement(&mut self, config: &Config, now: Time, packet: &Packet) {
        if packet.seq == self.size + 1 {
            self.fin_acknowledged();
        }
        let acked = packet.seq.min(self.size);
        if acked > self.next {
            return; // never sent
        }
        if acked > self.acked {
            self.progress(config, now, acked);
        } else if packet.flags.contains(Flags::GAP)
            && acked == self.acked
            && acked < self.next
            && let Repair::Gaps(gaps) = &mut self.repair
        {
            *gaps = gaps.saturating_add(1);
            if *gaps == GAPS_FOR_LOSS && acked >= self.recover {
                self.repair = Repair::Holes;
                self.recover = self.next;
                self.counters.fast_retransmits += 1;
                self.resend_first(config);
            }
        }
    }

    /// Handles the acknowledgement of everything below `acked`.
    fn progress(&mut self, config: &Config, now: Time, acked: u64) {
        let progress = acked - self.acked;
        self.acked = acked;
        self.backoff = 0;
        self.resend = self.resend.max(acked);
        if self.repair == Repair::Holes && acked < self.recover {
            if self.resend >= self.resend_end {
                self.resend_first(config); // the next hole
            }
        } else {
            self.repair = Repair::Gaps(0);
        }
        if self.is_closing() && self.resend < self.resend_end {
            // The allocation is returned, so the remaining data is clocked by arrivals.
            self.budget = (self.budget + progress + u64::from(config.wire.header_bytes))
                .min(self.tail(config));
        }
        self.arm_data_timer(config, now);
    }

    /// Records that the receiver has the FIN.
    pub(super) fn fin_acknowledged(&mut self) {
        if self.is_closing() {
            self.state = State::Closing(Fin::Acked);
        }
    }

    pub(super) const fn is_closing(&self) -> bool {
        matches!(self.state, State::Closing(_))
    }

    fn resend_first(&mut self, config: &Config) {
        self.resend = self.acked;
        self.resend_end = self.next.min(self.acked + u64::from(payload(config, 0)));
        if self.is_closing() {
            self.budget = self.budget.max(u64::from(config.wire.mtu));
        }
    }

    /// Returns the bytes that may be in flight after the FIN has returned the allocation.
    fn tail(&self, config: &Config) -> u64 {
        (self.slot >> (1 + u32::from(self.backoff))).max(u64::from(config.wire.mtu))
    }

    /// Handles expired timers. Called at [`next_timeout`](Self::next_timeout); no effect if called early. Returns the
    /// timer that expired if the sender acts on it.
    #[inline]
    pub fn timeout(&mut self, config: &Config, now: Time) -> Option<Timer> {
        if self.request_timer <= now || self.data_timer <= now {
            return self.expire(config, now);
        }
        if self.pace_timer > now {
            return None;
        }
        self.set_gate(config, now);
        // The packet that waited carries no request, and only requests depend on how far the flow is ahead.
        self.schedule_plan();
        Some(Timer::Pace)
    }

    /// Handles expired timers, not only that of the pace.
    #[inline(never)]
    fn expire(&mut self, config: &Config, now: Time) -> Option<Timer> {
        let mut expired = None;
        if self.request_timer <= now {
            expired = match (self.request, self.state) {
                (RequestState::Idle, _) => None,
                (RequestState::BackingOff, _) if self.rate != EncodedRate::ZERO => {
                    Some(Timer::Pace)
                }
                (RequestState::BackingOff, _) => Some(Timer::Pause),
                (_, State::Opening) => Some(Timer::Handshake),
                _ => Some(Timer::Request),
            };
            match self.request {
                RequestState::Idle if self.acked == self.next && !self.receiver_full => {
                    self.request_timer = Time::MAX;
                    self.request = RequestState::Withdrawing;
                }
                RequestState::Idle | RequestState::BackingOff => {
                    self.request_timer = Time::MAX;
                    self.request = RequestState::Due;
                }
                _ => self.request_lost(config, now),
            }
        }
        if self.data_timer <= now {
            let before = self.counters.timeouts;
            self.data_lost(config, now);
            if self.counters.timeouts > before {
                expired = Some(Timer::Retransmission);
            }
        }
        if self.pace_timer <= now {
            expired = expired.or(Some(Timer::Pace));
        }
        self.set_gate(config, now);
        self.replan(config);
        expired
    }

    fn request_lost(&mut self, config: &Config, now: Time) {
        self.request_timer = Time::MAX;
        self.request = RequestState::Lost;
        self.request_backoff = self.request_backoff.saturating_add(1);
        if self.state == State::Opening {
            self.counters.timeouts += 1;
        } else {
            self.counters.lost_requests += 1;
            if self.request_backoff == 1 {
                // Use the old rate for one more round trip, then pause.
                self.grant_slot(config, now);
            }
        }
        self.no_answer(MAX_SILENCE);
    }

    fn data_lost(&mut self, config: &Config, now: Time) {
        self.data_timer = Time::MAX;
        let unacknowledged = self.acked < self.next && !self.quenched;
        let unfinished = matches!(self.state, State::Closing(Fin::Sent | Fin::Due));
        if !unacknowledged && !unfinished {
            return;
        }
        if unacknowledged && self.resend < self.resend_end && self.state == State::Open {
            // Still waiting for an allocation to retransmit them.
            self.arm_data_timer(config, now);
            return;
        }
        self.counters.timeouts += 1;
        self.backoff = self.backoff.saturating_add(1);
        self.repair = Repair::Gaps(0);
        if unacknowledged {
            self.recover = self.next;
            self.resend = self.acked;
            self.resend_end = self.next;
            if self.is_closing() {
                self.budget = self.tail(config);
            }
        } else {
            self.state = State::Closing(Fin::Due);
        }
        self.arm_data_timer(config, now);
        self.no_answer(if unacknowledged {
            MAX_SILENCE
        } else {
            MAX_FIN_SILENCE
        });
    }

    /// Counts an unanswered timeout; too many in a row end the flow.
    fn no_answer(&mut self, limit: u8) {
        self.silence = self.silence.saturating_add(1);
        if self.silence > limit && !self.persistent {
            self.finish();
        }
    }

    pub(super) fn finish(&mut self) {
        self.state = State::Closed;
        (self.planned, self.waits) = (None, false);
        self.request_timer = Time::MAX;
        self.data_timer = Time::MAX;
        self.pace_timer = Time::MAX;
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

    /// Returns the time to wait for an answer (D3 leaves it open).
    pub(super) fn request_wait(&self) -> Span {
        (self.srtt * 2)
            .max(self.srtt + self.rttvar * 4)
            .max(MIN_REQUEST_WAIT)
    }

    #[inline]
    pub(super) fn rto(&self, config: &Config) -> Span {
        (self.srtt + self.rttvar * 4).max(config.host.rto_min)
    }

    /// Starts the retransmission timer if it is not running.
    #[inline]
    pub(super) fn ensure_data_timer(&mut self, config: &Config, now: Time) {
        if self.data_timer == Time::MAX {
            self.arm_data_timer(config, now);
        }
    }

    #[inline]
    pub(super) fn arm_data_timer(&mut self, config: &Config, now: Time) {
        let waiting = self.acked < self.next || self.is_closing();
        let wait = self.rto(config).as_ps() << u32::from(self.backoff).min(MAX_BACKOFF);
        self.data_timer = if waiting {
            now + Span::from_ps(wait)
        } else {
            Time::MAX
        };
    }
}
