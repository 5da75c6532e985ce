//! The walk along the critical path, backwards.

#![expect(
    clippy::cast_possible_truncation,
    reason = "positions in a flow are compared as on the wire, in 32 bits"
)]

use super::{Cause, Stage, Step};
use crate::{FlowEvent, FlowEventKind};
use duetime_core::{Span, Time};
use std::collections::BTreeMap;

/// One packet's passage through one port, or through the host that it reached.
#[derive(Clone, Copy)]
struct Hop {
    at: Time,
    through: Through,
    packet: Packet,
    waited: Span,
    sending: Span,
}

/// What a packet passes through.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Through {
    /// The port that feeds a directed link.
    Port(u32),
    /// The receiving side of a host.
    Host(u32),
}

/// A packet by its sequence number (low 32 bits) and length.
type Packet = (u32, u32);

/// The ports that one direction's packets pass, in order, each with the propagation behind it; and the host at the end, where
/// hosts hold packets.
#[derive(Default)]
struct Route {
    passed: Vec<(Through, Span)>,
}

/// Events of some kinds, each by time.
struct Kinds {
    delivered: Vec<FlowEvent>,
    data_sent: Vec<FlowEvent>,
    granted: Vec<FlowEvent>,
    paused: Vec<FlowEvent>,
    denied: Vec<FlowEvent>,
}

impl Kinds {
    fn of(events: &[FlowEvent]) -> Self {
        let only = |wanted: fn(FlowEventKind) -> bool| -> Vec<FlowEvent> {
            let of_kind = events.iter().filter(|event| wanted(event.what));
            of_kind.copied().collect()
        };
        Self {
            delivered: only(|what| matches!(what, FlowEventKind::Delivered { .. })),
            data_sent: only(|what| matches!(what, FlowEventKind::Sent { len: 1.., .. })),
            granted: only(|what| matches!(what, FlowEventKind::Granted { .. })),
            paused: only(|what| what == FlowEventKind::Paused),
            denied: only(|what| matches!(what, FlowEventKind::Denied { .. })),
        }
    }
}

/// The backward walk. `cursor` is how far back it has come; what lies after it is explained.
pub(super) struct Walk {
    start: Time,
    cursor: Time,
    stage: Stage,
    steps: Vec<Step>,
    /// Everything but departures, by time.
    events: Vec<FlowEvent>,
    /// Of these, what is looked for at every step of the walk, so that a step does not search the whole trace.
    kinds: Kinds,
    hops: Vec<Hop>,
    forward: Route,
    backward: Route,
    established: Option<Time>,
    round_trips: u32,
}

impl Walk {
    pub(super) fn new(start: Time, end: Time, events: &[FlowEvent]) -> Self {
        let mut others = Vec::new();
        let mut hops = Vec::new();
        for &event in events {
            match event.what {
                FlowEventKind::Departed {
                    link,
                    seq,
                    len,
                    waited,
                    sending,
                } => hops.push(Hop {
                    at: event.at,
                    through: Through::Port(link),
                    packet: (seq as u32, len),
                    waited,
                    sending,
                }),
                FlowEventKind::Received {
                    host,
                    seq,
                    len,
                    held,
                } => hops.push(Hop {
                    at: event.at,
                    through: Through::Host(host),
                    packet: (seq as u32, len),
                    waited: held,
                    sending: Span::ZERO,
                }),
                _ => others.push(event),
            }
        }
        others.sort_by_key(|event| event.at);
        hops.sort_by_key(|hop| hop.at);
        let arrivals = |wanted: fn(FlowEventKind) -> Option<u64>| {
            let mut first = BTreeMap::new();
            for event in &others {
                if let Some(seq) = wanted(event.what) {
                    first.entry(seq as u32).or_insert(event.at);
                }
            }
            first
        };
        let delivered = arrivals(|what| match what {
            FlowEventKind::Delivered { seq, .. } => Some(seq),
            _ => None,
        });
        let acknowledged = arrivals(|what| match what {
            FlowEventKind::Acked { seq } => Some(seq),
            _ => None,
        });
        let data: Vec<Hop> = hops
            .iter()
            .filter(|hop| hop.packet.1 > 0)
            .copied()
            .collect();
        let forward = Route::of(&data, &delivered);
        let rest: Vec<Hop> = hops
            .iter()
            .filter(|hop| !forward.has(hop.through))
            .copied()
            .collect();
        let backward = Route::of(&rest, &acknowledged);
        let established = others
            .iter()
            .find(|event| event.what == FlowEventKind::Established)
            .map(|event| event.at);
        Self {
            start,
            cursor: end,
            stage: Stage::Delivery,
            steps: Vec::new(),
            kinds: Kinds::of(&others),
            events: others,
            hops,
            forward,
            backward,
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
                self.take(self.start, Cause::Host);
            }
        }
        self.steps.reverse();
        (self.steps, self.round_trips)
    }

    /// Follows the packet that has arrived at the receiver at `cursor`, back to the sender.
    fn packet_back(&mut self) {
        if let Some(&(last, latency)) = self.forward.passed.last() {
            let cursor = self.cursor;
            let arrived = |hop: &&Hop| hop.through == last && hop.at + latency <= cursor;
            if let Some(&hop) = self.hops_until(cursor).iter().rfind(arrived) {
                self.take(hop.at + latency, Cause::Receiver);
                self.hops_back(hop.packet, true);
            }
            return;
        }
        // The hops were not traced.
        let delivered = until(&self.kinds.delivered, self.cursor).last();
        if let Some(FlowEventKind::Delivered { seq: first, .. }) = delivered.map(|event| event.what)
        {
            let sent = self.latest_before(self.cursor, |what| {
                matches!(what, FlowEventKind::Sent { seq, .. } if seq as u32 == first as u32)
            });
            self.take(sent.map_or(self.start, |event| event.at), Cause::Untraced);
        }
    }

    /// Follows what allowed the packet that left the sender at `cursor`, back to an arrival at the receiver.
    fn enabler_back(&mut self) {
        while self.cursor > self.start {
            if let Some(previous) = self.nic_was_busy_until(self.cursor) {
                self.hop_back(&previous);
                continue;
            }
            let Some(enabler) = self.latest(self.cursor, is_enabler) else {
                return;
            };
            self.take(enabler.at, Cause::Host);
            self.stage = self.stage_before(self.cursor);
            // Of several at one instant, the timer is what broke the silence; then the ones with a number to follow.
            let now = self.cursor;
            let happened = |what: fn(FlowEventKind) -> bool| {
                let recent = until(&self.events, now).iter().rev();
                let mut together = recent.take_while(|event| event.at == now);
                together.find(|event| what(event.what)).copied()
            };
            if happened(|what| what == FlowEventKind::Timeout).is_some() {
                let earlier = self.latest_before(now, at_sender);
                self.take(earlier.map_or(self.start, |event| event.at), Cause::RtoIdle);
                continue;
            }
            let acknowledged = happened(|what| matches!(what, FlowEventKind::Acked { .. }));
            if acknowledged.is_none() && enabler.what == FlowEventKind::Submitted {
                self.take(self.start, Cause::Host);
                return;
            }
            self.return_back(acknowledged);
            return;
        }
    }

    /// Follows an acknowledgement or grant that reached the sender at `cursor`, back to the receiver.
    fn return_back(&mut self, acknowledged: Option<FlowEvent>) {
        self.round_trips += 1;
        let before = self.cursor;
        let number = acknowledged.and_then(|event| match event.what {
            FlowEventKind::Acked { seq } => Some(seq as u32),
            _ => None,
        });
        if let Some(&(last, latency)) = self.backward.passed.last() {
            let arrived = |hop: &&Hop| {
                hop.through == last
                    && hop.at + latency <= before
                    && number.is_none_or(|number| hop.packet.0 == number)
            };
            if let Some(&hop) = self.hops_until(before).iter().rfind(arrived) {
                self.hops_back(hop.packet, false);
                return;
            }
        }
        // The way back was not traced: find the delivery that the acknowledgement speaks of.
        let delivery = earlier(&self.kinds.delivered, before)
            .iter()
            .rfind(|event| {
                let FlowEventKind::Delivered { seq, len } = event.what else {
                    return false;
                };
                number.is_none_or(|number| (seq as u32).wrapping_add(len) == number)
            });
        let to = delivery
            .copied()
            .or_else(|| {
                self.latest_before(before, |what| matches!(what, FlowEventKind::Sent { .. }))
            })
            .map_or(self.start, |event| event.at);
        self.take(to, Cause::Untraced);
    }

    /// Follows `packet` back over the hops of one direction, to the first port of its route.
    fn hops_back(&mut self, packet: Packet, forward: bool) {
        let route = if forward {
            &self.forward
        } else {
            &self.backward
        };
        for (through, latency) in route.passed.clone().into_iter().rev() {
            let cursor = self.cursor;
            let passed = |hop: &&Hop| {
                hop.through == through && hop.packet == packet && hop.at + latency <= cursor
            };
            if let Some(&hop) = self.hops_until(cursor).iter().rfind(passed) {
                self.take(hop.at, Cause::Propagation);
                self.hop_back(&hop);
            }
        }
    }

    /// Follows a packet back through one port, from its departure to its arrival there.
    fn hop_back(&mut self, hop: &Hop) {
        let (sending, waiting) = match hop.through {
            Through::Port(link) => (Cause::Transmission(link), Cause::Queue(link)),
            Through::Host(_) => (Cause::Reception, Cause::Reception),
        };
        for (span, cause) in [(hop.sending, sending), (hop.waited, waiting)] {
            self.take(
                Time::from_ps(self.cursor.as_ps().saturating_sub(span.as_ps())),
                cause,
            );
        }
    }

    /// The flow's own packet whose departure from the sender's NIC was at `at`, so that the next one could begin.
    fn nic_was_busy_until(&self, at: Time) -> Option<Hop> {
        let &(first, _) = self.forward.passed.first()?;
        let hops = self.hops_until(at).iter().rev();
        hops.take_while(|hop| hop.at == at)
            .find(|hop| hop.through == first && hop.sending > Span::ZERO)
            .copied()
    }

    /// Departures up to `until`.
    fn hops_until(&self, until: Time) -> &[Hop] {
        &self.hops[..self.hops.partition_point(|hop| hop.at <= until)]
    }

    /// What the sender waited for in the round trip that ended at `at`.
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
            let sent = earlier(&self.kinds.data_sent, at).last();
            if sent.is_none_or(|sent| sent.at < pause.at) {
                return Stage::Pause;
            }
        }
        let since = earlier(before, grant.at).last();
        let since = since.map_or(self.start, |event| event.at);
        let denied = until(&self.kinds.denied, grant.at).last();
        let denied = denied.is_some_and(|denied| denied.at > since);
        if denied { Stage::Denied } else { Stage::Rate }
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
    /// What the packet with the most hops passed: one flow keeps to one path, so that is the route of all. A link's
    /// propagation is the least time from the first departure of any packet to its first arrival at the next port or at the
    /// host behind the last link; where hosts hold nothing, that shows in `arrivals`.
    fn of(hops: &[Hop], arrivals: &BTreeMap<u32, Time>) -> Self {
        let mut packets: BTreeMap<Packet, Vec<Hop>> = BTreeMap::new();
        for &hop in hops {
            let passed = packets.entry(hop.packet).or_default();
            if passed.iter().all(|earlier| earlier.through != hop.through) {
                passed.push(hop);
            }
        }
        let longest = packets.values().max_by_key(|passed| passed.len());
        let route = longest.into_iter().flatten().map(|hop| hop.through);
        let route: Vec<Through> = route.collect();
        let latency = |i: usize| {
            let across = packets.iter().filter_map(|(packet, passed)| {
                let at = |through: Through| passed.iter().find(|hop| hop.through == through);
                let left = at(route[i])?.at;
                let arrived = match route.get(i + 1) {
                    Some(&next) => at(next).map(Hop::arrival)?,
                    None => *arrivals.get(&packet.0)?,
                };
                (arrived >= left).then(|| arrived.since(left))
            });
            across.min().unwrap_or_default()
        };
        Self {
            passed: (0..route.len()).map(|i| (route[i], latency(i))).collect(),
        }
    }

    fn has(&self, through: Through) -> bool {
        self.passed.iter().any(|&(own, _)| own == through)
    }
}

impl Hop {
    fn arrival(&self) -> Time {
        let spent = self.sending + self.waited;
        Time::from_ps(self.at.as_ps().saturating_sub(spent.as_ps()))
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

/// What can allow a sender to send.
fn is_enabler(what: FlowEventKind) -> bool {
    matches!(
        what,
        FlowEventKind::Submitted
            | FlowEventKind::Acked { .. }
            | FlowEventKind::Granted { .. }
            | FlowEventKind::Established
            | FlowEventKind::Timeout
    )
}

/// What happens at a sender.
fn at_sender(what: FlowEventKind) -> bool {
    is_enabler(what) || matches!(what, FlowEventKind::Sent { .. })
}
