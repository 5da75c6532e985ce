//! Runs what is missing, on several cores, and writes each run's folder as it ends.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use duetime_core::random::Streams;
use duetime_scenario::Scenario;
use duetime_sim::routing::Routing;
use duetime_sim::topology::Network;
use duetime_sim::workload::Workloads;
use duetime_sim::{Options, Progress, RunOutput};
use duetime_store::{IfExists, RunFolder, RunInfo, RunKey, State};

use crate::archive;
use crate::demand::before_runs;
use crate::error::StudyError;
use crate::eta::{AtWork, Eta};
use crate::event::{Event, Listener, RunName};
use crate::plan::{Job, Plan};
use crate::warnings;

/// Time between two progress events of a run.
pub const TICK: Duration = Duration::from_millis(200);

/// How to run a study.
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

/// What became of a study.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Runs that are in the folder.
    pub finished: usize,
    /// Of those, the ones that were there before.
    pub kept: usize,
    /// Runs that failed, in the order of the plan, and why.
    pub failures: Vec<(RunName, String)>,
    /// Runs that were stopped or not begun.
    pub missing: usize,
    /// Whether it was stopped.
    pub cancelled: bool,
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

/// Sets up every point as its runs will, so that what cannot be simulated is said before anything is written.
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

/// Runs whatever the folder at `path` does not hold yet. What it holds afterwards depends on the plan alone, not on
/// `jobs`, `threads` or earlier calls.
pub fn execute(
    plan: &Plan,
    path: &Path,
    execution: &Execution,
    engine: &dyn Engine,
    listener: &dyn Listener,
) -> Result<Outcome, StudyError> {
    let began = Instant::now();
    let points = plan.points.iter();
    let points = points.map(|point| (point.label(), &point.scenario));
    let at_once = execution.jobs.clamp(1, plan.jobs().len().max(1));
    let described = before_runs(points, at_once)?;
    let mut manifest = archive::manifest(plan);
    let folder = RunFolder::create(path, execution.if_exists, &manifest)?;
    let (jobs, keys) = (plan.jobs(), plan.keys());
    let there: HashMap<RunKey, RunInfo> = folder.scan(&keys).done.into_iter().collect();
    let missing: Vec<(usize, Job)> = jobs
        .iter()
        .copied()
        .enumerate()
        .filter(|&(number, _)| !there.contains_key(&keys[number]))
        .collect();
    let kept = there.len();
    listener.on(&Event::StudyStarted {
        name: plan.name().to_owned(),
        folder: path.display().to_string(),
        runs: jobs.len(),
        kept,
    });
    for warning in warnings::of_points(&described) {
        listener.on(&Event::Warning(warning));
    }
    let offered = described.iter().map(|(_, of)| of.load.packet_hops);
    let eta = Mutex::new(Eta::new(offered.collect()));
    let pool = Pool {
        plan,
        folder: &folder,
        execution,
        engine,
        listener,
        total: jobs.len(),
        kept,
        missing: &missing,
        eta,
    };
    let ends = pool.run();

    let mut outcome = Outcome {
        kept,
        finished: kept,
        ..Outcome::default()
    };
    manifest.runs = keys
        .iter()
        .map(|key| {
            let digest = there.get(key).map(|info| info.digest.clone());
            archive::state(
                key,
                if digest.is_some() {
                    State::Done
                } else {
                    State::Missing
                },
                digest,
                None,
            )
        })
        .collect();
    for (&(number, job), end) in missing.iter().zip(ends) {
        let key = &keys[number];
        match end {
            End::Written(digest) => {
                outcome.finished += 1;
                manifest.runs[number] = archive::state(key, State::Done, Some(digest), None);
            }
            End::Failed(error) => {
                manifest.runs[number] =
                    archive::state(key, State::Failed, None, Some(error.clone()));
                outcome.failures.push((plan.describe(job), error));
            }
            End::Missing => outcome.missing += 1,
        }
    }
    manifest.finish();
    folder.write_manifest(&manifest)?;
    outcome.cancelled = execution.cancel.load(Ordering::Relaxed);
    listener.on(&Event::StudyFinished {
        finished: outcome.finished,
        failed: outcome.failures.len(),
        missing: outcome.missing,
        wall_s: began.elapsed().as_secs_f64(),
        cancelled: outcome.cancelled,
    });
    Ok(outcome)
}

/// The jobs whose results are not in the folder whole, with their numbers.
pub fn missing(plan: &Plan, folder: &RunFolder) -> Vec<(usize, Job)> {
    let jobs = plan.jobs();
    let missing: HashSet<RunKey> = folder.missing(&plan.keys()).into_iter().collect();
    jobs.into_iter()
        .enumerate()
        .filter(|&(_, job)| missing.contains(&plan.key(job)))
        .collect()
}

/// How one job ended.
enum End {
    /// With the digest of its records.
    Written(String),
    Failed(String),
    Missing,
}

/// A run at work, as the monitor sees it.
struct Working {
    name: RunName,
    job: Job,
    number: usize,
    of_s: f64,
    cut_s: f64,
    began: Instant,
    progress: Arc<Progress>,
}

struct Pool<'a> {
    plan: &'a Plan,
    folder: &'a RunFolder,
    execution: &'a Execution,
    engine: &'a dyn Engine,
    listener: &'a dyn Listener,
    total: usize,
    kept: usize,
    missing: &'a [(usize, Job)],
    eta: Mutex<Eta>,
}

impl Pool<'_> {
    /// Runs all missing jobs; the ends are in the order of `missing`.
    fn run(&self) -> Vec<End> {
        let next = AtomicUsize::new(0);
        let working: Mutex<Vec<Working>> = Mutex::new(Vec::new());
        let ends: Vec<Mutex<End>> = self
            .missing
            .iter()
            .map(|_| Mutex::new(End::Missing))
            .collect();
        let ended = AtomicUsize::new(0);
        let began = Instant::now();
        let (done, all_done) = mpsc::channel::<()>();
        let workers = self.execution.jobs.clamp(1, self.missing.len().max(1));
        std::thread::scope(|scope| {
            for _ in 0..workers {
                let done = done.clone();
                let (next, working, ends, ended) = (&next, &working, &ends, &ended);
                scope.spawn(move || {
                    while !self.execution.cancel.load(Ordering::Relaxed) {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(&(number, job)) = self.missing.get(index) else {
                            break;
                        };
                        let end = self.one(number, job, working);
                        *ends[index].lock().expect("no panic holds it") = end;
                        ended.fetch_add(1, Ordering::Relaxed);
                    }
                    drop(done);
                });
            }
            drop(done);
            // The channel carries nothing: it closes when the last worker has left.
            while all_done.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                let begun = next.load(Ordering::Relaxed).min(self.missing.len());
                let waiting: Vec<Job> = self.missing[begun..].iter().map(|of| of.1).collect();
                let ended = ended.load(Ordering::Relaxed);
                self.tell(&working, ended, &waiting, began.elapsed(), workers);
            }
        });
        ends.into_iter()
            .map(|end| end.into_inner().expect("no panic holds it"))
            .collect()
    }

    /// One job, from its first packet to its folder.
    fn one(&self, number: usize, job: Job, working: &Mutex<Vec<Working>>) -> End {
        let point = &self.plan.points[job.point];
        let name = self.plan.describe(job);
        let of_s = seconds(point.scenario.duration);
        let progress = Arc::new(Progress::default());
        let began = Instant::now();
        working.lock().expect("no panic holds it").push(Working {
            name: name.clone(),
            job,
            number,
            of_s,
            cut_s: of_s + seconds(point.scenario.drain),
            began,
            progress: Arc::clone(&progress),
        });
        self.listener.on(&Event::RunStarted {
            name: name.clone(),
            job: number,
            of_s,
        });
        let options = Options {
            threads: self.execution.threads,
            progress: Some(Arc::clone(&progress)),
            ..Options::default()
        };
        let run = || {
            self.engine
                .run(&point.scenario, job.transport, u64::from(job.run), &options)
        };
        // A bug in one run must not take the other runs with it.
        let result =
            catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(panic_text(&*panic)));
        working
            .lock()
            .expect("no panic holds it")
            .retain(|at_work| at_work.number != number);
        let output = match result {
            Ok(output) if !output.complete && self.execution.cancel.load(Ordering::Relaxed) => {
                return End::Missing;
            }
            Ok(output) => output,
            Err(error) => return self.failed(job, number, error),
        };
        let wall_s = began.elapsed().as_secs_f64();
        let saved = archive::save(
            self.folder,
            self.plan,
            job,
            &output,
            wall_s,
            self.execution.threads,
        );
        let info = match saved {
            Ok(info) => info,
            Err(error) => return self.failed(job, number, error.to_string()),
        };
        let totals = &output.records.totals;
        self.eta.lock().expect("no panic holds it").finished(
            number,
            job,
            wall_s,
            totals.packet_hops,
        );
        self.listener.on(&Event::RunFinished {
            name,
            job: number,
            wall_s,
            simulated_s: totals.end.since(duetime_core::Time::ZERO).as_secs_f64(),
            packet_hops: totals.packet_hops,
            ns_per_packet_hop: wall_s * 1e9 / (totals.packet_hops.max(1) as f64),
            folder: self
                .folder
                .run_path(&self.plan.key(job))
                .display()
                .to_string(),
        });
        End::Written(info.digest)
    }

    fn failed(&self, job: Job, number: usize, error: String) -> End {
        let error = match self.folder.write_failure(&self.plan.key(job), &error) {
            Ok(()) => error,
            Err(unwritten) => format!("{error} (and this could not be noted: {unwritten})"),
        };
        self.listener.on(&Event::RunFailed {
            name: self.plan.describe(job),
            job: number,
            error: error.clone(),
        });
        End::Failed(error)
    }

    /// Tells how far things are, and passes a stop on to the runs at work.
    fn tell(
        &self,
        working: &Mutex<Vec<Working>>,
        ended: usize,
        waiting: &[Job],
        elapsed: Duration,
        workers: usize,
    ) {
        let working = working.lock().expect("no panic holds it");
        let stop = self.execution.cancel.load(Ordering::Relaxed);
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
                job: run.job,
                number: run.number,
                wall_s,
                simulated_s,
                of_s: run.of_s,
                cut_s: run.cut_s,
                packet_hops,
                open_flows: run.progress.open_flows.load(Ordering::Relaxed),
            });
            self.listener.on(&Event::Progress {
                name: run.name.clone(),
                job: run.number,
                simulated_s,
                of_s: run.of_s,
                packet_hops,
                packet_hops_per_s: rate,
            });
        }
        let mut eta = self.eta.lock().expect("no panic holds it");
        let eta_s = eta.tell(elapsed.as_secs_f64(), &at_work, waiting, workers);
        self.listener.on(&Event::Overall {
            done: self.kept + ended,
            runs: self.total,
            packet_hops_per_s: rates,
            eta_s,
        });
    }
}

/// Wall time that the missing jobs may take, s: the middle point of the sweep is run for a moment per transport.
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
            (simulated_s / seconds(scenario.duration)).clamp(1e-6, 1.0)
        };
        seconds_per_run.push(wall_s / part);
    }
    let of = |job: &Job| {
        seconds_per_run
            .get(job.transport)
            .copied()
            .unwrap_or_default()
    };
    let total: f64 = missing.iter().map(|(_, job)| of(job)).sum();
    Ok(total / jobs.clamp(1, missing.len().max(1)) as f64)
}

fn seconds(span: duetime_core::Span) -> f64 {
    span.as_secs_f64()
}

/// What a run that panicked is said to have failed of.
pub fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("internal error (a bug): {}", text.unwrap_or("no message"))
}
