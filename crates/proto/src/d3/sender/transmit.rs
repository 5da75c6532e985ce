//! Construction of packets, and the choice of the next one.

use super::super::desired::Desire;
use super::super::rate::round_desired;
use super::super::{Config, EncodedRate, Flags, Packet, Request};
use super::reliability::MAX_BACKOFF;
use super::slot::GAP_BITS;
use super::{Fin, Registered, RequestState, Sender, State};
use duetime_core::{Span, Time};

/// Maximum number of doublings of the wait for feedback: the routers' repair has to see a live flow.
const MAX_REQUEST_BACKOFF: u32 = 2;

/// Next packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Plan {
    Syn,
    /// Headers with a request.
    Request,
    /// Headers only: the flow is idle and returns its rates.
    Withdraw,
    Data {
        seq: u64,
        len: u32,
        request: bool,
        fin: bool,
    },
    Fin,
}

impl Sender {
    /// Returns the next packet that may be sent now. The round trip of a request starts here, so call this only when
    /// the packet can be sent.
    pub fn poll_transmit(&mut self, config: &Config, now: Time) -> Option<Packet> {
        let plan = self.planned.filter(|_| !self.waits)?;
        let mut packet = Packet::default();
        let retransmit = self.request == RequestState::Lost;
        match plan {
            Plan::Syn => {
                packet.flags = Flags::SYN.with(Flags::RETRANSMIT, retransmit);
                self.attach_request(config, now, &mut packet);
            }
            Plan::Request => {
                packet.seq = self.next;
                packet.flags = packet.flags.with(Flags::RETRANSMIT, retransmit);
                self.attach_request(config, now, &mut packet);
            }
            Plan::Withdraw => {
                packet.seq = self.next;
                packet.flags = Flags::SYN | Flags::FIN;
                self.number = self.number.wrapping_add(1);
                self.counters.requests += 1;
                self.attach(config, &mut packet, EncodedRate::ZERO);
                self.withdraw();
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
                self.ensure_data_timer(config, now);
                if fin {
                    self.attach_fin(config, now, &mut packet);
                } else if request {
                    self.attach_request(config, now, &mut packet);
                }
                self.spend(config, now, packet.wire_bytes(config));
            }
        }
        self.replan(config);
        Some(packet)
    }

    /// Returns the position and length of the next packet if the packet is new data of an open flow, without request
    /// and FIN. [`poll_transmit`](Self::poll_transmit) would return the same packet; this is faster, and most packets
    /// are such.
    #[inline]
    pub fn poll_plain(&mut self, config: &Config, now: Time) -> Option<(u64, u32)> {
        let Some(Plan::Data {
            seq,
            len,
            request: false,
            fin: false,
        }) = self.planned
        else {
            return None;
        };
        if self.waits || seq < self.next || self.state != State::Open {
            return None;
        }
        self.next = seq + u64::from(len);
        self.ensure_data_timer(config, now);
        self.spend(config, now, config.wire.header_bytes + len);
        self.replan(config);
        Some((seq, len))
    }

    /// Returns true if [`poll_transmit`](Self::poll_transmit) would return a packet.
    #[inline]
    pub fn can_transmit(&self, config: &Config) -> bool {
        debug_assert_eq!(self.planned, self.plan(config), "the plan is up to date");
        debug_assert_eq!(
            self.waits,
            self.planned.is_some_and(|plan| self.is_gated(&plan)),
            "so is its time"
        );
        self.planned.is_some() && !self.waits
    }

    #[inline]
    pub(super) fn replan(&mut self, config: &Config) {
        if self.fills_packets(config) {
            self.planned = self.plan_data(config, self.next, payload(config, 0), false, false);
            debug_assert_eq!(self.planned, self.plan(config));
            self.schedule_plan();
        } else {
            self.replan_any(config);
        }
    }

    #[inline(never)]
    fn replan_any(&mut self, config: &Config) {
        self.planned = self.plan(config);
        self.schedule_plan();
    }

    /// Determines whether the planned packet waits for its time, after the gate or the plan has changed.
    #[inline]
    pub(super) fn schedule_plan(&mut self) {
        self.waits = self.planned.is_some_and(|plan| self.is_gated(&plan));
        self.pace_timer = if self.waits { self.release } else { Time::MAX };
    }

    /// Returns true if the packet waits for its time. A packet with a request starts a slot and does not wait; the
    /// following ones make up for it. A closing flow is clocked by arrivals.
    #[inline]
    fn is_gated(&self, plan: &Plan) -> bool {
        self.gated && self.state == State::Open && matches!(plan, Plan::Data { request: false, .. })
    }

    /// Returns the next packet of an abandoned flow. A FIN returns the allocations of the last feedback, so it is never
    /// sent while a request is in flight.
    pub(super) fn planned_end(&self) -> Option<Plan> {
        let outstanding = self.request == RequestState::Outstanding;
        match self.state {
            State::Opening if !outstanding => Some(Plan::Syn),
            State::Open if !outstanding => Some(Plan::Fin),
            State::Closing(Fin::Due) => Some(Plan::Fin),
            _ => None,
        }
    }

    /// Returns true if the next packet is new data that fills the packet, without request and FIN, and needs only budget:
    /// the usual case while a request is in flight.
    #[inline]
    fn fills_packets(&self, config: &Config) -> bool {
        self.is_silent()
            && self.state == State::Open
            && !self.quenched
            && self.resend >= self.resend_end
            && self.size.min(self.limit) - self.next > u64::from(payload(config, 0))
    }

    /// Returns a data packet, or `None` if the budget does not suffice.
    #[inline]
    fn plan_data(
        &self,
        config: &Config,
        seq: u64,
        len: u32,
        request: bool,
        fin: bool,
    ) -> Option<Plan> {
        let extra = if request || fin {
            Packet::REQUEST_BYTES
        } else {
            0
        };
        let bytes = config.wire.header_bytes + extra + len;
        (self.budget >= u64::from(bytes)).then_some(Plan::Data {
            seq,
            len,
            request,
            fin,
        })
    }

    /// Returns true if the flow sends no request with its data.
    #[inline]
    const fn is_silent(&self) -> bool {
        // A flow that backs off may still use its carried budget, and end with it.
        matches!(
            self.request,
            RequestState::Outstanding | RequestState::BackingOff
        )
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
        let retransmit = self.resend < self.resend_end;
        // More data follows but may not be sent yet.
        let limited = self.limit <= self.size;
        let (seq, left) = if retransmit {
            (self.resend, self.resend_end - self.resend)
        } else {
            (self.next, self.size.min(self.limit) - self.next)
        };
        let unsent = self.size - self.next;
        if left == 0 {
            if limited {
                return match self.request {
                    RequestState::Due => Some(Plan::Request),
                    RequestState::Withdrawing => Some(Plan::Withdraw),
                    _ => None,
                };
            }
            // All data was sent, but not the FIN, which returns the allocation as soon as it is known.
            return (open && !outstanding).then_some(Plan::Fin);
        }
        let all_left = if retransmit { left + unsent } else { unsent };
        let request =
            open && !self.is_silent() && (limited || burst_cost(config, all_left) > self.budget);
        let len = left.min(u64::from(payload(
            config,
            if request { Packet::REQUEST_BYTES } else { 0 },
        ))) as u32;
        // D3 §5, Fig 7 (5): the FIN is sent with the last data packet.
        let fin = self.state != State::Closing(Fin::Acked)
            && !outstanding
            && !request
            && (!open || !limited)
            && u64::from(len) == all_left
            && len <= payload(config, Packet::REQUEST_BYTES);
        let data = self.plan_data(config, seq, len, request, fin);
        let data = data.filter(|_| !(request && self.ahead));
        data.or(request.then_some(Plan::Request))
    }

    /// Accounts for a data packet of `bytes`.
    #[inline]
    fn spend(&mut self, config: &Config, now: Time, bytes: u32) {
        let sent = u64::from(bytes);
        self.budget = self.budget.saturating_sub(sent);
        self.overdue = self.overdue.saturating_sub(sent);
        self.advance_release(config, now, sent);
    }

    /// Advances the pace by `sent` bytes of the budget.
    #[inline]
    fn advance_release(&mut self, config: &Config, now: Time, sent: u64) {
        if self.state == State::Open {
            self.release += self.spacing(sent);
            self.set_gate(config, now);
        }
    }

    /// Determines whether packets wait for `release`.
    #[inline]
    pub(super) fn set_gate(&mut self, config: &Config, now: Time) {
        let now = now + config.host.pacing_batch;
        self.gated = self.release > now;
        self.ahead = self.gated && self.release > now + self.spacing(u64::from(config.wire.mtu));
    }

    /// Lets packets go whose time passed while there was nothing to send. Others still wait.
    pub(super) fn open_gate(&mut self, config: &Config, now: Time) {
        if self.gated && self.release <= now + config.host.pacing_batch {
            self.gated = false;
            self.ahead = false;
        }
    }

    /// Returns the time that `bytes` of the budget take.
    #[inline]
    fn spacing(&self, bytes: u64) -> Span {
        Span::from_ps(bytes.saturating_mul(self.gap) >> GAP_BITS)
    }

    /// Withdraws the flow: the routers have nothing registered any more.
    fn withdraw(&mut self) {
        self.request = RequestState::Withdrawn;
        self.counted = false;
        self.rate = EncodedRate::ZERO;
        (self.slot, self.budget, self.overdue) = (0, 0, 0);
        self.registered = Registered {
            hops: self.registered.hops,
            ..Registered::default()
        };
    }

    fn attach_request(&mut self, config: &Config, now: Time, packet: &mut Packet) {
        packet.flags = packet.flags.with(Flags::SYN, !self.counted);
        self.request = RequestState::Outstanding;
        self.number = self.number.wrapping_add(1);
        self.emitted = now;
        self.emissions[usize::from(self.number) % super::EMISSIONS] = now;
        let desired = match self.desired_rate(config, now) {
            Desire::Rate(rate) => rate,
            Desire::Quench => self.uplink, // the next feedback decides
        };
        self.requested = round_desired(config, desired, &mut self.carry);
        self.counters.requests += 1;
        let wait = if self.state == State::Opening {
            self.rto(config).as_ps() << u32::from(self.request_backoff).min(MAX_BACKOFF)
        } else {
            self.request_wait().as_ps() << u32::from(self.request_backoff).min(MAX_REQUEST_BACKOFF)
        };
        self.request_timer = now + Span::from_ps(wait);
        self.attach(config, packet, self.requested);
    }

    fn attach_fin(&mut self, config: &Config, now: Time, packet: &mut Packet) {
        self.state = State::Closing(Fin::Sent);
        self.request_timer = Time::MAX;
        packet.flags = (packet.flags | Flags::FIN).with(Flags::QUENCH, self.quenched);
        self.arm_data_timer(config, now);
        if !self.counted {
            return; // the routers have nothing registered
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
            previous_desired: self.registered.desired,
            previous_allocations: self.registered.allocations,
            stamps: self.registered.stamps,
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

/// Returns the maximum payload of a packet with `extra` header bytes.
#[inline]
pub(super) fn payload(config: &Config, extra: u32) -> u32 {
    let wire = &config.wire;
    wire.mtu.saturating_sub(wire.header_bytes + extra).max(1)
}

/// Returns the wire bytes of `bytes`, at least one, sent as one burst with a FIN on the last packet, or after it if it
/// does not fit.
pub(super) fn burst_cost(config: &Config, bytes: u64) -> u64 {
    let full = u64::from(payload(config, 0));
    let before = (bytes - 1) / full;
    let last = bytes - before * full;
    let fin = if last <= u64::from(payload(config, Packet::REQUEST_BYTES)) {
        Packet::REQUEST_BYTES
    } else {
        0
    };
    bytes.saturating_add((before + 1).saturating_mul(u64::from(config.wire.header_bytes)))
        + u64::from(fin)
}
