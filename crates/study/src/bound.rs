//! Best possible results: lower bounds on the late answers and queries under any transport, and the result of an online
//! scheduler of the receivers' links.
//!
//! [`duetime_sim::demand`] lists every message with the earliest time at which any transport can have it submitted. For
//! each link that flows share, `duetime_fluid` computes how many of them must be late. Each flow has one receiving and
//! one sending link, so the numbers of different receiving links add up, and so do those of sending links. The bound is
//! the larger of the two sums.
//!
//! - Late even alone: the minimum time of a flow is its propagation, one packet of minimum size through every switch,
//!   and its bytes over the slowest stage. A flow that exceeds its deadline alone is late in any case and takes no
//!   capacity.
//! - The links of a rack to other racks count as one link with their total capacity. If more flows are late there than
//!   on the links of the rack's hosts, that number is used for the rack.
//! - All other parts of the network are free, as are acknowledgements, handshakes and flows without deadlines.
//! - Queries are a relaxation: on the root's link, a query takes only the smallest sufficient answers. For trees with
//!   several layers, only the root's link and each answer alone count.
//!
//! These bounds hold for every transport, with one condition, reported by [`Best::if_prompt`]: if an answer's clock
//! starts when its query reaches the leaf, which is the default (`deadline_from = "response"`), or an aggregator, then
//! a transport that delays queries gains time for their answers. The bound then holds for transports that deliver
//! queries at once.

mod rows;

pub use duetime_sim::bound::{Late, RunBound};
pub use rows::BestRow;

use duetime_results::{Class, Estimate, Interval};
use duetime_scenario::Scenario;
use duetime_sim::demand::max_payload;
use duetime_sim::topology::Network;
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::StudyError;
use crate::plan::Plan;
use crate::pool::each;

/// Name of the best possible result in the place of a transport.
pub const NO_TRANSPORT: &str = "no transport can do better";
/// Name of the online schedule in the place of a transport.
pub const ONLINE: &str = "online EDF of the receivers' links";

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

    /// Returns the share in time under the online schedule.
    pub fn online_in_time(&self) -> Estimate {
        complement(&self.online)
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
    /// Computes the best possible results at the given points of a plan, with one run per core at a time. Points whose
    /// differences do not affect the bound share one computation.
    pub fn of_points(
        plan: &Plan,
        points: impl Iterator<Item = usize>,
    ) -> Result<Vec<(usize, Self)>, StudyError> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let scenario = |point: usize| &plan.points[point].scenario;
        let mut found: Vec<(usize, Self)> = Vec::new();
        for point in points {
            let known = found
                .iter()
                .find(|(other, _)| same_demand(scenario(*other), scenario(point)));
            let best = match known {
                Some((_, best)) => best.clone(),
                None => Self::of(scenario(point), cores)?,
            };
            found.push((point, best));
        }
        Ok(found)
    }

    /// Computes the best possible results of a scenario over all its runs, with up to `jobs` runs at a time.
    pub fn of(scenario: &Scenario, jobs: usize) -> Result<Self, StudyError> {
        let never = AtomicBool::new(false);
        let runs = runs(scenario, jobs, &never)?.unwrap_or_default();
        Ok(Self::over(&runs))
    }

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

/// Returns true if two scenarios differ only in the options of their transports (except the packet size), switches,
/// records and drain time.
fn same_demand(a: &Scenario, b: &Scenario) -> bool {
    let same = Scenario {
        name: b.name.clone(),
        transports: b.transports.clone(),
        switch: b.switch.clone(),
        record: b.record.clone(),
        lab: b.lab,
        drain: b.drain,
        ..a.clone()
    };
    max_payload(a) == max_payload(b) && same == *b
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
        if_prompt: runs.iter().any(|run| run.if_prompt),
    })
}

/// Computes the bound of each run, in order, with up to `jobs` at a time. Returns `None` if `cancel` was set before all
/// were started.
pub(crate) fn runs(
    scenario: &Scenario,
    jobs: usize,
    cancel: &AtomicBool,
) -> Result<Option<Vec<RunBound>>, StudyError> {
    let network = Network::build(&scenario.topology)?;
    let stop = || cancel.load(Ordering::Relaxed);
    let run = |run| RunBound::of(scenario, run as u64, &network);
    let runs = each(scenario.seeds as usize, jobs, stop, run, |_| {});
    let all: Option<Vec<_>> = runs.into_iter().collect();
    Ok(all.map(|runs| runs.into_iter().collect()).transpose()?)
}
