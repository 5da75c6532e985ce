//! A study or campaign from what was there before to its outcome.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::event::{Event, Listener};
use crate::pool::{Conduct, End, Estimator, Execution, Found, Outcome, Work, conduct};
use crate::warnings::Warning;

/// What is taken up.
pub struct Resume<'a> {
    /// Its name.
    pub name: &'a str,
    /// Where results go.
    pub folder: &'a Path,
    /// How its runs are made.
    pub execution: &'a Execution,
    /// Hears what happens.
    pub listener: &'a dyn Listener,
    /// What to know before the runs.
    pub warnings: Vec<Warning>,
}

/// Makes the tasks that were not `found`, in the order that `order` puts them; gives the ends of all tasks in the order
/// of `found`, and what they amount to.
pub fn resume<W: Work>(
    of: Resume<'_>,
    work: &W,
    found: Vec<Found<W::Kept>>,
    order: impl FnOnce(Vec<usize>) -> Vec<usize>,
    estimator: &mut dyn Estimator,
) -> (Vec<End<W::Kept>>, Outcome) {
    let began = Instant::now();
    let runs = |task: usize| work.runs(task).len();
    let mut outcome = Outcome::default();
    let mut missing = Vec::new();
    let mut ends = Vec::with_capacity(found.len());
    for (task, found) in found.into_iter().enumerate() {
        match found {
            Found::Kept(kept) => {
                outcome.kept += runs(task);
                ends.push(End::Kept(kept));
                continue;
            }
            Found::Missing => {}
            Found::Damaged(why) => {
                let name = work.name(task, work.runs(task).start);
                outcome.damaged.push((name, why));
            }
        }
        missing.push(task);
        ends.push(End::Missing);
    }
    let all = (0..ends.len()).map(runs).sum();
    of.listener.on(&Event::StudyStarted {
        name: of.name.to_owned(),
        folder: of.folder.display().to_string(),
        runs: all,
        kept: outcome.kept,
    });
    for (name, reason) in outcome.damaged.iter().cloned() {
        of.listener.on(&Event::Damaged { name, reason });
    }
    for warning in of.warnings {
        of.listener.on(&Event::Warning(warning));
    }
    let missing = order(missing);
    let conducted = Conduct {
        execution: of.execution,
        listener: of.listener,
        runs: all,
        kept: outcome.kept,
        stop_at_failure: false,
    };
    let made = conduct(&conducted, work, &missing, estimator);
    for (task, end) in missing.into_iter().zip(made) {
        ends[task] = end;
    }
    for (task, end) in ends.iter().enumerate() {
        match end {
            End::Kept(_) => outcome.finished += runs(task),
            End::Failed(name, why) => outcome.failures.push((name.clone(), why.clone())),
            End::Missing => outcome.missing += runs(task),
        }
    }
    outcome.cancelled = of.execution.cancel.load(Ordering::Relaxed);
    of.listener.on(&Event::StudyFinished {
        finished: outcome.finished,
        failed: outcome.failures.len(),
        missing: outcome.missing,
        wall_s: began.elapsed().as_secs_f64(),
        cancelled: outcome.cancelled,
    });
    (ends, outcome)
}
