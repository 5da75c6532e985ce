//! The one pool of workers. [`each`] does numbered pieces of work on several threads. [`conduct`] makes with it the runs
//! that a study, a search or a campaign still needs: it tells how far they are, passes a stop on to them, and has each
//! task kept as it ends. What is left does not depend on how many workers there are, nor on earlier stops.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use duetime_core::Time;
use duetime_scenario::Scenario;
use duetime_sim::{Options, Progress, RunOutput};
use duetime_store::IfExists;

use crate::error::StudyError;
use crate::event::{Event, Listener, RunName};

/// Time between two progress events of a run.
const TICK: Duration = Duration::from_millis(200);

/// How runs are made.
#[derive(Clone, Debug)]
pub struct Execution {
    /// Runs at the same time.
    pub jobs: usize,
    /// Threads that one run is split over.
    pub threads: usize,
    /// What to do with a folder that holds results.
    pub if_exists: IfExists,
    /// Set to stop: runs at work are dropped, finished ones are kept.
    pub cancel: Arc<AtomicBool>,
}

/// Something that makes a run: the simulator, or a stand-in in tests.
pub trait Engine: Sync {
    /// Makes run `run` of transport `transport` of the scenario.
    fn run(
        &self,
        scenario: &Scenario,
        transport: usize,
        run: u64,
        options: &Options,
    ) -> Result<RunOutput, String>;
}

/// The simulator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Simulator;

impl Engine for Simulator {
    fn run(
        &self,
        scenario: &Scenario,
        transport: usize,
        run: u64,
        options: &Options,
    ) -> Result<RunOutput, String> {
        duetime_sim::run(scenario, transport, run, options).map_err(|error| error.to_string())
    }
}

/// Tasks by number. A task is one run, or some runs that are kept together.
pub trait Work: Sync {
    /// What is made of one run.
    type Made: Send;
    /// What is known of a task that is kept.
    type Kept: Send;

    /// The runs of a task, at least one.
    fn runs(&self, task: usize) -> Range<u32>;

    /// One of its runs, by names.
    fn name(&self, task: usize, run: u32) -> RunName;

    /// What its runs simulate.
    fn scenario(&self, task: usize) -> &Scenario;

    /// Makes one run; `None` if it was stopped.
    fn make(
        &self,
        task: usize,
        run: u32,
        options: &Options,
    ) -> Result<Option<Made<Self::Made>>, String>;

    /// Keeps all runs of a task, in their order, so that they are there after any stop. `wall_s` is what they took.
    fn keep(
        &self,
        task: usize,
        runs: Vec<Self::Made>,
        wall_s: f64,
    ) -> Result<Self::Kept, StudyError>;

    /// Where a task is kept.
    fn place(&self, task: usize) -> String;

    /// Notes beside what is kept why a task failed.
    fn note_failure(&self, _task: usize, _error: &str) -> Result<(), StudyError> {
        Ok(())
    }
}

/// One run that was made.
#[derive(Debug)]
pub struct Made<T> {
    /// What there is to keep.
    pub what: T,
    /// Simulated time at its end, s.
    pub simulated_s: f64,
    /// Packets that crossed a link.
    pub packet_hops: u64,
}

impl Made<RunOutput> {
    /// The run, unless it was stopped.
    pub fn of(output: RunOutput) -> Option<Self> {
        let totals = &output.records.totals;
        let simulated_s = totals.end.since(Time::ZERO).as_secs_f64();
        let packet_hops = totals.packet_hops;
        output.complete.then_some(Self {
            what: output,
            simulated_s,
            packet_hops,
        })
    }
}

impl<T> Made<T> {
    /// The same with something else to keep.
    pub fn map<U>(self, what: impl FnOnce(T) -> U) -> Made<U> {
        Made {
            what: what(self.what),
            simulated_s: self.simulated_s,
            packet_hops: self.packet_hops,
        }
    }
}

/// Whether a task was there before.
#[derive(Debug)]
pub enum Found<K> {
    /// It is.
    Kept(K),
    /// It is not.
    Missing,
    /// It is not as it was written, and why. It is made again.
    Damaged(String),
}

/// How a task ended.
#[derive(Debug)]
pub enum End<K> {
    /// It is kept, now or from before.
    Kept(K),
    /// The run that failed, and why.
    Failed(RunName, String),
    /// It was stopped, or not begun.
    Missing,
}

/// What became of a study or campaign.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Runs that are kept.
    pub finished: usize,
    /// Of those, the ones that were there before.
    pub kept: usize,
    /// What was there, but not as it was written: its first run, and why. It was made again.
    pub damaged: Vec<(RunName, String)>,
    /// Runs that failed, in the order of the tasks, and why.
    pub failures: Vec<(RunName, String)>,
    /// Runs that were stopped or not begun; also those after one that could not be written.
    pub missing: usize,
    /// Whether it was stopped.
    pub cancelled: bool,
}

/// Says how long the rest takes.
pub trait Estimator: Send {
    /// A run of a task has ended.
    fn ended(&mut self, task: usize, wall_s: f64, packet_hops: u64);

    /// Wall time until all is done, s; `None` until it can be told. `now_s` counts from the beginning, `waiting` are the
    /// tasks that are not begun.
    fn left_s(
        &mut self,
        now_s: f64,
        at_work: &[AtWork],
        waiting: &[usize],
        workers: usize,
    ) -> Option<f64>;
}

/// A run at work.
#[derive(Clone, Copy, Debug)]
pub struct AtWork {
    /// Its task.
    pub task: usize,
    /// Wall time since it began, s.
    pub wall_s: f64,
    /// Simulated time, s.
    pub simulated_s: f64,
    /// Simulated time at which its sources stop, s.
    pub of_s: f64,
    /// Simulated time at which it is cut, s.
    pub cut_s: f64,
    /// Packet-hops so far.
    pub packet_hops: u64,
    /// Flows in the measurement window that are not finished.
    pub open_flows: u64,
}

/// How tasks are done, beside what they are.
pub struct Conduct<'a> {
    /// Workers, threads of a run, and what stops them.
    pub execution: &'a Execution,
    /// Hears what happens.
    pub listener: &'a dyn Listener,
    /// Runs in all.
    pub runs: usize,
    /// Of those, the ones that are kept already.
    pub kept: usize,
    /// Whether one failed run ends it all.
    pub stop_at_failure: bool,
}

/// Does `tasks`, in this order as far as they are begun; gives their ends in it.
pub fn conduct<W: Work>(
    of: &Conduct<'_>,
    work: &W,
    tasks: &[usize],
    estimator: &mut dyn Estimator,
) -> Vec<End<W::Kept>> {
    let workers = of.execution.jobs.clamp(1, tasks.len().max(1));
    let pool = Pool {
        of,
        work,
        stop: AtomicBool::new(false),
        working: Mutex::default(),
        done: AtomicUsize::new(0),
        estimator: Mutex::new(estimator),
    };
    let began = Instant::now();
    let ends = each(
        tasks.len(),
        workers,
        || pool.is_stopped(),
        |index| pool.task(tasks[index]),
        |begun| pool.tell(&tasks[begun..], began.elapsed(), workers),
    );
    let ends = ends.into_iter();
    ends.map(|end| end.unwrap_or(End::Missing)).collect()
}

/// Calls `one` for each number below `count`, up to `workers` at a time, until `stop`; gives what it gave, `None` for
/// those that were not begun. Meanwhile `tick` hears a few times per second how many are begun.
pub(crate) fn each<T: Send>(
    count: usize,
    workers: usize,
    stop: impl Fn() -> bool + Sync,
    one: impl Fn(usize) -> T + Sync,
    tick: impl Fn(usize),
) -> Vec<Option<T>> {
    let next = AtomicUsize::new(0);
    let done: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    let (alive, all_left) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        for _ in 0..workers.clamp(1, count.max(1)) {
            let alive = alive.clone();
            let (next, done, stop, one) = (&next, &done, &stop, &one);
            scope.spawn(move || {
                while !stop() {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(place) = done.get(index) else {
                        break;
                    };
                    let made = one(index);
                    *lock(place) = Some(made);
                }
                drop(alive);
            });
        }
        drop(alive);
        // The channel carries nothing: it closes when the last worker has left.
        while all_left.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            tick(next.load(Ordering::Relaxed).min(count));
        }
    });
    let done = done.into_iter();
    done.map(|place| place.into_inner().expect("no panic holds it"))
        .collect()
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().expect("no panic holds it")
}

struct Pool<'a, W> {
    of: &'a Conduct<'a>,
    work: &'a W,
    /// Set where further runs would be made for nothing.
    stop: AtomicBool,
    working: Mutex<Vec<Working>>,
    /// Runs that have ended.
    done: AtomicUsize,
    estimator: Mutex<&'a mut dyn Estimator>,
}

/// A run at work.
struct Working {
    name: RunName,
    task: usize,
    of_s: f64,
    cut_s: f64,
    began: Instant,
    progress: Arc<Progress>,
}

/// What is told of a run once its task is kept.
struct Told {
    name: RunName,
    wall_s: f64,
    simulated_s: f64,
    packet_hops: u64,
}

impl<W: Work> Pool<'_, W> {
    fn is_cancelled(&self) -> bool {
        self.of.execution.cancel.load(Ordering::Relaxed)
    }

    fn is_stopped(&self) -> bool {
        self.is_cancelled() || self.stop.load(Ordering::Relaxed)
    }

    /// One task, from its first packet until it is kept.
    fn task(&self, task: usize) -> End<W::Kept> {
        let (mut made, mut told) = (Vec::new(), Vec::new());
        for run in self.work.runs(task) {
            if !made.is_empty() && self.is_cancelled() {
                return End::Missing;
            }
            let name = self.work.name(task, run);
            let began = Instant::now();
            let of = match self.run(task, run, &name) {
                Ok(Some(of)) => of,
                Ok(None) => return End::Missing,
                Err(error) => {
                    self.done.fetch_add(1, Ordering::Relaxed);
                    return self.failed(task, name, error, self.of.stop_at_failure);
                }
            };
            let wall_s = began.elapsed().as_secs_f64();
            lock(&self.estimator).ended(task, wall_s, of.packet_hops);
            self.done.fetch_add(1, Ordering::Relaxed);
            told.push(Told {
                name,
                wall_s,
                simulated_s: of.simulated_s,
                packet_hops: of.packet_hops,
            });
            made.push(of.what);
        }
        let wall_s = told.iter().map(|of| of.wall_s).sum();
        let kept = match self.work.keep(task, made, wall_s) {
            Ok(kept) => kept,
            Err(error) => {
                let name = self.work.name(task, self.work.runs(task).start);
                return self.failed(task, name, error.to_string(), true);
            }
        };
        for of in told {
            self.of.listener.on(&Event::RunFinished {
                name: of.name,
                job: task,
                wall_s: of.wall_s,
                simulated_s: of.simulated_s,
                packet_hops: of.packet_hops,
                ns_per_packet_hop: of.wall_s * 1e9 / (of.packet_hops.max(1) as f64),
                folder: self.work.place(task),
            });
        }
        End::Kept(kept)
    }

    /// Makes one run. A bug in it must not take the other runs with it.
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
        self.of.listener.on(&Event::RunStarted {
            name: name.clone(),
            job: task,
            of_s,
        });
        let options = Options {
            threads: self.of.execution.threads,
            progress: Some(progress),
            ..Options::default()
        };
        let make = || self.work.make(task, run, &options);
        let made =
            catch_unwind(AssertUnwindSafe(make)).unwrap_or_else(|panic| Err(panic_text(&*panic)));
        lock(&self.working).retain(|of| of.task != task);
        made
    }

    fn failed(&self, task: usize, name: RunName, error: String, stop: bool) -> End<W::Kept> {
        if stop {
            self.stop.store(true, Ordering::Relaxed);
        }
        let error = match self.work.note_failure(task, &error) {
            Ok(()) => error,
            Err(unwritten) => format!("{error} (and this could not be noted: {unwritten})"),
        };
        self.of.listener.on(&Event::RunFailed {
            name: name.clone(),
            job: task,
            error: error.clone(),
        });
        End::Failed(name, error)
    }

    /// Tells how far things are, and passes a stop on to the runs at work.
    fn tell(&self, waiting: &[usize], elapsed: Duration, workers: usize) {
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
            at_work.push(AtWork {
                task: run.task,
                wall_s,
                simulated_s,
                of_s: run.of_s,
                cut_s: run.cut_s,
                packet_hops,
                open_flows: run.progress.open_flows.load(Ordering::Relaxed),
            });
            self.of.listener.on(&Event::Progress {
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
        self.of.listener.on(&Event::Overall {
            done: self.of.kept + self.done.load(Ordering::Relaxed),
            runs: self.of.runs,
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
