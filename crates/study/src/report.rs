//! One self-contained HTML page about a study: what it answers in one sentence, how many queries were in time, tables,
//! figures, and how to make it again.

mod curves;
mod draw;
mod page;
mod queries;
mod samples;
mod tables;

use std::path::PathBuf;

use duetime_store::RunFolder;

use crate::error::StudyError;
use crate::gather::{Gathered, gather};
use crate::plan::Plan;

/// What the page shows beside what the transports did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Beside {
    /// What no transport can do better; of a study without a sweep.
    pub best: Option<Best>,
}

/// A bound on what any transport can do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Best {
    /// Largest share of the queries that can be in time, in [0, 1].
    pub queries_in_time: Option<f64>,
    /// Largest share of the flows with deadlines that can meet them, in [0, 1].
    pub deadlines_met: Option<f64>,
    /// How it was found: whether it is exact, a proven bound, or an online schedule.
    pub note: String,
}

impl Beside {
    /// What the folder's scenario allows, where it is one.
    fn of(gathered: &Gathered) -> Self {
        let best = gathered.best_at(0).map(|best| Best {
            queries_in_time: best.objective.map(|of| of.in_time().value),
            deadlines_met: best.deadlines.map(|of| of.in_time().value),
            note: "a bound over each receiving and sending link".to_owned(),
        });
        Self { best }
    }
}

/// Writes `report.html` into the folder; gives what the runs amount to, and the page's path.
pub fn report(plan: &Plan, folder: &RunFolder) -> Result<(Gathered, PathBuf), StudyError> {
    report_beside(plan, folder, Beside::of)
}

/// The same with what `beside` says of the runs.
pub fn report_beside(
    plan: &Plan,
    folder: &RunFolder,
    beside: impl FnOnce(&Gathered) -> Beside,
) -> Result<(Gathered, PathBuf), StudyError> {
    let mut samples = samples::Samples::new(plan);
    let gathered = gather(plan, folder, |job, records| samples.take(job, records))?;
    let beside = beside(&gathered);
    let html = page::html(plan, &gathered, &samples, &beside)?;
    let path = folder.write_file("report.html", html.as_bytes())?;
    Ok((gathered, path))
}
