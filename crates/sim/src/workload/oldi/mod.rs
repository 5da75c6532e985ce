//! Partition-aggregate trees: queries go down as messages, answers come up (D2TCP §2, D3 §2.1).
//!
//! The root asks its children; an inner node asks its own; a leaf computes and answers. An inner node answers when
//! enough of its children have, or when the last of their deadlines has passed. Nothing acts at a distance: what a
//! node knows came in a message, or is a draw named by (role, query) that any node can make.

mod plan;
mod roles;
mod shape;

pub(crate) use plan::needed;
pub(crate) use shape::Shape;

use super::context::{Context, Draft};
use super::{Actions, Message, Place, draw};
use crate::SetupError;
use duetime_core::random::Purpose;
use duetime_core::{Span, Time};
use duetime_results::record::{Class, QueryRecord};
use duetime_scenario::model::{self, DeadlineFrom};
use plan::{Due, Plan};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// All trees of one workload. A role is tree × nodes per tree + node; a message's tag is its child's role.
#[derive(Clone, Debug)]
pub(crate) struct Oldi {
    plan: Arc<Plan>,
    /// Per tree, at its root's host: its queries, by number.
    records: Vec<Vec<QueryRecord>>,
    /// Per role, at its host: the queries not yet answered, by number. Never iterated.
    open: Vec<FxHashMap<u32, Open>>,
}

/// A query at a node below the root.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// When the parent got it.
    at_parent: Time,
    /// Answers still missing before this node may answer.
    missing: u32,
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
        let (trees, roles) = (plan.gaps.len(), plan.hosts.len());
        Ok(Self {
            plan: Arc::new(plan),
            records: vec![Vec::new(); trees],
            open: vec![FxHashMap::default(); roles],
        })
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
        gaps.map(|(tree, gap)| (self.plan.application(tree as u32), gap.map(draw::mean_gap)))
    }

    pub(super) fn start(
        &self,
        context: &Context,
        owned: &dyn Fn(u32) -> bool,
        actions: &mut Actions,
    ) {
        for tree in (0..self.trees()).filter(|&tree| owned(self.plan.host(self.plan.root(tree)))) {
            let mut stream = context.stream(self.plan.arrival_key(tree, 0), Purpose::Arrival);
            let gap = self.plan.gaps[tree as usize];
            let first =
                Time::ZERO + gap.map_or(Span::ZERO, |gap| draw::first_gap(gap, &mut stream));
            let wake = self.plan.wake(Due::Arrival, self.plan.root(tree), 0, first);
            context.start_at(actions, first, Span::ZERO, wake);
        }
    }

    pub(super) fn wake(&mut self, call: &mut Call<'_>, token: u64) {
        let (due, role, number) = Due::of(token);
        match due {
            Due::Arrival => self.query_arrives(call, self.plan.tree(role)),
            Due::Ask => self.plan.send_query(call, role, number),
            Due::Answer => self.answer(call, role, number),
            Due::GiveUp => self.give_up(call, role, number),
        }
    }

    pub(super) fn delivered(&mut self, call: &mut Call<'_>, message: &Message) {
        match message.class {
            Class::Query => self.query_delivered(call, message),
            _ => self.answer_delivered(call, message),
        }
    }

    pub(super) fn take_queries(&mut self, records: &mut Vec<QueryRecord>) {
        records.extend(self.records.iter_mut().flat_map(std::mem::take));
    }

    /// The deadline drawn for an answer, relative to its clock's start.
    pub(super) fn drawn_deadline(&self, context: &Context, message: &Message) -> Option<Span> {
        self.plan
            .relative_deadline(context, message.tag, number(message))
    }

    fn query_arrives(&mut self, call: &mut Call<'_>, tree: u32) {
        let plan = &self.plan;
        let (root, records) = (plan.root(tree), &mut self.records[tree as usize]);
        let number = records.len() as u32;
        records.push(QueryRecord {
            query: plan.query(tree, number),
            workload: plan.workload,
            application: plan.application(tree) as u16,
            root: plan.host(root),
            start: call.now,
            complete: None,
            children: plan.shape.fan_in(0),
            answered: 0,
            in_time: 0,
            counted: call.context.counted(call.now),
        });
        if let Some(gap) = plan.gaps[tree as usize] {
            let mut stream = call
                .context
                .stream(plan.arrival_key(tree, number + 1), Purpose::Arrival);
            let next = call.now + draw::gap(gap, &mut stream);
            let wake = plan.wake(Due::Arrival, root, number + 1, next);
            call.context.start_at(call.actions, next, Span::ZERO, wake);
        } else {
            // An answer that never comes must not stop a tree whose next query waits for it.
            plan.limit_patience(call, root, number);
        }
        plan.ask(call, root, number);
    }

    fn query_delivered(&mut self, call: &mut Call<'_>, message: &Message) {
        let (role, number) = (message.tag, number(message));
        let plan = &self.plan;
        let since_arrival = plan.ask_jitter(call.context, role, number);
        let at_parent = Time::from_ps(message.handed_over.as_ps() - since_arrival.as_ps());
        let depth = plan.depth(role);
        if plan.shape.is_leaf(depth) {
            self.open[role as usize].insert(
                number,
                Open {
                    at_parent,
                    missing: 0,
                },
            );
            let delay = plan.leaf_delay(call.context, role, number);
            self.answer_after(call, role, number, delay);
        } else {
            self.open[role as usize].insert(
                number,
                Open {
                    at_parent,
                    missing: plan.needed(depth),
                },
            );
            plan.limit_patience(call, role, number);
            plan.ask(call, role, number);
        }
    }

    fn answer_delivered(&mut self, call: &mut Call<'_>, message: &Message) {
        let (parent, number) = (self.plan.parent(message.tag), number(message));
        if self.plan.depth(parent) > 0 {
            // Without an entry, or with nothing missing, this node has answered already.
            let Some(open) = self.open_mut(parent, number) else {
                return;
            };
            open.missing -= 1;
            if open.missing == 0 {
                self.answer_after(call, parent, number, Span::ZERO);
            }
            return;
        }
        let tree = self.plan.tree(parent);
        let record = &mut self.records[tree as usize][number as usize];
        record.answered += 1;
        record.in_time += u32::from(message.deadline.is_none_or(|deadline| call.now <= deadline));
        if record.answered == self.plan.needed(0) {
            record.complete = Some(call.now);
            self.next_back_to_back(call, tree, number);
        }
    }

    fn give_up(&mut self, call: &mut Call<'_>, role: u32, number: u32) {
        if self.plan.depth(role) == 0 {
            self.next_back_to_back(call, self.plan.tree(role), number);
        } else if let Some(open) = self.open_mut(role, number) {
            open.missing = 0;
            self.answer_after(call, role, number, Span::ZERO);
        }
    }

    /// A query for which this inner node still waits.
    fn open_mut(&mut self, role: u32, number: u32) -> Option<&mut Open> {
        self.open[role as usize]
            .get_mut(&number)
            .filter(|open| open.missing > 0)
    }

    /// Starts the next query of a back-to-back tree, once for each query.
    fn next_back_to_back(&mut self, call: &mut Call<'_>, tree: u32, number: u32) {
        let is_last = self.records[tree as usize].len() as u32 == number + 1;
        if self.plan.gaps[tree as usize].is_none() && is_last && call.context.running(call.now) {
            self.query_arrives(call, tree);
        }
    }

    fn answer_after(&mut self, call: &mut Call<'_>, role: u32, number: u32, delay: Span) {
        let jitter = call
            .context
            .jitter(self.plan.host(role), self.plan.key(role, number).other());
        let at = call.now + delay + jitter;
        if at == call.now {
            self.answer(call, role, number);
        } else {
            call.actions
                .wakes
                .push(self.plan.wake(Due::Answer, role, number, at));
        }
    }

    fn answer(&mut self, call: &mut Call<'_>, role: u32, number: u32) {
        let Some(open) = self.open[role as usize].remove(&number) else {
            return;
        };
        let plan = &self.plan;
        let clock = match plan.config.deadline_from {
            DeadlineFrom::Query => open.at_parent,
            DeadlineFrom::Response => call.now,
        };
        let tree = plan.tree(role);
        let size = plan.response(plan.application(tree));
        let draft = Draft {
            workload: plan.workload,
            class: Class::Response,
            query: Some(plan.query(tree, number)),
            source: plan.host(role),
            destination: plan.host(plan.parent(role)),
            bytes: draw::size(
                size,
                &mut call.context.stream(plan.key(role, number), Purpose::Size),
            ),
            deadline: plan
                .relative_deadline(call.context, role, number)
                .map(|span| clock + span),
            tag: role,
        };
        call.context.send(call.actions, call.now, &draft);
    }
}

/// The number of a message's query at its tree.
fn number(message: &Message) -> u32 {
    message.query.unwrap_or_default() as u32
}
