//! Sending host of a flow: requests rates, sends at the granted pace, and repairs losses.

mod reliability;
mod slot;
mod transmit;

use super::desired::{Desire, Rises};
use super::rate::fixed_from_rate;
use super::{Config, EncodedRate, Flags, MAX_HOPS, Packet};
use crate::{Length, Message};
use duetime_core::{Rate, Span, Time};
use transmit::Plan;

/// Number of requests whose send times are kept.
const EMISSIONS: usize = 4;

/// Sender of one flow.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sender {
    /// Bytes that may still be sent in this slot, counted in whole IP packets; the remainder is carried to the next
    /// slot (D3 §5).
    budget: u64,
    /// Next packet to send. Kept up to date, because it is read more often than it changes.
    planned: Option<Plan>,
    /// True if `planned` waits for `release`.
    waits: bool,
    /// First byte that was never sent.
    next: u64,
    size: u64,
    /// First position that may not be sent yet; the FIN's position is `size`.
    limit: u64,
    /// Position up to which everything is acknowledged.
    acked: u64,
    /// Bytes to retransmit, `resend..resend_end`.
    resend: u64,
    resend_end: u64,
    state: State,
    request: RequestState,
    repair: Repair,
    /// True if the flow was abandoned: the remaining bytes are not sent, and a FIN returns the allocation.
    quenched: bool,
    /// True if silence of the peer does not end the flow.
    persistent: bool,
    /// True if the receiver has no buffer space for the next data.
    receiver_full: bool,
    /// True if the routers count the flow, or will when its SYN arrives.
    counted: bool,
    /// Consecutive unanswered timeouts.
    silence: u8,
    /// Consecutive requests whose feedback was not received in time.
    request_backoff: u8,
    /// Retransmission timeouts since the last progress.
    backoff: u8,
    /// Consecutive grants of zero.
    paused: u8,
    /// Pace announced in the newest request (see `repair`).
    pace: u8,
    /// Number of the newest request.
    number: u16,
    /// s: smallest allocation on the path.
    rate: EncodedRate,
    requested: EncodedRate,
    /// State registered with the routers, as far as confirmed.
    registered: Registered,
    /// Last request of the receiver, to be answered.
    reverse: Option<Reverse>,
    /// Remainder of the rounding of earlier requests.
    carry: i32,
    /// Bytes of one slot: s times its length.
    slot: u64,
    /// Budget left from earlier slots, if at least a packet.
    overdue: u64,
    /// Start of the slot.
    slot_start: Time,
    /// Picoseconds per byte of the slot's budget, in 1/256; zero to send the grant as one burst.
    gap: u64,
    /// Time at which the next data packet is due at this pace.
    release: Time,
    /// True if the next data packet waits for `release`.
    gated: bool,
    /// True if more than a packet was sent ahead of time.
    ahead: bool,
    /// Timer for `release`, if a packet waits for it.
    pace_timer: Time,
    /// Minimum time between requests.
    request_interval: Span,
    /// Position that must be acknowledged to end a repair by gaps.
    recover: u64,
    srtt: Span,
    rttvar: Span,
    emitted: Time,
    /// Send times of the newest requests, by number modulo their count.
    emissions: [Time; EMISSIONS],
    request_timer: Time,
    data_timer: Time,
    deadline: Time,
    allowance: Span,
    rises: Rises,
    uplink: i64,
    counters: Counters,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum State {
    /// The SYN has not been answered.
    Opening,
    Open,
    /// The FIN was sent.
    Closing(Fin),
    Closed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Fin {
    Sent,
    /// The FIN was not answered and must be sent again.
    Due,
    /// The FIN is acknowledged, but not all data is.
    Acked,
}

/// State of the request (or SYN) of this round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum RequestState {
    /// To be sent with the next packet.
    Due,
    /// In flight.
    Outstanding,
    /// Feedback was not received in time; another request must be sent.
    Lost,
    /// Nothing may be sent: the flow waits for bytes within the silence that the routers tolerate.
    Idle,
    /// The next request is delayed, because the round trip is short or the flow is paused.
    BackingOff,
    /// Nothing may be sent for long, and the routers must be notified.
    Withdrawing,
    /// The routers were notified and have nothing registered for the flow.
    Withdrawn,
}

/// State of loss detection and repair without a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Repair {
    /// Number of arrivals beyond a gap since the last progress.
    Gaps(u8),
    /// Repair, hole by hole, of a loss detected by gaps.
    Holes,
}

/// Request of the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Reverse {
    number: u16,
    hops: u8,
    stamps: u8,
    allocations: [EncodedRate; MAX_HOPS],
}

/// State registered with the routers of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Registered {
    desired: EncodedRate,
    allocations: [EncodedRate; MAX_HOPS],
    stamps: u8,
    /// Number of routers.
    hops: u8,
}

/// Timer of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// Retransmission of an unanswered SYN.
    Handshake,
    /// Repetition of an unanswered rate request.
    Request,
    /// Retransmission timeout of data or a FIN.
    Retransmission,
    /// End of a paused flow's wait for its next rate request
    /// ([`request_backoff`](super::HostOptions::request_backoff)).
    Pause,
    /// Time of the next packet at the granted rate, or of the next request of a flow with a short round trip.
    Pace,
}

/// Event counters of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counters {
    /// Retransmission timeouts, including those of SYN and FIN.
    pub timeouts: u32,
    /// Retransmitted data packets.
    pub retransmits: u32,
    /// Losses detected by arrivals beyond a gap.
    pub fast_retransmits: u32,
    /// Requests sent.
    pub requests: u32,
    /// Requests whose feedback was not received in time.
    pub lost_requests: u32,
    /// Grants below the desired rate.
    pub denials: u32,
    /// Grants that paused the flow.
    pub pauses: u32,
    /// Pauses after which the flow waited longer than its round trip for the next request.
    pub backoffs: u32,
}

/// Returns the minimum time between requests, well below the update interval so that D3's routers can follow.
fn request_interval(config: &Config, uplink: Rate) -> Span {
    let packets = u64::from(config.host.request_packets) * u64::from(config.wire.mtu);
    let max = Span::from_ps(config.interval().as_ps() / 2);
    uplink.transmit(packets).min(max)
}

impl Sender {
    /// Creates a flow that carries `message`, submitted now, through a link of rate `uplink`. Its SYN is due at once,
    /// unless the deadline cannot be met and quenching is enabled: the sender is then closed and nothing is sent.
    pub fn new(config: &Config, now: Time, uplink: Rate, message: Message) -> Self {
        let deadline = message.deadline.unwrap_or(Time::MAX);
        let mut sender = Self {
            budget: 0,
            planned: None,
            waits: false,
            next: 0,
            size: message.length.bytes(),
            limit: u64::MAX,
            acked: 0,
            resend: 0,
            resend_end: 0,
            state: State::Opening,
            request: RequestState::Due,
            repair: Repair::Gaps(0),
            quenched: false,
            persistent: false,
            receiver_full: false,
            counted: true,
            silence: 0,
            request_backoff: 0,
            backoff: 0,
            paused: 0,
            pace: 0,
            number: 0,
            rate: EncodedRate::ZERO,
            requested: EncodedRate::ZERO,
            registered: Registered::default(),
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
        if sender.desired_rate(config, now) == Desire::Quench {
            sender.quenched = true;
            sender.state = State::Closed;
        }
        sender.replan(config);
        sender
    }

    /// Processes a packet from the receiver.
    pub fn input(&mut self, config: &Config, now: Time, packet: &Packet) {
        let flags = packet.flags;
        if self.state == State::Closed || !flags.contains(Flags::ACK) {
            return;
        }
        self.silence = 0;
        let plain = packet.request.is_none() && !self.is_clocked_by_acks();
        if let Some(request) = &packet.request {
            if packet.tag.number != 0 || config.host.reverse_request {
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
        // A plain acknowledgement releases no packets: D3 is clocked by grants.
        if !plain || self.is_clocked_by_acks() {
            self.open_gate(config, now);
            self.replan(config);
        }
    }

    /// Returns true if the answer to this request is valid. A late answer is valid until the next request is sent, and
    /// after that with [`late_answers`](super::HostOptions::late_answers).
    fn is_answered_by(&self, config: &Config, number: u16) -> bool {
        // Requests sent since the last answer, without the newest.
        let earlier = match self.request {
            RequestState::Outstanding => u16::from(self.request_backoff),
            RequestState::Lost => u16::from(self.request_backoff).saturating_sub(1),
            _ => return false,
        };
        let earlier = if config.host.late_answers == Some(true) {
            earlier
        } else {
            0
        };
        self.number.wrapping_sub(number) <= earlier
    }

    /// Returns the send time of this request, or of the oldest one known.
    fn emission(&self, number: u16) -> Time {
        let age = usize::from(self.number.wrapping_sub(number)).min(EMISSIONS - 1) as u16;
        self.emissions[usize::from(self.number.wrapping_sub(age)) % EMISSIONS]
    }

    /// Returns true if acknowledgements release packets: there is something to retransmit, or the allocation has been
    /// returned.
    fn is_clocked_by_acks(&self) -> bool {
        self.resend < self.resend_end || self.state != State::Open
    }

    /// Abandons the flow: unsent bytes are discarded, and a FIN notifies the routers and the receiver, as for a missed
    /// deadline. No effect if all bytes have been sent, because the FIN follows anyway.
    pub fn close(&mut self) {
        match self.state {
            State::Opening if self.counters.requests == 0 => {
                self.quenched = true;
                self.finish();
            }
            State::Opening | State::Open if self.next < self.size => {
                self.quenched = true;
                self.planned = self.planned_end();
                self.schedule_plan();
            }
            _ => {}
        }
    }

    /// Forbids sending from position `limit` on, because the application has not written the data or the receiver has
    /// no buffer space. The FIN is at the position after the last byte. Without this call everything may be sent; a
    /// limit below what was already sent has no effect on it. A flow with nothing to send is silent. After an epoch,
    /// when the routers' repair would miss it, it returns its rates with the flags SYN and FIN; it starts with a SYN
    /// again when it may send.
    pub fn set_limit(&mut self, config: &Config, limit: u64) {
        self.limit = limit.max(self.next);
        let is_idle = matches!(
            self.request,
            RequestState::Idle | RequestState::Withdrawing | RequestState::Withdrawn
        );
        let probes = self.receiver_full && self.request == RequestState::Withdrawn;
        if is_idle && (probes || !self.has_nothing_to_send()) {
            self.request = RequestState::Due;
            self.request_timer = Time::MAX;
        }
        self.replan(config);
    }

    /// Sets whether the receiver lacks buffer space for the next data. Must be called before
    /// [`set_limit`](Self::set_limit). If set, the flow sends a request once per epoch although it has nothing to send;
    /// the answer reports free space even if the first packet that did so is lost.
    pub fn set_receiver_full(&mut self, is_full: bool) {
        self.receiver_full = is_full;
    }

    /// Extends the flow to `bytes`, more than announced. Because its desired rate was computed from the wrong length,
    /// it continues without a deadline. No effect if it is not longer, or if its FIN was sent.
    pub fn extend(&mut self, config: &Config, bytes: u64) {
        if bytes > self.size && matches!(self.state, State::Opening | State::Open) {
            self.size = bytes.min(Length::END);
            self.deadline = Time::MAX;
            self.replan(config);
        }
    }

    /// Ends the flow after `bytes`, possibly fewer than announced but not fewer than sent. No effect if its FIN was
    /// sent.
    pub fn end_at(&mut self, config: &Config, bytes: u64) {
        if matches!(self.state, State::Opening | State::Open) {
            self.size = bytes.clamp(self.next, Length::END);
            self.set_limit(config, self.limit);
        }
    }

    /// Leaves it to the driver to detect a silent peer. Otherwise a number of consecutive unanswered timeouts ends the
    /// flow, after some hundred milliseconds.
    pub fn persist(&mut self) {
        self.persistent = true;
    }

    /// Sends the SYN again at once, after it was answered with a challenge.
    pub fn repeat_syn(&mut self, config: &Config) {
        if self.state == State::Opening && self.request == RequestState::Outstanding {
            self.request = RequestState::Lost;
            self.request_timer = Time::MAX;
            self.replan(config);
        }
    }

    /// Returns the time at which to call [`timeout`](Self::timeout), or [`Time::MAX`] for never.
    #[inline]
    pub fn next_timeout(&self) -> Time {
        self.request_timer.min(self.data_timer).min(self.pace_timer)
    }

    /// Returns true if everything including the FIN is acknowledged, or the flow was abandoned.
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Returns true if the flow was ended early: by [`close`](Self::close), because its deadline cannot be met (D3
    /// §6.1.3), or because it probably cannot (D3 §7).
    pub fn is_quenched(&self) -> bool {
        self.quenched
    }

    /// Returns true if the SYN has been answered.
    pub fn is_established(&self) -> bool {
        matches!(self.state, State::Open | State::Closing(_))
    }

    /// Returns the number of retransmission timeouts since the last progress.
    pub fn stalled(&self) -> u8 {
        self.backoff
    }

    /// Returns the deadline of the flow, as announced or as extended by [`Late::Extend`](super::Late::Extend), or
    /// `None`.
    pub fn deadline(&self) -> Option<Time> {
        (self.deadline != Time::MAX).then_some(self.deadline)
    }

    /// Returns the number of bytes that the receiver has acknowledged.
    pub fn acked(&self) -> u64 {
        self.acked
    }

    /// Returns the bytes granted for an earlier slot that are still unsent although they could be sent: the flow's
    /// queue at its own interface, hop 0. The budget of the current slot does not count, because it has a round trip to
    /// be sent.
    #[inline]
    pub fn overdue(&self) -> u64 {
        let left = self.size - self.next + self.resend_end.saturating_sub(self.resend);
        self.overdue.min(left)
    }

    /// Returns s: the current sending rate, the smallest allocation on the path.
    pub fn rate(&self) -> EncodedRate {
        self.rate
    }

    /// Returns the number of interfaces that answered the last request, including the sender's own.
    pub fn hops(&self) -> u8 {
        self.registered.hops
    }

    /// Returns the smoothed round-trip time, or `None` before the first sample.
    pub fn srtt(&self) -> Option<Span> {
        (self.srtt != Span::ZERO).then_some(self.srtt)
    }

    /// Returns the event counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }
}
