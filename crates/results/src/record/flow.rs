//! Flow records.

use super::{Added, Class};
use duetime_core::{Span, Time};

record! {
    /// A flow, from its submission by the application to the in-order delivery of its last byte. A flow without an end
    /// has `u64::MAX` bytes.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct FlowRecord {
        /// ID of the flow, unique in the run.
        flow: u64,
        /// Index of the workload in the scenario.
        workload: u16,
        /// `query`, `response`, `flow`, `long`, or `cancel` (a message that cancels a host's work on a query).
        class: Class,
        /// ID of the query that the flow belongs to.
        query: Option<u64>,
        /// Sending host.
        source: u32,
        /// Receiving host.
        destination: u32,
        /// Application bytes; null for a flow without an end.
        size_bytes: u64 [NullAtMax],
        /// Bytes delivered in order by the end of the run.
        delivered_bytes: u64,
        /// Submission, since the start of the run, exact.
        start: Time as "start_ps",
        /// Delivery of the last byte, since the start of the run, exact; null if `fct_ns` is.
        finish: Option<Time> as "finish_ps",
        /// Deadline, since the start of the run, exact; null without one.
        deadline: Option<Time> as "due_ps",
        /// True if the sender ended the flow early.
        quenched: bool,
        /// True if measured: the flow started in [warm-up, duration); a query's flow if the query arrived then.
        measured: bool as "measured" or "counted",
        /// Retransmission timeouts.
        timeouts: u32,
        /// Retransmitted segments.
        retransmits: u32,
        /// Data segments that arrived marked (CE).
        marks: u32,
        /// D3: rate requests that were granted less than they asked for.
        denials: u32,
        /// D3: denials while a flow with a later deadline had more than the base rate.
        inversions: u32,
        /// D3: rate requests sent.
        requests: u32,
        /// Leaf answers that the flow carries; 0 if it is no answer, or the answer of an aggregator that timed out
        /// without any.
        leaves: u32,
        /// Attempt that a query to a leaf, its answer or its cancellation belongs to: 0 is the first, then the hedge,
        /// if the workload has hedges, and the retries.
        attempt: Added<u32, 0xa77e_0001>,
        /// True for an answer that was not needed: another attempt at the same leaf was answered first, and this answer
        /// was aborted or arrived later.
        spare: Added<bool, 0xa77e_0002>,
    }
    derived(flow) {
        /// Submission by the application, since the start of the run.
        start_ns: u64 = flow.start.as_ns(),
        /// Completion time; null if unfinished, quenched or reset.
        fct_ns: Option<u64> = flow.completion().map(Span::as_ns),
        /// Time from the start to the deadline; null without one.
        deadline_ns: Option<u64> = flow.deadline.map(|deadline| deadline.since(flow.start).as_ns()),
        /// Deadline minus finish, negative if late; null without either.
        slack_ns: Option<i64> = flow.slack_ps().map(|ps| ps.div_euclid(1_000)),
        /// True if delivered by its deadline; null without one.
        met: Option<bool> = flow.met(),
    }
    /// `flows`: one row per flow.
    pub const FLOWS = "flows", "one row per flow, by run and flow. A flow starts when the application submits it and \
        finishes when its last byte is delivered in order": [
        flow, workload, class, query, source, destination, size_bytes, delivered_bytes, start_ns, fct_ns, deadline_ns,
        slack_ns, met, quenched, measured, timeouts, retransmits, marks, leaves, attempt, spare, requests, denials,
        inversions, start, finish, deadline,
    ];
}

impl FlowRecord {
    /// Returns true if the flow has an end: all but long flows do.
    pub fn is_finite(&self) -> bool {
        self.class != Class::Long && self.size_bytes != u64::MAX
    }

    /// Returns deadline minus finish in picoseconds, negative if late, or `None` without either.
    pub fn slack_ps(&self) -> Option<i64> {
        Some(
            self.deadline?
                .as_ps()
                .wrapping_sub(self.finish?.as_ps())
                .cast_signed(),
        )
    }

    /// Returns the completion time, or `None` if the flow did not finish.
    pub fn completion(&self) -> Option<Span> {
        self.finish.map(|finish| finish.since(self.start))
    }

    /// Returns true for an answer with at least one leaf's answer that arrived by its deadline, if it has one. Spare
    /// answers do not count.
    pub fn is_answer_in_time(&self) -> bool {
        self.class == Class::Response
            && self.leaves > 0
            && !self.spare.0
            && self.finish.is_some()
            && self.met() != Some(false)
    }

    /// Returns true if the flow was delivered by its deadline, or `None` without one.
    pub fn met(&self) -> Option<bool> {
        self.deadline
            .map(|deadline| self.finish.is_some_and(|finish| finish <= deadline))
    }
}
