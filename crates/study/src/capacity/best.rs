//! The capacity that no transport exceeds: the same search on the bound of what can be in time at all.

use std::sync::atomic::AtomicBool;

use super::{Capacity, Deadlines, On, Search, SearchError, Stopped, Subject, search};
use crate::bound::{RunBest, runs};
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
        let runs = runs(&scenario, jobs, cancel).map_err(failed)?;
        let runs = runs.ok_or(Stop::Stopped(Stopped::Cancelled))?;
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
