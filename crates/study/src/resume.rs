//! A study or campaign from what was there before to its outcome.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::effort::Effort;
use crate::event::{Event, Listener, RunName};
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
    /// What all runs take, where it is known.
    pub effort: Option<Effort>,
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
    let listener = of.listener;
    let begun = Beginning {
        name: of.name,
        folder: of.folder,
        listener,
        warnings: of.warnings,
        effort: of.effort,
    };
    let runs = |task| work.runs(task).len();
    let name = |task| work.name(task, work.runs(task).start);
    let mut begun = begun.begin(found, &runs, &name);
    let missing = order(begun.missing());
    let conducted = Conduct {
        execution: of.execution,
        listener,
        runs: begun.runs,
        kept: begun.kept,
        stop_at_failure: false,
    };
    let made = conduct(&conducted, work, &missing, estimator);
    for (task, end) in missing.into_iter().zip(made) {
        begun.ends[task] = end;
    }
    begun.end(of.execution.cancel.load(Ordering::Relaxed), listener, &runs)
}

/// What is told before the first run.
pub(crate) struct Beginning<'a> {
    pub name: &'a str,
    pub folder: &'a Path,
    pub listener: &'a dyn Listener,
    pub warnings: Vec<Warning>,
    pub effort: Option<Effort>,
}

/// A study or campaign whose missing runs are being made.
pub(crate) struct Begun<K> {
    /// The end of each task, so far.
    pub ends: Vec<End<K>>,
    /// Runs in all.
    pub runs: usize,
    /// Runs that were there before.
    pub kept: usize,
    /// When it began.
    pub at: Instant,
    damaged: Vec<(RunName, String)>,
}

impl Beginning<'_> {
    /// Of tasks that were `found`: their numbers of runs, and the name of the first run of each.
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
    /// The tasks that are neither kept nor failed.
    pub fn missing(&self) -> Vec<usize> {
        let ends = self.ends.iter().enumerate();
        ends.filter(|(_, end)| matches!(end, End::Missing))
            .map(|(task, _)| task)
            .collect()
    }

    /// The ends of all tasks, and what they amount to.
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
