//! Timers of selective recovery: retransmission, tail loss probe and reordering.

use super::Selective;
use super::probe::Timers;
use crate::tcp::sender::{Phase, Sender};
use crate::tcp::{Config, Timer};
use duetime_core::Time;

impl Sender {
    /// Handles the expired timers. Returns the kind of the last one handled, in the order reordering, then probe or
    /// retransmission.
    pub(in crate::tcp) fn expire_selective(
        &mut self,
        config: &Config,
        now: Time,
        selective: &mut Selective,
    ) -> Option<Timer> {
        let mut expired = None;
        if now >= selective.timers.reordering {
            expired = Some(Timer::Reordering);
            self.find_lost(config, now, selective, false);
            if self.phase != Phase::Open {
                selective.timers.probe = Time::MAX;
            }
        }
        if now >= selective.timers.probe {
            // RFC 8985 §7.3: the retransmission timer restarts even if no probe is sent.
            selective.timers.probe = Time::MAX;
            selective.timers.retransmission = now + self.rtt.timeout();
            selective.probe.expire();
            expired = Some(Timer::TailLossProbe);
        } else if now >= selective.timers.retransmission {
            self.retransmit_selective(config, now, selective);
            expired = Some(Timer::Retransmission);
        }
        self.timer = selective.timers.earliest();
        self.update_pending(selective);
        expired
    }

    /// Handles the retransmission timeout (RFC 6298 §5.4 to §5.6).
    fn retransmit_selective(&mut self, config: &Config, now: Time, selective: &mut Selective) {
        selective.timers = Timers::STOPPED; // the retransmission timer starts with the next transmission
        self.counters.timeouts += 1;
        self.rtt.back_off(config);
        // After an earlier timeout `highest` exceeds the window by the data that was declared lost.
        let window = self.window_at_loss(config, self.highest - self.una);
        self.reduce_for_timeout(config, window);
        self.attempts = self.attempts.saturating_add(1);
        if self.abandon_fin() {
            return;
        }
        let board = &mut selective.board;
        board.handle_reneging();
        if config.rack {
            let (repairing, smoothed) = (self.phase != Phase::Open, self.rtt.smoothed());
            (selective.rack).find_lost_by_timeout(board, now, repairing, smoothed, self.una);
        } else {
            board.lose_all();
        }
        self.window.cwnd = u64::from(config.mss);
        self.window.growth = 0;
        self.duplicates = 0;
        self.reduced_end = 0;
        self.recover = self.highest;
        self.phase = Phase::Loss;
        selective.urgent = true;
        selective.rescued = false;
        selective.rate = None;
        selective.probe.forget();
    }

    /// Restarts the timers after an acknowledgement. `advances` is true if it acknowledged new data.
    pub(super) fn restart_timers(
        &mut self,
        config: &Config,
        now: Time,
        advances: bool,
        selective: &mut Selective,
    ) {
        if advances {
            // RFC 6298 §5.2 and §5.3.
            selective.timers.retransmission = if self.una == self.highest {
                Time::MAX
            } else {
                now + self.rtt.timeout()
            };
        }
        if advances || selective.board.sacked() > 0 || self.phase != Phase::Open {
            self.restart_probe(config, now, selective);
        }
    }

    /// Restarts the timer of tail loss probes. Called when new data is sent or acknowledged (RFC 8985 §7.2).
    pub(super) fn restart_probe(&self, config: &Config, now: Time, selective: &mut Selective) {
        let board = &selective.board;
        let probes = self.phase == Phase::Open
            && self.una < self.highest
            && board.sacked() == 0
            && selective.probe.is_idle();
        if probes {
            let (smoothed, is_single) = (self.rtt.smoothed(), board.is_single());
            (selective.timers).restart_probe(config, now, smoothed, is_single);
        } else {
            selective.timers.probe = Time::MAX;
        }
    }
}
