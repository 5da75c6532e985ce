//! The capacity that no transport exceeds: the same search on the bound of what can be in time at all.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use duetime_scenario::Scenario;
use duetime_sim::topology::Network;

use super::{Capacity, Deadlines, On, Search, SearchError, Stopped, Subject, search};
use crate::bound::RunBest;
use crate::demand::before_runs;
use crate::error::StudyError;

/// What no transport exceeds.
#[derive(Clone, Debug, PartialEq)]
pub struct BestCapacity {
    /// The capacity of a transport that is late only where any is.
    pub capacity: Capacity,
    /// Whether it holds for transports that deliver queries at once, and not for one that holds them back.
    pub if_prompt: bool,
}

/// Why the bound cannot be searched.
enum Stop {
    /// What is asked depends on the transport.
    Unknown,
    /// Anything else.
    Stopped(Stopped),
}

/// Searches for what no transport exceeds, with up to `jobs` runs at a time; `None` where there is no bound: queries
/// that follow each other are asked the more often the faster a transport is. `cancel` is set to stop.
pub fn best_possible(
    subject: &Subject,
    of: &Search,
    jobs: usize,
    cancel: &AtomicBool,
) -> Result<Option<BestCapacity>, Stopped> {
    let mut if_prompt = false;
    let found = search(of, |position| {
        let scenario = subject.scenario(position).map_err(failed)?;
        let at_once = jobs.clamp(1, scenario.seeds.max(1) as usize);
        before_runs([(subject.text(position), &scenario)], at_once).map_err(failed)?;
        let runs = runs(&scenario, jobs, cancel)?;
        if_prompt |= runs.iter().any(|run| prompt(run, subject.judges()));
        let seen = runs.iter().map(|run| in_time(run, subject.judges()));
        seen.collect::<Option<_>>().ok_or(Stop::Unknown)
    });
    match found {
        Ok(capacity) => Ok(Some(BestCapacity {
            capacity,
            if_prompt,
        })),
        Err(SearchError::Probe(Stop::Stopped(stopped))) => Err(stopped),
        Err(SearchError::Probe(Stop::Unknown) | SearchError::NoDeadlines(_)) => Ok(None),
        Err(SearchError::Runs { .. }) => {
            unreachable!("every value has as many runs as there are seeds")
        }
    }
}

fn failed(error: impl Into<StudyError>) -> Stop {
    Stop::Stopped(Stopped::Failed(error.into()))
}

/// What can be in time in one run; `None` where it depends on the transport.
fn in_time(run: &RunBest, on: On) -> Option<Deadlines> {
    if !run.unknown.is_empty() {
        return None;
    }
    let deadlines = |asked: u64, late: u64| Deadlines {
        met: asked - late,
        measured: asked,
    };
    match on {
        On::Answers => Some(
            run.all
                .map_or_else(Deadlines::default, |all| deadlines(all.asked, all.late)),
        ),
        On::Queries => {
            let queries = run.queries.values();
            let sum = queries.fold((0, 0), |sum, of| (sum.0 + of.asked, sum.1 + of.late));
            Some(deadlines(sum.0, sum.1))
        }
    }
}

fn prompt(run: &RunBest, on: On) -> bool {
    match on {
        On::Answers => run.all.is_some_and(|all| all.if_prompt),
        On::Queries => run.queries.values().any(|of| of.if_prompt),
    }
}

/// The bound of every run, in the order of the seeds.
fn runs(scenario: &Scenario, jobs: usize, cancel: &AtomicBool) -> Result<Vec<RunBest>, Stop> {
    let network = Network::build(&scenario.topology).map_err(failed)?;
    let seeds = u64::from(scenario.seeds);
    let next = AtomicU64::new(0);
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, seeds.max(1) as usize) {
            scope.spawn(|| {
                while !cancel.load(Ordering::Relaxed) {
                    let run = next.fetch_add(1, Ordering::Relaxed);
                    if run >= seeds {
                        break;
                    }
                    let best = RunBest::of(scenario, run, &network);
                    found.lock().expect("no panic holds it").push((run, best));
                }
            });
        }
    });
    let mut found = found.into_inner().expect("no panic holds it");
    if (found.len() as u64) < seeds {
        return Err(Stop::Stopped(Stopped::Cancelled));
    }
    found.sort_by_key(|(run, _)| *run);
    let runs = found.into_iter().map(|(_, best)| best.map_err(failed));
    runs.collect()
}
