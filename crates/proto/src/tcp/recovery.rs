//! Loss recovery of a sender: duplicate acknowledgements, fast recovery, timeouts (RFC 5681, RFC 6582, RFC 6298).

use super::sender::{Pending, Phase, Sender};
use super::{Config, Flags, Sack, Segment, Timer};
use crate::window::{Control, Controller, on};
use duetime_core::Time;

/// Number of duplicate acknowledgements that indicate a loss.
const DUPLICATE_THRESHOLD: u8 = 3;

/// Maximum number of segments that limited transmit sends beyond the window.
const MAX_BEYOND: u8 = 2;

/// Number of unanswered FINs after which the sender closes.
const MAX_FIN_ATTEMPTS: u8 = 8;

impl Sender {
    /// Handles an answer to the SYN, a duplicate acknowledgement, or an invalid segment; with selective recovery, every
    /// segment.
    #[cold]
    #[inline(never)]
    pub(super) fn input_slow(&mut self, config: &Config, now: Time, seq: u64, flags: Flags) {
        let segment = Segment { seq, len: 0, flags };
        if self.selective.is_some() {
            return self.input_sack(config, now, segment, &Sack::NONE);
        }
        if self.closed || !segment.flags.contains(Flags::ACK) || segment.seq != self.una.max(1) {
            return; // old, or never sent
        }
        if segment.flags.contains(Flags::SYN) {
            if self.una == 0 && self.highest == 1 {
                self.establish(config, now);
            }
        } else if self.una > 0 && self.highest > self.una {
            self.duplicate(config, now, segment.flags.contains(Flags::ECE));
        }
    }

    /// Establishes the connection after the receiver's answer to the SYN.
    pub(super) fn establish(&mut self, config: &Config, now: Time) {
        self.una = 1;
        self.rtt.acknowledged(config, now, 1);
        self.timer = Time::MAX;
        self.pending = Pending::Nothing;
        if self.counters.timeouts > 0 {
            // RFC 5681 §3.1: one segment after a lost SYN.
            self.window.cwnd = u64::from(config.mss);
        }
        self.attempts = 0;
        self.update_limit(config);
    }

    /// Handles a duplicate acknowledgement while data is in flight.
    fn duplicate(&mut self, config: &Config, now: Time, marked: bool) {
        match self.phase {
            // RFC 5681 §3.2 step 4: another segment has left the network.
            Phase::Recovery | Phase::PartialRecovery => self.window.cwnd += u64::from(config.mss),
            Phase::Loss => return,
            Phase::Open => {
                self.duplicates = self.duplicates.saturating_add(1);
                if self.duplicates == 1 {
                    let flight = self.highest - self.una;
                    self.flight_before_duplicates = u32::try_from(flight).unwrap_or(u32::MAX);
                }
                // RFC 6582 §3.2 step 2: not for segments retransmitted after a timeout. `recover` is exclusive here and
                // starts below the first byte, so that the initial window can be repaired, too.
                if self.duplicates == DUPLICATE_THRESHOLD && self.una > self.recover {
                    self.enter_recovery(config);
                } else {
                    if marked && self.uses_marks() && self.una > self.reduced_end {
                        self.reduce_by_marks(config, now);
                    }
                    return self.limited_transmit(config);
                }
            }
        }
        self.update_limit(config);
    }

    /// Allows one more segment for each of the first two duplicates, beyond the window and without changing it (RFC
    /// 3042 §2, RFC 5681 §3.2 step 1), so that small windows also yield three duplicates for a loss.
    fn limited_transmit(&mut self, config: &Config) {
        self.update_limit(config);
        if config.limited_transmit {
            let mss = u64::from(config.mss);
            let beyond = u64::from(self.duplicates.min(MAX_BEYOND)) * mss;
            self.limit = (self.limit + beyond).min(self.una + config.receive_window.max(mss));
        }
    }

    /// Returns the bytes in flight, without those that limited transmit sent beyond the window (RFC 5681 §3.2 step 2).
    fn flight_at_loss(&self, config: &Config) -> u64 {
        let window = self.window.cwnd;
        let flight = self.highest - self.una;
        let before = u64::from(self.flight_before_duplicates);
        if !config.limited_transmit {
            flight
        } else if window < before + u64::from(config.mss) {
            before // the window was full
        } else {
            flight.min(window)
        }
    }

    /// Enters fast recovery and retransmits the first segment (RFC 5681 §3.2 steps 2 and 3).
    fn enter_recovery(&mut self, config: &Config) {
        let mss = u64::from(config.mss);
        self.counters.fast_retransmits += 1;
        let flight = self.flight_at_loss(config);
        on!(&mut self.controller, control => control.on_congestion_event(config, &mut self.window, flight));
        self.window.cwnd = self.window.ssthresh + u64::from(DUPLICATE_THRESHOLD) * mss;
        self.window.growth = 0;
        self.recover = self.highest;
        self.reduced_end = self.highest; // this reduction also covers marks of the same window
        self.phase = Phase::Recovery;
        self.pending = Pending::Head;
        self.rtt.forget_sample();
    }

    /// Handles an acknowledgement of `bytes` new bytes during recovery.
    #[cold]
    pub(super) fn repair(&mut self, config: &Config, now: Time, bytes: u64) {
        let mss = u64::from(config.mss);
        let done = self.una >= self.recover;
        if self.phase == Phase::Loss {
            self.grow(config, now, bytes);
            if done {
                self.phase = Phase::Open;
            }
            return;
        }
        if done {
            // RFC 6582 §3.2 step 3, full acknowledgement, option 1: no burst.
            let flight = self.highest - self.una;
            self.window.cwnd = self.window.ssthresh.min(flight.max(mss) + mss);
            self.phase = Phase::Open;
            self.duplicates = 0;
            self.pending = Pending::Nothing;
            self.timer = if flight == 0 {
                Time::MAX
            } else {
                now + self.rtt.timeout()
            };
            return;
        }
        // Partial: the next hole is at `una` (RFC 6582 §3.2 step 3). The timer was restarted for the first one only.
        self.pending = Pending::Head;
        self.window.cwnd = self.window.cwnd.saturating_sub(bytes).max(mss);
        if bytes >= mss {
            self.window.cwnd += mss;
        }
        self.phase = Phase::PartialRecovery;
    }

    /// Handles the expired timer and returns its kind.
    #[cold]
    pub(super) fn expire(&mut self, config: &Config, now: Time) -> Option<Timer> {
        match self.selective.take() {
            Some(mut selective) if self.una > 0 => {
                let timer = self.expire_selective(config, now, &mut selective);
                self.selective = Some(selective);
                timer
            }
            selective => {
                self.selective = selective;
                self.retransmission_timeout(config);
                Some(if self.una == 0 {
                    Timer::Handshake
                } else {
                    Timer::Retransmission
                })
            }
        }
    }

    /// Handles the retransmission timeout: reduces the window to one segment and restarts sending at `una`.
    fn retransmission_timeout(&mut self, config: &Config) {
        self.timer = Time::MAX; // starts with the next transmission
        self.counters.timeouts += 1;
        self.rtt.back_off(config);
        self.rtt.forget_sample();
        if self.una == 0 {
            self.attempts = self.attempts.saturating_add(1);
            self.pending = Pending::Syn;
            return;
        }
        let mss = u64::from(config.mss);
        let flight = self.in_flight();
        self.reduce_for_timeout(config, flight);
        self.attempts = self.attempts.saturating_add(1);
        if self.abandon_fin() {
            return;
        }
        self.window.cwnd = mss;
        self.window.growth = 0;
        self.duplicates = 0;
        self.reduced_end = 0;
        self.recover = self.highest;
        self.phase = Phase::Loss;
        self.pending = Pending::Nothing;
        self.next = self.una;
        self.message_end = self.outgoing.rewind();
        self.update_limit(config);
    }

    /// Sets the slow-start threshold after a timeout with `flight` bytes in flight.
    ///
    /// The threshold is kept on further timeouts of the same segment (RFC 5681 §3.1), and on a timeout in fast
    /// recovery, which has set it for the same losses. Linux also reduces it once per window of data. It cannot be
    /// derived from the unacknowledged bytes in these cases: duplicate acknowledgements release new data while the
    /// first hole remains, and all of it counts until the hole is filled.
    pub(super) fn reduce_for_timeout(&mut self, config: &Config, flight: u64) {
        if matches!(self.phase, Phase::Recovery | Phase::PartialRecovery) {
            on!(&mut self.controller, control => control.on_recovery_timeout());
        } else if self.attempts == 0 {
            on!(&mut self.controller, control => control.on_timeout(config, &mut self.window, flight));
        }
    }

    /// Closes the sender if its FIN was left unanswered [`MAX_FIN_ATTEMPTS`] times. Returns true if it did.
    pub(super) fn abandon_fin(&mut self) -> bool {
        let abandoned = self.una >= self.outgoing.end() && self.attempts >= MAX_FIN_ATTEMPTS;
        if abandoned {
            self.closed = true;
            self.end = self.next; // nothing more to send
            self.pending = Pending::Nothing;
        }
        abandoned
    }
}
