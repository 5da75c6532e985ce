//! Upper bound on the capacity of any transport, from the same search on the best possible results.

use std::sync::atomic::AtomicBool;

use duetime_analysis::bound::{Late, RunBound};

use super::{Capacity, Deadlines, On, Search, SearchError, Stopped, Subject, search};
use crate::bound::runs;
use crate::demand::describe_checked;
use crate::error::StudyError;

/// Upper bound on the capacity of any transport.
#[derive(Clone, Debug, PartialEq)]
pub struct BestCapacity {
    /// Capacity of a transport that reaches the best possible result.
    pub capacity: Capacity,
    /// True if the bound holds only for transports that deliver queries at once.
    pub if_prompt: bool,
}

/// Reason why the bound cannot be searched.
enum Stop {
    /// The demand depends on the transport.
    Unknown,
    /// Stop or error.
    Stopped(Stopped),
}

/// Searches for the upper bound, with up to `jobs` runs at a time. Returns `None` if there is no bound because the
/// demand depends on the transport: queries that follow each other arrive faster under a faster transport. `cancel` is
/// the stop flag.
pub fn best_possible(
    subject: &Subject,
    criteria: &Search,
    jobs: usize,
    cancel: &AtomicBool,
) -> Result<Option<BestCapacity>, Stopped> {
    let mut if_prompt = false;
    let found = search(criteria, |position| {
        let scenario = subject.scenario(position).map_err(failed)?;
        let at_once = jobs.clamp(1, scenario.seeds.max(1) as usize);
        describe_checked([(subject.text(position), &scenario)], at_once).map_err(failed)?;
        let runs = runs(&scenario, jobs, cancel).map_err(failed)?;
        let runs = runs.ok_or(Stop::Stopped(Stopped::Cancelled))?;
        let late: Option<Vec<Late>> = runs.iter().map(|run| late(run, subject.judges())).collect();
        let late = late.ok_or(Stop::Unknown)?;
        if_prompt |= late.iter().any(|late| late.if_prompt);
        let in_time = |late: &Late| Deadlines {
            met: late.asked - late.late,
            measured: late.asked,
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

/// Returns the bound on what is late in one run, or `None` if the demand depends on the transport.
fn late(run: &RunBound, on: On) -> Option<Late> {
    match on {
        On::Answers if run.unknown.is_empty() => Some(run.all.unwrap_or_default()),
        On::Answers => None,
        On::Queries => run.all_queries(),
    }
}
