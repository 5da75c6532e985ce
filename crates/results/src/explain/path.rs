//! The backward walk along the critical path.

#![expect(
    clippy::cast_possible_truncation,
    reason = "positions in a flow are compared as on the wire, in 32 bits"
)]

use super::{Cause, Stage, Step};
use crate::{FlowEvent, FlowEventKind, FlowRecord, Timer};
use duetime_core::{Span, Time};
use std::collections::BTreeMap;

/// Passage of one packet through one port, or through the host that it reached.
#[derive(Clone, Copy)]
struct Hop {
    /// Departure from the port, or arrival at the host's transport.
    at: Time,
    through: Through,
    packet: Packet,
    waited: Span,
    /// Part of `waited`.
    delayed: Span,
    sending: Span,
    /// Propagation behind the port.
    latency: Span,
}

/// Port or host that a packet passes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Through {
    /// The port that feeds a directed link.
    Port(u32),
    /// The receiving side of a host.
    Host(u32),
}

/// A packet by its sequence number (low 32 bits) and length.
type Packet = (u32, u32);

/// Packets of one direction.
#[derive(Default)]
struct Route {
    /// By time.
    hops: Vec<Hop>,
    /// Ports in order, and the receiving host if hosts hold packets.
    passed: Vec<Through>,
    /// Largest random delay of a packet at the sending host.
    longest_delay: Span,
}

/// Events of some kinds, each by time.
struct Kinds {
    delivered: Vec<FlowEvent>,
    sent: Vec<FlowEvent>,
    data_sent: Vec<FlowEvent>,
    requests: Vec<FlowEvent>,
    granted: Vec<FlowEvent>,
    paused: Vec<FlowEvent>,
    denied: Vec<FlowEvent>,
    ready: Vec<FlowEvent>,
    replies: Vec<FlowEvent>,
    /// Events that start the retransmission and probe timers: data sent, new data acknowledged, and their own expiry.
    progress: Vec<FlowEvent>,
}

impl Kinds {
    fn of(events: &[FlowEvent]) -> Self {
        let only = |wanted: fn(FlowEventKind) -> bool| -> Vec<FlowEvent> {
            let of_kind = events.iter().filter(|event| wanted(event.what));
            of_kind.copied().collect()
        };
        let mut highest = None;
        let progress = events.iter().filter(|event| match event.what {
            FlowEventKind::Acked { seq } => {
                let is_new = highest.is_none_or(|highest| seq > highest);
                if is_new {
                    highest = Some(seq);
                }
                is_new
            }
            what => starts_timer(what),
        });
        Self {
            progress: progress.copied().collect(),
            delivered: only(|what| matches!(what, FlowEventKind::Delivered { .. })),
            sent: only(|what| matches!(what, FlowEventKind::Sent { .. })),
            data_sent: only(|what| matches!(what, FlowEventKind::Sent { len: 1.., .. })),
            requests: only(|what| matches!(what, FlowEventKind::RequestSent { .. })),
            granted: only(|what| matches!(what, FlowEventKind::Granted { .. })),
            paused: only(|what| what == FlowEventKind::Paused),
            denied: only(|what| matches!(what, FlowEventKind::Denied { .. })),
            ready: only(|what| what == FlowEventKind::Ready),
            replies: only(|what| matches!(what, FlowEventKind::ReplyQueued { .. })),
        }
    }
}

/// The backward walk. The time after `cursor` is explained.
pub(super) struct Walk {
    start: Time,
    cursor: Time,
    stage: Stage,
    steps: Vec<Step>,
    /// Everything but hops, by time.
    events: Vec<FlowEvent>,
    /// The events that every step of the walk looks for, so that a step does not search the whole trace.
    kinds: Kinds,
    forward: Route,
    backward: Route,
    established: Option<Time>,
    round_trips: u32,
}

impl Walk {
    pub(super) fn new(flow: &FlowRecord, end: Time, events: &[FlowEvent]) -> Self {
        let mut others = Vec::new();
        let [mut forward, mut backward] = [Vec::new(), Vec::new()];
        for &event in events {
            let (reverse, hop) = match event.what {
                FlowEventKind::Departed {
                    link,
                    reverse,
                    seq,
                    len,
                    waited,
                    delayed,
                    sending,
                    latency,
                } => {
                    let hop = Hop {
                        at: event.at,
                        through: Through::Port(link),
                        packet: (seq as u32, len),
                        waited,
                        delayed: delayed.min(waited),
                        sending,
                        latency,
                    };
                    (reverse, hop)
                }
                FlowEventKind::Received {
                    host,
                    seq,
                    len,
                    held,
                } => {
                    let hop = Hop {
                        at: event.at,
                        through: Through::Host(host),
                        packet: (seq as u32, len),
                        waited: held,
                        delayed: Span::ZERO,
                        sending: Span::ZERO,
                        latency: Span::ZERO,
                    };
                    (host == flow.source, hop)
                }
                _ => {
                    others.push(event);
                    continue;
                }
            };
            let hops = if reverse { &mut backward } else { &mut forward };
            hops.push(hop);
        }
        others.sort_by_key(|event| event.at);
        let established = others
            .iter()
            .find(|event| event.what == FlowEventKind::Established)
            .map(|event| event.at);
        Self {
            start: flow.start,
            cursor: end,
            stage: Stage::Delivery,
            steps: Vec::new(),
            kinds: Kinds::of(&others),
            events: others,
            forward: Route::of(forward),
            backward: Route::of(backward),
            established,
            round_trips: 0,
        }
    }

    pub(super) fn run(mut self, finished: bool) -> (Vec<Step>, u32) {
        if !finished {
            let last = self.latest(self.cursor, |what| {
                at_sender(what) || matches!(what, FlowEventKind::Delivered { .. })
            });
            self.take(last.map_or(self.start, |event| event.at), Cause::Unfinished);
            if last.is_some_and(|event| at_sender(event.what)) {
                self.enabler_back();
            }
        }
        while self.cursor > self.start {
            let before = self.cursor;
            self.packet_back();
            self.enabler_back();
            if self.cursor == before {
                // Nothing in the trace leads further back.
                self.take(self.start, self.cause_at_host());
            }
        }
        self.steps.reverse();
        (self.steps, self.round_trips)
    }

    /// Follows the packet that has arrived at the receiver at `cursor`, back to the sender.
    fn packet_back(&mut self) {
        if let Some(hop) = self.forward.arrival(self.cursor) {
            self.take(hop.arrival(), Cause::Receiver);
            self.hops_back(hop.packet, true);
            return;
        }
        if !self.forward.passed.is_empty() {
            return;
        }
        // The hops were not traced.
        let delivered = until(&self.kinds.delivered, self.cursor).last();
        if let Some(FlowEventKind::Delivered { seq: first, .. }) = delivered.map(|event| event.what)
        {
            let sent = earlier(&self.kinds.sent, self.cursor).iter().rfind(|event| {
                matches!(event.what, FlowEventKind::Sent { seq, .. } if seq as u32 == first as u32)
            });
            self.take(sent.map_or(self.start, |event| event.at), Cause::Untraced);
        }
    }

    /// Follows what allowed the packet that left the sender at `cursor`, back to an arrival at the receiver.
    fn enabler_back(&mut self) {
        // A packet that waited for the NIC keeps its departure while the walk goes back to the event that allowed it.
        let mut departure = self.cursor;
        while self.cursor > self.start {
            if let Some(previous) = self.forward.departure_until(self.cursor)
                && previous.free_at() == self.cursor
            {
                self.own_packet_back(&previous);
                departure = self.cursor;
                continue;
            }
            let enabler = self.latest(self.cursor, is_enabler);
            let enabled = enabler.is_some_and(|enabler| enabler.at == self.cursor);
            if !enabled && let Some(since) = self.nic_since(self.cursor) {
                self.take(since, Cause::Nic);
                continue;
            }
            let Some(enabler) = enabler else {
                return;
            };
            let submitted = enabler.what == FlowEventKind::Submitted;
            let cause = if submitted {
                self.cause_at_host()
            } else {
                Cause::Host
            };
            self.take(enabler.at, cause);
            // Of several events at one instant, the timer broke the silence; then those with a number to follow.
            let now = self.cursor;
            let timer = self.happened_at(now, |what| sender_timer(what).is_some());
            if let Some(timer) = timer.and_then(|event| sender_timer(event.what)) {
                self.timer_back(timer);
                departure = self.cursor;
                continue;
            }
            if enabler.what == FlowEventKind::Aborted {
                let earlier = self.latest_before(now, at_sender);
                self.stage = self.stage_before(now);
                self.take(earlier.map_or(self.start, |event| event.at), Cause::Aborted);
                continue;
            }
            let acknowledged =
                self.happened_at(now, |what| matches!(what, FlowEventKind::Acked { .. }));
            if acknowledged.is_none() && submitted {
                return;
            }
            let granted =
                self.happened_at(now, |what| matches!(what, FlowEventKind::Granted { .. }));
            self.stage = if self.repeats(departure)
                && granted.is_none()
                && self.established.is_none_or(|at| at < now)
            {
                Stage::Loss
            } else {
                self.stage_before(now)
            };
            self.return_back(acknowledged);
            return;
        }
    }

    /// Returns true if the packet that left the sender at `at` had been sent before.
    fn repeats(&self, at: Time) -> bool {
        let sent = until(&self.kinds.sent, at).last();
        sent.is_some_and(|sent| {
            let repeats = matches!(sent.what, FlowEventKind::Sent { retransmit, .. } if retransmit);
            sent.at == at && repeats
        })
    }

    /// Returns the cause of the time between the submission and the first packet that can be followed.
    fn cause_at_host(&self) -> Cause {
        let submitted = until(&self.events, self.start).iter();
        let mut submitted = submitted.rev().take_while(|event| event.at == self.start);
        if submitted.any(|event| event.what == FlowEventKind::Behind) {
            Cause::EarlierMessages
        } else {
            Cause::Host
        }
    }

    /// Follows a timer of the sender that expired at `cursor`, back to the event that started it.
    fn timer_back(&mut self, timer: Timer) {
        let now = self.cursor;
        let started = match timer {
            Timer::Handshake | Timer::Pace => earlier(&self.kinds.sent, now).last(),
            Timer::Request => earlier(&self.kinds.requests, now).last(),
            Timer::Pause => earlier(&self.kinds.granted, now).last(),
            Timer::Retransmission | Timer::TailLossProbe => {
                earlier(&self.kinds.progress, now).last()
            }
            Timer::Reordering | Timer::DelayedAck => None,
        };
        let started = started
            .copied()
            .or_else(|| self.latest_before(now, at_sender));
        self.stage = match timer {
            Timer::Handshake => Stage::Handshake,
            Timer::Retransmission | Timer::TailLossProbe | Timer::Reordering => Stage::Loss,
            Timer::Request | Timer::DelayedAck => self.stage_before(now),
            Timer::Pause => Stage::Pause,
            Timer::Pace => Stage::Pace,
        };
        self.take(
            started.map_or(self.start, |event| event.at),
            Cause::Timer(timer),
        );
        self.stage = self.stage_before(self.cursor);
    }

    /// Returns the time since which the sender could transmit while its NIC sent packets of others, up to `at`: the time
    /// at which it became ready or its own last packet left.
    fn nic_since(&self, at: Time) -> Option<Time> {
        let ready = until(&self.kinds.ready, at).last().map(|event| event.at);
        let own = self.forward.departure_until(at).map(|hop| hop.free_at());
        ready.max(own).filter(|&since| since < at)
    }

    /// Follows an acknowledgement or grant that reached the sender at `cursor`, back to the receiver.
    fn return_back(&mut self, acknowledged: Option<FlowEvent>) {
        self.round_trips += 1;
        let before = self.cursor;
        let number = acknowledged.and_then(|event| match event.what {
            FlowEventKind::Acked { seq } => Some(seq as u32),
            _ => None,
        });
        let arrivals = self.backward.arrivals(before).rev();
        let mut matching =
            arrivals.filter(|hop| number.is_none_or(|number| hop.packet.0 == number));
        if let Some(packet) = matching.next().map(|hop| hop.packet) {
            drop(matching);
            self.hops_back(packet, false);
            self.reply_back(packet.0);
            return;
        }
        drop(matching);
        // The reply was not traced: find the delivery that it acknowledges.
        let delivery = earlier(&self.kinds.delivered, before)
            .iter()
            .rfind(|event| {
                let FlowEventKind::Delivered { seq, len } = event.what else {
                    return false;
                };
                number.is_none_or(|number| (seq as u32).wrapping_add(len) == number)
            });
        let to = delivery
            .or_else(|| earlier(&self.kinds.sent, before).last())
            .map_or(self.start, |event| event.at);
        self.take(to, Cause::Untraced);
    }

    /// Follows a reply that left the receiver at `cursor`, back to the arrival that caused it, or to the one before the
    /// receiver delayed it.
    fn reply_back(&mut self, number: u32) {
        let arrived = |walk: &Self| {
            let hop = walk.forward.arrival(walk.cursor);
            hop.map(|hop| hop.arrival())
        };
        let delayed = |walk: &Self| {
            walk.happened_at(walk.cursor, |what| {
                what == FlowEventKind::Timer(Timer::DelayedAck)
            })
            .is_some()
        };
        if arrived(self) != Some(self.cursor) && !delayed(self) {
            let queued = until(&self.kinds.replies, self.cursor).iter().rfind(|event| {
                matches!(event.what, FlowEventKind::ReplyQueued { seq } if seq as u32 == number)
            });
            if let Some(queued) = queued {
                self.take(queued.at, Cause::ReplyNic);
            }
        }
        if delayed(self) {
            // The segment may have arrived before the message was submitted.
            let before = arrived(self).unwrap_or(self.start);
            self.take(before, Cause::Timer(Timer::DelayedAck));
        }
    }

    /// Follows `packet` back over the hops of one direction, to the first port of its route.
    fn hops_back(&mut self, packet: Packet, forward: bool) {
        let ports = if forward {
            self.forward.passed.len()
        } else {
            self.backward.passed.len()
        };
        for place in (0..ports).rev() {
            let route = if forward {
                &self.forward
            } else {
                &self.backward
            };
            if let Some(hop) = route.passage(route.passed[place], packet, self.cursor) {
                self.take(hop.at, Cause::Propagation);
                self.hop_back(&hop);
            }
        }
    }

    /// Follows a packet back through one port or host, from its departure to its arrival there.
    fn hop_back(&mut self, hop: &Hop) {
        let (sending, waiting) = match hop.through {
            Through::Port(link) => (Cause::Transmission(link), Cause::Queue(link)),
            Through::Host(_) => (Cause::Reception, Cause::Reception),
        };
        self.take_span(hop.delayed, Cause::SendJitter);
        self.take_span(hop.sending, sending);
        self.take_span(hop.waited.saturating_sub(hop.delayed), waiting);
    }

    /// Follows an own packet after which the NIC was free at `cursor`, back to its arrival at the NIC.
    fn own_packet_back(&mut self, hop: &Hop) {
        self.hop_back(&Hop {
            waited: hop.waited.saturating_sub(hop.delayed),
            delayed: Span::ZERO,
            ..*hop
        });
    }

    fn take_span(&mut self, span: Span, cause: Cause) {
        let to = self.cursor.as_ps().saturating_sub(span.as_ps());
        self.take(Time::from_ps(to), cause);
    }

    /// Returns the state of the sender in the round trip that ended at `at`.
    fn stage_before(&self, at: Time) -> Stage {
        if self
            .established
            .is_some_and(|established| at <= established)
        {
            return Stage::Handshake;
        }
        let grants = &self.kinds.granted;
        let Some((grant, before)) = earlier(grants, at).split_last() else {
            return match until(grants, at).last() {
                Some(_) => Stage::Rate,
                None => Stage::Window,
            };
        };
        if let Some(pause) = earlier(&self.kinds.paused, at).last() {
            let data = earlier(&self.kinds.data_sent, at).last();
            if data.is_none_or(|data| data.at < pause.at) {
                return Stage::Pause;
            }
        }
        let since = earlier(before, grant.at).last();
        let since = since.map_or(self.start, |event| event.at);
        let denied = until(&self.kinds.denied, grant.at).last();
        let denied = denied.is_some_and(|denied| denied.at > since);
        if denied { Stage::Denied } else { Stage::Rate }
    }

    /// Returns an event that happened at exactly `at`.
    fn happened_at(&self, at: Time, wanted: fn(FlowEventKind) -> bool) -> Option<FlowEvent> {
        let recent = until(&self.events, at).iter().rev();
        let mut together = recent.take_while(|event| event.at == at);
        together.find(|event| wanted(event.what)).copied()
    }

    fn latest(&self, at: Time, wanted: impl Fn(FlowEventKind) -> bool) -> Option<FlowEvent> {
        let mut past = until(&self.events, at).iter();
        past.rfind(|event| wanted(event.what)).copied()
    }

    fn latest_before(&self, at: Time, wanted: impl Fn(FlowEventKind) -> bool) -> Option<FlowEvent> {
        let mut past = earlier(&self.events, at).iter();
        past.rfind(|event| wanted(event.what)).copied()
    }

    /// Explains the time from `to` up to the cursor, and moves the cursor there.
    fn take(&mut self, to: Time, cause: Cause) {
        let to = to.max(self.start).min(self.cursor);
        if let Some(established) = self.established
            && to < established
            && established < self.cursor
        {
            self.take(established, cause);
        }
        let handshake = self
            .established
            .is_some_and(|established| self.cursor <= established);
        if to < self.cursor {
            self.steps.push(Step {
                from: to,
                to: self.cursor,
                stage: if handshake {
                    Stage::Handshake
                } else {
                    self.stage
                },
                cause,
            });
            self.cursor = to;
        }
    }
}

impl Route {
    /// Creates the route of all packets of one direction. One flow keeps to one path, so the packet with the most hops
    /// shows all of it.
    fn of(mut hops: Vec<Hop>) -> Self {
        hops.sort_by_key(|hop| hop.at);
        let mut packets: BTreeMap<Packet, Vec<Through>> = BTreeMap::new();
        for hop in &hops {
            let passed = packets.entry(hop.packet).or_default();
            if !passed.contains(&hop.through) {
                passed.push(hop.through);
            }
        }
        let longest = packets.into_values().max_by_key(Vec::len);
        Self {
            passed: longest.unwrap_or_default(),
            longest_delay: hops.iter().map(|hop| hop.delayed).max().unwrap_or_default(),
            hops,
        }
    }

    fn hops_until(&self, at: Time) -> &[Hop] {
        &self.hops[..self.hops.partition_point(|hop| hop.at <= at)]
    }

    /// Returns the packets that arrived at the end of the route by `at`, by time.
    fn arrivals(&self, at: Time) -> impl DoubleEndedIterator<Item = &Hop> {
        let last = self.passed.last().copied();
        let hops = self.hops_until(at).iter();
        hops.filter(move |hop| Some(hop.through) == last && hop.arrival() <= at)
    }

    /// Returns the last packet that arrived at the end of the route by `at`.
    fn arrival(&self, at: Time) -> Option<Hop> {
        self.arrivals(at).next_back().copied()
    }

    /// Returns the latest passage of `packet` through a port or host from which it arrived further on by `at`.
    fn passage(&self, through: Through, packet: Packet, at: Time) -> Option<Hop> {
        let passed =
            |hop: &&Hop| hop.through == through && hop.packet == packet && hop.arrival() <= at;
        self.hops_until(at).iter().rfind(passed).copied()
    }

    /// Returns the last packet that the first port of the route had sent by `at`, its random delay left out.
    fn departure_until(&self, at: Time) -> Option<Hop> {
        let first = *self.passed.first()?;
        let sent =
            |hop: &&Hop| hop.through == first && hop.free_at() <= at && hop.sending > Span::ZERO;
        let hops = self.hops_until(at + self.longest_delay).iter();
        hops.rev().find(sent).copied()
    }
}

impl Hop {
    /// Arrival at the next port or host.
    fn arrival(&self) -> Time {
        self.at + self.latency
    }

    /// Time from which the port could send the next packet.
    fn free_at(&self) -> Time {
        Time::from_ps(self.at.as_ps().saturating_sub(self.delayed.as_ps()))
    }
}

/// Events up to `at`.
fn until(events: &[FlowEvent], at: Time) -> &[FlowEvent] {
    &events[..events.partition_point(|event| event.at <= at)]
}

/// Events before `at`.
fn earlier(events: &[FlowEvent], at: Time) -> &[FlowEvent] {
    &events[..events.partition_point(|event| event.at < at)]
}

/// Returns the timer of the sender that expired.
fn sender_timer(what: FlowEventKind) -> Option<Timer> {
    match what {
        FlowEventKind::Timer(Timer::DelayedAck) => None,
        FlowEventKind::Timer(timer) => Some(timer),
        _ => None,
    }
}

/// Returns true for an event that can allow a sender to transmit.
fn is_enabler(what: FlowEventKind) -> bool {
    matches!(
        what,
        FlowEventKind::Submitted
            | FlowEventKind::Acked { .. }
            | FlowEventKind::Granted { .. }
            | FlowEventKind::Established
            | FlowEventKind::Aborted
    ) || sender_timer(what).is_some()
}

/// Returns true for an event at a sender.
fn at_sender(what: FlowEventKind) -> bool {
    is_enabler(what) || matches!(what, FlowEventKind::Sent { .. })
}

/// Returns true for an event, other than an acknowledgement, that starts the retransmission or the probe timer.
fn starts_timer(what: FlowEventKind) -> bool {
    matches!(
        what,
        FlowEventKind::Sent { len: 1.., .. }
            | FlowEventKind::Timer(Timer::Retransmission | Timer::TailLossProbe)
    )
}
