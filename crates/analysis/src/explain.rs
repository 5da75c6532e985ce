//! Breakdown of one flow's completion time into parts that sum to it exactly. [`Tree`] breaks down the time of a query.
//!
//! # Method
//!
//! [`explain_flow`] follows the critical path backwards, from the delivery of the last byte to the submission:
//!
//! 1. The packet whose arrival completed the delivery is followed back over its hops. Each hop contributes a
//!    propagation, a transmission and a queueing part; the hosts at both ends contribute their delays.
//! 2. The packet left the sender at some instant. If the sender's NIC had just sent another packet of the flow, the
//!    path continues with that packet. If the NIC was busy with other flows, the time since the flow was ready is
//!    waiting for the NIC. Otherwise an event at that instant allowed the packet: a timer, an acknowledgement, a grant,
//!    the end of the handshake, or the submission. A timer leads back to the event that started it.
//! 3. An acknowledgement or grant is followed back over its own hops to the packet that caused it, with the time for
//!    which the receiver delayed it as a separate part. That packet continues at step 1. Under `due`, a receiver grants
//!    when any message's packet arrives, so the wait since the latest packet of this flow is a separate part.
//!
//! A flow limited by its window therefore shows the composition of each of its round trips. The parts are intervals,
//! each beginning at the end of the one before, that together cover [submission, finish]; so their sum is exact. In
//! addition to its [`Cause`], a part has a [`Stage`]: the state of the sender. If a trace is incomplete
//! (acknowledgements not traced, a connection older than the flow), the remaining time becomes one part of cause
//! [`Cause::Untraced`], [`Cause::EarlierMessages`] or [`Cause::Host`].

mod kinds;
mod late;
mod limit;
mod names;
mod path;
mod query;
mod route;

pub use late::{LateQueries, LimitedQuery, Place, Queue};
pub use limit::Limit;
pub use names::Names;
pub use query::{Activity, PendingState, QueryExplanation, QueryStep, Tree, by_activity};

use duetime_core::{Span, Time};
use duetime_results::{FlowEvent, FlowEventKind, FlowRecord, Timer};
use path::Walk;
use std::collections::BTreeMap;

/// Physical cause of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// Waiting in the queue of a directed link.
    Queue(u32),
    /// Transmission on a directed link.
    Transmission(u32),
    /// Propagation along links.
    Propagation,
    /// Delay of a receiving host, between its NIC and its transport.
    Reception,
    /// Random delay of a sending host's packet at its NIC (`send_jitter`).
    SendJitter,
    /// Waiting for a timer to expire.
    Timer(Timer),
    /// Waiting at the sending host while its NIC sent packets of other flows.
    Nic,
    /// A reply waiting at the receiving host while its NIC sent other packets.
    ReplyNic,
    /// Other time between an arrival at the receiver and its reply.
    Receiver,
    /// `due`: waiting for a grant while the receiver grants more urgent messages.
    Grant,
    /// `due`: silence until the receiver requested missing packets.
    Resend,
    /// Waiting until the application aborted the message.
    Aborted,
    /// Waiting for earlier messages of the same connection.
    EarlierMessages,
    /// Other time at the sending host.
    Host,
    /// Time in the network where hops were not traced.
    Untraced,
    /// Time after the last delivery of a flow that never finished.
    Unfinished,
}

/// State of the sender during a part: what it waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// The handshake.
    Handshake,
    /// Window space.
    Window,
    /// Recovery of a loss: news of it, or a timer.
    Loss,
    /// D3: the next grant, while sending at the present one.
    Rate,
    /// D3: the next packet's turn at the allocated rate.
    Pace,
    /// D3: the next grant, after a router granted less than requested.
    Denied,
    /// D3: a grant above zero.
    Pause,
    /// `due`: the receiver's next grant.
    Grant,
    /// `due`: the next grant of a message with a deadline that the receiver's overload check postponed.
    Postponed,
    /// Delivery of the last packet, including the flow's own packets ahead of it in the NIC.
    Delivery,
}

/// Part of the critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Beginning of the part.
    pub from: Time,
    /// End of the part and beginning of the next one.
    pub to: Time,
    /// State of the sender.
    pub stage: Stage,
    /// Physical cause.
    pub cause: Cause,
}

/// Breakdown of one flow's time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The critical path, first to last, without gaps.
    pub steps: Vec<Step>,
    /// Completion time, or the time from submission to the last event of an unfinished flow.
    pub total: Span,
    /// True if the flow finished.
    pub finished: bool,
    /// Round trips on the critical path, including the handshake.
    pub round_trips: u32,
    /// Packets of the flow that were dropped or lost, by link.
    pub losses: BTreeMap<u32, u32>,
    /// Packets of the flow that were marked, by link.
    pub marks: BTreeMap<u32, u32>,
    /// Requests that were denied, by link.
    pub denials: BTreeMap<u32, u32>,
}

impl Explanation {
    /// Returns the time by cause. The values sum to [`Self::total`].
    pub fn by_cause(&self) -> BTreeMap<Cause, Span> {
        self.sums(|step| step.cause)
    }

    /// Returns the time by state of the sender. The values sum to [`Self::total`].
    pub fn by_stage(&self) -> BTreeMap<Stage, Span> {
        self.sums(|step| step.stage)
    }

    /// Returns the time by state and cause. The values sum to [`Self::total`].
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

/// Explains one flow from its trace. Accepts any subset of the events; fewer events give coarser parts.
pub fn explain_flow(flow: &FlowRecord, events: &[FlowEvent]) -> Explanation {
    let last = events.iter().map(|event| event.at).max();
    let end = flow.finish.or(last).unwrap_or(flow.start).max(flow.start);
    let (steps, round_trips) = Walk::new(flow, end, events).run(flow.finish.is_some());
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
