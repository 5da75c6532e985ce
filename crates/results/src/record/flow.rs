//! Flows.

use super::{Added, Class};
use duetime_core::{Span, Time};

record! {
    /// One flow, from the application's submission to the in-order delivery of its last byte. One without an end has
    /// `u64::MAX` bytes.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct FlowRecord {
        /// Number of the flow, unique in the run.
        flow: u64,
        /// Position of its workload in the scenario, from 0.
        workload: u16,
        /// `query`, `response`, `flow`, `long`, or `cancel` (a message that tells a host to stop working on a query).
        class: Class,
        /// The query it belongs to.
        query: Option<u64>,
        /// Sending host.
        source: u32,
        /// Receiving host.
        destination: u32,
        /// Application bytes; null for a flow without an end.
        size_bytes: u64 [NullAtMax],
        /// Bytes delivered in order by the end of the run.
        delivered_bytes: u64,
        /// Submission, exact.
        start: Time as "start_ps",
        /// Delivery of the last byte since the start of the run, exact; null as `fct_ns`.
        finish: Option<Time> as "finish_ps",
        /// The deadline as an instant since the start of the run, exact; null without one.
        deadline: Option<Time> as "due_ps",
        /// Ended early by its sender.
        quenched: bool,
        /// In the measurement window: started within [warm-up, duration).
        measured: bool as "measured" or "counted",
        /// Retransmission timeouts.
        timeouts: u32,
        /// Segments sent again.
        retransmits: u32,
        /// Data segments that arrived marked (CE).
        marks: u32,
        /// D3: requests granted less than they asked for.
        denials: u32,
        /// D3: denials while a later deadline held more than the base rate.
        inversions: u32,
        /// D3: rate requests sent.
        requests: u32,
        /// Leaves whose answers it holds; 0 but for answers, and for those of aggregators that gave up without any.
        leaves: u32,
        /// Of a question to a leaf, its cancellation or its answer: 0 is the first question for a query, then come the
        /// hedge, where the workload has hedges, and the retries.
        attempt: Added<u32, 0xa77e_0001>,
        /// An answer for nothing: another question to the same leaf was answered first, and this one was aborted or came
        /// later.
        spare: Added<bool, 0xa77e_0002>,
    }
    derived(flow) {
        /// Submission by the application, since the start of the run.
        start_ns: u64 = flow.start.as_ns(),
        /// Completion time; null if unfinished, quenched or reset.
        fct_ns: Option<u64> = flow.completion().map(Span::as_ns),
        /// Time allowed, from the start; null without a deadline.
        deadline_ns: Option<u64> = flow.deadline.map(|deadline| deadline.since(flow.start).as_ns()),
        /// Deadline minus finish, negative when late; null without either.
        slack_ns: Option<i64> = flow.slack_ps().map(|ps| ps.div_euclid(1_000)),
        /// Delivered by its deadline; null without one.
        met: Option<bool> = flow.met(),
    }
    /// `flows`: one row per flow.
    pub const FLOWS = "flows", "one row per flow, by run and flow; its clock starts when the application submits it \
        and stops when its last byte is delivered in order": [
        flow, workload, class, query, source, destination, size_bytes, delivered_bytes, start_ns, fct_ns, deadline_ns,
        slack_ns, met, quenched, measured, timeouts, retransmits, marks, leaves, attempt, spare, requests, denials,
        inversions, start, finish, deadline,
    ];
}

impl FlowRecord {
    /// Whether it has an end: all but long flows.
    pub fn is_finite(&self) -> bool {
        self.class != Class::Long && self.size_bytes != u64::MAX
    }

    /// Deadline minus finish in picoseconds, negative when late; `None` without either.
    pub fn slack_ps(&self) -> Option<i64> {
        Some(
            self.deadline?
                .as_ps()
                .wrapping_sub(self.finish?.as_ps())
                .cast_signed(),
        )
    }

    /// Completion time.
    pub fn completion(&self) -> Option<Span> {
        self.finish.map(|finish| finish.since(self.start))
    }

    /// An answer that holds something and arrived by its deadline, or has none.
    pub fn is_answer_in_time(&self) -> bool {
        self.class == Class::Response
            && self.leaves > 0
            && !self.spare.0
            && self.finish.is_some()
            && self.met() != Some(false)
    }

    /// Delivered by its deadline; `None` without one.
    pub fn met(&self) -> Option<bool> {
        self.deadline
            .map(|deadline| self.finish.is_some_and(|finish| finish <= deadline))
    }
}
