//! Execution of the missing tasks of a study or campaign.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::effort::Effort;
use crate::event::{Event, Listener, RunName};
use crate::pool::{Conduct, End, Estimator, Execution, Found, Outcome, Work, conduct};
use crate::warnings::Warning;

/// Study or campaign to complete.
pub struct Resume<'a> {
    /// Name.
    pub name: &'a str,
    /// Folder of the results.
    pub folder: &'a Path,
    /// Settings of the execution.
    pub execution: &'a Execution,
    /// Listener for progress events.
    pub listener: &'a dyn Listener,
    /// Warnings to report before the runs.
    pub warnings: Vec<Warning>,
    /// Estimated effort of all runs, if known.
    pub effort: Option<Effort>,
}

/// Executes the tasks that were not `found`, in the order that `order` returns. Returns the ends of all tasks in the
/// order of `found`, and the outcome.
pub fn resume<W: Work>(
    study: Resume<'_>,
    work: &W,
    found: Vec<Found<W::Kept>>,
    order: impl FnOnce(Vec<usize>) -> Vec<usize>,
    estimator: &mut dyn Estimator,
) -> (Vec<End<W::Kept>>, Outcome) {
    let listener = study.listener;
    let begun = Beginning {
        name: study.name,
        folder: study.folder,
        listener,
        warnings: study.warnings,
        effort: study.effort,
    };
    let runs = |task| work.runs(task).len();
    let name = |task| work.name(task, work.runs(task).start);
    let mut begun = begun.begin(found, &runs, &name);
    let missing = order(begun.missing());
    let conducted = Conduct {
        execution: study.execution,
        listener,
        runs: begun.runs,
        kept: begun.kept,
        stop_at_failure: false,
    };
    let made = conduct(&conducted, work, &missing, estimator);
    for (task, end) in missing.into_iter().zip(made) {
        begun.ends[task] = end;
    }
    begun.end(
        study.execution.cancel.load(Ordering::Relaxed),
        listener,
        &runs,
    )
}

/// Study or campaign before its first run, with the events to report.
pub(crate) struct Beginning<'a> {
    pub name: &'a str,
    pub folder: &'a Path,
    pub listener: &'a dyn Listener,
    pub warnings: Vec<Warning>,
    pub effort: Option<Effort>,
}

/// Study or campaign whose missing runs are being made.
pub(crate) struct Begun<K> {
    /// End of each task so far.
    pub ends: Vec<End<K>>,
    /// Total number of runs.
    pub runs: usize,
    /// Runs kept from before.
    pub kept: usize,
    /// Time of the start.
    pub at: Instant,
    damaged: Vec<(RunName, String)>,
}

impl Beginning<'_> {
    /// Reports the start. `runs` returns the number of runs of a task, `name` the name of its first run.
    pub fn begin<K>(
        self,
        found: Vec<Found<K>>,
        runs: &dyn Fn(usize) -> usize,
        name: &dyn Fn(usize) -> RunName,
    ) -> Begun<K> {
        let mut begun = Begun {
            ends: Vec::with_capacity(found.len()),
            runs: (0..found.len()).map(runs).sum(),
            kept: 0,
            at: Instant::now(),
            damaged: Vec::new(),
        };
        for (task, found) in found.into_iter().enumerate() {
            begun.ends.push(match found {
                Found::Kept(kept) => {
                    begun.kept += runs(task);
                    End::Kept(kept)
                }
                Found::Missing => End::Missing,
                Found::Damaged(why) => {
                    begun.damaged.push((name(task), why));
                    End::Missing
                }
            });
        }
        self.listener.on(&Event::StudyStarted {
            name: self.name.to_owned(),
            folder: self.folder.display().to_string(),
            runs: begun.runs,
            kept: begun.kept,
            effort: self.effort.filter(|_| begun.kept == 0),
        });
        for (name, reason) in begun.damaged.iter().cloned() {
            self.listener.on(&Event::Damaged { name, reason });
        }
        for warning in self.warnings {
            self.listener.on(&Event::Warning(warning));
        }
        begun
    }
}

impl<K> Begun<K> {
    /// Returns the tasks that are neither kept nor failed.
    pub fn missing(&self) -> Vec<usize> {
        let ends = self.ends.iter().enumerate();
        ends.filter(|(_, end)| matches!(end, End::Missing))
            .map(|(task, _)| task)
            .collect()
    }

    /// Reports the end. Returns the ends of all tasks and the outcome.
    pub fn end(
        self,
        cancelled: bool,
        listener: &dyn Listener,
        runs: &dyn Fn(usize) -> usize,
    ) -> (Vec<End<K>>, Outcome) {
        let mut outcome = Outcome {
            kept: self.kept,
            damaged: self.damaged,
            cancelled,
            ..Outcome::default()
        };
        for (task, end) in self.ends.iter().enumerate() {
            match end {
                End::Kept(_) => outcome.finished += runs(task),
                End::Failed(name, why) => outcome.failures.push((name.clone(), why.clone())),
                End::Missing => outcome.missing += runs(task),
            }
        }
        listener.on(&Event::StudyFinished {
            finished: outcome.finished,
            failed: outcome.failures.len(),
            missing: outcome.missing,
            wall_s: self.at.elapsed().as_secs_f64(),
            cancelled,
        });
        (self.ends, outcome)
    }
}
