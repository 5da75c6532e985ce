//! Execution of the missing runs of a study into its run folder.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use duetime_core::random::Streams;
use duetime_scenario::Scenario;
use duetime_sim::routing::Routing;
use duetime_sim::topology::Network;
use duetime_sim::workload::Workloads;
use duetime_sim::{Options, Progress, RunOutput};
use duetime_store::{RunFolder, RunKey};

use crate::archive;
use crate::demand::describe_checked;
use crate::effort::Effort;
use crate::error::StudyError;
use crate::eta::Eta;
use crate::event::{Listener, RunName};
use crate::plan::{Job, Plan};
use crate::pool::{Engine, Execution, Found, Made, Outcome, Work};
use crate::resume::{Resume, pending, resume};
use crate::warnings;

/// Checks that every point can be simulated, before anything is written.
pub fn check(plan: &Plan) -> Result<(), StudyError> {
    for point in &plan.points {
        let network = Network::build(&point.scenario.topology)?;
        Routing::build(&network)?;
        Workloads::new(
            &point.scenario,
            &network,
            &Streams::new(point.scenario.seed, 0),
        )?;
    }
    Ok(())
}

/// Makes the runs that the folder at `path` does not hold yet. The content of the folder afterwards depends on the plan
/// alone, not on `jobs`, `threads` or earlier calls.
pub fn execute(
    plan: &Plan,
    path: &Path,
    execution: &Execution,
    engine: &dyn Engine,
    listener: &dyn Listener,
) -> Result<Outcome, StudyError> {
    let jobs = plan.jobs();
    let points = plan.points.iter();
    let points = points.map(|point| (point.label(), &point.scenario));
    let described = describe_checked(points, execution.jobs.clamp(1, jobs.len().max(1)))?;
    let mut manifest = archive::manifest(plan);
    let folder = RunFolder::create(path, execution.if_exists, &manifest)?;
    let keys = plan.keys();
    let found = found(&folder, &keys);
    let offered = described
        .iter()
        .map(|(_, description)| description.load.packet_hops);
    let kinds = jobs.iter().map(|job| (job.point, job.transport));
    let mut eta = Eta::new(offered.collect(), kinds.collect());
    let work = Runs {
        plan,
        jobs: &jobs,
        folder: &folder,
        threads: execution.threads,
        engine,
    };
    let study = Resume {
        name: plan.name(),
        folder: path,
        execution,
        listener,
        warnings: warnings::of_plan(plan, &described),
        effort: Effort::of(plan, &described, execution.jobs).filter(|_| engine.is_simulator()),
    };
    let (ends, outcome) = resume(study, &work, found, pending, &mut eta);
    archive::finish(&mut manifest, &keys, &ends);
    folder.write_manifest(&manifest)?;
    Ok(outcome)
}

/// Returns the state of each run in the folder, in the order of `keys`.
pub(crate) fn found(folder: &RunFolder, keys: &[RunKey]) -> Vec<Found<String>> {
    let scan = folder.scan(keys);
    let mut done: HashMap<_, _> = scan.done.into_iter().collect();
    let mut damaged: HashMap<_, _> = scan.damaged.into_iter().collect();
    keys.iter()
        .map(|key| match (done.remove(key), damaged.remove(key)) {
            (Some(info), _) => Found::Kept(info.digest),
            (None, Some(error)) => Found::Damaged(error.to_string()),
            (None, None) => Found::Missing,
        })
        .collect()
}

/// Runs of a plan, stored in its folder.
struct Runs<'a> {
    plan: &'a Plan,
    jobs: &'a [Job],
    folder: &'a RunFolder,
    threads: usize,
    engine: &'a dyn Engine,
}

impl Work for Runs<'_> {
    type Made = RunOutput;
    /// Digest of the run's records.
    type Kept = String;

    fn runs(&self, task: usize) -> Range<u32> {
        let run = self.jobs[task].run;
        run..run + 1
    }

    fn name(&self, task: usize, _run: u32) -> RunName {
        self.plan.describe(self.jobs[task])
    }

    fn scenario(&self, task: usize) -> &Scenario {
        &self.plan.points[self.jobs[task].point].scenario
    }

    fn make(
        &self,
        task: usize,
        run: u32,
        options: &Options,
    ) -> Result<Option<Made<RunOutput>>, String> {
        let transport = self.jobs[task].transport;
        let scenario = self.scenario(task);
        let output = self
            .engine
            .run(scenario, transport, u64::from(run), options)?;
        Ok(Made::of(output))
    }

    fn keep(&self, task: usize, runs: Vec<RunOutput>, wall_s: f64) -> Result<String, StudyError> {
        let key = self.plan.key(self.jobs[task]);
        let run = runs.first().expect("a task is a run");
        let info = archive::save(run, wall_s, self.threads, |records, notes, captures| {
            self.folder.write_run(&key, records, notes, captures)
        })?;
        Ok(info.digest)
    }

    fn place(&self, task: usize) -> String {
        let key = self.plan.key(self.jobs[task]);
        self.folder.run_path(&key).display().to_string()
    }

    fn note_failure(&self, task: usize, error: &str) -> Result<(), StudyError> {
        let key = self.plan.key(self.jobs[task]);
        Ok(self.folder.write_failure(&key, error)?)
    }
}

/// Returns the jobs without complete results in the folder, with their indices.
pub fn missing(plan: &Plan, folder: &RunFolder) -> Vec<(usize, Job)> {
    let jobs = plan.jobs();
    let missing: HashSet<RunKey> = folder.missing(&plan.keys()).into_iter().collect();
    jobs.into_iter()
        .enumerate()
        .filter(|&(_, job)| missing.contains(&plan.key(job)))
        .collect()
}

/// Estimates the wall time of the missing jobs in seconds, from a half-second run of the middle point of the sweep with
/// each transport.
pub fn estimate(
    plan: &Plan,
    missing: &[(usize, Job)],
    jobs: usize,
    engine: &dyn Engine,
) -> Result<f64, StudyError> {
    const PROBE: Duration = Duration::from_millis(500);
    let scenario = &plan.points[plan.points.len() / 2].scenario;
    let mut seconds_per_run = Vec::new();
    for transport in 0..scenario.transports.len() {
        if missing.is_empty() {
            break;
        }
        let progress = Arc::new(Progress::default());
        let options = Options {
            threads: 1,
            progress: Some(Arc::clone(&progress)),
            ..Options::default()
        };
        let began = Instant::now();
        let output = std::thread::scope(|scope| {
            let (ended, end) = mpsc::channel::<()>();
            let stop = Arc::clone(&progress);
            scope.spawn(move || {
                if end.recv_timeout(PROBE) == Err(RecvTimeoutError::Timeout) {
                    stop.cancel.store(true, Ordering::Relaxed);
                }
            });
            let output = engine.run(scenario, transport, 0, &options);
            drop(ended);
            output
        })
        .map_err(StudyError::Choice)?;
        let wall_s = began.elapsed().as_secs_f64();
        let simulated_s = progress.simulated_ps.load(Ordering::Relaxed) as f64 * 1e-12;
        let part = if output.complete {
            1.0
        } else {
            (simulated_s / scenario.duration.as_secs_f64()).clamp(1e-6, 1.0)
        };
        seconds_per_run.push(wall_s / part);
    }
    let job_seconds = |(_, job): &(usize, Job)| seconds_per_run.get(job.transport);
    let total: f64 = missing.iter().filter_map(job_seconds).sum();
    Ok(total / jobs.clamp(1, missing.len().max(1)) as f64)
}
