//! Hedges and retries: further attempts of the request to a leaf for a query (Dean and Barroso, "The Tail at Scale",
//! 2013).
//!
//! The attempts for a leaf and a query are numbered: 0 is the first, 1 is the hedge if the workload hedges, and the
//! retries follow. Each attempt draws its own computation time and, unless it uses the leaf's own host, its host. All
//! state about attempts is at the parent's host; a message tells a host to stop.

use super::super::context::{Call, Context, Draft, Key};
use super::super::token::{At, Due};
use super::super::{Abort, Message};
use super::estimate::Times;
use super::plan::Plan;
use super::{Trees, at};
use duetime_core::random::Purpose;
use duetime_core::{Span, Time};
use duetime_results::Question;
use duetime_results::record::{Class, QueryRecord};
use duetime_scenario::model::{HedgeAfter, RetryAt};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Size of the message that tells a host to stop.
const CANCEL_BYTES: u64 = 1;

/// Event of a query away from its root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// An aggregator stopped waiting for answers.
    TimedOut,
    /// A leaf was hedged: requested a second time before it answered.
    Hedged,
    /// A hedge was answered first.
    HedgeWon,
    /// A request to a leaf was retried after a timeout.
    Retried,
    /// A retry was answered first.
    RetryWon,
    /// A host received a hedge or a retry and will compute an answer.
    Computed,
    /// A hedge or a retry was cancelled while it waited for a server, so that its host never computed.
    NotComputed,
}

impl Note {
    /// Adds the event to the query's record.
    pub fn add_to(self, query: &mut QueryRecord) {
        let count = match self {
            Self::TimedOut => &mut query.gave_up,
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

/// State of the parents about their requests to leaves.
#[derive(Clone, Debug, Default)]
pub(super) struct Attempts {
    /// Leaves that have not answered, by role and number of the query. Never iterated.
    open: FxHashMap<(u32, u32), Requests>,
    /// Response times of the leaves seen by each parent, by the parent's role. Never iterated.
    times: FxHashMap<u32, Times>,
}

/// Attempts for one leaf and query.
#[derive(Clone, Copy, Debug)]
struct Requests {
    first: Time,
    /// Attempts that were sent, as bits.
    sent: u16,
    /// Attempts that were cancelled, as bits.
    cancelled: u16,
}

impl Trees {
    /// Handles the first request to a leaf: schedules its hedge and its retry.
    pub(super) fn watch(&mut self, call: &mut Call<'_>, leaf: At) {
        let asked = Requests {
            first: call.now,
            sent: 1,
            cancelled: 0,
        };
        self.attempts.open.insert((leaf.role, leaf.number), asked);
        if let Some(after) = self.hedge_after(leaf.role) {
            self.plan
                .await_wake(call, Due::Hedge, leaf, call.now + after);
        }
        self.await_retry(call, leaf);
    }

    /// Returns the time from the first request to a leaf until its hedge, or `None` if it is not hedged.
    fn hedge_after(&self, leaf: u32) -> Option<Span> {
        let hedge = self.plan.config.hedge?;
        match hedge.after {
            HedgeAfter::Never => None,
            HedgeAfter::Time(after) => Some(after),
            HedgeAfter::Percentile(share) => {
                let plan = &self.plan;
                let parent = plan.parent(leaf);
                let declared = plan.declared.as_ref().and_then(|declared| {
                    let application = plan.application(plan.tree(parent));
                    declared.for_application(application)
                });
                match self.attempts.times.get(&parent) {
                    Some(times) => times.percentile(share, hedge.samples, declared),
                    None => Times::default().percentile(share, hedge.samples, declared),
                }
            }
        }
    }

    /// Schedules the timeout of attempt `leaf`, which was just sent, if another retry is allowed.
    fn await_retry(&self, call: &mut Call<'_>, leaf: At) {
        let Some(retry) = self.plan.config.retry else {
            return;
        };
        if self.plan.next_retry(leaf.attempt) < self.plan.first_retry() + retry.times {
            self.plan
                .await_wake(call, Due::Retry, leaf, call.now + retry.timeout);
        }
    }

    /// Handles the time for a hedge: sends it if the leaf has not answered.
    pub(super) fn hedge(&mut self, call: &mut Call<'_>, leaf: At) {
        if self.is_missed(leaf) {
            self.note(leaf, Note::Hedged);
            self.send_attempt(call, leaf, 1);
        }
    }

    /// Handles the timeout of attempt `leaf`: sends a retry if no attempt was answered.
    pub(super) fn retry(&mut self, call: &mut Call<'_>, leaf: At) {
        let Some(retry) = self.plan.config.retry else {
            return;
        };
        if !self.is_missed(leaf) {
            return;
        }
        self.note(leaf, Note::Retried);
        if retry.cancel {
            if let Some(asked) = self.attempts.open.get_mut(&(leaf.role, leaf.number)) {
                asked.cancelled |= leaf.bit();
            }
            self.plan.cancel(call, leaf);
        }
        let next = self.plan.next_retry(leaf.attempt);
        let leaf = self.send_attempt(call, leaf, next);
        self.await_retry(call, leaf);
    }

    /// Returns true if a leaf has not answered and its parent still waits for the answer.
    fn is_missed(&self, leaf: At) -> bool {
        let parent = At {
            role: self.plan.parent(leaf.role),
            attempt: 0,
            ..leaf
        };
        self.attempts.open.contains_key(&(leaf.role, leaf.number)) && self.is_waiting(parent)
    }

    fn send_attempt(&mut self, call: &mut Call<'_>, leaf: At, attempt: u32) -> At {
        let leaf = At {
            attempt: attempt as u8,
            ..leaf
        };
        if let Some(asked) = self.attempts.open.get_mut(&(leaf.role, leaf.number)) {
            asked.sent |= leaf.bit();
            let jitter = self.plan.ask_jitter(call.context, leaf.role, leaf.number);
            self.plan.send_query(call, leaf, asked.first - jitter);
        }
        leaf
    }

    /// Returns true if the answer is the first to any attempt for its leaf. In that case, cancels the other attempts if
    /// configured.
    pub(super) fn is_first(&mut self, call: &mut Call<'_>, message: &Message, leaf: At) -> bool {
        let key = (leaf.role, leaf.number);
        let open = self.attempts.open.get(&key).copied();
        let Some(asked) = open.filter(|asked| asked.cancelled & leaf.bit() == 0) else {
            call.actions.spare.push(message.flow);
            return false;
        };
        self.attempts.open.remove(&key);
        let (plan, config) = (&self.plan, &self.plan.config);
        if let Some(hedge) = config.hedge
            && matches!(hedge.after, HedgeAfter::Percentile(_))
        {
            let times = self
                .attempts
                .times
                .entry(plan.parent(leaf.role))
                .or_default();
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

    /// Cancels the leaves that have not answered, if configured, because their parent has enough answers.
    pub(super) fn cancel_spares(&mut self, call: &mut Call<'_>, parent: At) {
        if !self.plan.config.cancel_spares {
            return;
        }
        let plan = Arc::clone(&self.plan);
        for role in plan.children(parent.role) {
            let Some(asked) = self.attempts.open.remove(&(role, parent.number)) else {
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

    /// Handles a cancellation at a host: stops the computation or aborts the answer.
    pub(super) fn cancelled(&mut self, call: &mut Call<'_>, message: &Message) {
        let leaf = at(message);
        if self.cancel_computation(call, leaf) && leaf.attempt > 0 {
            self.note(leaf, Note::NotComputed);
        }
        let open = &mut self.open[leaf.role as usize];
        if open.remove(&leaf.slot()).is_none() {
            call.actions.aborts.push(Abort {
                host: message.destination,
                workload: message.workload,
                query: message.query,
                tag: message.tag,
            });
        }
    }

    pub(super) fn note(&mut self, at: At, note: Note) {
        let query = self.plan.query(self.plan.tree(at.role), at.number);
        self.notes.push((query, note));
    }
}

impl Plan {
    /// Sends a cancellation to the host of an attempt.
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
            siblings: 0,
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

    /// Returns the number of the first retry.
    fn first_retry(&self) -> u32 {
        1 + u32::from(self.config.hedge.is_some())
    }

    /// Returns the number of the retry that follows this attempt.
    fn next_retry(&self, attempt: u8) -> u32 {
        (u32::from(attempt) + 1).max(self.first_retry())
    }

    /// Returns the host of an attempt. The first attempt, and retries at the same host, go to the leaf's own host.
    /// Other attempts go to a random host outside the tree that no earlier attempt used, as far as there are such
    /// hosts.
    pub(super) fn host_of(&self, context: &Context, leaf: At) -> u32 {
        let is_drawn = |attempt: u8| match self.question(attempt) {
            Question::First => false,
            Question::Hedge => true,
            Question::Retry => (self.config.retry).is_some_and(|retry| retry.at == RetryAt::Other),
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
        let (leaf_host, parent) = (self.host(leaf.role), self.host(self.parent(leaf.role)));
        let members = &self.members[self.tree(leaf.role) as usize][..];
        let mut stream = context.stream(self.attempt_key(leaf), Purpose::Destination);
        // Avoid fewer and fewer hosts until at least one is left.
        for (avoided, earlier) in [
            (members, earlier),
            (&[leaf_host, parent], earlier),
            (&[leaf_host, parent], &[]),
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
        leaf_host
    }

    /// Returns the key of an attempt's random streams.
    pub(super) fn attempt_key(&self, at: At) -> Key {
        let key = self.key(at.role, at.number);
        match at.attempt {
            0 => key,
            attempt => key.retry(attempt),
        }
    }
}
