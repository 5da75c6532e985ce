//! What leaves, in which packets, and what they carry.

use super::super::desired::Desire;
use super::super::rate::round_desired;
use super::super::{Config, EncodedRate, Flags, Packet, Request};
use super::reliability::MAX_BACKOFF;
use super::slot::GAP_BITS;
use super::{Fin, Held, RequestState, Sender, State};
use duetime_core::{Span, Time};

/// Doublings of the wait for feedback at most: the routers' repair has to hear a live flow.
const MAX_REQUEST_BACKOFF: u32 = 2;

/// What the next packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    Syn,
    /// Headers only, with a request.
    Request,
    /// Headers only: the flow rests, and returns what it holds.
    Leave,
    Data {
        seq: u64,
        len: u32,
        request: bool,
        fin: bool,
    },
    Fin,
}

impl Sender {
    /// The next packet that may leave now. A request's round trip starts here, so call it when the packet can leave.
    pub fn poll_transmit(&mut self, config: &Config, now: Time) -> Option<Packet> {
        let plan = self.planned?;
        let mut packet = Packet::default();
        let again = self.request == RequestState::Lost;
        match plan {
            Plan::Syn => {
                packet.flags = Flags::SYN.with(Flags::RETRANSMIT, again);
                self.attach_request(config, now, &mut packet);
            }
            Plan::Request => {
                packet.seq = self.next;
                packet.flags = packet.flags.with(Flags::RETRANSMIT, again);
                self.attach_request(config, now, &mut packet);
            }
            Plan::Leave => {
                packet.seq = self.next;
                packet.flags = Flags::SYN | Flags::FIN;
                self.number = self.number.wrapping_add(1);
                self.counters.requests += 1;
                self.attach(config, &mut packet, EncodedRate::ZERO);
                self.leave();
            }
            Plan::Fin => {
                packet.seq = self.next;
                packet.flags = packet.flags.with(Flags::RETRANSMIT, self.is_closing());
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
                let sent = u64::from(packet.wire_bytes(config));
                self.budget = self.budget.saturating_sub(sent);
                self.overdue = self.overdue.saturating_sub(sent);
                self.pace_out(config, now, sent);
            }
        }
        self.replan(config);
        Some(packet)
    }

    /// Whether [`poll_transmit`](Self::poll_transmit) would give a packet.
    #[inline]
    pub fn can_transmit(&self, config: &Config) -> bool {
        debug_assert_eq!(
            self.planned,
            self.plan(config).filter(|plan| !self.waits(plan)),
            "the plan is up to date"
        );
        self.planned.is_some()
    }

    pub(super) fn replan(&mut self, config: &Config) {
        self.planned = self.plan(config);
        self.pace_timer = Time::MAX;
        if let Some(plan) = &self.planned
            && self.waits(plan)
        {
            self.planned = None;
            self.pace_timer = self.release;
        }
    }

    /// Returns true if the packet waits for its time. A packet with a request begins a slot and does not wait: the next
    /// ones make up for it. A flow that is closing is clocked by what arrives.
    fn waits(&self, plan: &Plan) -> bool {
        self.gated && self.state == State::Open && matches!(plan, Plan::Data { request: false, .. })
    }

    /// What leaves next from a flow that is given up. A FIN returns what the last feedback said, so it never leaves
    /// while a request is on its way.
    pub(super) fn planned_end(&self) -> Option<Plan> {
        let outstanding = self.request == RequestState::Outstanding;
        match self.state {
            State::Opening if !outstanding => Some(Plan::Syn),
            State::Open if !outstanding => Some(Plan::Fin),
            State::Closing(Fin::Due) => Some(Plan::Fin),
            _ => None,
        }
    }

    fn plan(&self, config: &Config) -> Option<Plan> {
        if self.quenched {
            return self.planned_end();
        }
        let outstanding = self.request == RequestState::Outstanding;
        match self.state {
            State::Closed => return None,
            State::Opening => return (!outstanding).then_some(Plan::Syn),
            State::Closing(Fin::Due) => return Some(Plan::Fin),
            State::Open if self.request == RequestState::Lost => return Some(Plan::Request),
            State::Open | State::Closing(_) => {}
        }
        let open = self.state == State::Open;
        let again = self.resend < self.resend_end;
        // More will follow, but may not leave yet.
        let limited = self.limit <= self.size;
        let (seq, left) = if again {
            (self.resend, self.resend_end - self.resend)
        } else {
            (self.next, self.size.min(self.limit) - self.next)
        };
        let unsent = self.size - self.next;
        if left == 0 {
            if limited {
                return match self.request {
                    RequestState::Due => Some(Plan::Request),
                    RequestState::Leaving => Some(Plan::Leave),
                    _ => None,
                };
            }
            // All data has left, but not the FIN: it returns the allocation as soon as we know it.
            return (open && !outstanding).then_some(Plan::Fin);
        }
        let all_left = if again { left + unsent } else { unsent };
        // A flow that backs off may still spend what it carries, and end with it.
        let silent = outstanding || self.request == RequestState::BackingOff;
        let request = open && !silent && (limited || burst_cost(config, all_left) > self.budget);
        let len = left.min(u64::from(payload(
            config,
            if request { Packet::REQUEST_BYTES } else { 0 },
        ))) as u32;
        // D3 §5, Fig 7 (5): the FIN rides on the last data packet.
        let fin = self.state != State::Closing(Fin::Acked)
            && !outstanding
            && !request
            && (!open || !limited)
            && u64::from(len) == all_left
            && len <= payload(config, Packet::REQUEST_BYTES);
        let header = config.header_bytes
            + if request || fin {
                Packet::REQUEST_BYTES
            } else {
                0
            };
        if self.budget >= u64::from(header + len) && !(request && self.ahead) {
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

    /// `sent` bytes of the budget have left: the next data packet leaves when its time has come.
    fn pace_out(&mut self, config: &Config, now: Time, sent: u64) {
        if self.state == State::Open {
            self.release += self.spacing(sent);
            self.set_gate(config, now);
        }
    }

    /// Finds out which packets wait for `release`.
    pub(super) fn set_gate(&mut self, config: &Config, now: Time) {
        let now = now + config.pacing_batch;
        self.gated = self.release > now;
        self.ahead = self.gated && self.release > now + self.spacing(u64::from(config.mtu));
    }

    /// The time that `bytes` of the budget take.
    fn spacing(&self, bytes: u64) -> Span {
        Span::from_ps(bytes.saturating_mul(self.gap) >> GAP_BITS)
    }

    /// The routers hold nothing any more.
    fn leave(&mut self) {
        self.request = RequestState::Away;
        self.counted = false;
        self.rate = EncodedRate::ZERO;
        (self.slot, self.budget, self.overdue) = (0, 0, 0);
        self.held = Held {
            hops: self.held.hops,
            ..Held::default()
        };
    }

    fn attach_request(&mut self, config: &Config, now: Time, packet: &mut Packet) {
        packet.flags = packet.flags.with(Flags::SYN, !self.counted);
        self.request = RequestState::Outstanding;
        self.number = self.number.wrapping_add(1);
        self.emitted = now;
        self.emissions[usize::from(self.number) % super::EMISSIONS] = now;
        let desired = match self.desire(config, now) {
            Desire::Rate(rate) => rate,
            Desire::Quench => self.uplink, // decided at the next feedback
        };
        self.asked = round_desired(config, desired, &mut self.carry);
        self.counters.requests += 1;
        let wait = if self.state == State::Opening {
            self.rto(config).as_ps() << u32::from(self.request_backoff).min(MAX_BACKOFF)
        } else {
            self.request_wait().as_ps() << u32::from(self.request_backoff).min(MAX_REQUEST_BACKOFF)
        };
        self.request_timer = now + Span::from_ps(wait);
        self.attach(config, packet, self.asked);
    }

    fn attach_fin(&mut self, config: &Config, now: Time, packet: &mut Packet) {
        self.state = State::Closing(Fin::Sent);
        self.request_timer = Time::MAX;
        packet.flags = (packet.flags | Flags::FIN).with(Flags::QUENCH, self.quenched);
        self.arm_data_timer(config, now);
        if !self.counted {
            return; // the routers have nothing to take back
        }
        self.number = self.number.wrapping_add(1);
        self.counters.requests += 1;
        self.attach(config, packet, EncodedRate::ZERO);
    }

    fn attach(&mut self, config: &Config, packet: &mut Packet, desired: EncodedRate) {
        self.pace = self.next_pace(config);
        let mut request = Request {
            desired,
            scale: config.exponent(),
            previous_desired: self.held.desired,
            previous_allocations: self.held.allocations,
            stamps: self.held.stamps,
            pace: self.pace,
            ..Request::default()
        };
        packet.tag.number = self.number;
        if let Some(reverse) = self.reverse {
            packet.flags |= Flags::FEEDBACK;
            packet.tag.echo = reverse.number;
            packet.tag.hops = reverse.hops;
            packet.tag.stamps = reverse.stamps;
            request.feedback = reverse.allocations;
        }
        packet.request = Some(request);
    }
}

/// Payload of a packet with `extra` header bytes.
pub(super) fn payload(config: &Config, extra: u32) -> u32 {
    config
        .mtu
        .saturating_sub(config.header_bytes + extra)
        .max(1)
}

/// Wire bytes of `bytes`, at least one, sent as one burst with a FIN on its last packet, or after it where it does not
/// fit.
pub(super) fn burst_cost(config: &Config, bytes: u64) -> u64 {
    let full = u64::from(payload(config, 0));
    let before = (bytes - 1) / full;
    let last = bytes - before * full;
    let fin = if last <= u64::from(payload(config, Packet::REQUEST_BYTES)) {
        Packet::REQUEST_BYTES
    } else {
        0
    };
    bytes.saturating_add((before + 1).saturating_mul(u64::from(config.header_bytes)))
        + u64::from(fin)
}
