//! The backward walk along the critical path.

mod grants;
mod hops;

use super::kinds::{Kinds, at_sender, earlier, is_enabler, sender_timer, until};
use super::route::{Hop, Route, Through};
use super::{Cause, Stage, Step};
use duetime_core::{Span, Time};
use duetime_results::{FlowEvent, FlowEventKind, FlowRecord, Timer};
use std::ops::ControlFlow;

/// The backward walk. The time after `cursor` is explained.
pub(super) struct Walk {
    start: Time,
    has_deadline: bool,
    cursor: Time,
    stage: Stage,
    steps: Vec<Step>,
    /// Everything but hops, by time.
    events: Vec<FlowEvent>,
    /// Events by kind, so that a step of the walk does not search the whole trace.
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
            has_deadline: flow.deadline.is_some(),
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

    /// Follows the packet that arrived at the receiver at `cursor` back to the sender.
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

    /// Follows the cause of the packet that left the sender at `cursor` back to an arrival at the receiver.
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
            match self.permission_back() {
                Some(ControlFlow::Continue(())) => {
                    departure = self.cursor;
                    continue;
                }
                Some(ControlFlow::Break(())) => return,
                None => {}
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
            if matches!(
                enabler.what,
                FlowEventKind::Permitted { .. } | FlowEventKind::ResendRequested { .. }
            ) {
                self.grant_back(enabler.what);
                return;
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
            self.return_back(acknowledged.and_then(|event| match event.what {
                FlowEventKind::Acked { seq } => Some(seq as u32),
                _ => None,
            }));
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

    /// Follows a timer of the sender that expired at `cursor` back to the event that started it.
    fn timer_back(&mut self, timer: Timer) {
        let now = self.cursor;
        let started = match timer {
            Timer::Handshake | Timer::Pace => earlier(&self.kinds.sent, now).last(),
            Timer::Request => earlier(&self.kinds.requests, now).last(),
            Timer::Pause => earlier(&self.kinds.granted, now).last(),
            Timer::Retransmission | Timer::TailLossProbe => {
                earlier(&self.kinds.progress, now).last()
            }
            Timer::Reordering | Timer::DelayedAck | Timer::Announcement => None,
        };
        let started = started
            .copied()
            .or_else(|| self.latest_before(now, at_sender));
        self.stage = match timer {
            Timer::Handshake => Stage::Handshake,
            Timer::Retransmission
            | Timer::TailLossProbe
            | Timer::Reordering
            | Timer::Announcement => Stage::Loss,
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

    /// Returns the time since which the sender could transmit while its NIC sent packets of others, up to `at`: the
    /// time at which it became ready or its own last packet left.
    fn nic_since(&self, at: Time) -> Option<Time> {
        let ready = until(&self.kinds.ready, at).last().map(|event| event.at);
        let own = self.forward.departure_until(at).map(|hop| hop.free_at());
        ready.max(own).filter(|&since| since < at)
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
        if !self.kinds.permissions.is_empty() {
            return Stage::Grant;
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
