//! The backward walk through the tree of a query.

use super::super::{Cause, Stage};
use super::{Activity, Leg, Missing, QueryStep, Tree};
use duetime_core::{Span, Time};
use duetime_results::{Question, TreeNode};

/// Backward walk through the tree. The time after `cursor` is explained.
pub(super) struct Walk<'a, 'b> {
    tree: &'b Tree<'a>,
    cursor: Time,
    steps: Vec<QueryStep>,
    flows: Vec<u64>,
}

impl<'a, 'b> Walk<'a, 'b> {
    pub(super) fn new(tree: &'b Tree<'a>, end: Time) -> Self {
        Self {
            tree,
            cursor: end,
            steps: Vec::new(),
            flows: Vec::new(),
        }
    }

    pub(super) fn finish(mut self) -> (Vec<QueryStep>, Vec<u64>) {
        self.take(self.tree.start, 0, Activity::Untraced);
        self.steps.reverse();
        self.flows.reverse();
        (self.steps, self.flows)
    }

    /// Explains the time from `to` up to the cursor, and moves the cursor there.
    fn take(&mut self, to: Time, node: u32, activity: Activity) {
        let to = to.max(self.tree.start).min(self.cursor);
        if to < self.cursor {
            let (from, to) = (to, self.cursor);
            self.steps.push(QueryStep {
                from,
                to,
                node,
                activity,
            });
            self.cursor = from;
        }
    }

    fn take_span(&mut self, span: Span, node: u32, activity: Activity) {
        let to = self.cursor.as_ps().saturating_sub(span.as_ps());
        self.take(Time::from_ps(to), node, activity);
    }

    /// Explains a flow, from its finish or last event to its submission.
    fn take_flow(&mut self, leg: &Leg<'_>, activity: fn(Stage, Cause) -> Activity) {
        let node = leg.node.node;
        self.flows.push(leg.flow.flow);
        for step in leg.explain().steps.iter().rev() {
            self.take(step.to, node, Activity::Pending);
            self.take(step.from, node, activity(step.stage, step.cause));
        }
        self.take(leg.flow.start, node, Activity::Pending);
    }

    /// Follows the answer of `node`, which has arrived at `cursor`.
    pub(super) fn take_from(&mut self, node: Option<u32>) {
        if let Some(leg) = node.and_then(|node| self.tree.up.get(&node)) {
            self.take_flow(leg, Activity::Up);
            self.answer_back(leg);
        }
    }

    /// Follows the cause of an answer that was submitted at `cursor`.
    pub(super) fn answer_back(&mut self, answer: &Leg<'_>) {
        let tree = self.tree;
        let node = answer.node.node;
        self.take_span(answer.node.jitter, node, Activity::AnswerJitter);
        if answer.node.children == 0 {
            self.take_span(answer.node.computing, node, Activity::Computing);
            self.take_span(answer.node.waiting, node, Activity::Queueing);
            let query = tree.queries.get(&(node, answer.flow.attempt.0));
            return self.query_back(query.or_else(|| tree.query_to(node)), Activity::Untraced);
        }
        self.take_span(answer.node.computing, node, Activity::Aggregating);
        self.take_span(answer.node.waiting, node, Activity::Queueing);
        let at = self.cursor;
        let of_children = tree.up.values().filter(|leg| leg.node.parent == node);
        let mut arrived: Vec<_> = of_children
            .filter(|leg| leg.finished_by(at))
            .map(|leg| (leg.flow.finish, leg.flow.flow, leg.node.node))
            .collect();
        arrived.sort_unstable();
        let last = answer.node.needed.checked_sub(1);
        let Some(&(Some(finish), _, child)) = last.and_then(|last| arrived.get(last as usize))
        else {
            return self.activity_back(node, Activity::AggregatorTimeout);
        };
        self.take(finish, node, Activity::Untraced);
        self.take_from(Some(child));
    }

    /// Follows the activity of `node` up to `cursor` back to the arrival of its query.
    fn activity_back(&mut self, node: u32, activity: Activity) {
        self.query_back(self.tree.query_to(node), activity);
    }

    /// Follows the activity of a node up to `cursor`, and the query before it.
    fn query_back(&mut self, query: Option<&Leg<'_>>, activity: Activity) {
        if let Some(leg) = query
            && let Some(arrived) = leg.flow.finish
        {
            self.take(arrived, leg.node.node, activity);
            self.query_flow_back(leg);
        }
    }

    /// Follows a query that arrived at a node at `cursor` back to its parent.
    fn query_flow_back(&mut self, leg: &Leg<'_>) {
        self.take_flow(leg, Activity::Down);
        self.query_cause(leg);
    }

    /// Follows a query to a node that was submitted at `cursor` back to the root.
    pub(super) fn query_cause(&mut self, leg: &Leg<'_>) {
        let TreeNode { node, parent, .. } = leg.node;
        let Some(arrived) = self.tree.arrival(parent) else {
            return;
        };
        let waited = match leg.node.question {
            Question::First => None,
            Question::Hedge => Some(Activity::Hedging),
            Question::Retry => Some(Activity::Retrying),
        };
        // Hedges and retries wait from the first query on: each timeout starts with the query before.
        let first = self.tree.queries.get(&(node, 0));
        if let Some(first) = first {
            if let Some(waited) = waited {
                self.take(first.flow.start, node, waited);
            }
            self.take_span(first.node.jitter, node, Activity::QueryJitter);
        }
        self.take(arrived, node, Activity::Parent);
        if let Some(query) = self.tree.query_to(parent) {
            self.query_flow_back(query);
        }
    }

    /// Follows an answer that is missing at `cursor`.
    pub(super) fn take_missing(&mut self) {
        match self.tree.missing() {
            Some(Missing::Answer(node)) => self.take_from(Some(node)),
            Some(Missing::Waiting(node)) => self.activity_back(node, Activity::Pending),
            Some(Missing::Computing(node)) => self.activity_back(node, Activity::Computing),
            Some(Missing::Query(node)) => {
                if let Some(leg) = self.tree.query_to(node) {
                    self.query_flow_back(leg);
                }
            }
            None => {}
        }
    }
}
