//! Partition-aggregate trees: queries go down as messages, answers come up (D2TCP §2, D3 §2.1).
//!
//! The root asks its children; an inner node asks its own; a leaf computes and answers. An inner node answers when
//! enough of its children have, or when it gives up. Every answer says how many leaves' answers it holds. Nothing acts at
//! a distance: what a node knows came in a message, or is a draw named by (role, query) that any node can make.

mod again;
mod connections;
mod estimate;
mod forest;
mod plan;
mod roles;
mod servers;
mod setup;
mod shape;
mod token;

pub use again::Note;
pub use plan::needed;
pub(crate) use plan::recorded_share;
pub(crate) use shape::Shape;

use super::context::{Context, Draft};
use super::{Actions, Message, Place, draw};
use crate::SetupError;
use again::Again;
use duetime_core::random::Purpose;
use duetime_core::{Span, Time};
use duetime_results::record::{Class, FlowRecord, QueryRecord};
use duetime_results::{Question, TreeNode};
use duetime_scenario::model::{self, DeadlineFrom, HedgeAfter};
use plan::Plan;
use rustc_hash::FxHashMap;
use std::sync::Arc;
pub(super) use token::attempt;
use token::{At, Due, MAX_ROLE};

/// All trees of one workload. A role is tree × nodes per tree + node; a message's tag is its child's role.
#[derive(Clone, Debug)]
pub(crate) struct Oldi {
    plan: Arc<Plan>,
    /// Per tree, at its root's host: its queries, by number.
    records: Vec<Vec<QueryRecord>>,
    /// Per role, at its host: the queries not yet answered, by number and number of the question. Never iterated.
    open: Vec<FxHashMap<u32, Open>>,
    /// Questions to leaves, where these may be asked again.
    again: Again,
    /// What happened to queries here, away from their roots.
    pub(super) notes: Vec<(u64, Note)>,
}

/// A query at a node below the root.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// When the parent got it.
    at_parent: Time,
    /// Answers still missing before this node may answer.
    missing: u32,
    /// Leaves whose answers it holds, and of them those that came by their own deadlines.
    leaves: [u32; 2],
    /// Time that its computation waited for a server.
    waited: Span,
}

/// One call of the engine.
pub(super) struct Call<'a> {
    pub(super) context: &'a mut Context,
    pub(super) now: Time,
    pub(super) actions: &'a mut Actions,
}

impl Oldi {
    pub(super) fn new(config: &model::Oldi, place: &Place<'_>) -> Result<Self, SetupError> {
        let plan = Plan::new(config, place)?;
        let trees = plan.gaps.len();
        Ok(Self::of(plan, trees))
    }

    /// Recorded queries, each with a tree of its own.
    pub(super) fn recorded(spans: &model::Spans, place: &Place<'_>) -> Result<Self, SetupError> {
        let plan = Plan::recorded(spans, place)?;
        Ok(Self::of(plan, spans.queries.len()))
    }

    fn of(plan: Plan, trees: usize) -> Self {
        Self {
            records: vec![Vec::new(); trees],
            open: vec![FxHashMap::default(); plan.hosts.len()],
            plan: Arc::new(plan),
            again: Again::default(),
            notes: Vec::new(),
        }
    }

    pub(crate) fn trees(&self) -> u32 {
        self.records.len() as u32
    }

    /// The root's host of every tree.
    pub(crate) fn roots(&self) -> Vec<u32> {
        (0..self.trees())
            .map(|tree| self.plan.host(self.plan.root(tree)))
            .collect()
    }

    /// Of every child in a tree: the depth of its parent, its host and its parent's.
    pub(crate) fn edges(&self, tree: u32) -> impl Iterator<Item = (usize, u32, u32)> {
        let (root, plan) = (self.plan.root(tree), &self.plan);
        let below = root + 1..root + plan.forest.nodes(tree);
        below.map(|role| {
            let parent = plan.parent(role);
            (plan.depth(parent), plan.host(role), plan.host(parent))
        })
    }

    /// The hosts that play a role, each counted once.
    pub(crate) fn hosts_in_use(&self) -> u32 {
        let mut hosts = self.plan.hosts.clone();
        hosts.sort_unstable();
        hosts.dedup();
        hosts.len() as u32
    }

    /// Per tree: its application, and the mean gap between its queries; `None`: back to back.
    pub(crate) fn mean_gaps(&self) -> impl Iterator<Item = (usize, Option<Span>)> {
        let gaps = self.plan.gaps.iter().enumerate();
        gaps.map(|(tree, gap)| {
            let mean = gap.as_ref().map(draw::mean_gap);
            (self.plan.application(tree as u32), mean)
        })
    }

    /// Per tree whose parents start without an estimate of the percentile at which they hedge: the mean time until they
    /// have seen the answers that they need for one. Trees that ask back to back are left out.
    pub(crate) fn blind_times(&self) -> impl Iterator<Item = Span> {
        let config = &self.plan.config;
        let hedge = config
            .hedge
            .filter(|hedge| matches!(hedge.after, HedgeAfter::Percentile(_)));
        let leaves = config.fan_in.last().copied().unwrap_or(1);
        self.mean_gaps().filter_map(move |(application, gap)| {
            let declared = self.plan.declared.as_ref();
            let knows = declared.is_some_and(|of| of.for_application(application).is_some());
            let queries = hedge.filter(|_| !knows)?.samples.div_ceil(leaves);
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
            let openings = (0..self.trees()).flat_map(|tree| self.plan.openings(context, tree));
            actions
                .wakes
                .extend(openings.filter(|wake| owned(wake.host)));
        }
        for tree in (0..self.trees()).filter(|&tree| owned(self.plan.host(self.plan.root(tree)))) {
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
        let (due, query) = Due::of(token);
        call.actions.awaited -= i64::from(query.measured);
        match due {
            Due::Arrival => self.query_arrives(call, self.plan.tree(query.role)),
            Due::Ask => self.ask_child(call, query),
            Due::Answer => self.answer(call, query),
            Due::GiveUp => self.give_up(call, query),
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

    /// The deadline drawn for an answer, relative to its clock's start.
    pub(super) fn drawn_deadline(&self, context: &Context, message: &Message) -> Option<Span> {
        let At { role, number, .. } = at(message);
        self.plan.relative_deadline(context, role, number)
    }

    /// Returns the node whose query or answer the message is, with what its sender waited for before submitting it.
    pub(super) fn tree_node(&self, context: &Context, message: &Message) -> TreeNode {
        let plan = &self.plan;
        let of = at(message);
        let At { role, number, .. } = of;
        let root = plan.root(plan.tree(role));
        let question = plan.question(of.attempt);
        let (computing, jitter) = match message.class {
            Class::Response => (plan.delay(context, of), plan.answer_jitter(context, of)),
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
            judged: plan.is_judged(tree),
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

    /// Hands a node's query to all its children, each after its start jitter.
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
        if plan.follows(child.role) {
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
        if self.plan.follows(child.role) && !self.is_first(call, message, child) {
            return;
        }
        let (role, number) = (self.plan.parent(child.role), child.number);
        let parent = At {
            role,
            attempt: 0,
            ..child
        };
        let in_time = message.deadline.is_none_or(|deadline| call.now <= deadline);
        let own_in_time = if in_time { message.leaves_in_time } else { 0 };
        if self.plan.depth(role) > 0 {
            // Without an entry, or with nothing missing, this node has answered already.
            let Some(open) = self.open_mut(parent) else {
                return;
            };
            open.leaves[0] += message.leaves;
            open.leaves[1] += own_in_time;
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
            None => own_in_time,
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

    fn give_up(&mut self, call: &mut Call<'_>, query: At) {
        let tree = self.plan.tree(query.role);
        if self.plan.depth(query.role) == 0 {
            self.next_back_to_back(call, tree, query.number);
        } else if let Some(open) = self.open_mut(query) {
            open.missing = 0;
            self.note(query, Note::GaveUp);
            self.compute(call, query);
        }
    }

    /// A query for which this inner node still waits.
    fn open_mut(&mut self, query: At) -> Option<&mut Open> {
        self.open[query.role as usize]
            .get_mut(&query.slot())
            .filter(|open| open.missing > 0)
    }

    /// Whether a node still waits for answers.
    fn is_waiting(&self, query: At) -> bool {
        if self.plan.depth(query.role) > 0 {
            let open = self.open[query.role as usize].get(&query.slot());
            return open.is_some_and(|open| open.missing > 0);
        }
        let tree = self.plan.tree(query.role) as usize;
        let records = &self.records[tree];
        // A back-to-back tree goes on without the answers that it lacks.
        let is_past =
            self.plan.is_back_to_back(tree as u32) && records.len() as u32 > query.number + 1;
        records[query.number as usize].complete.is_none() && !is_past
    }

    /// Starts the next query of a back-to-back tree, once for each query.
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
            asked: Time::ZERO,
            waited: open.waited,
            measured: query.measured,
        };
        call.context.send(call.actions, call.now, &draft);
    }
}

/// Adds what happened away from their roots to the records of queries, which are in order.
pub fn add_notes(queries: &mut [QueryRecord], notes: impl IntoIterator<Item = (u64, Note)>) {
    for (query, note) in notes {
        if let Ok(at) = queries.binary_search_by_key(&query, |of| of.query) {
            note.add_to(&mut queries[at]);
        }
    }
}

/// Marks answers that came for nothing; the flows are in order.
pub fn mark_spare(flows: &mut [FlowRecord], spare: impl IntoIterator<Item = u64>) {
    for flow in spare {
        if let Ok(at) = flows.binary_search_by_key(&flow, |of| of.flow) {
            flows[at].spare = true.into();
        }
    }
}

/// Which query a message belongs to, at the child that gets the query or gives the answer.
fn at(message: &Message) -> At {
    At {
        role: message.tag & MAX_ROLE,
        number: message.query.unwrap_or_default() as u32,
        attempt: attempt(message.tag) as u8,
        measured: message.measured,
    }
}
