//! Breakdown of one query's time: its critical path through the layers of its tree, in parts that sum exactly.
//!
//! # Method
//!
//! [`Tree::explain`] follows the path backwards, from the arrival of the answer with which the root had enough:
//!
//! 1. The answer's path up is a flow, divided as in [`explain_flow`]. Its sender submitted it after its start jitter.
//! 2. Before that, a leaf computed, starting when the query arrived or, after a wait, when it got a server of its host.
//!    An aggregator computed after the last answer that it needed arrived, and that answer continues at step 1; or
//!    after it timed out, which is a fixed time after its query arrived.
//! 3. The query's path down to a node is a flow as well. The parent sent it after its start jitter; a hedge or a retry
//!    after a wait for the answer to the earlier query. The parent continues at step 2 or 3, up to the root.
//!
//! The trace supplies jitter and computation of each message ([`TreeNode`]). Each part begins where the one before it
//! ends; together they cover [arrival at the root, enough answers].

mod walk;

use super::{Cause, Explanation, Stage, explain_flow};
use duetime_core::{Span, Time};
use duetime_results::{Class, FlowRecord, FlowTrace, QueryRecord, TreeNode};
use serde::Serialize;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use walk::Walk;

/// Activity during a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Activity {
    /// Start jitter of the parent before its query to the node.
    QueryJitter,
    /// The parent waits for the node's answer until it sends a hedge.
    Hedging,
    /// The parent waits for the node's answer until the query times out and it sends a retry.
    Retrying,
    /// Time at the parent that neither its start jitter nor a hedge or retry explains.
    Parent,
    /// The query is on its path down to the node.
    Down(Stage, Cause),
    /// The node's computation waits for a server of its host.
    Queueing,
    /// The node, a leaf, computes, including the random part of its computation.
    Computing,
    /// The aggregator waits for answers until it times out.
    AggregatorTimeout,
    /// The aggregator computes its answer.
    Aggregating,
    /// Start jitter of the node before its answer.
    AnswerJitter,
    /// The answer of the node is on its path up.
    Up(Stage, Cause),
    /// Time after the last event on the path.
    Pending,
    /// Not traced.
    Untraced,
}

/// Part of a query's critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryStep {
    /// Beginning of the part.
    pub from: Time,
    /// End of the part and beginning of the next one.
    pub to: Time,
    /// Index of the node below the root that the part is about.
    pub node: u32,
    /// Activity.
    pub activity: Activity,
}

/// State of the nodes of a query without enough answers at the time of its last event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PendingState {
    /// Answers of the root's children that reached the root.
    pub held: u32,
    /// Queries in flight.
    pub asked: u32,
    /// Leaves that compute or wait for a server.
    pub computing: u32,
    /// Aggregators that wait for answers.
    pub waiting: u32,
    /// Answers in flight.
    pub answering: u32,
    /// Answers that their senders quenched (D3 §6.1.3).
    pub quenched: u32,
    /// Answers that reached an aggregator after it had sent its own.
    pub left_behind: u32,
}

/// Breakdown of one query's time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryExplanation {
    /// The critical path, first to last, without gaps.
    pub steps: Vec<QueryStep>,
    /// Time from the arrival at the root to the end of the path.
    pub total: Span,
    /// State of the query, if the root never had enough answers. The path is then that of a missing answer and ends at
    /// the last event of any flow of the query.
    pub pending: Option<PendingState>,
    /// Flows on the path, first to last, by `FlowRecord::flow`.
    pub flows: Vec<u64>,
    /// Answers of the root's children that had reached it at the end of the path. The last of them completed the query.
    pub answers: u32,
}

impl QueryExplanation {
    /// Returns the time by node and activity. The values sum to [`Self::total`].
    pub fn parts(&self) -> BTreeMap<(u32, Activity), Span> {
        by_activity(&self.steps)
    }
}

/// Returns the time of a path by node and activity.
pub fn by_activity(steps: &[QueryStep]) -> BTreeMap<(u32, Activity), Span> {
    let mut sums = BTreeMap::new();
    for step in steps {
        *sums.entry((step.node, step.activity)).or_default() += step.to.since(step.from);
    }
    sums
}

/// Flows of one query, by the node below the root that sends or receives them.
pub struct Tree<'a> {
    start: Time,
    /// Queries, by node and attempt.
    queries: BTreeMap<(u32, u32), Leg<'a>>,
    /// Attempt that each node answered, or its first attempt.
    down: BTreeMap<u32, u32>,
    /// Answers that counted, by node.
    up: BTreeMap<u32, Leg<'a>>,
    /// Other answers of leaves with hedges or retries.
    spare: Vec<Leg<'a>>,
}

/// A query to a node, or the node's answer.
struct Leg<'a> {
    flow: &'a FlowRecord,
    trace: &'a FlowTrace,
    node: TreeNode,
}

impl Leg<'_> {
    fn explain(&self) -> Explanation {
        explain_flow(self.flow, &self.trace.events)
    }

    fn finished_by(&self, at: Time) -> bool {
        self.flow.finish.is_some_and(|finish| finish <= at)
    }

    /// Returns the time at which its sender, if an aggregator, had enough answers or stopped waiting.
    fn answer_due(&self) -> Time {
        let before = self.node.waiting + self.node.computing + self.node.jitter;
        Time::from_ps(self.flow.start.as_ps().saturating_sub(before.as_ps()))
    }

    fn last_event(&self) -> Time {
        let last = self.trace.events.iter().map(|event| event.at).max();
        last.unwrap_or(self.flow.start)
    }
}

impl<'a> Tree<'a> {
    /// Joins the traced flows of `query` with their records. Ignores other flows.
    pub fn new(query: &QueryRecord, flows: &'a [FlowRecord], traces: &'a [FlowTrace]) -> Self {
        let mut tree = Self {
            start: query.start,
            queries: BTreeMap::new(),
            down: BTreeMap::new(),
            up: BTreeMap::new(),
            spare: Vec::new(),
        };
        let traces: BTreeMap<u64, &FlowTrace> =
            traces.iter().map(|trace| (trace.flow, trace)).collect();
        let watched = flows.iter().filter_map(|flow| {
            let trace = *traces.get(&flow.flow)?;
            let node = trace.node.filter(|_| flow.query == Some(query.query))?;
            Some(Leg { flow, trace, node })
        });
        let (mut down, mut up): (Vec<Leg<'_>>, Vec<Leg<'_>>) = watched
            .filter(|leg| leg.flow.class != Class::Cancel)
            .partition(|leg| leg.flow.class == Class::Query);
        // Of several answers of a leaf, choose the one that counted, or else the first one in flight. A cancelled query
        // may leave an answer that never arrives, or one that the parent discards.
        up.sort_by_key(|leg| (leg.flow.finish.is_none(), leg.flow.attempt.0));
        for leg in up {
            match tree.up.entry(leg.node.node) {
                Entry::Vacant(place) if !leg.flow.spare.0 => {
                    place.insert(leg);
                }
                _ => tree.spare.push(leg),
            }
        }
        // Of several queries, choose the answered one, or else the first one whose answer may still count.
        let attempt = |leg: &Leg<'_>| (leg.node.node, leg.flow.attempt.0);
        let spare: BTreeSet<(u32, u32)> = tree.spare.iter().map(attempt).collect();
        let answered = |leg: &Leg<'_>| {
            let answer = tree.up.get(&leg.node.node);
            answer.is_some_and(|answer| answer.flow.attempt == leg.flow.attempt)
        };
        down.sort_by_key(|leg| {
            let discarded = spare.contains(&attempt(leg));
            (!answered(leg), discarded, leg.flow.attempt.0)
        });
        for leg in down {
            let (node, attempt) = (leg.node.node, leg.flow.attempt.0);
            tree.down.entry(node).or_insert(attempt);
            tree.queries.entry((node, attempt)).or_insert(leg);
        }
        tree
    }

    /// Returns the critical path from the arrival at the root to the answer that gave the root enough answers, at
    /// `enough`. Without `enough`, the path ends at the query's last event.
    pub fn explain(&self, enough: Option<Time>) -> QueryExplanation {
        let end = enough.unwrap_or_else(|| self.last_event());
        let mut path = Walk::new(self, end);
        let held = |at: Time| {
            let of_children = self.up.values().filter(|leg| leg.node.parent == 0);
            of_children.filter(move |leg| leg.finished_by(at))
        };
        match enough {
            Some(at) => {
                let last = held(at).max_by_key(|leg| (leg.flow.finish, leg.flow.flow));
                path.take_from(last.map(|leg| leg.node.node));
            }
            None => path.take_missing(),
        }
        let (steps, flows) = path.finish();
        QueryExplanation {
            total: end.since(self.start),
            pending: enough.is_none().then(|| self.pending()),
            answers: held(end).map(|_| 1).sum(),
            steps,
            flows,
        }
    }

    /// Returns the critical path from the arrival at the root to the submission of one of the query's flows, or `None`
    /// if the flow belongs to another query.
    pub fn before(&self, flow: u64) -> Option<Vec<QueryStep>> {
        let matches = |leg: &&Leg<'_>| leg.flow.flow == flow;
        let mut path;
        if let Some(leg) = self.up.values().chain(&self.spare).find(matches) {
            path = Walk::new(self, leg.flow.start);
            path.answer_back(leg);
        } else {
            let leg = self.queries.values().find(matches)?;
            path = Walk::new(self, leg.flow.start);
            path.query_cause(leg);
        }
        Some(path.finish().0)
    }

    fn last_event(&self) -> Time {
        let answers = self.up.values().chain(&self.spare);
        let last = self
            .queries
            .values()
            .chain(answers)
            .map(Leg::last_event)
            .max();
        last.unwrap_or(self.start).max(self.start)
    }

    /// Returns the arrival of the query at a node.
    fn arrival(&self, node: u32) -> Option<Time> {
        match node {
            0 => Some(self.start),
            _ => self.query_to(node)?.flow.finish,
        }
    }

    /// Returns the query that a node answered, or the first one to it.
    fn query_to(&self, node: u32) -> Option<&Leg<'a>> {
        self.queries.get(&(node, *self.down.get(&node)?))
    }

    /// Returns true if a node's answer reached its parent before the parent's own answer was made.
    fn is_in_parents_answer(&self, leg: &Leg<'_>) -> bool {
        let Some(parent) = self.up.get(&leg.node.parent) else {
            return leg.flow.finish.is_some();
        };
        if leg.flow.finish != Some(parent.answer_due()) {
            return leg.finished_by(parent.answer_due());
        }
        // A host receives the packets of one wake-up together: more answers than needed can have the same time.
        let place = |leg: &Leg<'_>| (leg.flow.finish, leg.flow.flow);
        let siblings = self
            .up
            .values()
            .filter(|sibling| sibling.node.parent == leg.node.parent);
        let before =
            siblings.filter(|sibling| sibling.flow.finish.is_some() && place(sibling) < place(leg));
        before.count() < parent.node.needed as usize
    }

    fn pending(&self) -> PendingState {
        let mut pending = PendingState::default();
        for node in self.down.keys() {
            let Some(down) = self.query_to(*node) else {
                continue;
            };
            let count = match (self.up.get(node), down.flow.finish) {
                (Some(up), _) if up.flow.quenched => &mut pending.quenched,
                (Some(up), _) if up.flow.finish.is_none() => &mut pending.answering,
                (Some(up), _) if !self.is_in_parents_answer(up) => &mut pending.left_behind,
                (Some(up), _) if up.node.parent == 0 => &mut pending.held,
                (Some(_), _) => continue,
                (None, None) => &mut pending.asked,
                (None, Some(_)) if down.node.children > 0 => &mut pending.waiting,
                (None, Some(_)) => &mut pending.computing,
            };
            *count += 1;
        }
        pending
    }

    /// Returns the earliest missing answer of the first kind that exists: in flight; arrived too late at an aggregator;
    /// being computed by a leaf; query in flight; aggregator that has not queried its children.
    fn missing(&self) -> Option<Missing> {
        let up = self.up.values();
        let first = |a: Option<(Time, u32)>| a.map(|(_, node)| node);
        let key = |leg: &Leg<'_>| (leg.flow.start, leg.node.node);
        let answering = up.clone().filter(|leg| leg.flow.finish.is_none());
        if let Some(node) = first(answering.map(key).min()) {
            return Some(Missing::Answer(node));
        }
        if let Some(node) = first(
            up.filter(|leg| !self.is_in_parents_answer(leg))
                .map(key)
                .min(),
        ) {
            return Some(Missing::Answer(node));
        }
        let silent = || {
            let down = self.down.keys().filter_map(|&node| self.query_to(node));
            down.filter(|leg| !self.up.contains_key(&leg.node.node))
        };
        let computing = silent().filter(|leg| leg.node.children == 0);
        let arrived = computing.filter_map(|leg| Some((leg.flow.finish?, leg.node.node)));
        if let Some(node) = first(arrived.min()) {
            return Some(Missing::Computing(node));
        }
        let asked = silent().filter(|leg| leg.flow.finish.is_none());
        if let Some(node) = first(asked.map(key).min()) {
            return Some(Missing::Query(node));
        }
        let waiting = silent().filter_map(|leg| Some((leg.flow.finish?, leg.node.node)));
        first(waiting.min()).map(Missing::Waiting)
    }
}

/// Missing answer of a query without enough answers, by node.
enum Missing {
    Answer(u32),
    Computing(u32),
    Query(u32),
    /// An aggregator that has not queried its children.
    Waiting(u32),
}

#[cfg(test)]
mod tests;
