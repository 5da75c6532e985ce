//! What a selective acknowledgement tells, and the repair that begins or ends with it.

use super::Selective;
use super::probe::Answer;
use super::rate::Rate;
use super::scoreboard::Sent;
use crate::tcp::sender::{Pending, Phase, Sender};
use crate::tcp::{Config, Flags, Sack, Segment};
use crate::window::{Control, Controller, on};
use duetime_core::Time;

/// What is new in an acknowledgement.
#[derive(Default)]
struct News {
    /// Bytes that have arrived.
    delivered: u64,
    /// Bytes of them beyond what is acknowledged cumulatively.
    sacked: u64,
    /// When the first segment acknowledged cumulatively left, if it was sent once.
    first_sent: Option<Time>,
    /// When the last segment that arrived left, of those sent once.
    last_sent: Option<Time>,
}

impl News {
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
    /// Takes an acknowledgement into the scoreboard.
    fn take_in(&mut self, config: &Config, now: Time, ack: u64, sack: &Sack) -> News {
        let mut news = News::default();
        let Self { board, rack, .. } = self;
        rack.begin();
        let mut delivered = |sent: &Sent, cumulative| {
            news.add(sent, cumulative);
            if config.rack {
                if !sent.state.repeated {
                    rack.measured(now.since(sent.at));
                }
                rack.delivered(now, sent);
            }
        };
        board.acknowledge(ack, |sent| delivered(sent, true));
        let again = usize::from(sack.duplicate(ack).is_some());
        for (start, end) in sack.blocks(ack).skip(again) {
            board.sack(start, end, |sent| delivered(sent, false));
        }
        news
    }
}

impl Sender {
    /// Takes an acknowledgement from the receiver with the blocks that it carries ([`Receiver::sack`]).
    ///
    /// [`Receiver::sack`]: crate::tcp::Receiver::sack
    #[cold]
    #[inline(never)]
    pub fn input_sack(&mut self, config: &Config, now: Time, segment: Segment, sack: &Sack) {
        let Some(mut selective) = self.selective.take() else {
            return self.input(config, now, segment);
        };
        let ack = segment.seq;
        if segment.flags.contains(Flags::ACK) && ack <= self.highest && !self.closed {
            if segment.flags.contains(Flags::SYN) {
                if self.una == 0 && self.highest == 1 && ack == 1 {
                    self.establish(config, now);
                    self.pending = Pending::Chosen;
                    self.limit = 0; // every call comes here
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
        self.selective = Some(selective);
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
        let news = selective.take_in(config, now, ack, sack);
        if let Some(at) = news.first_sent.or(news.last_sent) {
            self.rtt.sample(config, now.since(at));
            selective.probe.measured = true;
        }
        let marked = self.uses_marks() && segment.flags.contains(Flags::ECE);
        if bytes > 0 {
            self.advance(ack, bytes, marked);
        }
        if selective.probe.repaired(&answer) {
            self.reduce_for_loss(config, flight); // RFC 8985 §7.4.2: as fast recovery would
        }
        let recovered = self.phase != Phase::Open && self.una >= self.recover;
        if recovered {
            self.end_repair(selective);
        }
        let duplicate = answer.duplicate.is_some();
        let rack = &mut selective.rack;
        rack.adapt(duplicate, recovered, self.una, self.highest);
        self.find_lost(config, now, selective, news.sacked > 0 && bytes == 0);
        if self.phase == Phase::Recovery
            && let Some(rate) = &mut selective.rate
        {
            let pipe = selective.board.pipe();
            let (ssthresh, mss) = (self.window.ssthresh, u64::from(config.mss));
            self.window.cwnd = rate.window(news.delivered, pipe, ssthresh, mss).max(mss);
        }
        let grows = match phase {
            Phase::Open => self.phase == Phase::Open && self.una > self.reduced_end && flight > 0,
            Phase::Loss => true,
            Phase::Recovery | Phase::PartialRecovery => false,
        };
        if let Some(at) = news.last_sent {
            let (rtt, next) = (now.since(at), self.highest);
            on!(&mut self.controller, it => it.measured(rtt, ack, next));
        }
        if grows && marked && phase == Phase::Open {
            self.reduce_by_marks(config, now);
        } else if grows && bytes > 0 && selective.usage.allows_growth(config, &self.window) {
            self.grow(config, now, bytes);
        }
        self.restart_timers(config, now, bytes > 0, selective);
    }

    /// Everything before `ack`, `bytes` more than before, is acknowledged.
    fn advance(&mut self, ack: u64, bytes: u64, marked: bool) {
        self.una = ack;
        self.attempts = 0;
        self.duplicates = 0;
        if self.uses_marks() {
            let marked = if marked { bytes } else { 0 };
            on!(&mut self.controller, it => it.count(marked, ack, self.highest));
        }
        if ack >= self.outgoing.first_end() {
            self.finish_messages();
        }
    }

    /// All that was in flight when the repair began has arrived (RFC 6675 §5 step A).
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

    /// Looks for lost segments, and begins their repair. `repeats`: a duplicate acknowledgement that tells of data.
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
            let again = (selective.rack).find_lost(board, now, !is_open, self.rtt.smoothed());
            selective.timers.reordering = again.map_or(Time::MAX, |at| at + config.timeout_min);
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

    /// RFC 6675 §5 step 4.
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

    /// Reduces the window for a loss with `flight` bytes in flight.
    fn reduce_for_loss(&mut self, config: &Config, flight: u64) {
        let window = self.window_at_loss(config, flight);
        on!(&mut self.controller, it => it.reduce_by_loss(config, &mut self.window, window));
        self.window.cwnd = self.window.ssthresh;
        self.window.growth = 0;
        self.reduced_end = self.highest;
    }
}
