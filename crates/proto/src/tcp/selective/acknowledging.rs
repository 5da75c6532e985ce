//! Processing of selective acknowledgements, and the start and end of a repair.

use super::Selective;
use super::probe::Answer;
use super::rate::Rate;
use super::scoreboard::Sent;
use crate::tcp::sender::{Pending, Phase, Sender};
use crate::tcp::{Config, Flags, Sack, Segment};
use crate::window::{Control, Controller, on};
use duetime_core::Time;

/// Data newly acknowledged by one acknowledgement.
#[derive(Default)]
struct Arrivals {
    /// Bytes newly delivered.
    delivered: u64,
    /// Bytes newly delivered beyond the cumulative acknowledgement.
    sacked: u64,
    /// Send time of the first segment newly acknowledged cumulatively, if it was sent once.
    first_sent: Option<Time>,
    /// Send time of the last segment newly delivered, among those sent once.
    last_sent: Option<Time>,
}

impl Arrivals {
    fn add(&mut self, sent: &Sent, cumulative: bool) {
        let bytes = sent.end - sent.start;
        self.delivered += bytes;
        if !cumulative {
            self.sacked += bytes;
        }
        if sent.state.repeated {
            return; // Karn's algorithm (RFC 6298 §3)
        }
        if cumulative {
            self.first_sent = self.first_sent.or(Some(sent.at));
        }
        self.last_sent = self.last_sent.max(Some(sent.at));
    }
}

impl Selective {
    /// Applies an acknowledgement to the scoreboard.
    fn apply(&mut self, config: &Config, now: Time, ack: u64, sack: &Sack) -> Arrivals {
        let mut arrivals = Arrivals::default();
        let Self { board, rack, .. } = self;
        rack.begin();
        let mut delivered = |sent: &Sent, cumulative| {
            arrivals.add(sent, cumulative);
            if config.rack {
                if !sent.state.repeated {
                    rack.measured(now.since(sent.at));
                }
                rack.delivered(now, sent);
            }
        };
        board.acknowledge(ack, |sent| delivered(sent, true));
        let skipped = usize::from(sack.duplicate(ack).is_some());
        for (start, end) in sack.blocks(ack).skip(skipped) {
            board.sack(start, end, |sent| delivered(sent, false));
        }
        arrivals
    }
}

impl Sender {
    /// Processes an acknowledgement from the receiver with its blocks ([`Receiver::sack`]).
    ///
    /// [`Receiver::sack`]: crate::tcp::Receiver::sack
    #[inline(never)]
    pub fn input_sack(&mut self, config: &Config, now: Time, segment: Segment, sack: &Sack) {
        let (ack, flags) = (segment.seq, segment.flags);
        if self.pending == Pending::InOrder
            && sack.is_empty()
            && flags.contains(Flags::ACK)
            && !flags.contains(Flags::SYN)
            && self.una < ack
            && ack <= self.highest
            && self.is_undisturbed()
        {
            self.acknowledged_in_order(config, now, ack, flags);
        } else {
            self.input_selective(config, now, segment, sack);
        }
    }

    /// Returns true if no probe is in flight, and no segment in flight was sent before one that has arrived.
    #[inline]
    fn is_undisturbed(&self) -> bool {
        self.selective.as_deref().is_some_and(|selective| {
            let first = selective.board.first();
            selective.probe.is_idle()
                && first.is_some_and(|first| !selective.rack.has_overtaken(first))
        })
    }

    /// Processes an acknowledgement in any state of the connection. In the usual one, [`Self::input_sack`] does the same
    /// with fewer steps.
    #[inline(never)]
    fn input_selective(&mut self, config: &Config, now: Time, segment: Segment, sack: &Sack) {
        let Some(mut selective) = self.selective.take() else {
            return self.input(config, now, segment);
        };
        let ack = segment.seq;
        if segment.flags.contains(Flags::ACK) && ack <= self.highest && !self.closed {
            if segment.flags.contains(Flags::SYN) {
                if self.una == 0 && self.highest == 1 && ack == 1 {
                    self.establish(config, now);
                    self.pending = Pending::Chosen;
                    self.limit = 0; // forces every input to the slow path
                    if let Some(rtt) = self.srtt() {
                        selective.rack.measured(rtt);
                        selective.probe.measured = true;
                    }
                }
            } else if self.una > 0 && ack >= self.una {
                self.acknowledged(config, now, segment, sack, &mut selective);
                self.timer = selective.timers.earliest();
            }
        }
        self.update_pending(&selective);
        self.selective = Some(selective);
    }

    /// Updates [`Pending`] after a change of the state of recovery.
    pub(super) fn update_pending(&mut self, selective: &Selective) {
        if matches!(self.pending, Pending::InOrder | Pending::Chosen) {
            let is_undisturbed = self.phase == Phase::Open
                && !selective.probe.due
                && selective.board.is_undisturbed();
            self.pending = if is_undisturbed {
                Pending::InOrder
            } else {
                Pending::Chosen
            };
        }
    }

    fn acknowledged(
        &mut self,
        config: &Config,
        now: Time,
        segment: Segment,
        sack: &Sack,
        selective: &mut Selective,
    ) {
        let (ack, phase) = (segment.seq, self.phase);
        let flight = self.highest - self.una;
        let bytes = ack - self.una;
        let answer = Answer {
            ack,
            repeats: bytes == 0,
            has_blocks: !sack.is_empty(),
            duplicate: sack.duplicate(ack),
        };
        let arrivals = selective.apply(config, now, ack, sack);
        if let Some(at) = arrivals.first_sent.or(arrivals.last_sent) {
            self.rtt.sample(config, now.since(at));
            selective.probe.measured = true;
        }
        let marked = self.uses_marks() && segment.flags.contains(Flags::ECE);
        if bytes > 0 {
            self.advance(ack, bytes, marked);
        }
        if selective.probe.repaired(&answer) {
            self.reduce_for_loss(config, flight); // RFC 8985 §7.4.2: like fast recovery
        }
        let recovered = self.phase != Phase::Open && self.una >= self.recover;
        if recovered {
            self.end_repair(selective);
        }
        let duplicate = answer.duplicate.is_some();
        let rack = &mut selective.rack;
        rack.adapt(duplicate, recovered, self.una, self.highest);
        self.find_lost(config, now, selective, arrivals.sacked > 0 && bytes == 0);
        if self.phase == Phase::Recovery
            && let Some(rate) = &mut selective.rate
        {
            let pipe = selective.board.pipe();
            let (ssthresh, mss) = (self.window.ssthresh, u64::from(config.mss));
            self.window.cwnd = rate
                .window(arrivals.delivered, pipe, ssthresh, mss)
                .max(mss);
        }
        let grows = match phase {
            Phase::Open => self.phase == Phase::Open && self.una > self.reduced_end && flight > 0,
            Phase::Loss => true,
            Phase::Recovery | Phase::PartialRecovery => false,
        };
        if let Some(at) = arrivals.last_sent {
            let (rtt, next) = (now.since(at), self.highest);
            on!(&mut self.controller, control => control.on_rtt_sample(rtt, ack, next));
        }
        if grows && marked && phase == Phase::Open {
            self.reduce_by_marks(config, now);
        } else if grows && bytes > 0 && selective.usage.allows_growth(config, &self.window) {
            self.grow(config, now, bytes);
        }
        self.restart_timers(config, now, bytes > 0, selective);
    }

    /// Processes an acknowledgement of new data while nothing is known of a loss. Does what [`Self::acknowledged`] does
    /// in this case, the usual one, without the steps that would have no effect.
    #[inline(always)]
    fn acknowledged_in_order(&mut self, config: &Config, now: Time, ack: u64, flags: Flags) {
        let Some(selective) = self.selective.as_deref_mut() else {
            return;
        };
        let bytes = ack - self.una;
        let Some((first, last)) = selective.board.acknowledge_in_order(ack) else {
            return;
        };
        if config.rack {
            selective.rack.delivered_in_order(now, &first, &last);
        }
        selective.rack.adapt(false, false, ack, self.highest);
        selective.probe.measured = true;
        let may_grow = selective.usage.allows_growth(config, &self.window);
        let is_single = selective.board.is_single();
        self.rtt.sample(config, now.since(first.at));
        let marked = self.uses_marks() && flags.contains(Flags::ECE);
        self.advance(ack, bytes, marked);
        let (rtt, next) = (now.since(last.at), self.highest);
        on!(&mut self.controller, control => control.on_rtt_sample(rtt, ack, next));
        if ack > self.reduced_end {
            if marked {
                self.reduce_by_marks(config, now);
            } else if may_grow {
                self.grow(config, now, bytes);
            }
        }
        let Some(selective) = self.selective.as_deref_mut() else {
            return;
        };
        let timers = &mut selective.timers;
        timers.reordering = Time::MAX;
        (timers.retransmission, timers.probe) = (Time::MAX, Time::MAX);
        if self.una < self.highest {
            timers.retransmission = now + self.rtt.timeout();
            timers.restart_probe(config, now, self.rtt.smoothed(), is_single);
        }
        self.timer = timers.earliest();
    }

    /// Advances the cumulative acknowledgement to `ack`, by `bytes`.
    #[inline(always)]
    fn advance(&mut self, ack: u64, bytes: u64, marked: bool) {
        self.una = ack;
        self.attempts = 0;
        self.duplicates = 0;
        if self.uses_marks() {
            let marked = if marked { bytes } else { 0 };
            on!(&mut self.controller, control => control.on_ecn_feedback(marked, ack, self.highest));
        }
        if ack >= self.outgoing.first_end() {
            self.finish_messages();
        }
    }

    /// Ends a repair when all data that was in flight at its start has arrived (RFC 6675 §5 step A).
    fn end_repair(&mut self, selective: &mut Selective) {
        if self.phase == Phase::Recovery {
            self.window.cwnd = self.window.ssthresh;
        }
        self.phase = Phase::Open;
        self.duplicates = 0;
        selective.urgent = false;
        selective.rescued = false;
        selective.rate = None;
    }

    /// Detects lost segments and starts their repair. `repeats` is true for a duplicate acknowledgement that reports
    /// data.
    pub(super) fn find_lost(
        &mut self,
        config: &Config,
        now: Time,
        selective: &mut Selective,
        repeats: bool,
    ) {
        let is_open = self.phase == Phase::Open;
        let board = &mut selective.board;
        if config.rack {
            let next_check = (selective.rack).find_lost(board, now, !is_open, self.rtt.smoothed());
            selective.timers.reordering =
                next_check.map_or(Time::MAX, |at| at + config.timeout_min);
        } else {
            if repeats && is_open {
                self.duplicates = self.duplicates.saturating_add(1);
            }
            board.find_lost_by_position(u64::from(config.mss), self.duplicates);
        }
        if is_open && board.has_waiting() {
            self.begin_repair(config, selective);
        }
    }

    /// Starts a repair (RFC 6675 §5 step 4).
    fn begin_repair(&mut self, config: &Config, selective: &mut Selective) {
        self.counters.fast_retransmits += 1;
        let flight = self.highest - self.una;
        let window = self.window_at_loss(config, flight);
        selective.rate = (config.rate_reduction).then(|| Rate::new(window));
        self.reduce_for_loss(config, flight);
        self.phase = Phase::Recovery;
        self.recover = self.highest;
        self.duplicates = 0;
        selective.urgent = true;
        selective.rescued = false;
        selective.probe.forget();
    }

    /// Reduces the window after a loss with `flight` bytes in flight.
    fn reduce_for_loss(&mut self, config: &Config, flight: u64) {
        let window = self.window_at_loss(config, flight);
        on!(&mut self.controller, control => control.on_congestion_event(config, &mut self.window, window));
        self.window.cwnd = self.window.ssthresh;
        self.window.growth = 0;
        self.reduced_end = self.highest;
    }
}
