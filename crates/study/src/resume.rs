//! Execution of the missing tasks of a study or campaign.

use std::collections::BTreeSet;
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

/// Executes tasks that were not `found`. `next` is passed the ends so far and returns the missing tasks to execute, in
/// their order, until it returns none. A stop or a failure also ends the execution, after the tasks at hand. Returns the
/// ends of all tasks in the order of `found`, and the outcome.
pub fn resume<W: Work>(
    study: Resume<'_>,
    work: &W,
    found: Vec<Found<W::Kept>>,
    mut next: impl FnMut(&[End<W::Kept>]) -> Vec<usize>,
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
    let (mut begun, mut tasks) = begun.begin(found, &mut next, &runs, &name);
    let is_cancelled = || study.execution.cancel.load(Ordering::Relaxed);
    while !tasks.is_empty() {
        let conducted = Conduct {
            execution: study.execution,
            listener,
            runs: begun.runs,
            kept: begun.runs - tasks.iter().map(|&task| runs(task)).sum::<usize>(),
            stop_at_failure: false,
        };
        let made = conduct(&conducted, work, &tasks, estimator);
        let are_kept = made.iter().all(|end| matches!(end, End::Kept(_)));
        for (task, end) in tasks.into_iter().zip(made) {
            begun.ends[task] = end;
        }
        tasks = if are_kept && !is_cancelled() {
            next(&begun.ends)
        } else {
            Vec::new()
        };
        begun.expect(&tasks, &runs);
    }
    begun.end(is_cancelled(), listener, &runs)
}

/// Returns the tasks that are neither kept nor failed.
pub fn pending<K>(ends: &[End<K>]) -> Vec<usize> {
    let ends = ends.iter().enumerate();
    ends.filter(|(_, end)| matches!(end, End::Missing))
        .map(|(task, _)| task)
        .collect()
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
    /// Number of runs of the expected tasks, including those kept from before.
    pub runs: usize,
    /// Runs kept from before.
    pub kept: usize,
    /// Time of the start.
    pub at: Instant,
    /// Tasks to make.
    expected: BTreeSet<usize>,
    damaged: Vec<(RunName, String)>,
}

impl Beginning<'_> {
    /// Reports the start. `first` returns the first tasks to make, which are returned too; `runs` the number of runs of
    /// a task, and `name` the name of its first run.
    pub fn begin<K>(
        self,
        found: Vec<Found<K>>,
        first: impl FnOnce(&[End<K>]) -> Vec<usize>,
        runs: &dyn Fn(usize) -> usize,
        name: &dyn Fn(usize) -> RunName,
    ) -> (Begun<K>, Vec<usize>) {
        let mut begun = Begun {
            ends: Vec::with_capacity(found.len()),
            runs: 0,
            kept: 0,
            at: Instant::now(),
            expected: BTreeSet::new(),
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
        begun.runs = begun.kept;
        let tasks = first(&begun.ends);
        begun.expect(&tasks, runs);
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
        (begun, tasks)
    }
}

impl<K> Begun<K> {
    /// Adds tasks to make.
    fn expect(&mut self, tasks: &[usize], runs: &dyn Fn(usize) -> usize) {
        self.runs += tasks.iter().map(|&task| runs(task)).sum::<usize>();
        self.expected.extend(tasks);
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
                End::Missing if self.expected.contains(&task) => outcome.missing += runs(task),
                End::Missing => {}
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
