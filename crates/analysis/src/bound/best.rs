//! Best possible results over all runs of a scenario.

use super::{Late, RunBound};
use duetime_results::{Class, Estimate, Interval};
use serde::Serialize;
use std::collections::BTreeSet;

/// Best possible results of a scenario, over all its runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BestPossible {
    /// Number of runs.
    pub runs: u64,
    /// Bound on all judged queries together. `None` without any, or if the demand of some workload is unknown.
    pub objective: Option<Best>,
    /// Bound on all flows with deadlines together. `None` without any, or if the demand of some workload is unknown.
    pub deadlines: Option<Best>,
    /// Bounds by workload and class.
    pub groups: Vec<BestGroup>,
    /// Bounds on queries by workload.
    pub queries: Vec<BestQueries>,
    /// Workloads with unknown demand: their queries follow each other, or are hedged or retried, so the demand depends
    /// on the transport.
    pub unknown: Vec<u16>,
}

/// Bound on the share of late flows or queries.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Best {
    /// Measured flows with a deadline, or judged queries, over all runs.
    pub asked: u64,
    /// Lower bound on the share that is late under any transport.
    pub late: Estimate,
    /// Share that is late under online earliest-deadline-first scheduling on the receivers' links, which knows only
    /// flows that have arrived and drops those that can no longer be in time, with the remaining network free.
    pub online: Estimate,
    /// Share that is late under online earliest-deadline-first scheduling of all links at once. `None` if each rack has as
    /// much capacity to others as its hosts have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Estimate>,
    /// True if the bound holds only for transports that deliver queries at once.
    pub if_prompt: bool,
}

/// Bound on the flows of one class of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BestGroup {
    /// Index of the workload.
    pub workload: u16,
    /// Class of the flows.
    pub class: Class,
    /// The bound.
    #[serde(flatten)]
    pub best: Best,
}

/// Bound on the queries of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BestQueries {
    /// Index of the workload.
    pub workload: u16,
    /// The bound.
    #[serde(flatten)]
    pub best: Best,
}

impl Best {
    /// Returns the upper bound on the share in time under any transport.
    pub fn in_time(&self) -> Estimate {
        complement(&self.late)
    }

    /// Returns the share in time under the online schedule of the receivers' links.
    pub fn online_in_time(&self) -> Estimate {
        complement(&self.online)
    }

    /// Returns the share in time under the online schedule of all links, if it was computed.
    pub fn network_in_time(&self) -> Option<Estimate> {
        self.network.as_ref().map(complement)
    }
}

/// Returns 1 minus a share.
fn complement(share: &Estimate) -> Estimate {
    Estimate {
        value: 1.0 - share.value,
        interval: share.interval.map(|ends| Interval {
            low: 1.0 - ends.high,
            high: 1.0 - ends.low,
            ..ends
        }),
    }
}

impl BestPossible {
    /// Pools the best possible results of runs.
    pub fn over(runs: &[RunBound]) -> Self {
        let first = runs.first();
        let unknown = first.map(|run| run.unknown.clone()).unwrap_or_default();
        let groups = runs.iter().flat_map(|run| run.groups.keys().copied());
        let groups: BTreeSet<(u16, Class)> = groups.collect();
        let queries = runs.iter().flat_map(|run| run.queries.keys().copied());
        let queries: BTreeSet<u16> = queries.collect();
        let groups = groups.into_iter().filter_map(|(workload, class)| {
            let best = best(runs, |run| run.groups.get(&(workload, class)).copied())?;
            Some(BestGroup {
                workload,
                class,
                best,
            })
        });
        let queries = queries.into_iter().filter_map(|workload| {
            let best = best(runs, |run| run.queries.get(&workload).copied())?;
            Some(BestQueries { workload, best })
        });
        Self {
            runs: runs.len() as u64,
            objective: best(runs, RunBound::all_queries),
            deadlines: best(runs, |run| run.all),
            groups: groups.collect(),
            queries: queries.collect(),
            unknown,
        }
    }

    /// Returns the bound on the flows of one class of a workload, or `None` if there is none.
    pub fn group(&self, workload: u16, class: Class) -> Option<&Best> {
        let found = self
            .groups
            .iter()
            .find(|group| (group.workload, group.class) == (workload, class));
        found.map(|group| &group.best)
    }

    /// Returns the bound on the queries of a workload, or `None` if there is none.
    pub fn queries_of(&self, workload: u16) -> Option<&Best> {
        let found = self
            .queries
            .iter()
            .find(|queries| queries.workload == workload);
        found.map(|queries| &queries.best)
    }

    /// Returns true if there is no bound on anything.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.queries.is_empty()
    }
}

/// Pools a bound over runs. Returns `None` if no run has any demand.
fn best(runs: &[RunBound], late: impl Fn(&RunBound) -> Option<Late>) -> Option<Best> {
    let runs: Vec<Late> = runs
        .iter()
        .map(|run| late(run).unwrap_or_default())
        .collect();
    let share = |late: fn(&Late) -> u64| {
        Estimate::of(&runs, |runs| {
            let asked: u64 = runs.iter().map(|run| run.asked).sum();
            let late: u64 = runs.iter().map(|run| late(run)).sum();
            (asked > 0).then(|| late as f64 / asked as f64)
        })
    };
    Some(Best {
        asked: runs.iter().map(|run| run.asked).sum(),
        late: share(|run| run.late)?,
        online: share(|run| run.online)?,
        network: (runs.iter())
            .all(|run| run.network.is_some())
            .then(|| share(|run| run.network.unwrap_or(0)))
            .flatten(),
        if_prompt: runs.iter().any(|run| run.if_prompt),
    })
}
