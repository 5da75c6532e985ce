//! The sending host of a flow: asks for rates, spends them at their pace, and repairs losses.

mod reliability;
mod slot;
mod transmit;

use super::desired::{Desire, Rises};
use super::rate::fixed_from_rate;
use super::{Config, EncodedRate, Flags, MAX_HOPS, Packet};
use crate::Message;
use duetime_core::{Rate, Span, Time};
use transmit::Plan;

/// The length of a flow that never ends.
const UNBOUNDED: u64 = u64::MAX / 2;

/// Requests whose times of departure are kept.
const EMISSIONS: usize = 4;

/// One flow's sender.
#[derive(Clone, Debug)]
pub struct Sender {
    /// Bytes that may still leave in this slot, whole IP packets counted; what is left is carried (D3 §5).
    budget: u64,
    /// What leaves next, always up to date: it is asked for more often than it changes.
    planned: Option<Plan>,
    /// First byte never sent.
    next: u64,
    size: u64,
    /// First position that may not leave yet; the FIN's is `size`.
    limit: u64,
    /// Every byte below is acknowledged.
    acked: u64,
    /// Bytes to send again, `resend..resend_end`.
    resend: u64,
    resend_end: u64,
    state: State,
    request: RequestState,
    repair: Repair,
    /// Given up: the rest is not sent, and a FIN returns the allocation.
    quenched: bool,
    /// Silence does not end the flow.
    persistent: bool,
    /// The receiver has no buffer space for what should leave.
    lacks_space: bool,
    /// The routers count the flow, or will when its SYN comes.
    counted: bool,
    /// Unanswered timeouts in a row.
    silence: u8,
    /// Requests in a row whose feedback did not come in time.
    request_backoff: u8,
    /// Retransmission timeouts since the last progress.
    backoff: u8,
    /// Grants of zero in a row.
    paused: u8,
    /// What the newest request told the routers of how long the next one may take (see `repair`).
    pace: u8,
    /// Number of the newest request.
    number: u16,
    /// s: the smallest allocation of the path.
    rate: EncodedRate,
    asked: EncodedRate,
    /// What the routers hold for this flow, as far as confirmed.
    held: Held,
    /// The receiver's last request, to be answered.
    reverse: Option<Reverse>,
    /// What rounding took from earlier requests.
    carry: i32,
    /// Bytes of one slot: s times its length.
    slot: u64,
    /// What earlier slots left of the budget, if it is a packet or more.
    overdue: u64,
    /// When the slot began.
    slot_start: Time,
    /// Picoseconds per byte of the slot's budget, in 1/256; zero: the grant leaves as one burst.
    gap: u64,
    /// When the next data packet is due at this pace.
    release: Time,
    /// The next data packet waits for `release`.
    gated: bool,
    /// More than a packet has left ahead of its time.
    ahead: bool,
    /// When `release` opens the gate, if a packet waits for it.
    pace_timer: Time,
    /// Shortest time from one request to the next.
    request_interval: Span,
    /// Repair by gaps ends when everything below is acknowledged.
    recover: u64,
    srtt: Span,
    rttvar: Span,
    emitted: Time,
    /// When the newest requests left, by number modulo their count.
    emissions: [Time; EMISSIONS],
    request_timer: Time,
    data_timer: Time,
    deadline: Time,
    allowance: Span,
    rises: Rises,
    uplink: i64,
    counters: Counters,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The SYN is not answered.
    Opening,
    Open,
    /// The FIN has left.
    Closing(Fin),
    Closed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fin {
    Sent,
    /// Its answer did not come: it should leave again.
    Due,
    /// Acknowledged, but not all data is.
    Acked,
}

/// Of the request (or SYN) of this round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestState {
    /// It should leave with the next packet.
    Due,
    /// It is on its way.
    Outstanding,
    /// Its feedback did not come in time: another one should leave.
    Lost,
    /// Nothing may leave: the flow waits for bytes, for as long as the routers do without hearing it.
    Resting,
    /// The next one waits for its time: the round trip is short, or the flow is paused.
    BackingOff,
    /// Nothing may leave, and for long: the routers should be told.
    Leaving,
    /// They have been told, and hold nothing for the flow.
    Away,
}

/// How losses are found and repaired before a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repair {
    /// So many arrivals beyond a gap since the last progress.
    Gaps(u8),
    /// A loss found by gaps is being repaired, hole by hole.
    Holes,
}

/// A request of the receiver.
#[derive(Clone, Copy, Debug)]
struct Reverse {
    number: u16,
    hops: u8,
    stamps: u8,
    allocations: [EncodedRate; MAX_HOPS],
}

/// What the routers of a path hold.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    desired: EncodedRate,
    allocations: [EncodedRate; MAX_HOPS],
    stamps: u8,
    /// How many of them there are.
    hops: u8,
}

/// Timer of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// The SYN was not answered.
    Handshake,
    /// A rate request was not answered.
    Request,
    /// Data or a FIN was not acknowledged: the retransmission timeout.
    Retransmission,
    /// A paused flow waited before its next rate request ([`Config::request_backoff`]).
    Pause,
    /// The next packet, or the next request of a flow whose round trip is short, was due at the granted rate.
    Pace,
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
    /// Of these, those after which the flow waited longer than its round trip before it asked again.
    pub backoffs: u32,
}

/// Shortest time from one request to the next, so much below the update interval that D3's routers can follow.
fn request_interval(config: &Config, uplink: Rate) -> Span {
    let packets = u64::from(config.request_packets) * u64::from(config.mtu);
    let longest = Span::from_ps(config.interval().as_ps() / 2);
    uplink.transmit(packets).min(longest)
}

impl Sender {
    /// A flow that carries `message`, submitted now, and leaves through a link of rate `uplink`. Its SYN is due at once,
    /// unless quenching finds it hopeless: then it is closed and nothing is sent.
    pub fn new(config: &Config, now: Time, uplink: Rate, message: Message) -> Self {
        let deadline = message.deadline.unwrap_or(Time::MAX);
        let mut sender = Self {
            budget: 0,
            planned: None,
            next: 0,
            size: message.bytes.min(UNBOUNDED),
            limit: u64::MAX,
            acked: 0,
            resend: 0,
            resend_end: 0,
            state: State::Opening,
            request: RequestState::Due,
            repair: Repair::Gaps(0),
            quenched: false,
            persistent: false,
            lacks_space: false,
            counted: true,
            silence: 0,
            request_backoff: 0,
            backoff: 0,
            paused: 0,
            pace: 0,
            number: 0,
            rate: EncodedRate::ZERO,
            asked: EncodedRate::ZERO,
            held: Held::default(),
            reverse: None,
            carry: 0,
            slot: 0,
            overdue: 0,
            gap: 0,
            release: now,
            gated: false,
            ahead: false,
            slot_start: now,
            pace_timer: Time::MAX,
            request_interval: request_interval(config, uplink),
            recover: 0,
            srtt: Span::ZERO,
            rttvar: Span::ZERO,
            emitted: now,
            emissions: [now; EMISSIONS],
            request_timer: Time::MAX,
            data_timer: Time::MAX,
            deadline,
            allowance: if deadline == Time::MAX {
                Span::ZERO
            } else {
                deadline.since(now)
            },
            rises: Rises::default(),
            uplink: fixed_from_rate(uplink, config.exponent()),
            counters: Counters::default(),
        };
        if sender.desire(config, now) == Desire::Quench {
            sender.quenched = true;
            sender.state = State::Closed;
        }
        sender.replan(config);
        sender
    }

    /// A packet from the receiver.
    pub fn input(&mut self, config: &Config, now: Time, packet: &Packet) {
        let flags = packet.flags;
        if self.state == State::Closed || !flags.contains(Flags::ACK) {
            return;
        }
        self.silence = 0;
        let plain = packet.request.is_none() && !self.may_send_again();
        if let Some(request) = &packet.request {
            if packet.tag.number != 0 || config.reverse_request {
                self.reverse = Some(Reverse {
                    number: packet.tag.number,
                    hops: request.index,
                    stamps: request.stamps,
                    allocations: request.allocations,
                });
            }
            let answers =
                flags.contains(Flags::FEEDBACK) && self.is_answered_by(config, packet.tag.echo);
            let expected = match self.state {
                State::Opening => flags.contains(Flags::SYN),
                State::Open => true,
                State::Closing(_) | State::Closed => false,
            };
            if answers && expected {
                self.feedback(config, now, packet.tag, request);
            }
        }
        if self.state == State::Opening {
            return;
        }
        self.acknowledgement(config, now, packet);
        if flags.contains(Flags::FIN) && !flags.contains(Flags::SYN) {
            self.fin_acknowledged();
        }
        if self.state == State::Closing(Fin::Acked) && (self.quenched || self.acked == self.size) {
            self.finish();
        }
        // A plain acknowledgement opens nothing: D3 is clocked by grants.
        if !plain || self.may_send_again() {
            self.replan(config);
        }
    }

    /// Whether an answer to the request of this number is one to what has been asked. One that comes late is still good
    /// while the next request has not left, and after that under [`Config::late_answers`].
    fn is_answered_by(&self, config: &Config, number: u16) -> bool {
        // Those that have left since the last answer, without the newest.
        let earlier = match self.request {
            RequestState::Outstanding => u16::from(self.request_backoff),
            RequestState::Lost => u16::from(self.request_backoff).saturating_sub(1),
            _ => return false,
        };
        let earlier = if config.late_answers == Some(true) {
            earlier
        } else {
            0
        };
        self.number.wrapping_sub(number) <= earlier
    }

    /// When the request of this number left, or the oldest one whose time is known.
    fn emission(&self, number: u16) -> Time {
        let age = usize::from(self.number.wrapping_sub(number)).min(EMISSIONS - 1) as u16;
        self.emissions[usize::from(self.number.wrapping_sub(age)) % EMISSIONS]
    }

    /// Acknowledgements decide what leaves: something is to be sent again, or the allocation has been returned.
    fn may_send_again(&self) -> bool {
        self.resend < self.resend_end || self.state != State::Open
    }

    /// The application gives the flow up: bytes that have not left are not sent, and a FIN tells the routers and the
    /// receiver, as when a deadline cannot be met. Nothing happens if all have left: the FIN follows by itself.
    pub fn close(&mut self) {
        match self.state {
            State::Opening if self.counters.requests == 0 => {
                self.quenched = true;
                self.finish();
            }
            State::Opening | State::Open if self.next < self.size => {
                self.quenched = true;
                self.planned = self.planned_end();
            }
            _ => {}
        }
    }

    /// Nothing from position `limit` on may leave yet: the application has not written it, or the receiver has no buffer
    /// space for it. The FIN stands at the position after the last byte. Without this call everything may leave; what has
    /// left stays allowed. A flow with nothing to send is silent. If it is so for an epoch, after which the routers' repair
    /// would miss it, it returns what it holds, with flags SYN and FIN; and it begins with a SYN again when it may send.
    pub fn set_limit(&mut self, config: &Config, limit: u64) {
        self.limit = limit.max(self.next);
        let rests = matches!(
            self.request,
            RequestState::Resting | RequestState::Leaving | RequestState::Away
        );
        let probes = self.lacks_space && self.request == RequestState::Away;
        if rests && (probes || !self.has_nothing_to_send()) {
            self.request = RequestState::Due;
            self.request_timer = Time::MAX;
        }
        self.replan(config);
    }

    /// Whether it is the receiver that has no buffer space for what should leave; call it before [`set_limit`](Self::set_limit).
    /// Then the flow asks once in an epoch although it has nothing to send: an answer says that there is space, if the
    /// packet that told it first is lost.
    pub fn set_lack_of_space(&mut self, lacks: bool) {
        self.lacks_space = lacks;
    }

    /// The flow is `bytes` long, more than announced. Its desired rate was computed from the wrong length: it goes on
    /// without a deadline. Nothing happens if it is not longer, or if its FIN has left.
    pub fn extend(&mut self, config: &Config, bytes: u64) {
        if bytes > self.size && matches!(self.state, State::Opening | State::Open) {
            self.size = bytes.min(UNBOUNDED);
            self.deadline = Time::MAX;
            self.replan(config);
        }
    }

    /// The flow ends after `bytes`, perhaps fewer than announced, but no fewer than have left. Nothing happens if its FIN
    /// has left.
    pub fn end_at(&mut self, config: &Config, bytes: u64) {
        if matches!(self.state, State::Opening | State::Open) {
            self.size = bytes.clamp(self.next, UNBOUNDED);
            self.set_limit(config, self.limit);
        }
    }

    /// The driver decides when a silent peer is gone. Otherwise a number of unanswered timeouts in a row ends the flow,
    /// after some hundred milliseconds.
    pub fn persist(&mut self) {
        self.persistent = true;
    }

    /// The SYN should leave again at once: it was answered by a challenge, and was not taken.
    pub fn open_again(&mut self, config: &Config) {
        if self.state == State::Opening && self.request == RequestState::Outstanding {
            self.request = RequestState::Lost;
            self.request_timer = Time::MAX;
            self.replan(config);
        }
    }

    /// When [`timeout`](Self::timeout) must be called; [`Time::MAX`]: never.
    #[inline]
    pub fn next_timeout(&self) -> Time {
        self.request_timer.min(self.data_timer).min(self.pace_timer)
    }

    /// Everything is acknowledged, FIN included, or the flow was given up.
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// The flow was ended early, by [`close`](Self::close) or because its deadline cannot be met (D3 §6.1.3), or probably
    /// not (D3 §7).
    pub fn is_quenched(&self) -> bool {
        self.quenched
    }

    /// The SYN has been answered.
    pub fn is_established(&self) -> bool {
        matches!(self.state, State::Open | State::Closing(_))
    }

    /// Retransmission timeouts since the last progress: what was sent, and sent again, does not arrive.
    pub fn stalled(&self) -> u8 {
        self.backoff
    }

    /// The flow's deadline, as announced or as [`Late::Extend`](super::Late::Extend) moved it.
    pub fn deadline(&self) -> Option<Time> {
        (self.deadline != Time::MAX).then_some(self.deadline)
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

    /// How many interfaces answered the last request, the sender's own included.
    pub fn hops(&self) -> u8 {
        self.held.hops
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
