//! The best possible: how many answers and queries are late under any transport, and what an online scheduler of the
//! receivers' links would make of them.
//!
//! What is asked comes from [`duetime_sim::demand`]: every message with the earliest submission that any transport can
//! bring about. Over each link that flows share, `duetime_fluid` tells how many of them must be late. Each flow has
//! one receiving and one sending link, so what must be late on different receiving links adds up, and so it does on
//! sending links; of the two sums the larger is the bound.
//!
//! - Late even alone: on its way a flow takes its propagation, one packet of the least size through every switch, and
//!   its bytes over the slowest stage. This counts in any case, and such flows take nothing of a link.
//! - A rack's links to other racks count as one link with the capacity of all. Where more is late there than on the
//!   links of the rack's hosts, that is taken for the rack.
//! - Elsewhere the network is free, as are acknowledgements, handshakes and flows without deadlines.
//! - Queries are a relaxation: at the root's link a query claims the smallest answers that would do, and of trees with
//!   several layers only the root's link and each answer alone are looked at.
//!
//! Both are bounds for every transport, with one condition, told by [`Best::if_prompt`]: where an answer's clock starts
//! when a query reaches the leaf, as by default (`deadline_from = "response"`), or an aggregator, a transport that holds
//! queries back gains time for their answers. The bound is then on transports that deliver queries at once.

mod rows;

pub use duetime_sim::bound::{Late, RunBest};
pub use rows::BestRow;

use duetime_results::{Class, Estimate, Interval};
use duetime_scenario::Scenario;
use duetime_sim::demand::most_payload;
use duetime_sim::topology::Network;
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::StudyError;
use crate::plan::Plan;
use crate::pool::each;

/// What it is called beside the transports.
pub const NO_TRANSPORT: &str = "no transport can do better";
/// What the online schedule is called beside the transports.
pub const ONLINE: &str = "online EDF of the receivers' links";

/// The best possible for one scenario, over all its runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BestPossible {
    /// Runs.
    pub runs: u64,
    /// All judged queries together; `None` without any, or if what some workload asks is not known.
    pub objective: Option<Best>,
    /// All flows with deadlines together; `None` likewise.
    pub deadlines: Option<Best>,
    /// By workload and class.
    pub groups: Vec<BestGroup>,
    /// By workload.
    pub queries: Vec<BestQueries>,
    /// The workloads of which nothing is known beforehand: their queries follow each other, or their leaves are asked
    /// again, so that what is asked depends on the transport.
    pub unknown: Vec<u16>,
}

/// A bound on what is late, as shares of what is asked.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Best {
    /// Measured flows with a deadline, or judged queries, over all runs.
    pub asked: u64,
    /// No transport has a smaller share late.
    pub late: Estimate,
    /// The share that is late by earliest deadline first on the receivers' links, knowing only what has arrived and
    /// giving up what can no longer be in time, were the rest of the network free.
    pub online: Estimate,
    /// Whether it holds for transports that deliver queries at once, and not for one that holds them back.
    pub if_prompt: bool,
}

/// Of one workload's flows of one class.
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

/// Of one workload's queries.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BestQueries {
    /// Index of the workload.
    pub workload: u16,
    /// The bound.
    #[serde(flatten)]
    pub best: Best,
}

impl Best {
    /// The share that some transport may have in time: no transport has a larger one.
    pub fn in_time(&self) -> Estimate {
        others(&self.late)
    }

    /// The share that the online schedule has in time.
    pub fn online_in_time(&self) -> Estimate {
        others(&self.online)
    }
}

/// The share of all others.
fn others(of: &Estimate) -> Estimate {
    Estimate {
        value: 1.0 - of.value,
        interval: of.interval.map(|ends| Interval {
            low: 1.0 - ends.high,
            high: 1.0 - ends.low,
            ..ends
        }),
    }
}

impl BestPossible {
    /// The best possible at these points of a plan, found for as many runs at the same time as there are cores. Points
    /// that differ only in what no bound depends on share one.
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
                .find(|(other, _)| asks_the_same(scenario(*other), scenario(point)));
            let best = match known {
                Some((_, best)) => best.clone(),
                None => Self::of(scenario(point), cores)?,
            };
            found.push((point, best));
        }
        Ok(found)
    }

    /// The best possible for all runs of a scenario, found for up to `jobs` runs at the same time.
    pub fn of(scenario: &Scenario, jobs: usize) -> Result<Self, StudyError> {
        let never = AtomicBool::new(false);
        let runs = runs(scenario, jobs, &never)?.unwrap_or_default();
        Ok(Self::over(&runs))
    }

    /// The best possible over these runs.
    pub fn over(runs: &[RunBest]) -> Self {
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
            objective: best(runs, RunBest::all_queries),
            deadlines: best(runs, |run| run.all),
            groups: groups.collect(),
            queries: queries.collect(),
            unknown,
        }
    }

    /// The bound of one workload's flows of one class.
    pub fn group(&self, workload: u16, class: Class) -> Option<&Best> {
        let found = self
            .groups
            .iter()
            .find(|of| (of.workload, of.class) == (workload, class));
        found.map(|of| &of.best)
    }

    /// The bound of one workload's queries.
    pub fn queries_of(&self, workload: u16) -> Option<&Best> {
        let found = self.queries.iter().find(|of| of.workload == workload);
        found.map(|of| &of.best)
    }

    /// Whether there is a bound on anything.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.queries.is_empty()
    }
}

/// Whether two scenarios differ only in their transports' options (but for the size of packets), switches, records and
/// the time after which runs are cut.
fn asks_the_same(a: &Scenario, b: &Scenario) -> bool {
    let asked = Scenario {
        name: b.name.clone(),
        transports: b.transports.clone(),
        switch: b.switch.clone(),
        record: b.record.clone(),
        lab: b.lab,
        drain: b.drain,
        ..a.clone()
    };
    most_payload(a) == most_payload(b) && asked == *b
}

/// Pools over runs; `None` where none asks anything.
fn best(runs: &[RunBest], of: impl Fn(&RunBest) -> Option<Late>) -> Option<Best> {
    let runs: Vec<Late> = runs.iter().map(|run| of(run).unwrap_or_default()).collect();
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

/// Each run, in order, with up to `jobs` at a time; `None` if `cancel` was set before the last.
pub(crate) fn runs(
    scenario: &Scenario,
    jobs: usize,
    cancel: &AtomicBool,
) -> Result<Option<Vec<RunBest>>, StudyError> {
    let network = Network::build(&scenario.topology)?;
    let stop = || cancel.load(Ordering::Relaxed);
    let run = |run| RunBest::of(scenario, run as u64, &network);
    let runs = each(scenario.seeds as usize, jobs, stop, run, |_| {});
    let all: Option<Vec<_>> = runs.into_iter().collect();
    Ok(all.map(|runs| runs.into_iter().collect()).transpose()?)
}
