//! Execution of tasks with progress reports.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use duetime_sim::{Options, Progress};

use super::workers::lock;
use super::{ActiveRun, Conduct, End, Estimator, Made, Work};
use crate::event::{Event, RunName};

pub(super) struct Pool<'a, W> {
    settings: &'a Conduct<'a>,
    work: &'a W,
    /// Set when further runs would be useless.
    stop: AtomicBool,
    working: Mutex<Vec<Working>>,
    /// Number of ended runs.
    done: AtomicUsize,
    estimator: Mutex<&'a mut dyn Estimator>,
}

/// Active run.
struct Working {
    name: RunName,
    task: usize,
    of_s: f64,
    cut_s: f64,
    began: Instant,
    progress: Arc<Progress>,
}

/// Finished run, reported after its task has been stored.
struct Finished {
    name: RunName,
    wall_s: f64,
    simulated_s: f64,
    packet_hops: u64,
}

impl<'a, W: Work> Pool<'a, W> {
    pub(super) fn new(
        settings: &'a Conduct<'a>,
        work: &'a W,
        estimator: &'a mut dyn Estimator,
    ) -> Self {
        Self {
            settings,
            work,
            stop: AtomicBool::new(false),
            working: Mutex::default(),
            done: AtomicUsize::new(0),
            estimator: Mutex::new(estimator),
        }
    }

    fn is_cancelled(&self) -> bool {
        self.settings.execution.cancel.load(Ordering::Relaxed)
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.is_cancelled() || self.stop.load(Ordering::Relaxed)
    }

    /// Makes all runs of a task and stores them.
    pub(super) fn task(&self, task: usize) -> End<W::Kept> {
        let (mut made, mut finished) = (Vec::new(), Vec::new());
        for run in self.work.runs(task) {
            if !made.is_empty() && self.is_cancelled() {
                return End::Missing;
            }
            let name = self.work.name(task, run);
            let began = Instant::now();
            let run = match self.run(task, run, &name) {
                Ok(Some(run)) => run,
                Ok(None) => return End::Missing,
                Err(error) => {
                    self.done.fetch_add(1, Ordering::Relaxed);
                    return self.failed(task, name, error, self.settings.stop_at_failure);
                }
            };
            let wall_s = began.elapsed().as_secs_f64();
            lock(&self.estimator).ended(task, wall_s, run.packet_hops);
            self.done.fetch_add(1, Ordering::Relaxed);
            finished.push(Finished {
                name,
                wall_s,
                simulated_s: run.simulated_s,
                packet_hops: run.packet_hops,
            });
            made.push(run.what);
        }
        let wall_s = finished.iter().map(|run| run.wall_s).sum();
        let kept = match self.work.keep(task, made, wall_s) {
            Ok(kept) => kept,
            Err(error) => {
                let name = self.work.name(task, self.work.runs(task).start);
                return self.failed(task, name, error.to_string(), true);
            }
        };
        for run in finished {
            self.settings.listener.on(&Event::RunFinished {
                name: run.name,
                job: task,
                wall_s: run.wall_s,
                simulated_s: run.simulated_s,
                packet_hops: run.packet_hops,
                ns_per_packet_hop: run.wall_s * 1e9 / (run.packet_hops.max(1) as f64),
                folder: self.work.place(task),
            });
        }
        End::Kept(kept)
    }

    /// Makes one run. A panic fails only this run.
    fn run(&self, task: usize, run: u32, name: &RunName) -> Result<Option<Made<W::Made>>, String> {
        let scenario = self.work.scenario(task);
        let of_s = scenario.duration.as_secs_f64();
        let progress = Arc::new(Progress::default());
        lock(&self.working).push(Working {
            name: name.clone(),
            task,
            of_s,
            cut_s: of_s + scenario.drain.as_secs_f64(),
            began: Instant::now(),
            progress: Arc::clone(&progress),
        });
        self.settings.listener.on(&Event::RunStarted {
            name: name.clone(),
            job: task,
            of_s,
        });
        let options = Options {
            threads: self.settings.execution.threads,
            progress: Some(progress),
            ..Options::default()
        };
        let make = || self.work.make(task, run, &options);
        let made =
            catch_unwind(AssertUnwindSafe(make)).unwrap_or_else(|panic| Err(panic_text(&*panic)));
        lock(&self.working).retain(|working| working.task != task);
        made
    }

    fn failed(&self, task: usize, name: RunName, error: String, stop: bool) -> End<W::Kept> {
        if stop {
            self.stop.store(true, Ordering::Relaxed);
        }
        let error = match self.work.note_failure(task, &error) {
            Ok(()) => error,
            Err(unwritten) => {
                format!("{error} (writing this error to the folder failed: {unwritten})")
            }
        };
        self.settings.listener.on(&Event::RunFailed {
            name: name.clone(),
            job: task,
            error: error.clone(),
        });
        End::Failed(name, error)
    }

    /// Reports the progress, and forwards a stop to the active runs.
    pub(super) fn report(&self, waiting: &[usize], elapsed: Duration, workers: usize) {
        let working = lock(&self.working);
        let stop = self.is_cancelled();
        let mut rates = 0.0;
        let mut at_work = Vec::with_capacity(working.len());
        for run in working.iter() {
            if stop {
                run.progress.cancel.store(true, Ordering::Relaxed);
            }
            let wall_s = run.began.elapsed().as_secs_f64();
            let simulated_s = run.progress.simulated_ps.load(Ordering::Relaxed) as f64 * 1e-12;
            let packet_hops = run.progress.packet_hops.load(Ordering::Relaxed);
            let rate = packet_hops as f64 / wall_s.max(1e-9);
            rates += rate;
            at_work.push(ActiveRun {
                task: run.task,
                wall_s,
                simulated_s,
                of_s: run.of_s,
                cut_s: run.cut_s,
                packet_hops,
                open_flows: run.progress.open_flows.load(Ordering::Relaxed),
            });
            self.settings.listener.on(&Event::Progress {
                name: run.name.clone(),
                job: run.task,
                simulated_s,
                of_s: run.of_s,
                packet_hops,
                packet_hops_per_s: rate,
            });
        }
        drop(working);
        let eta_s = lock(&self.estimator).left_s(elapsed.as_secs_f64(), &at_work, waiting, workers);
        self.settings.listener.on(&Event::Overall {
            done: self.settings.kept + self.done.load(Ordering::Relaxed),
            runs: self.settings.runs,
            packet_hops_per_s: rates,
            eta_s,
        });
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("internal error (a bug): {}", text.unwrap_or("no message"))
}
