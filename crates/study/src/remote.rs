//! Studies whose runs are made by other processes, on this machine or on others. [`Remote`] manages the folder, and
//! [`make`] makes runs in such a process. The folder ends up identical to one written by [`crate::execute()`].

use std::ops::Range;
use std::path::{Path, PathBuf};

use duetime_core::Time;
use duetime_scenario::{Scenario, Sources};
use duetime_sim::{Options, RunOutput};
use duetime_store::{IfExists, Manifest, RunFolder, RunKey, point_id, write_run};

use crate::archive;
use crate::demand::describe_checked;
use crate::error::StudyError;
use crate::eta::Eta;
use crate::event::{Event, Listener, RunName};
use crate::execute::found;
use crate::plan::{Job, Plan, Point, resolve};
use crate::pool::{Conduct, End, Engine, Estimator, Execution, Made, Outcome, Work, conduct};
use crate::resume::{Beginning, Begun, pending};
use crate::warnings;

/// Coordinator of a study, which manages its folder. Tasks are indices into the plan's jobs.
pub struct Remote {
    plan: Plan,
    jobs: Vec<Job>,
    keys: Vec<RunKey>,
    folder: RunFolder,
    manifest: Manifest,
    begun: Begun<String>,
    eta: Eta,
    packet_hops: u64,
}

impl Remote {
    /// Creates or opens the folder at `path` to collect runs.
    ///
    /// # Errors
    /// If a point cannot be simulated, or the folder cannot be used. The folder is unchanged then.
    pub fn begin(
        plan: Plan,
        path: &Path,
        if_exists: IfExists,
        listener: &dyn Listener,
    ) -> Result<Self, StudyError> {
        let described = warnings::described(&plan)?;
        let manifest = archive::manifest(&plan);
        let folder = RunFolder::create(path, if_exists, &manifest)?;
        let (jobs, keys) = (plan.jobs(), plan.keys());
        let beginning = Beginning {
            name: plan.name(),
            folder: path,
            listener,
            warnings: warnings::of_plan(&plan, &described),
            // The cluster decides the number of concurrent runs.
            effort: None,
        };
        let name = |task: usize| plan.describe(jobs[task]);
        let (begun, _) = beginning.begin(found(&folder, &keys), pending, &|_| 1, &name);
        let offered = described
            .iter()
            .map(|(_, description)| description.load.packet_hops);
        let kinds = jobs.iter().map(|job| (job.point, job.transport));
        Ok(Self {
            eta: Eta::new(offered.collect(), kinds.collect()),
            plan,
            jobs,
            keys,
            folder,
            manifest,
            begun,
            packet_hops: 0,
        })
    }

    /// Returns the tasks that are neither kept nor failed, in the order in which to start them.
    pub fn missing(&self) -> Vec<usize> {
        pending(&self.begun.ends)
    }

    /// Moves the run of a task that [`make`] wrote to `staged`, inside the folder, to its place. Returns its wall time
    /// in seconds, or `None` if the task is already stored; the stored run is then unchanged.
    ///
    /// # Errors
    /// If `staged` does not hold this run completely, or cannot be moved.
    ///
    /// # Panics
    /// If the task does not exist.
    pub fn adopt(
        &mut self,
        task: usize,
        staged: &Path,
        listener: &dyn Listener,
    ) -> Result<Option<f64>, StudyError> {
        if matches!(self.begun.ends[task], End::Kept(_)) {
            return Ok(None);
        }
        let key = &self.keys[task];
        let info = self.folder.adopt_run(key, staged)?;
        let (totals, wall_s) = (info.totals, info.wall_seconds);
        self.begun.ends[task] = End::Kept(info.digest);
        self.eta.ended(task, wall_s, totals.packet_hops);
        self.packet_hops += totals.packet_hops;
        listener.on(&Event::RunFinished {
            name: self.plan.describe(self.jobs[task]),
            job: task,
            wall_s,
            simulated_s: totals.end.since(Time::ZERO).as_secs_f64(),
            packet_hops: totals.packet_hops,
            ns_per_packet_hop: wall_s * 1e9 / (totals.packet_hops.max(1) as f64),
            folder: self.folder.run_path(key).display().to_string(),
        });
        Ok(Some(wall_s))
    }

    /// Records that a task failed and why. Has no effect on a task that is already stored.
    ///
    /// # Errors
    /// If the failure cannot be written to the folder.
    ///
    /// # Panics
    /// If the task does not exist.
    pub fn fail(
        &mut self,
        task: usize,
        why: &str,
        listener: &dyn Listener,
    ) -> Result<(), StudyError> {
        if matches!(self.begun.ends[task], End::Kept(_)) {
            return Ok(());
        }
        self.folder.write_failure(&self.keys[task], why)?;
        let name = self.plan.describe(self.jobs[task]);
        self.begun.ends[task] = End::Failed(name.clone(), why.to_owned());
        listener.on(&Event::RunFailed {
            name,
            job: task,
            error: why.to_owned(),
        });
        Ok(())
    }

    /// Reports the progress. `at_once` is the number of concurrent runs.
    pub fn report_progress(&mut self, at_once: usize, listener: &dyn Listener) {
        let (now_s, waiting) = (self.begun.at.elapsed().as_secs_f64(), self.missing());
        listener.on(&Event::Overall {
            done: self.begun.runs - waiting.len(),
            runs: self.begun.runs,
            packet_hops_per_s: self.packet_hops as f64 / now_s.max(1e-9),
            eta_s: self.eta.left_s(now_s, &[], &waiting, at_once),
        });
    }

    /// Completes the manifest, which lists every run that is neither stored nor failed as missing. Other processes may
    /// write to the folder afterwards.
    ///
    /// # Errors
    /// If the manifest cannot be written.
    pub fn end(
        mut self,
        cancelled: bool,
        listener: &dyn Listener,
    ) -> Result<(Plan, Outcome), StudyError> {
        let (ends, outcome) = self.begun.end(cancelled, listener, &|_| 1);
        archive::finish(&mut self.manifest, &self.keys, &ends);
        self.folder.write_manifest(&self.manifest)?;
        Ok((self.plan, outcome))
    }
}

/// Run to be made by another process for a [`Remote`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSpec {
    /// Index into the points of the manifest; 0 if it has none.
    pub point: usize,
    /// Name of the transport.
    pub transport: String,
    /// Index of the run, from 0.
    pub run: u32,
    /// Path of the run's folder. The parent folder must exist.
    pub place: PathBuf,
}

/// Makes some runs of the study that `manifest` describes, reading the files that its scenario names from `sources`.
/// Returns the end of each run. `execution` sets the number of concurrent runs and the stop flag.
///
/// # Errors
/// If a point or transport does not exist, or a run does not fit into the memory of this machine.
pub fn make(
    manifest: &Manifest,
    sources: &dyn Sources,
    pieces: &[RunSpec],
    execution: &Execution,
    engine: &dyn Engine,
    listener: &dyn Listener,
) -> Result<Vec<End<()>>, StudyError> {
    let runs = pieces
        .iter()
        .map(|piece| Run::new(manifest, sources, piece, engine))
        .collect::<Result<Vec<_>, StudyError>>()?;
    let points = runs
        .iter()
        .map(|run| (run.name.point.clone(), &run.scenario));
    describe_checked(points, execution.jobs.clamp(1, runs.len().max(1)))?;
    let conducted = Conduct {
        execution,
        listener,
        runs: runs.len(),
        kept: 0,
        stop_at_failure: false,
    };
    let tasks: Vec<usize> = (0..runs.len()).collect();
    let mut eta = Eta::new(Vec::new(), tasks.iter().map(|&task| (task, 0)).collect());
    let work = Runs {
        runs: &runs,
        threads: execution.threads,
    };
    Ok(conduct(&conducted, &work, &tasks, &mut eta))
}

/// Resolved run.
struct Run<'a> {
    scenario: Scenario,
    key: RunKey,
    name: RunName,
    place: &'a Path,
    engine: &'a dyn Engine,
}

impl<'a> Run<'a> {
    fn new(
        manifest: &Manifest,
        sources: &dyn Sources,
        piece: &'a RunSpec,
        engine: &'a dyn Engine,
    ) -> Result<Self, StudyError> {
        let point = manifest
            .points
            .get(piece.point)
            .map(|point| &point.values[..]);
        if point.is_none() && !(manifest.points.is_empty() && piece.point == 0) {
            let (point, points) = (piece.point, manifest.points.len());
            let message = format!("no point {point}; the manifest has {points}");
            return Err(StudyError::Choice(message));
        }
        let mut request = archive::request(manifest);
        request.transports = vec![piece.transport.clone()];
        let settings = point.unwrap_or_default();
        let point = Point {
            settings: settings.to_vec(),
            scenario: resolve(&request, settings, sources)?,
        };
        Ok(Self {
            key: RunKey {
                point: (!settings.is_empty()).then(|| point_id(settings)),
                transport: piece.transport.clone(),
                run: u64::from(piece.run),
            },
            name: RunName {
                point: point.label(),
                transport: piece.transport.clone(),
                run: piece.run,
            },
            scenario: point.scenario,
            place: &piece.place,
            engine,
        })
    }
}

/// Runs that are stored where they are made.
struct Runs<'a> {
    runs: &'a [Run<'a>],
    threads: usize,
}

impl Work for Runs<'_> {
    type Made = RunOutput;
    type Kept = ();

    fn runs(&self, task: usize) -> Range<u32> {
        let run = self.runs[task].name.run;
        run..run + 1
    }

    fn name(&self, task: usize, _run: u32) -> RunName {
        self.runs[task].name.clone()
    }

    fn scenario(&self, task: usize) -> &Scenario {
        &self.runs[task].scenario
    }

    fn make(
        &self,
        task: usize,
        run: u32,
        options: &Options,
    ) -> Result<Option<Made<RunOutput>>, String> {
        let piece = &self.runs[task];
        // The scenario was resolved with this transport alone, so its index is 0.
        let output = piece
            .engine
            .run(&piece.scenario, 0, u64::from(run), options)?;
        Ok(Made::of(output))
    }

    fn keep(&self, task: usize, runs: Vec<RunOutput>, wall_s: f64) -> Result<(), StudyError> {
        let piece = &self.runs[task];
        let run = runs.first().expect("a task is a run");
        archive::save(run, wall_s, self.threads, |records, notes, captures| {
            write_run(piece.place, &piece.key, records, notes, captures)
        })?;
        Ok(())
    }

    fn place(&self, task: usize) -> String {
        self.runs[task].place.display().to_string()
    }
}
