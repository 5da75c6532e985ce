//! Partition-aggregate trees: queries go down as messages, answers come up (D2TCP §2, D3 §2.1).
//!
//! The root requests answers from its children, and inner nodes from theirs; a leaf computes and answers. An inner node
//! answers when enough of its children have answered or when it times out. Every answer says how many leaves' answers
//! it contains. Nothing acts at a distance: a node's knowledge comes from messages, or from draws keyed by (role,
//! query), which any node can make.

mod attempts;
mod connections;
mod estimate;
mod forest;
mod plan;
mod roles;
mod servers;
mod setup;
mod shape;

pub use attempts::Note;
pub use plan::needed;

use super::context::{Call, Context, Draft};
use super::place::Place;
use super::token::{At, Due, MAX_ROLE, attempt};
use super::{Actions, Message, draw};
use crate::SetupError;
use attempts::Attempts;
use duetime_core::random::Purpose;
use duetime_core::{Span, Time};
use duetime_results::record::{Class, FlowRecord, QueryRecord};
use duetime_results::{Question, TreeNode};
use duetime_scenario::model::{self, DeadlineFrom, HedgeAfter};
use plan::Plan;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// All trees of one workload. A role is tree × nodes per tree + node. The tag of a message contains the role of the
/// child.
#[derive(Clone, Debug)]
pub struct Trees {
    plan: Arc<Plan>,
    /// Queries of each tree by number, kept at the root's host.
    records: Vec<Vec<QueryRecord>>,
    /// Unanswered queries of each role by number and attempt, kept at the role's host. Never iterated.
    open: Vec<FxHashMap<u32, Open>>,
    /// Requests to leaves, if these can be hedged, retried or cancelled.
    attempts: Attempts,
    /// Events of queries away from their roots, by query.
    pub(super) notes: Vec<(u64, Note)>,
}

/// A query at a node below the root.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// Time at which the parent received the query.
    at_parent: Time,
    /// Number of answers that this node still needs before it answers.
    missing: u32,
    /// Number of leaves whose answers this node has, and the number of these that met their own deadlines.
    leaves: [u32; 2],
    /// Time that the node's computation waited for a server.
    waited: Span,
}

impl Trees {
    pub(super) fn new(config: &model::Oldi, place: &Place<'_>) -> Result<Self, SetupError> {
        let plan = Plan::new(config, place)?;
        let trees = plan.gaps.len();
        Ok(Self::from_plan(plan, trees))
    }

    /// Creates one tree for each recorded query.
    pub(super) fn recorded(spans: &model::Spans, place: &Place<'_>) -> Result<Self, SetupError> {
        let plan = Plan::recorded(spans, place)?;
        Ok(Self::from_plan(plan, spans.queries.len()))
    }

    fn from_plan(plan: Plan, trees: usize) -> Self {
        Self {
            records: vec![Vec::new(); trees],
            open: vec![FxHashMap::default(); plan.hosts.len()],
            plan: Arc::new(plan),
            attempts: Attempts::default(),
            notes: Vec::new(),
        }
    }

    /// Returns the number of trees.
    pub fn count(&self) -> u32 {
        self.records.len() as u32
    }

    /// Returns the root's host of every tree.
    pub fn roots(&self) -> Vec<u32> {
        (0..self.count())
            .map(|tree| self.plan.host(self.plan.root(tree)))
            .collect()
    }

    /// Returns, for every child in a tree, its parent's depth, its host and its parent's host.
    pub fn edges(&self, tree: u32) -> impl Iterator<Item = (usize, u32, u32)> {
        let (root, plan) = (self.plan.root(tree), &self.plan);
        let below = root + 1..root + plan.forest.nodes(tree);
        below.map(|role| {
            let parent = plan.parent(role);
            (plan.depth(parent), plan.host(role), plan.host(parent))
        })
    }

    /// Returns the number of different hosts with a role.
    pub fn hosts_in_use(&self) -> u32 {
        let mut hosts = self.plan.hosts.clone();
        hosts.sort_unstable();
        hosts.dedup();
        hosts.len() as u32
    }

    /// Returns each tree's application and the mean gap between its queries, or `None` if the queries are back to back.
    pub fn mean_gaps(&self) -> impl Iterator<Item = (usize, Option<Span>)> {
        let gaps = self.plan.gaps.iter().enumerate();
        gaps.map(|(tree, gap)| {
            let mean = gap.as_ref().map(draw::mean_gap);
            (self.plan.application(tree as u32), mean)
        })
    }

    /// Returns the mean time until the parents of each tree can estimate the percentile at which they hedge, for trees
    /// that start without an estimate. Back-to-back trees are skipped.
    pub fn estimate_times(&self) -> impl Iterator<Item = Span> {
        let config = &self.plan.config;
        let hedge = config
            .hedge
            .filter(|hedge| matches!(hedge.after, HedgeAfter::Percentile(_)));
        let leaves = config.fan_in.last().copied().unwrap_or(1);
        self.mean_gaps().filter_map(move |(application, gap)| {
            let declared = self.plan.declared.as_ref();
            let is_declared =
                declared.is_some_and(|declared| declared.for_application(application).is_some());
            let queries = hedge.filter(|_| !is_declared)?.samples.div_ceil(leaves);
            Some(Span::from_ps(gap?.as_ps().saturating_mul(queries.into())))
        })
    }

    pub(super) fn start(
        &self,
        context: &Context,
        owned: &dyn Fn(u32) -> bool,
        actions: &mut Actions,
    ) {
        if self.plan.keeps_connections {
            let openings = (0..self.count()).flat_map(|tree| self.plan.openings(context, tree));
            actions
                .wakes
                .extend(openings.filter(|wake| owned(wake.host)));
        }
        for tree in (0..self.count()).filter(|&tree| owned(self.plan.host(self.plan.root(tree)))) {
            let first = self.plan.forest.start(tree).unwrap_or_else(|| {
                let mut stream = context.stream(self.plan.arrival_key(tree, 0), Purpose::Arrival);
                let gap = self.plan.gaps[tree as usize].as_ref();
                Time::ZERO + gap.map_or(Span::ZERO, |gap| draw::first_gap(gap, &mut stream))
            });
            let wake = self.plan.arrival(self.plan.root(tree), 0, first);
            context.start_at(actions, Span::ZERO, wake);
        }
    }

    pub(super) fn wake(&mut self, call: &mut Call<'_>, token: u64) {
        let (due, query) = Due::from_token(token);
        call.actions.awaited -= i64::from(query.measured);
        match due {
            Due::Arrival => self.query_arrives(call, self.plan.tree(query.role)),
            Due::Ask => self.ask_child(call, query),
            Due::Answer => self.answer(call, query),
            Due::Timeout => self.time_out(call, query),
            Due::Hedge => self.hedge(call, query),
            Due::Retry => self.retry(call, query),
            Due::Connect => self.plan.connect(call, query),
            Due::Computed => self.computed(call, query),
        }
    }

    pub(super) fn delivered(&mut self, call: &mut Call<'_>, message: &Message) {
        match message.class {
            Class::Query => self.query_delivered(call, message),
            Class::Cancel => self.cancelled(call, message),
            _ => self.answer_delivered(call, message),
        }
    }

    pub(super) fn take_queries(&mut self, records: &mut Vec<QueryRecord>) {
        records.extend(self.records.iter_mut().flat_map(std::mem::take));
    }

    /// Returns the deadline drawn for an answer, relative to the start of its clock.
    pub(super) fn drawn_deadline(&self, context: &Context, message: &Message) -> Option<Span> {
        let At { role, number, .. } = at(message);
        self.plan.relative_deadline(context, role, number)
    }

    /// Returns the tree node of a query or an answer, with the times that its sender spent before submitting the
    /// message.
    pub(super) fn tree_node(&self, context: &Context, message: &Message) -> TreeNode {
        let plan = &self.plan;
        let query = at(message);
        let At { role, number, .. } = query;
        let root = plan.root(plan.tree(role));
        let question = plan.question(query.attempt);
        let (computing, jitter) = match message.class {
            Class::Response => (
                plan.delay(context, query),
                plan.answer_jitter(context, query),
            ),
            Class::Query if question == Question::First => {
                (Span::ZERO, plan.ask_jitter(context, role, number))
            }
            _ => (Span::ZERO, Span::ZERO),
        };
        TreeNode {
            waiting: message.waited,
            node: role - root,
            parent: plan.parent(role) - root,
            children: plan.forest.fan_in(role),
            needed: plan.needed(role),
            question,
            computing,
            jitter,
        }
    }

    fn query_arrives(&mut self, call: &mut Call<'_>, tree: u32) {
        let plan = &self.plan;
        let (root, records) = (plan.root(tree), &mut self.records[tree as usize]);
        let number = records.len() as u32;
        let query = At {
            role: root,
            number,
            attempt: 0,
            measured: call.context.measured(call.now),
        };
        records.push(QueryRecord {
            query: plan.query(tree, number),
            workload: plan.workload,
            application: plan.application(tree) as u16,
            root: plan.host(root),
            start: call.now,
            children: plan.forest.fan_in(root),
            measured: query.measured,
            asked: plan.forest.nodes(tree) - 1,
            leaves: plan.forest.leaves(tree),
            needed: plan.leaves_needed(tree),
            judged: plan.can_be_late(tree),
            due: plan.budget(tree).map(|budget| call.now + budget),
            ..QueryRecord::default()
        });
        if plan.is_back_to_back(tree) {
            plan.limit_root(call, query);
        } else if let Some(Some(gap)) = plan.gaps.get(tree as usize) {
            let mut stream = call
                .context
                .stream(plan.arrival_key(tree, number + 1), Purpose::Arrival);
            let next = call.now + draw::gap(gap, &mut stream);
            let wake = plan.arrival(root, number + 1, next);
            call.context.start_at(call.actions, Span::ZERO, wake);
        }
        self.ask(call, query);
    }

    /// Sends a node's query to all its children, each after its start jitter.
    fn ask(&mut self, call: &mut Call<'_>, parent: At) {
        for role in self.plan.children(parent.role) {
            let child = At { role, ..parent };
            let jitter = self.plan.ask_jitter(call.context, role, parent.number);
            if jitter == Span::ZERO {
                self.ask_child(call, child);
            } else {
                self.plan
                    .await_wake(call, Due::Ask, child, call.now + jitter);
            }
        }
    }

    fn ask_child(&mut self, call: &mut Call<'_>, child: At) {
        let plan = &self.plan;
        let jitter = plan.ask_jitter(call.context, child.role, child.number);
        plan.send_query(call, child, call.now - jitter);
        if plan.tracks(child.role) {
            self.watch(call, child);
        }
    }

    fn query_delivered(&mut self, call: &mut Call<'_>, message: &Message) {
        let query = at(message);
        let plan = &self.plan;
        let is_leaf = plan.forest.is_leaf(query.role);
        let open = Open {
            at_parent: message.asked,
            missing: plan.needed(query.role),
            leaves: [u32::from(is_leaf); 2],
            waited: Span::ZERO,
        };
        self.open[query.role as usize].insert(query.slot(), open);
        if is_leaf {
            if query.attempt > 0 {
                self.note(query, Note::Computed);
            }
            self.compute(call, query);
        } else {
            plan.limit_aggregator(call, query, message.asked);
            self.ask(call, query);
        }
    }

    fn answer_delivered(&mut self, call: &mut Call<'_>, message: &Message) {
        let child = at(message);
        if self.plan.tracks(child.role) && !self.is_first(call, message, child) {
            return;
        }
        let (role, number) = (self.plan.parent(child.role), child.number);
        let parent = At {
            role,
            attempt: 0,
            ..child
        };
        let in_time = message.deadline.is_none_or(|deadline| call.now <= deadline);
        let leaves_in_time = if in_time { message.leaves_in_time } else { 0 };
        if self.plan.depth(role) > 0 {
            // Without an entry, or with nothing missing, this node has already answered.
            let Some(open) = self.open_mut(parent) else {
                return;
            };
            open.leaves[0] += message.leaves;
            open.leaves[1] += leaves_in_time;
            open.missing -= 1;
            if open.missing == 0 {
                self.cancel_spares(call, parent);
                self.compute(call, parent);
            }
            return;
        }
        let tree = self.plan.tree(role);
        let record = &mut self.records[tree as usize][number as usize];
        record.answered += 1;
        record.in_time += u32::from(in_time);
        record.leaves_answered += message.leaves;
        record.leaves_in_time += match record.due {
            Some(due) if call.now <= due => message.leaves,
            Some(_) => 0,
            None => leaves_in_time,
        };
        let is_enough = record.enough.is_none() && record.leaves_answered >= record.needed;
        if is_enough {
            record.enough = Some(call.now);
        }
        let is_complete = record.answered == self.plan.needed(role);
        if is_complete {
            record.complete = Some(call.now);
        }
        if is_enough {
            self.cancel_spares(call, parent);
        }
        if is_complete {
            self.next_back_to_back(call, tree, number);
        }
    }

    fn time_out(&mut self, call: &mut Call<'_>, query: At) {
        let tree = self.plan.tree(query.role);
        if self.plan.depth(query.role) == 0 {
            self.next_back_to_back(call, tree, query.number);
        } else if let Some(open) = self.open_mut(query) {
            open.missing = 0;
            self.note(query, Note::TimedOut);
            self.compute(call, query);
        }
    }

    /// Returns a query for which this inner node still waits for answers.
    fn open_mut(&mut self, query: At) -> Option<&mut Open> {
        self.open[query.role as usize]
            .get_mut(&query.slot())
            .filter(|open| open.missing > 0)
    }

    /// Returns true if a node still waits for answers.
    fn is_waiting(&self, query: At) -> bool {
        if self.plan.depth(query.role) > 0 {
            let open = self.open[query.role as usize].get(&query.slot());
            return open.is_some_and(|open| open.missing > 0);
        }
        let tree = self.plan.tree(query.role) as usize;
        let records = &self.records[tree];
        // A back-to-back tree may have moved on without all answers.
        let is_past =
            self.plan.is_back_to_back(tree as u32) && records.len() as u32 > query.number + 1;
        records[query.number as usize].complete.is_none() && !is_past
    }

    /// Starts the next query of a back-to-back tree, once per query.
    fn next_back_to_back(&mut self, call: &mut Call<'_>, tree: u32, number: u32) {
        let is_last = self.records[tree as usize].len() as u32 == number + 1;
        if self.plan.is_back_to_back(tree) && is_last && call.context.running(call.now) {
            self.query_arrives(call, tree);
        }
    }

    fn answer_after(&mut self, call: &mut Call<'_>, query: At, delay: Span) {
        let jitter = self.plan.answer_jitter(call.context, query);
        let at = call.now + delay + jitter;
        if at == call.now {
            self.answer(call, query);
        } else {
            self.plan.await_wake(call, Due::Answer, query, at);
        }
    }

    fn answer(&mut self, call: &mut Call<'_>, query: At) {
        let At { role, number, .. } = query;
        let Some(open) = self.open[role as usize].remove(&query.slot()) else {
            return;
        };
        let plan = &self.plan;
        let clock = match plan.config.deadline_from {
            DeadlineFrom::Query => open.at_parent,
            DeadlineFrom::Response => call.now,
        };
        let tree = plan.tree(role);
        let draft = Draft {
            workload: plan.workload,
            class: Class::Response,
            query: Some(plan.query(tree, number)),
            source: plan.host_of(call.context, query),
            destination: plan.host(plan.parent(role)),
            bytes: plan.answer_bytes(call.context, role, number),
            deadline: plan
                .relative_deadline(call.context, role, number)
                .map(|span| clock + span),
            tag: query.tag(),
            leaves: open.leaves,
            siblings: plan.forest.fan_in(plan.parent(role)),
            asked: Time::ZERO,
            waited: open.waited,
            measured: query.measured,
        };
        call.context.send(call.actions, call.now, &draft);
    }
}

/// Adds events away from the roots to the records of queries, which must be sorted.
pub fn add_notes(queries: &mut [QueryRecord], notes: impl IntoIterator<Item = (u64, Note)>) {
    for (query, note) in notes {
        if let Ok(index) = queries.binary_search_by_key(&query, |record| record.query) {
            note.add_to(&mut queries[index]);
        }
    }
}

/// Marks answers that were not needed. `flows` must be sorted.
pub fn mark_unneeded(flows: &mut [FlowRecord], spare: impl IntoIterator<Item = u64>) {
    for flow in spare {
        if let Ok(index) = flows.binary_search_by_key(&flow, |record| record.flow) {
            flows[index].spare = true.into();
        }
    }
}

/// Returns the query and attempt of a message, at the child that receives the query or sends the answer.
fn at(message: &Message) -> At {
    At {
        role: message.tag & MAX_ROLE,
        number: message.query.unwrap_or_default() as u32,
        attempt: attempt(message.tag) as u8,
        measured: message.measured,
    }
}
