//! Query records.

use super::Added;
use duetime_core::Time;

record! {
    /// A query of a tree, as seen by its root.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct QueryRecord {
        /// ID of the query, unique in the run.
        query: u64,
        /// Index of the workload in the scenario.
        workload: u16,
        /// Index of the application in the workload.
        application: u16,
        /// Host of the root.
        root: u32,
        /// Arrival at the root, since the start of the run, exact.
        start: Time as "start_ps",
        /// Time at which enough of the root's children had answered, since the start of the run, exact; null if
        /// `qct_ns` is.
        complete: Option<Time> as "complete_ps",
        /// Children of the root.
        children: u32,
        /// Answers of the root's children that arrived.
        answered: u32,
        /// Answers of the root's children that arrived by their deadlines.
        in_time: u32,
        /// True if measured: the query arrived at its root in [warm-up, duration).
        measured: bool as "measured" or "counted",
        /// Answers required in all layers: one per node below the root.
        asked: u32,
        /// Leaves of the tree.
        leaves: u32,
        /// Leaf answers that the objective requires.
        needed: u32,
        /// True if the query can be late: it has a budget, or its answers have deadlines.
        judged: bool,
        /// End of the query's budget, since the start of the run, exact; null if `budget_ns` is.
        due: Option<Time> as "due_ps",
        /// Time at which the root had enough leaf answers, since the start of the run, exact; null if `enough_ns` is.
        enough: Option<Time> as "enough_ps",
        /// Leaves whose answers reached the root by the end of the run, directly or through aggregators.
        leaves_answered: u32,
        /// Leaves whose answers reached the root within the query's budget; without a budget, by their own deadlines.
        leaves_in_time: u32,
        /// Aggregators that timed out waiting for their children.
        gave_up: u32,
        /// Hedges: second queries to leaves, sent while the first was unanswered.
        hedges: Added<u32, 0xa77e_0003>,
        /// Hedges that were answered before the first query.
        hedges_won: Added<u32, 0xa77e_0004>,
        /// Retries: further queries to leaves, sent after a timeout.
        retries: Added<u32, 0xa77e_0005>,
        /// Retries that were answered before all other queries to the leaf.
        retries_won: Added<u32, 0xa77e_0006>,
        /// Computations started for hedges and retries.
        extra_computes: Added<u32, 0xa77e_0007>,
    }
    derived(query) {
        /// Arrival at the root, since the start of the run.
        start_ns: u64 = query.start.as_ns(),
        /// Time from arrival until `complete_at` of the root's children had answered; null if they never did.
        qct_ns: Option<u64> = query.complete.map(|complete| complete.since(query.start).as_ns()),
        /// `in_time` / `children`.
        completeness: f64 = query.completeness(),
        /// True if enough leaf answers reached the root in time; null if the query cannot be late (`judged`).
        met: Option<bool> = query.met(),
        /// Budget of the query, from its arrival at the root; null without one.
        budget_ns: Option<u64> = query.due.map(|due| due.since(query.start).as_ns()),
        /// Time from arrival until the root had enough leaf answers; null if it never did.
        enough_ns: Option<u64> = query.enough.map(|enough| enough.since(query.start).as_ns()),
    }
    /// `queries`: one row per query.
    pub const QUERIES = "queries", "one row per query, as seen by the root of its tree": [
        query, workload, application, root, start_ns, qct_ns, children, answered, in_time, completeness, measured,
        asked, leaves, needed, leaves_answered, leaves_in_time, gave_up, hedges, hedges_won,
        retries, retries_won, extra_computes, judged, met, budget_ns, enough_ns, start,
        complete, due, enough,
    ];
}

impl QueryRecord {
    /// Returns true if enough leaf answers reached the root in time, or `None` if the query cannot be late.
    pub fn met(&self) -> Option<bool> {
        self.judged.then(|| match self.due {
            Some(due) => self.enough.is_some_and(|enough| enough <= due),
            None => self.leaves_in_time >= self.needed,
        })
    }

    /// Returns the share of the children's answers that arrived by their deadlines, in [0, 1]; 1 without children.
    pub fn completeness(&self) -> f64 {
        match self.children {
            0 => 1.0,
            children => f64::from(self.in_time) / f64::from(children),
        }
    }
}
