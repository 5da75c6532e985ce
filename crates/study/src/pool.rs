//! Worker pool. [`each`] processes numbered items on several threads. [`conduct`] uses it to make the missing runs of a
//! study, search or campaign: it reports progress, forwards a stop to the runs and stores each task as it ends. The
//! results do not depend on the number of workers or on earlier stops.

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

/// Settings of the execution of runs.
#[derive(Clone, Debug)]
pub struct Execution {
    /// Number of concurrent runs.
    pub jobs: usize,
    /// Number of threads of each run.
    pub threads: usize,
    /// Policy for a folder that already holds results.
    pub if_exists: IfExists,
    /// Stop flag. When set, active runs are dropped and finished ones are kept.
    pub cancel: Arc<AtomicBool>,
}

/// Backend that makes runs: the simulator, or a substitute in tests.
pub trait Engine: Sync {
    /// Makes a run of the scenario. `transport` and `run` are indices.
    fn run(
        &self,
        scenario: &Scenario,
        transport: usize,
        run: u64,
        options: &Options,
    ) -> Result<RunOutput, String>;

    /// Returns true if runs take the simulator's time per packet-hop, so that their duration can be estimated.
    fn is_simulator(&self) -> bool {
        false
    }
}

/// Simulator backend.
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

    fn is_simulator(&self) -> bool {
        true
    }
}

/// Numbered tasks. A task consists of one run, or of several runs that are stored together.
pub trait Work: Sync {
    /// Result of one run.
    type Made: Send;
    /// Result of a stored task.
    type Kept: Send;

    /// Returns the run indices of a task, at least one.
    fn runs(&self, task: usize) -> Range<u32>;

    /// Returns the name of a run.
    fn name(&self, task: usize, run: u32) -> RunName;

    /// Returns the scenario of the task's runs.
    fn scenario(&self, task: usize) -> &Scenario;

    /// Makes one run. Returns `None` if the run was stopped.
    fn make(
        &self,
        task: usize,
        run: u32,
        options: &Options,
    ) -> Result<Option<Made<Self::Made>>, String>;

    /// Stores all runs of a task in order, so that they survive a stop. `wall_s` is their total wall time.
    fn keep(
        &self,
        task: usize,
        runs: Vec<Self::Made>,
        wall_s: f64,
    ) -> Result<Self::Kept, StudyError>;

    /// Returns the folder or file that holds a task.
    fn place(&self, task: usize) -> String;

    /// Records the reason of a task's failure with the stored results.
    fn note_failure(&self, _task: usize, _error: &str) -> Result<(), StudyError> {
        Ok(())
    }
}

/// Finished run.
#[derive(Debug)]
pub struct Made<T> {
    /// Result to store.
    pub what: T,
    /// Simulated time at the end, in seconds.
    pub simulated_s: f64,
    /// Packets that crossed a link.
    pub packet_hops: u64,
}

impl Made<RunOutput> {
    /// Returns the run, or `None` if it was stopped.
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
    /// Converts the result to store.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Made<U> {
        Made {
            what: convert(self.what),
            simulated_s: self.simulated_s,
            packet_hops: self.packet_hops,
        }
    }
}

/// State of a task in the folder before the execution.
#[derive(Debug)]
pub enum Found<K> {
    /// Stored.
    Kept(K),
    /// Not stored.
    Missing,
    /// Damaged, with the reason. The task is repeated.
    Damaged(String),
}

/// End of a task.
#[derive(Debug)]
pub enum End<K> {
    /// Stored, now or before.
    Kept(K),
    /// Failed: the run and the reason.
    Failed(RunName, String),
    /// Stopped or not started.
    Missing,
}

/// Outcome of a study or campaign.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Stored runs.
    pub finished: usize,
    /// Stored runs that existed before.
    pub kept: usize,
    /// Damaged tasks that were repeated: the first run and the reason of each.
    pub damaged: Vec<(RunName, String)>,
    /// Failed runs with their reasons, in the order of the tasks.
    pub failures: Vec<(RunName, String)>,
    /// Runs that were stopped or not started, including those after a run that could not be written.
    pub missing: usize,
    /// True if the execution was stopped.
    pub cancelled: bool,
}

/// Estimator of the remaining wall time.
pub trait Estimator: Send {
    /// Called before these tasks start.
    fn expect(&mut self, _tasks: &[usize]) {}

    /// Called when a run of a task has ended.
    fn ended(&mut self, task: usize, wall_s: f64, packet_hops: u64);

    /// Returns the remaining wall time in seconds, or `None` if it cannot be estimated yet. `now_s` counts from the
    /// start, and `waiting` holds the tasks that have not started.
    fn left_s(
        &mut self,
        now_s: f64,
        at_work: &[ActiveRun],
        waiting: &[usize],
        workers: usize,
    ) -> Option<f64>;
}

/// Active run.
#[derive(Clone, Copy, Debug)]
pub struct ActiveRun {
    /// Index of the task.
    pub task: usize,
    /// Wall time since the start, in seconds.
    pub wall_s: f64,
    /// Simulated time in seconds.
    pub simulated_s: f64,
    /// Simulated time at which the sources stop, in seconds.
    pub of_s: f64,
    /// Simulated time at which the run is cut off, in seconds.
    pub cut_s: f64,
    /// Packet-hops so far.
    pub packet_hops: u64,
    /// Unfinished measured flows.
    pub open_flows: u64,
}

/// Settings of [`conduct`].
pub struct Conduct<'a> {
    /// Workers, threads of a run, and the stop flag.
    pub execution: &'a Execution,
    /// Listener for progress events.
    pub listener: &'a dyn Listener,
    /// Total number of runs, including those kept from before.
    pub runs: usize,
    /// Runs kept from before.
    pub kept: usize,
    /// True if one failed run stops the execution.
    pub stop_at_failure: bool,
}

/// Executes `tasks`, starting them in this order. Returns their ends in the same order.
pub fn conduct<W: Work>(
    settings: &Conduct<'_>,
    work: &W,
    tasks: &[usize],
    estimator: &mut dyn Estimator,
) -> Vec<End<W::Kept>> {
    let workers = settings.execution.jobs.clamp(1, tasks.len().max(1));
    estimator.expect(tasks);
    let pool = Pool::new(settings, work, estimator);
    let began = Instant::now();
    let ends = each(
        tasks.len(),
        workers,
        || pool.is_stopped(),
        |index| pool.task(tasks[index]),
        |begun| pool.report(&tasks[begun..], began.elapsed(), workers),
    );
    let ends = ends.into_iter();
    ends.map(|end| end.unwrap_or(End::Missing)).collect()
}
