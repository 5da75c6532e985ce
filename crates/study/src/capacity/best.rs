//! The capacity that no transport exceeds: the same search on the bound of what can be in time at all.

use std::sync::atomic::AtomicBool;

use super::{Capacity, Deadlines, On, Search, SearchError, Stopped, Subject, search};
use crate::bound::{Late, RunBest, runs};
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
        let late: Option<Vec<Late>> = runs.iter().map(|run| late(run, subject.judges())).collect();
        let late = late.ok_or(Stop::Unknown)?;
        if_prompt |= late.iter().any(|of| of.if_prompt);
        let in_time = |of: &Late| Deadlines {
            met: of.asked - of.late,
            measured: of.asked,
        };
        Ok(late.iter().map(in_time).collect())
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

/// What is late in one run; `None` where it depends on the transport.
fn late(run: &RunBest, on: On) -> Option<Late> {
    match on {
        On::Answers if run.unknown.is_empty() => Some(run.all.unwrap_or_default()),
        On::Answers => None,
        On::Queries => run.all_queries(),
    }
}
