//! Sweeps: plans, execution in this process, and both sides of execution in other processes.

#![expect(
    clippy::needless_pass_by_value,
    reason = "arguments from Python come by value"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use duetime_scenario::{Axis, Diagnostic, Document};
use duetime_store::{Copies, Files, IfExists, Manifest, Recording, RunFolder};
use duetime_study::remote::{self, RunSpec, make};
use duetime_study::{
    End, Event, Execution, Job, Listener, Outcome, Request, Simulator, StudyError, estimate,
};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::errors;
use crate::folder::{Folder, Options, concurrency, conduct, failure, summarise};
use crate::interruptible::interruptible;
use crate::source::Source;

/// Values of an axis.
#[derive(Debug, FromPyObject)]
enum Values {
    /// All values, in the notation of `--vary`.
    Text(String),
    /// One value each, in TOML.
    List(Vec<String>),
}

/// The runs of a sweep: points × transports × seeds. Immutable.
#[pyclass(frozen, module = "duetime._native")]
#[derive(Debug)]
pub struct Plan {
    plan: duetime_study::Plan,
    files: BTreeMap<String, Vec<u8>>,
}

#[pymethods]
impl Plan {
    /// Creates the plan of a grid over these axes; default: the axes of the scenario. The keys of one axis change
    /// together.
    #[new]
    fn new(
        py: Python<'_>,
        source: &Source,
        transports: Vec<String>,
        axes: Option<Vec<Vec<(String, Values)>>>,
    ) -> PyResult<Self> {
        let mut request = source.request(transports);
        request.points = points(&request, axes).map_err(|error| errors::scenario(&error))?;
        py.detach(|| {
            let files = Files::relative_to(&request.file);
            let recording = Recording::new(&files);
            let plan = duetime_study::Plan::reading(request, &recording);
            Ok(Self {
                plan: plan.map_err(|error| errors::study(&error))?,
                files: recording.into_files(),
            })
        })
    }

    /// Returns an error unless every point can be simulated. [`sweep`] checks this itself.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        let checked = py.detach(|| duetime_study::check(&self.plan));
        checked.map_err(|error| errors::study(&error))
    }

    #[getter]
    fn name(&self) -> &str {
        self.plan.name()
    }

    /// Settings of each point.
    #[getter]
    fn points(&self) -> Vec<Vec<(String, String)>> {
        let points = self.plan.points.iter();
        points.map(|point| point.settings.clone()).collect()
    }

    /// Returns every run in the order of their start: index of the point, transport, and run number.
    fn runs(&self) -> Vec<(usize, String, u32)> {
        let jobs = self.plan.jobs().into_iter();
        jobs.map(|job| (job.point, self.plan.describe(job).transport, job.run))
            .collect()
    }

    /// Returns the `manifest.json` of the sweep before its first run.
    fn manifest(&self) -> String {
        let manifest = duetime_study::manifest(&self.plan);
        serde_json::to_string_pretty(&manifest).expect("plain data")
    }

    /// Returns the contents of the files that the scenario names, by their paths in the scenario.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        self.files.clone()
    }

    /// Returns the indices of the runs that the folder does not contain, or an error if it contains another study.
    fn missing(&self, py: Python<'_>, out: Option<PathBuf>) -> PyResult<Vec<usize>> {
        py.detach(|| {
            let missing = self.missing_jobs(out.as_deref());
            let missing = missing.map_err(|error| errors::study(&error))?;
            Ok(missing.into_iter().map(|(number, _)| number).collect())
        })
    }

    /// Estimates the wall time of the runs with these indices, in seconds, by starting some of them. `jobs` run
    /// concurrently.
    fn estimate_s(
        &self,
        py: Python<'_>,
        missing: Vec<usize>,
        jobs: Option<usize>,
    ) -> PyResult<f64> {
        let plan = self.plan.clone();
        interruptible(py, None, move |_, _| {
            let all = plan.jobs();
            let missing = missing.into_iter();
            let missing: Vec<(usize, Job)> = missing
                .filter_map(|number| Some((number, *all.get(number)?)))
                .collect();
            let seconds = estimate(&plan, &missing, concurrency(jobs, 1), &Simulator);
            seconds.map_err(|error| errors::study(&error))
        })
    }
}

impl Plan {
    fn missing_jobs(&self, out: Option<&Path>) -> Result<Vec<(usize, Job)>, StudyError> {
        let all = || self.plan.jobs().into_iter().enumerate().collect();
        let Some(out) = out else {
            return Ok(all());
        };
        match RunFolder::open_to_resume(out, &duetime_study::manifest(&self.plan))? {
            None => Ok(all()),
            Some(folder) => Ok(duetime_study::missing(&self.plan, &folder)),
        }
    }
}

type Settings = Vec<(String, String)>;

/// Returns all combinations of the axes' values; the last axis varies fastest. Each value of an axis sets all its keys.
fn points(
    request: &Request,
    axes: Option<Vec<Vec<(String, Values)>>>,
) -> Result<Vec<Settings>, Diagnostic> {
    let file = request.file.display().to_string();
    let axes: Vec<Vec<Settings>> = match axes {
        None => {
            let mut document = Document::parse(&request.text, &file)?;
            for (key, value) in &request.settings {
                document.set(key, value)?;
            }
            document.sweep()?.into_iter().map(settings).collect()
        }
        Some(axes) => axes.into_iter().map(read_axis).collect::<Result<_, _>>()?,
    };
    if axes.is_empty() {
        let why = "nothing to vary: give vary, or a [sweep] table in the scenario";
        return Err(Diagnostic::of_file(&file, why.to_owned()));
    }
    Ok(axes.iter().fold(vec![Vec::new()], |points, axis| {
        let extend = |point: &Settings| {
            let point = point.clone();
            axis.iter()
                .map(move |settings| [point.as_slice(), settings].concat())
        };
        points.iter().flat_map(extend).collect()
    }))
}

fn read_axis(keys: Vec<(String, Values)>) -> Result<Vec<Settings>, Diagnostic> {
    let linked = keys.len() > 1;
    let mut rows: Vec<Settings> = Vec::new();
    for (index, (key, values)) in keys.into_iter().enumerate() {
        let axis = match values {
            Values::Text(text) => Axis::parse(&format!("{key}={text}"))?,
            // Linked keys may repeat a value, which `Axis::of` rejects in one axis, so parse each value separately.
            Values::List(values) if linked => {
                let axes = values
                    .iter()
                    .map(|value| Axis::of(&key, std::slice::from_ref(value)));
                let axes: Vec<Axis> = axes.collect::<Result<_, _>>()?;
                let values = axes.into_iter().flat_map(|axis| axis.values).collect();
                Axis { key, values }
            }
            Values::List(values) => Axis::of(&key, &values)?,
        };
        if index == 0 {
            rows = settings(axis);
        } else if axis.values.len() == rows.len() {
            for (row, setting) in rows.iter_mut().zip(settings(axis)) {
                row.extend(setting);
            }
        } else {
            let (has, expected) = (axis.values.len(), rows.len());
            let why = format!(
                "{} has {has} values, but keys of the same axis have {expected}",
                axis.key
            );
            return Err(Diagnostic::of_file("--vary", why));
        }
    }
    match (1..rows.len()).find(|&at| rows[..at].contains(&rows[at])) {
        Some(duplicate) => {
            let settings = rows[duplicate]
                .iter()
                .map(|(key, value)| format!("{key}={value}"));
            let settings: Vec<String> = settings.collect();
            let why = format!("{} is listed twice", settings.join(", "));
            Err(Diagnostic::of_file("--vary", why).allowed("each combination once"))
        }
        None => Ok(rows),
    }
}

/// Converts each value of an axis to a setting of its key.
fn settings(axis: Axis) -> Vec<Settings> {
    let Axis { key, values } = axis;
    let values = values.into_iter();
    values.map(|value| vec![(key.clone(), value)]).collect()
}

/// Executes the runs of a sweep that the folder `out` does not contain, in this process.
#[pyfunction]
#[pyo3(signature = (plan, out, *, jobs, overwrite, report, on_event))]
pub fn sweep(
    py: Python<'_>,
    plan: &Plan,
    out: PathBuf,
    jobs: Option<usize>,
    overwrite: bool,
    report: bool,
    on_event: Option<Py<PyAny>>,
) -> PyResult<Folder> {
    let options = Options {
        jobs: concurrency(jobs, 1),
        threads: 1,
        if_exists: if_exists(overwrite),
        report,
        may_fail: true,
    };
    conduct(py, plan.plan.clone(), out, options, on_event)
}

fn if_exists(overwrite: bool) -> IfExists {
    if overwrite {
        IfExists::Replace
    } else {
        IfExists::Resume
    }
}

/// Folder of a sweep whose runs are executed by other processes.
#[pyclass(frozen, module = "duetime._native")]
pub struct Remote {
    /// `None` after the sweep has ended.
    active: Mutex<Option<remote::Remote>>,
    ended: Mutex<Option<(duetime_study::Plan, Outcome)>>,
    out: PathBuf,
    events: Events,
}

/// Queue of events as JSON, emptied by [`Remote::events`].
#[derive(Default)]
struct Events(Mutex<Vec<String>>);

impl Listener for Events {
    fn on(&self, event: &Event) {
        let text = serde_json::to_string(event).expect("plain data");
        lock(&self.0).push(text);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no panic holds it")
}

#[pymethods]
impl Remote {
    /// Prepares the folder `out` to receive runs.
    #[new]
    fn begin(py: Python<'_>, plan: &Plan, out: PathBuf, overwrite: bool) -> PyResult<Self> {
        let plan = plan.plan.clone();
        interruptible(py, None, move |_, _| {
            let events = Events::default();
            let remote = remote::Remote::begin(plan, &out, if_exists(overwrite), &events);
            Ok(Self {
                active: Mutex::new(Some(remote.map_err(|error| errors::study(&error))?)),
                ended: Mutex::default(),
                out,
                events,
            })
        })
    }

    /// Returns the events since the last call, each as JSON.
    fn events(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.events.0))
    }

    /// Returns the indices of the runs that are neither stored nor failed.
    fn missing(&self) -> PyResult<Vec<usize>> {
        self.with(|remote, _| Ok(remote.missing()))
    }

    /// Stores the run that `make_runs` wrote to `staged`. Returns its wall time in seconds, or `None` if the run is
    /// already stored.
    fn adopt(&self, py: Python<'_>, run: usize, staged: PathBuf) -> PyResult<Option<f64>> {
        py.detach(|| self.with(|remote, events| remote.adopt(run, &staged, events)))
    }

    /// Records a failed run with its reason.
    fn fail(&self, run: usize, why: &str) -> PyResult<()> {
        self.with(|remote, events| remote.fail(run, why, events))
    }

    /// Emits a progress event, given the number of concurrent runs.
    fn report_progress(&self, at_once: usize) -> PyResult<()> {
        self.with(|remote, events| {
            remote.report_progress(at_once, events);
            Ok(())
        })
    }

    /// Completes the manifest and releases the folder to other writers.
    fn end(&self, cancelled: bool) -> PyResult<()> {
        let Some(remote) = lock(&self.active).take() else {
            return Ok(());
        };
        let ended = remote.end(cancelled, &self.events);
        *lock(&self.ended) = Some(ended.map_err(|error| errors::study(&error))?);
        Ok(())
    }

    /// Writes the summary of the folder and, if `report` is true, its report. Requires that the sweep has ended.
    fn summarise(&self, py: Python<'_>, report: bool) -> PyResult<Folder> {
        let Some((plan, outcome)) = lock(&self.ended).take() else {
            return Err(PyRuntimeError::new_err("the sweep has not ended"));
        };
        let out = self.out.clone();
        interruptible(py, None, move |_, _| {
            let gathered = summarise(&plan, &out, report);
            let gathered = gathered.map_err(|error| errors::study(&error))?;
            match failure(&outcome, true) {
                Some(failure) => Err(errors::runs(&failure)),
                None => Ok(Folder::read(out, plan, gathered)),
            }
        })
    }
}

impl Remote {
    fn with<T>(
        &self,
        action: impl FnOnce(&mut remote::Remote, &Events) -> Result<T, StudyError>,
    ) -> PyResult<T> {
        match lock(&self.active).as_mut() {
            Some(remote) => action(remote, &self.events).map_err(|error| errors::study(&error)),
            None => Err(PyRuntimeError::new_err("the sweep has ended")),
        }
    }
}

/// Executes runs of the sweep in a manifest, each into a separate folder. A run is the index of its point, its
/// transport, its run number, and the path of its folder. Returns the index and reason of each failed run.
#[pyfunction]
#[pyo3(signature = (manifest, files, runs, *, jobs, on_event))]
pub fn make_runs(
    py: Python<'_>,
    manifest: &str,
    files: BTreeMap<String, Vec<u8>>,
    runs: Vec<(usize, String, u32, PathBuf)>,
    jobs: usize,
    on_event: Option<Py<PyAny>>,
) -> PyResult<Vec<(usize, String)>> {
    let manifest = Manifest::from_json(manifest.as_bytes(), Path::new("manifest.json"));
    let manifest = manifest.map_err(|error| errors::folder(&error))?;
    let pieces = runs.into_iter();
    let pieces: Vec<RunSpec> = pieces
        .map(|(point, transport, run, place)| RunSpec {
            point,
            transport,
            run,
            place,
        })
        .collect();
    interruptible(py, on_event, move |listener, stop| {
        let execution = Execution {
            jobs: jobs.max(1),
            threads: 1,
            if_exists: IfExists::Resume,
            cancel: Arc::clone(stop),
        };
        let copies = Copies(files);
        let ends = make(
            &manifest, &copies, &pieces, &execution, &Simulator, listener,
        );
        let ends = ends.map_err(|error| errors::study(&error))?;
        let ends = ends.into_iter().enumerate();
        let failed = ends.filter_map(|(index, end)| match end {
            End::Failed(_, why) => Some((index, why)),
            End::Kept(()) | End::Missing => None,
        });
        Ok(failed.collect())
    })
}
