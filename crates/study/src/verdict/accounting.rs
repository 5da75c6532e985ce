//! Count of late queries by the kind of waiting that took the largest part of their time, from traced repetitions of
//! their runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::Instant;

use duetime_analysis::explain::{LateQueries, Limit, Place, Queue};
use duetime_sim::topology::Network;
use duetime_sim::{Options, Progress, Watch};
use duetime_store::RunFolder;

use crate::error::StudyError;
use crate::event::{Event, Listener};
use crate::explain::{differs, repeat};
use crate::plan::{Job, Plan};
use crate::pool::{Engine, Execution, each};

/// Late queries of one workload.
#[derive(Clone, Debug, Default)]
pub struct Accounting {
    /// Measured queries that could be late.
    pub queries: u64,
    /// Late queries.
    pub late: u64,
    /// Late queries that were explained.
    pub explained: u64,
    /// Explained queries by the kind that took the largest part of their time.
    pub limits: BTreeMap<Limit, u64>,
    /// Queries limited by queues, by the queue in which they waited longest.
    pub queues: BTreeMap<Queue, u64>,
}

impl Accounting {
    /// Returns the most frequent place of the longest queue, and its link if one link accounts for half of all queries
    /// limited by queues. Returns `None` if no query is limited by queues.
    pub fn queue(&self) -> Option<(Place, Option<&str>)> {
        let mut places: BTreeMap<Place, u64> = BTreeMap::new();
        for ((place, _), count) in &self.queues {
            *places.entry(*place).or_default() += count;
        }
        let (place, _) = places.into_iter().rev().max_by_key(|&(_, count)| count)?;
        let all: u64 = self.queues.values().sum();
        let mut links = self.queues.iter();
        let link = links.find(|((queue_place, link), count)| {
            *queue_place == place && !link.is_empty() && **count * 2 >= all && all > 1
        });
        Some((place, link.map(|((_, link), _)| link.as_str())))
    }

    fn add(&mut self, other: &Self) {
        self.queries += other.queries;
        self.late += other.late;
        self.explained += other.explained;
        for (limit, count) in &other.limits {
            *self.limits.entry(*limit).or_default() += count;
        }
        for (queue, count) in &other.queues {
            *self.queues.entry(queue.clone()).or_default() += count;
        }
    }
}

/// Counts the late queries of the first transport at the plan's first point, by workload. Returns `None` if the
/// execution was stopped.
pub fn account(
    plan: &Plan,
    folder: &RunFolder,
    execution: &Execution,
    engine: &dyn Engine,
    listener: &dyn Listener,
) -> Result<Option<BTreeMap<u16, Accounting>>, StudyError> {
    let is_first = |job: &Job| job.point == 0 && job.transport == 0;
    let jobs: Vec<Job> = plan.jobs().into_iter().filter(is_first).collect();
    let network = Network::build(&plan.points[0].scenario.topology)?;
    let progress: Vec<Arc<Progress>> = jobs.iter().map(|_| Arc::default()).collect();
    let done = Mutex::new(0);
    let began = Instant::now();
    let stopped = || execution.cancel.load(Ordering::Relaxed);
    let one = |index: usize| {
        let repetition = Repetition {
            plan,
            job: jobs[index],
            engine,
            network: &network,
            progress: &progress[index],
            threads: execution.threads,
        };
        let accounted = repetition.account(folder);
        *done.lock().expect("no panic holds it") += 1;
        accounted
    };
    let tick = |_| {
        if stopped() {
            for run in &progress {
                run.cancel.store(true, Ordering::Relaxed);
            }
        }
        let done: usize = *done.lock().expect("no panic holds it");
        let left = (jobs.len() - done) as f64;
        let eta_s = (done > 0).then(|| began.elapsed().as_secs_f64() / done as f64 * left);
        listener.on(&Event::Explaining {
            done,
            runs: jobs.len(),
            eta_s,
        });
    };
    tick(0);
    let made = each(jobs.len(), execution.jobs, stopped, one, tick);
    let mut sums: BTreeMap<u16, Accounting> = BTreeMap::new();
    for run in made {
        let Some(run) = run.transpose()?.flatten() else {
            return Ok(None);
        };
        for (workload, accounting) in &run {
            sums.entry(*workload).or_default().add(accounting);
        }
    }
    Ok(Some(sums))
}

/// Repetition of a run with its late queries traced.
struct Repetition<'a> {
    plan: &'a Plan,
    job: Job,
    engine: &'a dyn Engine,
    network: &'a Network,
    progress: &'a Arc<Progress>,
    threads: usize,
}

type Accounts = BTreeMap<u16, Accounting>;

impl Repetition<'_> {
    /// Counts the late queries of one run. Returns no counts if the run is not in the folder, and `None` if the
    /// execution was stopped.
    fn account(&self, folder: &RunFolder) -> Result<Option<Accounts>, StudyError> {
        let key = self.plan.key(self.job);
        if !folder.has_run(&key) {
            return Ok(Some(Accounts::new()));
        }
        let stored = folder.read_run(&key)?.records;
        let mut accounts = Accounts::new();
        for query in stored.queries.iter().filter(|query| query.measured) {
            let Some(met) = query.met() else { continue };
            let account = accounts.entry(query.workload).or_default();
            account.queries += 1;
            account.late += u64::from(!met);
        }
        let late = LateQueries::of(&stored);
        if late.is_empty() {
            return Ok(Some(accounts));
        }
        let options = Options {
            threads: self.threads,
            watch: Watch::Deliveries(late.flows()),
            progress: Some(Arc::clone(self.progress)),
            ..Options::default()
        };
        let output = repeat(self.plan, self.job, self.engine, &options)?;
        if !output.complete {
            return Ok(None);
        }
        if output.records.queries != stored.queries {
            return Err(differs(
                &self.plan.describe(self.job),
                "the list of queries",
            ));
        }
        for query in late.explain(output.traces, self.network) {
            let account = accounts.entry(query.workload).or_default();
            account.explained += 1;
            *account.limits.entry(query.limit).or_default() += 1;
            if let Some(queue) = query.queue {
                *account.queues.entry(queue).or_default() += 1;
            }
        }
        Ok(Some(accounts))
    }
}
