//! Queries.

use super::Added;
use duetime_core::Time;

record! {
    /// One query of one tree, as its root sees it.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct QueryRecord {
        /// Number of the query, unique in the run.
        query: u64,
        /// Position of its workload in the scenario, from 0.
        workload: u16,
        /// Application within the workload, from 0.
        application: u16,
        /// Host of the root.
        root: u32,
        /// Arrival at the root, exact.
        start: Time as "start_ps",
        /// When enough of the root's children had answered, since the start of the run, exact; null as `qct_ns`.
        complete: Option<Time> as "complete_ps",
        /// Children of the root.
        children: u32,
        /// Their answers that arrived at all.
        answered: u32,
        /// Their answers that arrived by their deadlines.
        in_time: u32,
        /// In the measurement window: arrived within [warm-up, duration).
        measured: bool as "measured" or "counted",
        /// Answers asked for in all layers: one of every node below the root.
        asked: u32,
        /// Leaves of its tree.
        leaves: u32,
        /// Leaves whose answers are enough for the objective.
        needed: u32,
        /// Whether anything says when the query is late: a budget of its own, or deadlines of its answers.
        judged: bool,
        /// End of the query's budget, since the start of the run, exact; null as `budget_ns`.
        due: Option<Time> as "due_ps",
        /// When the root held enough leaves' answers, since the start of the run, exact; null as `enough_ns`.
        enough: Option<Time> as "enough_ps",
        /// Leaves whose answers the root held at the end of the run, directly or through aggregators.
        leaves_answered: u32,
        /// Of them, those at the root by the end of the query's budget; without a budget, by their own deadlines.
        leaves_in_time: u32,
        /// Aggregators that stopped waiting for their children.
        gave_up: u32,
        /// Leaves that were asked a second time while the first question was open.
        hedges: Added<u32, 0xa77e_0003>,
        /// Of them, those whose second question was answered first.
        hedges_won: Added<u32, 0xa77e_0004>,
        /// Times that a leaf was asked anew after a timeout.
        retries: Added<u32, 0xa77e_0005>,
        /// Of them, those that were answered first of all questions to the leaf.
        retries_won: Added<u32, 0xa77e_0006>,
        /// Computations that began for hedges and retries.
        extra_computes: Added<u32, 0xa77e_0007>,
    }
    derived(query) {
        /// Arrival at the root, since the start of the run.
        start_ns: u64 = query.start.as_ns(),
        /// From arrival until `complete_at` of the root's children had answered; null if they never had.
        qct_ns: Option<u64> = query.complete.map(|complete| complete.since(query.start).as_ns()),
        /// `in_time` / `children`.
        completeness: f64 = query.completeness(),
        /// Whether enough leaves' answers were at the root in time; null where nothing says when the query is late.
        met: Option<bool> = query.met(),
        /// The query's budget, from its arrival at the root; null without one.
        budget_ns: Option<u64> = query.due.map(|due| due.since(query.start).as_ns()),
        /// From arrival until the root held enough leaves' answers; null if it never did.
        enough_ns: Option<u64> = query.enough.map(|enough| enough.since(query.start).as_ns()),
    }
    /// `queries`: one row per query.
    pub const QUERIES = "queries", "one row per query, as the root of its tree sees it": [
        query, workload, application, root, start_ns, qct_ns, children, answered, in_time, completeness, measured,
        asked, leaves, needed, leaves_answered, leaves_in_time, gave_up, hedges, hedges_won,
        retries, retries_won, extra_computes, judged, met, budget_ns, enough_ns, start,
        complete, due, enough,
    ];
}

impl QueryRecord {
    /// Whether enough leaves' answers were there in time; `None` where nothing says when it is late.
    pub fn met(&self) -> Option<bool> {
        self.judged.then(|| match self.due {
            Some(due) => self.enough.is_some_and(|enough| enough <= due),
            None => self.leaves_in_time >= self.needed,
        })
    }

    /// The share of the answers that arrived by their deadlines, in [0, 1]. A query without children is complete.
    pub fn completeness(&self) -> f64 {
        match self.children {
            0 => 1.0,
            children => f64::from(self.in_time) / f64::from(children),
        }
    }
}
