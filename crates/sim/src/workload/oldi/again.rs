//! Leaves that are asked more than once for a query: hedges and retries (Dean and Barroso, "The Tail at Scale", 2013).
//!
//! The questions to a leaf for a query are numbered: 0 is the first, then comes the hedge where the workload has hedges,
//! then the retries. Each is computed anew, by a draw of its own, at a host that is drawn. All that is known of them is at
//! the parent's host; a host that shall stop is told so by a message.

use super::super::context::{Draft, Key};
use super::super::{Abort, Message};
use super::estimate::Times;
use super::plan::Plan;
use super::token::{At, Due};
use super::{Call, Oldi, at};
use crate::workload::context::Context;
use duetime_core::random::Purpose;
use duetime_core::{Span, Time};
use duetime_results::Question;
use duetime_results::record::{Class, QueryRecord};
use duetime_scenario::model::{HedgeAfter, RetryAt};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Questions are numbered in four bits: the first, a hedge, and these.
pub(super) const MOST_RETRIES: u32 = 14;
/// Bytes of the message that tells a host to stop.
const CANCEL_BYTES: u64 = 1;

/// What happened to a query away from its root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// An aggregator stopped waiting.
    GaveUp,
    /// A leaf was asked a second time while the first question was open.
    Hedged,
    /// A hedge was answered first.
    HedgeWon,
    /// A leaf was asked anew after a timeout.
    Retried,
    /// A retry was answered first.
    RetryWon,
    /// A host received a hedge or a retry that it computes for.
    Computed,
    /// A hedge or a retry was cancelled while it waited for a server, so that its host never began to compute.
    NotComputed,
}

impl Note {
    /// Adds it to the query's record.
    pub fn add_to(self, query: &mut QueryRecord) {
        let count = match self {
            Self::GaveUp => &mut query.gave_up,
            Self::Hedged => &mut query.hedges.0,
            Self::HedgeWon => &mut query.hedges_won.0,
            Self::Retried => &mut query.retries.0,
            Self::RetryWon => &mut query.retries_won.0,
            Self::Computed => &mut query.extra_computes.0,
            Self::NotComputed => {
                query.extra_computes.0 = query.extra_computes.0.saturating_sub(1);
                return;
            }
        };
        *count += 1;
    }
}

/// What the parents know of their questions to leaves.
#[derive(Clone, Debug, Default)]
pub(super) struct Again {
    /// The leaves that have not answered, by role and number of the query. Never iterated.
    open: FxHashMap<(u32, u32), Asked>,
    /// The answer times that each parent has seen, by its role. Never iterated.
    times: FxHashMap<u32, Times>,
}

/// The questions to a leaf for a query.
#[derive(Clone, Copy, Debug)]
struct Asked {
    first: Time,
    /// The numbers of those that were sent, as bits.
    sent: u16,
    /// Of them, those that were cancelled.
    cancelled: u16,
}

impl Oldi {
    /// A leaf has been asked for the first time: asks for the wakes at which it is asked again.
    pub(super) fn watch(&mut self, call: &mut Call<'_>, leaf: At) {
        let asked = Asked {
            first: call.now,
            sent: 1,
            cancelled: 0,
        };
        self.again.open.insert((leaf.role, leaf.number), asked);
        if let Some(after) = self.hedge_after(leaf.role) {
            self.plan
                .await_wake(call, Due::Hedge, leaf, call.now + after);
        }
        self.await_retry(call, leaf);
    }

    /// How long after the first question a leaf is asked a second time; `None`: it is not.
    fn hedge_after(&self, leaf: u32) -> Option<Span> {
        let hedge = self.plan.config.hedge?;
        match hedge.after {
            HedgeAfter::Never => None,
            HedgeAfter::Time(after) => Some(after),
            HedgeAfter::Percentile(share) => {
                let plan = &self.plan;
                let parent = plan.parent(leaf);
                let declared = plan.declared.as_ref().and_then(|of| {
                    let application = plan.application(plan.tree(parent));
                    of.for_application(application)
                });
                match self.again.times.get(&parent) {
                    Some(times) => times.percentile(share, hedge.samples, declared),
                    None => Times::default().percentile(share, hedge.samples, declared),
                }
            }
        }
    }

    /// Asks for the wake at which the question `leaf`, which has just been sent, is given up for another, if there may
    /// be another.
    fn await_retry(&self, call: &mut Call<'_>, leaf: At) {
        let Some(retry) = self.plan.config.retry else {
            return;
        };
        if self.plan.next_retry(leaf.attempt) < self.plan.first_retry() + retry.times {
            self.plan
                .await_wake(call, Due::Retry, leaf, call.now + retry.timeout);
        }
    }

    /// The leaf has had its time: it is asked a second time, if it has not answered.
    pub(super) fn hedge(&mut self, call: &mut Call<'_>, leaf: At) {
        if self.is_missed(leaf) {
            self.note(leaf, Note::Hedged);
            self.ask_again(call, leaf, 1);
        }
    }

    /// The question `leaf` has had its time: another is asked, if none has been answered.
    pub(super) fn retry(&mut self, call: &mut Call<'_>, leaf: At) {
        let Some(retry) = self.plan.config.retry else {
            return;
        };
        if !self.is_missed(leaf) {
            return;
        }
        self.note(leaf, Note::Retried);
        if retry.cancel {
            if let Some(asked) = self.again.open.get_mut(&(leaf.role, leaf.number)) {
                asked.cancelled |= leaf.bit();
            }
            self.plan.cancel(call, leaf);
        }
        let next = self.plan.next_retry(leaf.attempt);
        let leaf = self.ask_again(call, leaf, next);
        self.await_retry(call, leaf);
    }

    /// Whether a leaf's answer is missing and its parent still waits for it.
    fn is_missed(&self, leaf: At) -> bool {
        let parent = At {
            role: self.plan.parent(leaf.role),
            attempt: 0,
            ..leaf
        };
        self.again.open.contains_key(&(leaf.role, leaf.number)) && self.is_waiting(parent)
    }

    fn ask_again(&mut self, call: &mut Call<'_>, leaf: At, attempt: u32) -> At {
        let leaf = At {
            attempt: attempt as u8,
            ..leaf
        };
        if let Some(asked) = self.again.open.get_mut(&(leaf.role, leaf.number)) {
            asked.sent |= leaf.bit();
            let jitter = self.plan.ask_jitter(call.context, leaf.role, leaf.number);
            self.plan.send_query(call, leaf, asked.first - jitter);
        }
        leaf
    }

    /// Whether a leaf's answer is the first to any of the questions; then the others are cancelled, where they are to be.
    pub(super) fn is_first(&mut self, call: &mut Call<'_>, message: &Message, leaf: At) -> bool {
        let key = (leaf.role, leaf.number);
        let open = self.again.open.get(&key).copied();
        let Some(asked) = open.filter(|asked| asked.cancelled & leaf.bit() == 0) else {
            call.actions.spare.push(message.flow);
            return false;
        };
        self.again.open.remove(&key);
        let (plan, config) = (&self.plan, &self.plan.config);
        if let Some(hedge) = config.hedge
            && matches!(hedge.after, HedgeAfter::Percentile(_))
        {
            let times = self.again.times.entry(plan.parent(leaf.role)).or_default();
            times.add(call.now.since(asked.first), hedge.window as usize);
        }
        let won = plan.question(leaf.attempt);
        for attempt in 0..16 {
            let other = At { attempt, ..leaf };
            let is_open = asked.sent & !asked.cancelled & other.bit() != 0;
            let cancels = if [won, plan.question(attempt)].contains(&Question::Hedge) {
                config.hedge.is_some_and(|hedge| hedge.cancel)
            } else {
                config.retry.is_some_and(|retry| retry.cancel)
            };
            if is_open && cancels && attempt != leaf.attempt {
                plan.cancel(call, other);
            }
        }
        match won {
            Question::First => {}
            Question::Hedge => self.note(leaf, Note::HedgeWon),
            Question::Retry => self.note(leaf, Note::RetryWon),
        }
        true
    }

    /// A parent holds enough answers: the leaves that have not answered are told to stop, where they are to be.
    pub(super) fn cancel_spares(&mut self, call: &mut Call<'_>, parent: At) {
        if !self.plan.config.cancel_spares {
            return;
        }
        let plan = Arc::clone(&self.plan);
        for role in plan.children(parent.role) {
            let Some(asked) = self.again.open.remove(&(role, parent.number)) else {
                continue;
            };
            for attempt in 0..16 {
                let leaf = At {
                    role,
                    attempt,
                    ..parent
                };
                if asked.sent & !asked.cancelled & leaf.bit() != 0 {
                    plan.cancel(call, leaf);
                }
            }
        }
    }

    /// A host is told to stop: it computes no further, or else its answer is aborted.
    pub(super) fn cancelled(&mut self, call: &mut Call<'_>, message: &Message) {
        let question = at(message);
        if self.cancel_computation(call, question) && question.attempt > 0 {
            self.note(question, Note::NotComputed);
        }
        let open = &mut self.open[question.role as usize];
        if open.remove(&question.slot()).is_none() {
            call.actions.aborts.push(Abort {
                host: message.destination,
                workload: message.workload,
                query: message.query,
                tag: message.tag,
            });
        }
    }

    pub(super) fn note(&mut self, of: At, note: Note) {
        let query = self.plan.query(self.plan.tree(of.role), of.number);
        self.notes.push((query, note));
    }
}

impl Plan {
    /// Tells the host of a question to stop.
    fn cancel(&self, call: &mut Call<'_>, leaf: At) {
        let draft = Draft {
            workload: self.workload,
            class: Class::Cancel,
            query: Some(self.query(self.tree(leaf.role), leaf.number)),
            source: self.host(self.parent(leaf.role)),
            destination: self.host_of(call.context, leaf),
            bytes: CANCEL_BYTES,
            deadline: None,
            tag: leaf.tag(),
            leaves: [0; 2],
            asked: Time::ZERO,
            waited: Span::ZERO,
            measured: leaf.measured,
        };
        call.context.send(call.actions, call.now, &draft);
    }

    pub(super) fn question(&self, attempt: u8) -> Question {
        match u32::from(attempt) {
            0 => Question::First,
            number if number < self.first_retry() => Question::Hedge,
            _ => Question::Retry,
        }
    }

    /// The number of the first retry.
    fn first_retry(&self) -> u32 {
        1 + u32::from(self.config.hedge.is_some())
    }

    /// The number of the retry after this question.
    fn next_retry(&self, attempt: u8) -> u32 {
        (u32::from(attempt) + 1).max(self.first_retry())
    }

    /// The host that a question goes to: the leaf's own for the first, and for retries at the same host; otherwise one that
    /// is drawn, not of this tree, nor that of an earlier question, where there are others.
    pub(super) fn host_of(&self, context: &Context, leaf: At) -> u32 {
        let is_drawn = |attempt: u8| match self.question(attempt) {
            Question::First => false,
            Question::Hedge => true,
            Question::Retry => self.config.retry.is_some_and(|of| of.at == RetryAt::Other),
        };
        if !is_drawn(leaf.attempt) {
            return self.host(leaf.role);
        }
        let mut earlier = Vec::new();
        for attempt in (1..leaf.attempt).filter(|&attempt| is_drawn(attempt)) {
            let host = self.draw_host(context, At { attempt, ..leaf }, &earlier);
            earlier.push(host);
        }
        self.draw_host(context, leaf, &earlier)
    }

    fn draw_host(&self, context: &Context, leaf: At, earlier: &[u32]) -> u32 {
        let (own, parent) = (self.host(leaf.role), self.host(self.parent(leaf.role)));
        let members = &self.members[self.tree(leaf.role) as usize][..];
        let mut stream = context.stream(self.question_key(leaf), Purpose::Destination);
        // Ever fewer that it must not be, until one is left.
        for (avoided, earlier) in [
            (members, earlier),
            (&[own, parent], earlier),
            (&[own, parent], &[]),
            (&[parent], &[]),
        ] {
            let mut avoided = [avoided, earlier].concat();
            avoided.sort_unstable();
            avoided.dedup();
            let left = context.hosts() - avoided.len() as u32;
            if left == 0 {
                continue;
            }
            let mut host = stream.below(u64::from(left)) as u32;
            for &avoided in &avoided {
                host += u32::from(host >= avoided);
            }
            return host;
        }
        own
    }

    /// Names a question, as the entity of a random stream.
    pub(super) fn question_key(&self, of: At) -> Key {
        let key = self.key(of.role, of.number);
        match of.attempt {
            0 => key,
            attempt => key.again(attempt),
        }
    }
}
