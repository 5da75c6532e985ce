//! The one pool of workers. [`each`] does numbered pieces of work on several threads. [`conduct`] makes with it the runs
//! that a study, a search or a campaign still needs: it tells how far they are, passes a stop on to them, and has each
//! task kept as it ends. What is left does not depend on how many workers there are, nor on earlier stops.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use duetime_core::Time;
use duetime_scenario::Scenario;
use duetime_sim::{Options, RunOutput};
use duetime_store::IfExists;

mod tasks;
mod workers;

pub use workers::each;

use tasks::Pool;

use crate::error::StudyError;
use crate::event::{Listener, RunName};

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
        crate::memory::prefer_huge_pages(scenario);
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
    let pool = Pool::new(of, work, estimator);
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
