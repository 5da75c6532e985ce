//! Sending host of a flow: sends at the granted rate, probes while paused, repairs losses and ends infeasible flows.

mod transmit;

use super::port::permille;
use super::{Config, HEADER_BYTES, Header, Kind, Packet, PortId};
use crate::Message;
use duetime_core::{Rate, Span, Time};
use transmit::Plan;

/// Replies after which missing data counts as lost.
const GAPS_FOR_LOSS: u8 = 3;
/// Number of consecutive unanswered packets of a kind that must be answered, after which a flow ends; fewer if only
/// the TERM is unanswered.
const MAX_SILENCE: u8 = 32;
const MAX_TERM_SILENCE: u8 = 8;
/// Maximum number of doublings of the time between two timeouts or probes without a reply.
const MAX_BACKOFF: u8 = 6;
/// Fractional bits of [`Sender::cost`].
const COST_BITS: u32 = 32;

/// Sender of one flow.
#[derive(Clone, Debug)]
pub struct Sender {
    state: State,
    /// Next packet to send.
    planned: Option<Plan>,
    /// First byte that was never sent.
    next: u64,
    size: u64,
    /// Position up to which everything is acknowledged.
    acked: u64,
    /// Bytes to retransmit, `resend..resend_end`.
    resend: u64,
    resend_end: u64,
    /// Replies that showed that the data at `acked` is missing, since it was last sent.
    gaps: u8,
    /// Time at which the data at `acked` was last retransmitted.
    repaired: Time,
    /// `R_S`: granted rate in bits per second; zero while the flow is paused.
    rate: u64,
    /// `P_S`: port that pauses the flow.
    paused_by: Option<PortId>,
    /// `I_S`: round trips between probes, in thousandths.
    probe_every: u32,
    /// Maximum rate of the sender.
    max_rate: Rate,
    /// Bytes of framing per packet.
    framing: u32,
    /// Transmission time per byte of payload at the maximum rate, in picoseconds × 2³², headers included.
    cost: u128,
    srtt: Span,
    rttvar: Span,
    /// Time at which the last packet, of any kind, was sent.
    last_sent: Time,
    /// Time and wire bytes of the last data packet.
    last_data: Option<(Time, u32)>,
    /// Send time of the packet whose reply was applied last. Replies to earlier packets change no rate.
    applied: Time,
    /// Time at which the next data packet is due, if it waits for its time.
    pace_timer: Time,
    /// Time of the next probe.
    probe_timer: Time,
    /// Timeout of data, a SYN or a TERM.
    data_timer: Time,
    /// Time of Early Termination, if nothing changes until then.
    termination: Time,
    /// True if the probe, the SYN or the TERM is due.
    is_due: bool,
    /// Consecutive timeouts and probes without a reply.
    silence: u8,
    deadline: Time,
    abandoned: bool,
    counters: Counters,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The SYN has not been answered.
    Opening,
    Open,
    /// The TERM was sent or is due.
    Closing,
    Closed,
}

/// Timer of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// Retransmission of an unanswered SYN.
    Handshake,
    /// Retransmission timeout of data or a TERM.
    Retransmission,
    /// Time of the next probe of a paused flow.
    Probe,
    /// Time of the next packet at the granted rate.
    Pace,
    /// Early Termination.
    Termination,
}

/// Event counters of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets sent.
    pub packets: u32,
    /// Probes sent.
    pub probes: u32,
    /// Timeouts, including those of SYN and TERM.
    pub timeouts: u32,
    /// Retransmitted data packets.
    pub retransmits: u32,
    /// Changes from a rate to a pause.
    pub preemptions: u32,
}

impl Sender {
    /// Creates a flow that carries `message`, submitted now, through a link of rate `max_rate` whose packets have
    /// `framing` bytes around the IP packet. The SYN is due at once, unless the flow cannot meet its deadline: the
    /// sender is then closed and nothing is sent.
    ///
    /// # Panics
    /// Panics if the rate is zero.
    pub fn new(config: &Config, now: Time, max_rate: Rate, framing: u32, message: Message) -> Self {
        let full = u128::from(
            max_rate
                .transmit(u64::from(config.mtu.max(HEADER_BYTES + 1) + framing))
                .as_ps(),
        );
        let cost = (full << COST_BITS).div_ceil(u128::from(config.payload()));
        let mut sender = Self {
            state: State::Opening,
            planned: None,
            next: 0,
            size: message.length.bytes(),
            acked: 0,
            resend: 0,
            resend_end: 0,
            gaps: 0,
            repaired: Time::ZERO,
            rate: 0,
            paused_by: None,
            probe_every: 0,
            max_rate,
            framing,
            cost,
            srtt: Span::ZERO,
            rttvar: Span::ZERO,
            last_sent: now,
            last_data: None,
            applied: Time::ZERO,
            pace_timer: Time::MAX,
            probe_timer: Time::MAX,
            data_timer: Time::MAX,
            termination: Time::MAX,
            is_due: true,
            silence: 0,
            deadline: message.deadline.unwrap_or(Time::MAX),
            abandoned: false,
            counters: Counters::default(),
        };
        if sender.is_infeasible(config, now) {
            sender.abandon();
        }
        sender.replan(config, now);
        sender
    }

    /// Processes a packet from the receiver.
    pub fn input(&mut self, config: &Config, now: Time, packet: &Packet) {
        if self.state == State::Closed || !packet.reply || packet.sent > self.last_sent {
            return;
        }
        self.silence = 0;
        self.sample(now.since(packet.sent));
        if self.state == State::Opening && packet.kind == Kind::Syn {
            self.data_timer = Time::MAX;
            self.is_due = self.abandoned;
            self.state = if self.abandoned {
                State::Closing
            } else {
                State::Open
            };
        }
        match self.state {
            State::Opening | State::Closed => return,
            State::Open => {
                self.acknowledgement(config, now, packet);
                if packet.sent >= self.applied {
                    self.applied = packet.sent;
                    self.apply(&packet.header);
                }
                if self.acked >= self.size {
                    self.end();
                }
            }
            State::Closing if packet.kind == Kind::Term => self.finish(),
            State::Closing => {}
        }
        self.terminate_early(config, now);
        self.replan(config, now);
    }

    /// Applies the decision of the path (PDQ §3.2).
    fn apply(&mut self, header: &Header) {
        let before = self.rate;
        self.paused_by = header.paused_by;
        self.probe_every = header.probe_every;
        self.rate = match header.paused_by {
            Some(_) => 0,
            None => header.rate.min(self.max_rate).as_bps(),
        };
        // A paused flow's next probe depends on the new I.
        self.probe_timer = Time::MAX;
        if self.rate > 0 {
            self.is_due = false;
        } else if before > 0 {
            self.counters.preemptions += 1;
        }
    }

    fn acknowledgement(&mut self, config: &Config, now: Time, packet: &Packet) {
        if packet.seq > self.next {
            return; // never sent
        }
        if packet.seq > self.acked {
            self.acked = packet.seq;
            self.resend = self.resend.max(self.acked);
            self.gaps = 0;
            self.repaired = Time::ZERO;
            self.arm_data_timer(config, now);
        } else if packet.seq < self.acked || self.acked >= self.next {
            return;
        }
        let last_data = self.last_data.map_or(Time::MAX, |(at, _)| at);
        let shows_gap = packet.gap_end > packet.seq || packet.sent > last_data;
        if shows_gap && packet.sent > self.repaired && self.resend >= self.resend_end {
            self.gaps = self.gaps.saturating_add(1);
            if self.gaps >= GAPS_FOR_LOSS {
                self.gaps = 0;
                self.resend = self.acked;
                let is_known = packet.gap_end > packet.seq;
                let end = if is_known { packet.gap_end } else { self.next };
                self.resend_end = end.min(self.next);
            }
        }
    }

    /// Ends a flow that cannot meet its deadline (PDQ §3.1, Early Termination).
    fn terminate_early(&mut self, config: &Config, now: Time) -> bool {
        let ends = self.is_infeasible(config, now);
        if ends {
            self.abandon();
        }
        ends
    }

    fn is_infeasible(&self, config: &Config, now: Time) -> bool {
        let needed = self.needed(config);
        needed.is_some_and(|needed| now + needed > self.deadline)
    }

    /// Returns the time that the flow needs before its deadline, or `None` if it need not meet one: the remaining data
    /// must be sent by then, and a paused flow needs a round trip.
    fn needed(&self, config: &Config) -> Option<Span> {
        let is_over = self.abandoned || !matches!(self.state, State::Opening | State::Open);
        if !config.early_termination || self.deadline == Time::MAX || is_over {
            return None;
        }
        let is_paused = self.state == State::Open && self.rate == 0 && self.has_data();
        let round_trip = if is_paused { self.srtt } else { Span::ZERO };
        Some(self.remaining().max(round_trip))
    }

    /// Returns the time of Early Termination if nothing changes until then.
    fn terminate_at(&self, config: &Config) -> Time {
        let needed = self.needed(config).map(Span::as_ps);
        needed.map_or(Time::MAX, |needed| {
            Time::from_ps(self.deadline.as_ps().saturating_sub(needed)) + Span::from_ps(1)
        })
    }

    /// Returns `T_S`: the time that the data that is not in flight takes at the maximum rate.
    fn remaining(&self) -> Span {
        let bytes = self.size - self.next + self.resend_end.saturating_sub(self.resend);
        let time = u128::from(bytes).saturating_mul(self.cost) >> COST_BITS;
        Span::from_ps(u64::try_from(time).unwrap_or(u64::MAX))
    }

    fn has_data(&self) -> bool {
        self.next < self.size || self.resend < self.resend_end
    }

    /// Abandons the flow: unsent bytes are discarded, and a TERM notifies the ports and the receiver. No effect if all
    /// bytes have been sent, because the TERM follows anyway.
    pub fn close(&mut self) {
        if self.has_data() || self.state == State::Opening {
            self.abandon();
        }
    }

    fn abandon(&mut self) {
        match self.state {
            State::Opening if self.counters.packets == 0 => {
                self.abandoned = true;
                self.finish();
            }
            // The TERM follows the answer to the SYN, when ports and receiver know the flow.
            State::Opening => {
                self.abandoned = true;
                self.termination = Time::MAX;
            }
            State::Open => {
                self.abandoned = true;
                self.end();
                self.planned = Some(Plan::Term);
            }
            State::Closing | State::Closed => {}
        }
    }

    /// Handles expired timers. Called at [`next_timeout`](Self::next_timeout); no effect if called early. Returns the
    /// timer that expired if the sender acts on it.
    pub fn timeout(&mut self, config: &Config, now: Time) -> Option<Timer> {
        if self.next_timeout() > now {
            return None;
        }
        let mut expired = None;
        if self.pace_timer <= now {
            expired = Some(Timer::Pace);
        }
        if self.probe_timer <= now {
            self.probe_timer = Time::MAX;
            self.is_due = true;
            expired = Some(Timer::Probe);
            if self.silence > MAX_SILENCE {
                self.give_up();
            }
        }
        if self.data_timer <= now {
            expired = Some(self.data_lost());
        }
        if self.terminate_early(config, now) {
            expired = Some(Timer::Termination);
        }
        self.replan(config, now);
        expired
    }

    fn data_lost(&mut self) -> Timer {
        self.data_timer = Time::MAX;
        self.counters.timeouts += 1;
        let (timer, limit) = match self.state {
            State::Opening => (Timer::Handshake, MAX_SILENCE),
            State::Closing => (Timer::Retransmission, MAX_TERM_SILENCE),
            State::Open | State::Closed => (Timer::Retransmission, MAX_SILENCE),
        };
        if self.state == State::Open {
            self.resend = self.acked;
            self.resend_end = self.next;
            self.gaps = 0;
        } else {
            self.is_due = true;
        }
        self.no_answer(limit);
        timer
    }

    /// Counts an unanswered packet; too many in a row end the flow.
    fn no_answer(&mut self, limit: u8) {
        self.silence = self.silence.saturating_add(1);
        if self.silence > limit {
            self.give_up();
        }
    }

    /// Ends the flow because the receiver is silent.
    fn give_up(&mut self) {
        self.abandoned |= self.acked < self.size;
        self.finish();
    }

    /// Schedules the TERM.
    fn end(&mut self) {
        self.state = State::Closing;
        self.is_due = true;
        self.termination = Time::MAX;
        (self.pace_timer, self.probe_timer, self.data_timer) = (Time::MAX, Time::MAX, Time::MAX);
    }

    fn finish(&mut self) {
        self.state = State::Closed;
        self.planned = None;
        self.termination = Time::MAX;
        (self.pace_timer, self.probe_timer, self.data_timer) = (Time::MAX, Time::MAX, Time::MAX);
    }

    /// Arms the retransmission timer from now if anything is unanswered.
    fn arm_data_timer(&mut self, config: &Config, now: Time) {
        self.data_timer = if self.state == State::Open && self.acked >= self.next {
            Time::MAX
        } else {
            now + self.rto(config)
        };
    }

    fn rto(&self, config: &Config) -> Span {
        let rto = (self.srtt + self.rttvar * 4).max(config.rto_min);
        rto * (1 << self.silence.min(MAX_BACKOFF))
    }

    /// Returns the time between the last packet and the next probe: I round trips, at least one, and more without
    /// replies.
    fn probe_wait(&self, config: &Config) -> Span {
        let wait = permille(self.srtt, self.probe_every.max(1_000));
        let doubled = wait.min(Span::from_secs(1)) * (1 << self.silence.min(MAX_BACKOFF));
        if self.silence > MAX_BACKOFF {
            doubled.max(config.rto_min)
        } else {
            doubled.max(Span::from_ps(1))
        }
    }

    fn sample(&mut self, rtt: Span) {
        let rtt = rtt.min(Span::from_secs(1_000));
        if self.srtt == Span::ZERO {
            self.srtt = rtt;
            self.rttvar = rtt / 2;
            return;
        }
        let error = self.srtt.saturating_sub(rtt) + rtt.saturating_sub(self.srtt);
        self.rttvar = self.rttvar - self.rttvar / 4 + error / 4;
        self.srtt = self.srtt - self.srtt / 8 + rtt / 8;
    }

    /// Returns the time at which to call [`timeout`](Self::timeout), or [`Time::MAX`] if no timer is running.
    pub fn next_timeout(&self) -> Time {
        let timers = self.pace_timer.min(self.probe_timer).min(self.data_timer);
        timers.min(self.termination)
    }

    #[cfg(test)]
    pub(super) const fn size(&self) -> u64 {
        self.size
    }

    /// Returns the granted rate; zero while the flow is paused.
    pub const fn rate(&self) -> Rate {
        Rate::from_bps(self.rate)
    }

    /// Returns the number of bytes acknowledged in order.
    pub const fn acked(&self) -> u64 {
        self.acked
    }

    /// Returns true if the flow was abandoned.
    pub const fn is_abandoned(&self) -> bool {
        self.abandoned
    }

    /// Returns true if the sender has no more work and can be removed.
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Returns the flow's event counters.
    pub const fn counters(&self) -> Counters {
        self.counters
    }
}
