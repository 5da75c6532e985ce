//! Where one flow's time went: its completion time, divided into pieces that sum to it exactly.
//!
//! # Method
//!
//! The critical path is followed backwards, from the delivery of the last byte to the submission:
//!
//! 1. The packet whose arrival completed the delivery is followed back over its hops. Each hop gives a propagation, a
//!    transmission and a queueing piece; the host at the end one more, if it held the packet.
//! 2. It left the sender at some instant. If the sender's own NIC had just finished the packet before it, the path
//!    goes on with that packet; the time is transmission at the NIC. Otherwise something allowed it at that instant:
//!    a timer (the silence before it is RTO idle), an acknowledgement, a grant, the end of the handshake, or the
//!    submission. Time between what allowed it and the packet itself is spent at the host.
//! 3. An acknowledgement or grant is followed back over its own hops to the packet that caused it, with the time the
//!    receiver held it back as a piece of its own, and that packet goes to step 1.
//!
//! So a flow limited by its window is shown what each of its round trips was made of. Each piece is an interval, each
//! begins where the one before it ends, and together they tile [submission, finish]; that is why they sum exactly.
//! Beside its [`Cause`], a piece has a [`Stage`]: what the sender waited for meanwhile. Where a trace is incomplete
//! (acknowledgements not traced, a connection older than the flow), the part that cannot be followed becomes one piece
//! of cause [`Cause::Untraced`] or [`Cause::Host`].

mod path;
pub mod query;

use crate::{FlowEvent, FlowEventKind, FlowRecord};
use duetime_core::{Span, Time};
use path::Walk;
use std::collections::BTreeMap;

/// What happened physically during a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// Waiting in the queue of a directed link.
    Queue(u32),
    /// The bits going onto a directed link.
    Transmission(u32),
    /// The bits travelling along links.
    Propagation,
    /// A packet on its way from the NIC of the host that it had reached to the transport there.
    Reception,
    /// Nothing under way until the retransmission timer fired.
    RtoIdle,
    /// The receiver held an acknowledgement back.
    Receiver,
    /// The sending host: start jitter, its NIC busy with other flows, or earlier messages of the connection.
    Host,
    /// In the network, where hops were not traced.
    Untraced,
    /// Since the last delivery, for a flow that never finished.
    Unfinished,
}

/// What the sender waited for during a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// The handshake.
    Handshake,
    /// Window space.
    Window,
    /// D3: the next grant, while sending at the present one.
    Rate,
    /// D3: the next grant, while sending at less than was asked for because a router denied it.
    Denied,
    /// D3: a grant to send anything at all.
    Pause,
    /// Nothing: the last packet was on its way, or waited for the flow's own packets to leave the NIC.
    Delivery,
}

/// A piece of the critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its beginning.
    pub from: Time,
    /// Its end: the beginning of the next one.
    pub to: Time,
    /// What the sender waited for.
    pub stage: Stage,
    /// What happened.
    pub cause: Cause,
}

/// One flow's time, explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The critical path, first to last, without gaps.
    pub steps: Vec<Step>,
    /// Completion time; of an unfinished flow, the time from submission to its last event.
    pub total: Span,
    /// Whether the flow finished.
    pub finished: bool,
    /// Round trips on the critical path, the handshake's included.
    pub round_trips: u32,
    /// Packets of the flow that were dropped or lost, by link.
    pub losses: BTreeMap<u32, u32>,
    /// Packets of the flow that were marked, by link.
    pub marks: BTreeMap<u32, u32>,
    /// Requests that were denied, by link.
    pub denials: BTreeMap<u32, u32>,
}

impl Explanation {
    /// Time by what happened. The values sum to [`Self::total`].
    pub fn by_cause(&self) -> BTreeMap<Cause, Span> {
        self.sums(|step| step.cause)
    }

    /// Time by what the sender waited for. The values sum to [`Self::total`].
    pub fn by_stage(&self) -> BTreeMap<Stage, Span> {
        self.sums(|step| step.stage)
    }

    /// Time by both. The values sum to [`Self::total`].
    pub fn parts(&self) -> BTreeMap<(Stage, Cause), Span> {
        self.sums(|step| (step.stage, step.cause))
    }

    fn sums<K: Ord>(&self, key: impl Fn(&Step) -> K) -> BTreeMap<K, Span> {
        let mut sums = BTreeMap::new();
        for step in &self.steps {
            *sums.entry(key(step)).or_default() += step.to.since(step.from);
        }
        sums
    }
}

/// Explains one flow from its trace. Works with any subset of the events; the fewer, the coarser.
pub fn explain(flow: &FlowRecord, events: &[FlowEvent]) -> Explanation {
    let last = events.iter().map(|event| event.at).max();
    let end = flow.finish.or(last).unwrap_or(flow.start).max(flow.start);
    let (steps, round_trips) = Walk::new(flow.start, end, events).run(flow.finish.is_some());
    let count = |wanted: fn(FlowEventKind) -> Option<u32>| {
        let mut counts = BTreeMap::new();
        for link in events.iter().filter_map(|event| wanted(event.what)) {
            *counts.entry(link).or_default() += 1;
        }
        counts
    };
    Explanation {
        steps,
        total: end.since(flow.start),
        finished: flow.finish.is_some(),
        round_trips,
        losses: count(|what| match what {
            FlowEventKind::Dropped { link } | FlowEventKind::Lost { link } => Some(link),
            _ => None,
        }),
        marks: count(|what| match what {
            FlowEventKind::Marked { link } => Some(link),
            _ => None,
        }),
        denials: count(|what| match what {
            FlowEventKind::Denied { link } => Some(link),
            _ => None,
        }),
    }
}

#[cfg(test)]
mod tests;
