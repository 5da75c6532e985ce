//! The sending host of a flow: asks for rates, spends what it gets in bursts, and repairs losses.

use super::desired::{Desire, Need, desire};
use super::rate::{fixed_from_rate, round_desired};
use super::repair::{SLOWEST_PACE, epoch};
use super::{Config, EncodedRate, Flags, MAX_HOPS, Packet, Request, Tag};
use duetime_core::{Rate, Span, Time};

/// Arrivals beyond a gap that prove a loss.
const GAPS_FOR_LOSS: u8 = 3;
/// Unanswered timeouts in a row after which a flow is given up; fewer when only the FIN's answer is missing.
const MAX_SILENCE: u8 = 32;
const MAX_FIN_SILENCE: u8 = 8;
/// Doublings of the retransmission timeout at most.
const MAX_BACKOFF: u32 = 6;
/// Doublings of the wait for feedback at most: the routers' repair has to hear a live flow.
const MAX_REQUEST_BACKOFF: u32 = 2;
/// The shortest wait for feedback.
const MIN_REQUEST_WAIT: Span = Span::from_ms(1);

/// One flow's sender.
#[derive(Clone, Debug)]
pub struct Sender {
    /// Bytes that may still leave in this slot, whole IP packets counted; what is left is carried (D3 §5).
    budget: u64,
    /// First byte never sent.
    next: u64,
    size: u64,
    /// Every byte below is acknowledged.
    acked: u64,
    /// Bytes to send again, `resend..resend_end`.
    resend: u64,
    resend_end: u64,
    state: State,
    /// A request is on its way.
    outstanding: bool,
    /// A request (or SYN) should leave with the next packet.
    request_due: bool,
    /// The FIN should leave (again).
    fin_due: bool,
    fin_acked: bool,
    /// The request in the next packet replaces one whose feedback did not come.
    recovering: bool,
    /// The old rate has been used for one more round trip.
    extended: bool,
    /// A loss found by gaps is being repaired, hole by hole.
    fast_recovery: bool,
    quenched: bool,
    has_reverse: bool,
    gaps: u8,
    silence: u8,
    request_backoff: u8,
    backoff: u8,
    /// Number of the newest request.
    number: u16,
    /// s: the smallest allocation of the path.
    rate: EncodedRate,
    asked: EncodedRate,
    /// What the routers hold for this flow, as far as confirmed.
    held: Held,
    /// The receiver's last request, to be answered.
    reverse: Held,
    reverse_number: u16,
    reverse_hops: u8,
    /// What rounding took from earlier requests.
    carry: i32,
    /// Bytes of one slot, s·rtt.
    slot: u64,
    /// What earlier slots left of the budget, if it is a packet or more.
    overdue: u64,
    /// Repair by gaps ends when everything below is acknowledged.
    recover: u64,
    srtt: Span,
    rttvar: Span,
    emitted: Time,
    request_timer: Time,
    data_timer: Time,
    deadline: Time,
    allowance: Span,
    uplink: i64,
    counters: Counters,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The SYN is not answered.
    Opening,
    Open,
    /// The FIN has left.
    Closing,
    Closed,
}

/// What the routers of a path hold.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    desired: EncodedRate,
    allocations: [EncodedRate; MAX_HOPS],
    stamps: u8,
}

/// What happened to a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Retransmission timeouts, SYN and FIN included.
    pub timeouts: u32,
    /// Data packets sent again.
    pub retransmits: u32,
    /// Losses found by arrivals beyond a gap.
    pub fast_retransmits: u32,
    /// Requests sent.
    pub requests: u32,
    /// Requests whose feedback did not come in time.
    pub lost_requests: u32,
    /// Feedbacks below the desired rate.
    pub denials: u32,
    /// Feedbacks that paused the flow.
    pub pauses: u32,
}

/// What the next packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    Syn,
    /// Headers only, with a request.
    Request,
    Data {
        seq: u64,
        len: u32,
        request: bool,
        fin: bool,
    },
    Fin,
}

impl Sender {
    /// A flow of `bytes`, handed over now, that leaves through a link of rate `uplink`. Its SYN is due at once, unless
    /// quenching finds it hopeless: then it is closed and nothing is sent.
    pub fn new(
        config: &Config,
        now: Time,
        uplink: Rate,
        bytes: u64,
        deadline: Option<Time>,
    ) -> Self {
        let deadline = deadline.unwrap_or(Time::MAX);
        let mut sender = Self {
            budget: 0,
            next: 0,
            size: bytes.min(u64::MAX / 2),
            acked: 0,
            resend: 0,
            resend_end: 0,
            state: State::Opening,
            outstanding: false,
            request_due: true,
            fin_due: false,
            fin_acked: false,
            recovering: false,
            extended: false,
            fast_recovery: false,
            quenched: false,
            has_reverse: false,
            gaps: 0,
            silence: 0,
            request_backoff: 0,
            backoff: 0,
            number: 0,
            rate: EncodedRate::ZERO,
            asked: EncodedRate::ZERO,
            held: Held::default(),
            reverse: Held::default(),
            reverse_number: 0,
            reverse_hops: 0,
            carry: 0,
            slot: 0,
            overdue: 0,
            recover: 0,
            srtt: Span::ZERO,
            rttvar: Span::ZERO,
            emitted: now,
            request_timer: Time::MAX,
            data_timer: Time::MAX,
            deadline,
            allowance: if deadline == Time::MAX {
                Span::ZERO
            } else {
                deadline.since(now)
            },
            uplink: fixed_from_rate(uplink, config.exponent()),
            counters: Counters::default(),
        };
        if sender.desire(config, now) == Desire::Quench {
            sender.quenched = true;
            sender.state = State::Closed;
        }
        sender
    }

    /// A packet from the receiver.
    pub fn input(&mut self, config: &Config, now: Time, packet: &Packet) {
        let flags = packet.flags;
        if self.state == State::Closed || !flags.contains(Flags::ACK) {
            return;
        }
        self.silence = 0;
        if let Some(request) = &packet.request {
            if packet.tag.number != 0 || config.reverse_request {
                self.has_reverse = true;
                self.reverse_number = packet.tag.number;
                self.reverse_hops = request.index;
                self.reverse.allocations = request.allocations;
                self.reverse.stamps = request.stamps;
            }
            // An answer that comes late is still good while the next request has not left.
            let answers = flags.contains(Flags::FEEDBACK)
                && (self.outstanding || self.recovering)
                && packet.tag.echo == self.number;
            let expected = match self.state {
                State::Opening => flags.contains(Flags::SYN),
                State::Open => true,
                State::Closing | State::Closed => false,
            };
            if answers && expected {
                self.feedback(config, now, packet.tag, request);
            }
        }
        if self.state == State::Opening {
            return;
        }
        self.acknowledgement(config, now, packet);
        if self.state == State::Closing && flags.contains(Flags::FIN) {
            self.fin_acked = true;
            self.fin_due = false;
        }
        if self.state == State::Closing
            && self.fin_acked
            && (self.quenched || self.acked == self.size)
        {
            self.close();
        }
    }

    /// The routers' answer has come: a new slot begins (D3 §4.3).
    fn feedback(&mut self, config: &Config, now: Time, tag: Tag, request: &Request) {
        self.sample(now.since(self.emitted));
        self.outstanding = false;
        self.recovering = false;
        self.extended = false;
        self.request_backoff = 0;
        self.request_timer = Time::MAX;
        self.held = Held {
            desired: self.asked,
            allocations: request.feedback,
            stamps: tag.stamps,
        };
        let hops = usize::from(tag.hops).min(MAX_HOPS);
        let whole_uplink = EncodedRate::floor(self.uplink, false);
        self.rate = request.feedback[..hops]
            .iter()
            .min()
            .copied()
            .unwrap_or(whole_uplink); // D3 §4.1
        self.counters.denials += u32::from(self.rate < self.asked);
        self.counters.pauses += u32::from(self.rate == EncodedRate::ZERO);
        self.state = State::Open;
        self.slot = self.rate.bytes_in(self.srtt, config.exponent());
        self.grant_slot(config);
        self.request_due = true;
        if self.desire(config, now) == Desire::Quench {
            self.quenched = true;
            self.fin_due = true;
        }
    }

    /// One more slot may be sent. D3 §5: unused allocation is carried; but a paused flow cannot hoard.
    fn grant_slot(&mut self, config: &Config) {
        let mtu = u64::from(config.mtu);
        let carried = self.budget.min(self.slot.max(mtu));
        self.overdue = if carried >= mtu { carried } else { 0 };
        self.budget = carried.saturating_add(self.slot);
    }

    fn sample(&mut self, rtt: Span) {
        if self.srtt == Span::ZERO {
            self.srtt = rtt;
            self.rttvar = rtt / 2;
            return;
        }
        let error = self.srtt.saturating_sub(rtt) + rtt.saturating_sub(self.srtt);
        self.rttvar = self.rttvar - self.rttvar / 4 + error / 4;
        self.srtt = self.srtt - self.srtt / 8 + rtt / 8;
    }

    fn acknowledgement(&mut self, config: &Config, now: Time, packet: &Packet) {
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
                self.budget = (self.budget + progress + u64::from(Packet::HEADER_BYTES))
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

    fn close(&mut self) {
        self.state = State::Closed;
        self.request_timer = Time::MAX;
        self.data_timer = Time::MAX;
    }

    /// The next packet that may leave now. A request's round trip starts here, so call it when the packet can leave.
    pub fn poll_transmit(&mut self, config: &Config, now: Time) -> Option<Packet> {
        let plan = self.plan(config)?;
        let mut packet = Packet::default();
        match plan {
            Plan::Syn => {
                packet.flags = Flags::SYN.with(Flags::RETRANSMIT, self.recovering);
                self.attach_request(config, now, &mut packet);
            }
            Plan::Request => {
                packet.seq = self.next;
                packet.flags = packet.flags.with(Flags::RETRANSMIT, self.recovering);
                self.attach_request(config, now, &mut packet);
            }
            Plan::Fin => {
                packet.seq = self.next;
                packet.flags = packet
                    .flags
                    .with(Flags::RETRANSMIT, self.state == State::Closing);
                self.attach_fin(config, now, &mut packet);
            }
            Plan::Data {
                seq,
                len,
                request,
                fin,
            } => {
                packet.seq = seq;
                packet.len = len;
                let end = seq + u64::from(len);
                if seq < self.next {
                    packet.flags |= Flags::RETRANSMIT;
                    self.counters.retransmits += 1;
                    self.resend = end;
                } else {
                    self.next = end;
                }
                if self.data_timer == Time::MAX {
                    self.arm_data_timer(config, now);
                }
                if fin {
                    self.attach_fin(config, now, &mut packet);
                } else if request {
                    self.attach_request(config, now, &mut packet);
                }
                let sent = u64::from(packet.wire_bytes());
                self.budget = self.budget.saturating_sub(sent);
                self.overdue = self.overdue.saturating_sub(sent);
            }
        }
        Some(packet)
    }

    /// Whether `poll_transmit` would give a packet.
    #[inline]
    pub fn can_transmit(&self, config: &Config) -> bool {
        self.plan(config).is_some()
    }

    fn plan(&self, config: &Config) -> Option<Plan> {
        match self.state {
            State::Closed => return None,
            State::Opening => return self.request_due.then_some(Plan::Syn),
            State::Open | State::Closing => {}
        }
        let open = self.state == State::Open;
        if self.fin_due {
            return Some(Plan::Fin);
        }
        if self.quenched {
            return None;
        }
        if open && self.recovering && self.request_due {
            return Some(Plan::Request);
        }
        let again = self.resend < self.resend_end;
        let (seq, left) = if again {
            (self.resend, self.resend_end - self.resend)
        } else {
            (self.next, self.size - self.next)
        };
        let unsent = self.size - self.next;
        if left == 0 {
            // All data has left, but not the FIN: it returns the allocation as soon as we know it.
            return (open && !self.outstanding).then_some(Plan::Fin);
        }
        let all_left = if again { left + unsent } else { left };
        let request = open
            && self.request_due
            && !self.outstanding
            && burst_cost(config, all_left) > self.budget;
        let len = left.min(u64::from(payload(
            config,
            if request { Packet::REQUEST_BYTES } else { 0 },
        ))) as u32;
        // D3 §5, Fig 7 (5): the FIN rides on the last data packet. It returns what the last feedback said, so it never
        // leaves while a request is on its way.
        let fin = !self.fin_acked
            && !self.outstanding
            && !request
            && u64::from(len) == all_left
            && len <= payload(config, Packet::REQUEST_BYTES);
        let header = Packet::HEADER_BYTES
            + if request || fin {
                Packet::REQUEST_BYTES
            } else {
                0
            };
        if self.budget >= u64::from(header + len) {
            Some(Plan::Data {
                seq,
                len,
                request,
                fin,
            })
        } else {
            request.then_some(Plan::Request)
        }
    }

    fn attach_request(&mut self, config: &Config, now: Time, packet: &mut Packet) {
        self.request_due = false;
        self.outstanding = true;
        self.recovering = false;
        self.number = self.number.wrapping_add(1);
        self.emitted = now;
        let desired = match self.desire(config, now) {
            Desire::Rate(rate) => rate,
            Desire::Quench => self.uplink, // decided at the next feedback
        };
        self.asked = round_desired(config, desired, &mut self.carry);
        self.counters.requests += 1;
        let wait = if self.state == State::Opening {
            self.rto(config).as_ps() << u32::from(self.request_backoff).min(MAX_BACKOFF)
        } else {
            let wait = (self.srtt * 2)
                .max(self.srtt + self.rttvar * 4)
                .max(MIN_REQUEST_WAIT);
            wait.as_ps() << u32::from(self.request_backoff).min(MAX_REQUEST_BACKOFF)
        };
        self.request_timer = now + Span::from_ps(wait);
        self.attach(config, packet, self.asked);
    }

    fn attach_fin(&mut self, config: &Config, now: Time, packet: &mut Packet) {
        self.state = State::Closing;
        self.fin_due = false;
        self.request_timer = Time::MAX;
        self.number = self.number.wrapping_add(1);
        packet.flags = (packet.flags | Flags::FIN).with(Flags::QUENCH, self.quenched);
        self.counters.requests += 1;
        self.arm_data_timer(config, now);
        self.attach(config, packet, EncodedRate::ZERO);
    }

    fn attach(&mut self, config: &Config, packet: &mut Packet, desired: EncodedRate) {
        let mut request = Request {
            desired,
            scale: config.exponent(),
            previous_desired: self.held.desired,
            previous_allocations: self.held.allocations,
            stamps: self.held.stamps,
            pace: if config.repair { self.pace(config) } else { 0 },
            ..Request::default()
        };
        packet.tag.number = self.number;
        if self.has_reverse {
            packet.flags |= Flags::FEEDBACK;
            packet.tag.echo = self.reverse_number;
            packet.tag.hops = self.reverse_hops;
            packet.tag.stamps = self.reverse.stamps;
            request.feedback = self.reverse.allocations;
        }
        packet.request = Some(request);
    }

    fn desire(&mut self, config: &Config, now: Time) -> Desire {
        let need = Need {
            remaining: self.size - self.next + (self.resend_end.saturating_sub(self.resend)),
            in_slot: self.slot,
            rtt: self.srtt,
            uplink: self.uplink,
        };
        desire(config, now, need, &mut self.deadline, self.allowance)
    }

    /// How long an answer may take (D3 leaves it open).
    fn request_wait(&self) -> Span {
        (self.srtt * 2)
            .max(self.srtt + self.rttvar * 4)
            .max(MIN_REQUEST_WAIT)
    }

    /// How long the routers have to wait to hear this flow again: a power of four of their usual patience.
    fn pace(&self, config: &Config) -> u8 {
        let mut patience = config.update_interval * u64::from(epoch(config));
        let mut pace = 0;
        while pace < SLOWEST_PACE && patience < self.request_wait() {
            patience = patience * 4;
            pace += 1;
        }
        pace
    }

    fn rto(&self, config: &Config) -> Span {
        (self.srtt + self.rttvar * 4).max(config.rto_min)
    }

    fn arm_data_timer(&mut self, config: &Config, now: Time) {
        let waiting = self.acked < self.next || self.state == State::Closing;
        let wait = self.rto(config).as_ps() << u32::from(self.backoff).min(MAX_BACKOFF);
        self.data_timer = if waiting {
            now + Span::from_ps(wait)
        } else {
            Time::MAX
        };
    }

    /// When `timeout` wants to be called; `Time::MAX`: never.
    #[inline]
    pub fn next_timeout(&self) -> Time {
        self.request_timer.min(self.data_timer)
    }

    /// Everything is acknowledged, FIN included, or the flow was given up.
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// The flow was ended early because its deadline cannot be met (D3 §6.1.3).
    pub fn is_quenched(&self) -> bool {
        self.quenched
    }

    /// The SYN has been answered.
    pub fn is_established(&self) -> bool {
        matches!(self.state, State::Open | State::Closing)
    }

    /// Bytes that the receiver has acknowledged.
    pub fn acked(&self) -> u64 {
        self.acked
    }

    /// Bytes granted for an earlier slot and still not sent, although they could leave: the queue that this flow is at
    /// its own interface, hop 0. What the current slot allows is no queue: it has a round trip to leave.
    #[inline]
    pub fn overdue(&self) -> u64 {
        let left = self.size - self.next + self.resend_end.saturating_sub(self.resend);
        self.overdue.min(left)
    }

    /// s: the current sending rate, the smallest allocation on the path.
    pub fn rate(&self) -> EncodedRate {
        self.rate
    }

    /// Smoothed round-trip time, once measured.
    pub fn srtt(&self) -> Option<Span> {
        (self.srtt != Span::ZERO).then_some(self.srtt)
    }

    /// What happened so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }
}

/// Payload of a packet with `extra` header bytes.
fn payload(config: &Config, extra: u32) -> u32 {
    config
        .mtu
        .saturating_sub(Packet::HEADER_BYTES + extra)
        .max(1)
}

/// Wire bytes of `bytes` sent as one burst with a FIN on its last packet, or after it where it does not fit.
fn burst_cost(config: &Config, bytes: u64) -> u64 {
    let full = u64::from(payload(config, 0));
    let last = bytes - (bytes - 1) / full * full;
    let fin = if last <= u64::from(payload(config, Packet::REQUEST_BYTES)) {
        Packet::REQUEST_BYTES
    } else {
        0
    };
    bytes.saturating_add(
        bytes
            .div_ceil(full)
            .saturating_mul(u64::from(Packet::HEADER_BYTES)),
    ) + u64::from(fin)
}
