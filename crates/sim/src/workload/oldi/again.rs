//! Leaves that are asked more than once for a query: hedges and retries (Dean and Barroso, "The Tail at Scale", 2013).
//!
//! The questions to a leaf for a query are numbered: 0 is the first, then comes the hedge where the workload has hedges,
//! then the retries. Each is computed anew, by a draw of its own, at a host that is drawn. All that is known of them is at
//! the parent's host; a host that shall stop is told so by a message.

use super::super::context::{Draft, Key};
use super::super::{Abort, Message};
use super::plan::{At, Due, Plan};
use super::{Call, Oldi, at};
use crate::workload::context::Context;
use duetime_core::random::Purpose;
use duetime_core::{Span, Time};
use duetime_results::Question;
use duetime_results::record::{Class, QueryRecord};
use duetime_scenario::model::{HedgeAfter, RetryAt};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

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
    /// A host began to compute for a hedge or a retry.
    Computed,
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

/// The latest answer times of a parent.
#[derive(Clone, Debug, Default)]
struct Times {
    by_age: VecDeque<Span>,
    sorted: Vec<Span>,
}

impl Times {
    /// Adds a time, and forgets the oldest beyond `window`.
    fn add(&mut self, time: Span, window: usize) {
        if self.by_age.len() >= window
            && let Some(oldest) = self.by_age.pop_front()
        {
            let at = self.sorted.partition_point(|&other| other < oldest);
            self.sorted.remove(at);
        }
        self.by_age.push_back(time);
        let at = self.sorted.partition_point(|&other| other <= time);
        self.sorted.insert(at, time);
    }

    /// The nearest-rank percentile: the least time that a share of the times do not exceed.
    fn percentile(&self, share: f64) -> Option<Span> {
        // As in `needed`: a product that is whole must not be rounded up for its last bit.
        let rank = libm::ceil(share * self.sorted.len() as f64 - 1e-9) as usize;
        self.sorted.get(rank.max(1) - 1).copied()
    }
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
                let times = self.again.times.get(&self.plan.parent(leaf))?;
                let seen = times.sorted.len() >= hedge.samples as usize;
                times.percentile(share).filter(|_| seen)
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

    /// A host is told to stop: it computes no further, or else its answer is aborted.
    pub(super) fn cancelled(&mut self, call: &mut Call<'_>, message: &Message) {
        let question = at(message);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_latest_times() {
        let mut times = Times::default();
        assert_eq!(times.percentile(0.95), None);
        let ms = Span::from_ms;
        for time in [30, 10, 20, 10, 40] {
            times.add(ms(time), 4);
        }
        // The 30 is forgotten: 10, 10, 20, 40.
        assert_eq!(times.sorted, [ms(10), ms(10), ms(20), ms(40)]);
        let at = |share| times.percentile(share).unwrap();
        assert_eq!(
            [at(0.01), at(0.5), at(0.75), at(0.76)],
            [ms(10), ms(10), ms(20), ms(40)]
        );
    }

    #[test]
    fn percentiles_equal_those_of_a_sorted_copy() {
        use duetime_core::random::Streams;
        let mut stream = Streams::new(1, 0).stream(0, Purpose::Compute);
        let mut times = Times::default();
        let mut all: Vec<Span> = Vec::new();
        for _ in 0..2_000 {
            let time = Span::from_us(stream.between(1, 300));
            all.push(time);
            times.add(time, 100);
            let mut latest = all[all.len().saturating_sub(100)..].to_vec();
            latest.sort_unstable();
            for percent in [5, 50, 95, 99] {
                let rank = (latest.len() * percent).div_ceil(100);
                assert_eq!(
                    times.percentile(percent as f64 / 100.0),
                    Some(latest[rank - 1])
                );
            }
        }
    }
}
