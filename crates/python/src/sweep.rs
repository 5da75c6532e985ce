//! Sweeps: their plan, their runs made here, and the two sides of runs that other processes make.

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
use crate::folder::{Folder, How, at_once, conduct, failure, summarise};
use crate::interruptible::interruptible;
use crate::source::Source;

/// The values of an axis: each in TOML, or as `--vary` of the command takes them all.
#[derive(Debug, FromPyObject)]
enum Values {
    Written(String),
    Each(Vec<String>),
}

/// A sweep, resolved: points × transports × runs. It never changes.
#[pyclass(frozen, module = "duetime._native")]
#[derive(Debug)]
pub struct Plan {
    plan: duetime_study::Plan,
    files: BTreeMap<String, Vec<u8>>,
}

#[pymethods]
impl Plan {
    /// Of a grid over these axes; none: those of the scenario. The keys of one axis change together.
    #[new]
    fn new(
        py: Python<'_>,
        source: &Source,
        transports: Vec<String>,
        axes: Option<Vec<Vec<(String, Values)>>>,
    ) -> PyResult<Self> {
        let mut request = source.request(transports);
        request.points = points(&request, axes).map_err(|of| errors::scenario(&of))?;
        py.detach(|| {
            let beside = Files::relative_to(&request.file);
            let recording = Recording::new(&beside);
            let plan = duetime_study::Plan::reading(request, &recording);
            Ok(Self {
                plan: plan.map_err(|error| errors::study(&error))?,
                files: recording.into_files(),
            })
        })
    }

    /// Whether every point can be simulated; a sweep looks itself.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        let checked = py.detach(|| duetime_study::check(&self.plan));
        checked.map_err(|error| errors::study(&error))
    }

    #[getter]
    fn name(&self) -> &str {
        self.plan.name()
    }

    /// The settings of each point.
    #[getter]
    fn points(&self) -> Vec<Vec<(String, String)>> {
        let points = self.plan.points.iter();
        points.map(|point| point.settings.clone()).collect()
    }

    /// Every run, in the order in which they are begun: the point's number, the transport, the run's number.
    fn runs(&self) -> Vec<(usize, String, u32)> {
        let jobs = self.plan.jobs().into_iter();
        jobs.map(|job| (job.point, self.plan.describe(job).transport, job.run))
            .collect()
    }

    /// `manifest.json` of the sweep before its first run.
    fn manifest(&self) -> String {
        let manifest = duetime_study::manifest(&self.plan);
        serde_json::to_string_pretty(&manifest).expect("plain data")
    }

    /// The files that the scenario names, by the paths that it gives them.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        self.files.clone()
    }

    /// The numbers of the runs that the folder does not hold; an error if it holds another study.
    fn missing(&self, py: Python<'_>, out: Option<PathBuf>) -> PyResult<Vec<usize>> {
        py.detach(|| {
            let missing = self.left(out.as_deref());
            let missing = missing.map_err(|error| errors::study(&error))?;
            Ok(missing.into_iter().map(|(number, _)| number).collect())
        })
    }

    /// Wall time that the runs of these numbers may take here with so many at a time, s: some are begun.
    fn estimate_s(
        &self,
        py: Python<'_>,
        missing: Vec<usize>,
        jobs: Option<usize>,
    ) -> PyResult<f64> {
        let plan = self.plan.clone();
        interruptible(py, None, move |_, _| {
            let jobs_of = plan.jobs();
            let missing = missing.into_iter();
            let missing: Vec<(usize, Job)> = missing
                .filter_map(|number| Some((number, *jobs_of.get(number)?)))
                .collect();
            let seconds = estimate(&plan, &missing, at_once(jobs, 1), &Simulator);
            seconds.map_err(|error| errors::study(&error))
        })
    }
}

impl Plan {
    fn left(&self, out: Option<&Path>) -> Result<Vec<(usize, Job)>, StudyError> {
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

/// All combinations of the values of the axes, the last axis fastest. Each value of an axis is a setting of all its keys.
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
    for (place, (key, values)) in keys.into_iter().enumerate() {
        let axis = match values {
            Values::Written(text) => Axis::parse(&format!("{key}={text}"))?,
            // A value may return where another key changes with it.
            Values::Each(values) if linked => {
                let each = values
                    .iter()
                    .map(|value| Axis::of(&key, std::slice::from_ref(value)));
                let each: Vec<Axis> = each.collect::<Result<_, _>>()?;
                let values = each.into_iter().flat_map(|axis| axis.values).collect();
                Axis { key, values }
            }
            Values::Each(values) => Axis::of(&key, &values)?,
        };
        if place == 0 {
            rows = settings(axis);
        } else if axis.values.len() == rows.len() {
            for (row, setting) in rows.iter_mut().zip(settings(axis)) {
                row.extend(setting);
            }
        } else {
            let (has, wanted) = (axis.values.len(), rows.len());
            let why = format!("{} has {has} values and changes with {wanted}", axis.key);
            return Err(Diagnostic::of_file("--vary", why));
        }
    }
    match (1..rows.len()).find(|&at| rows[..at].contains(&rows[at])) {
        Some(twice) => {
            let shown = rows[twice]
                .iter()
                .map(|(key, value)| format!("{key}={value}"));
            let shown: Vec<String> = shown.collect();
            let why = format!("{} is listed twice", shown.join(", "));
            Err(Diagnostic::of_file("--vary", why).allowed("each combination once"))
        }
        None => Ok(rows),
    }
}

/// Each value of an axis as a setting of its key.
fn settings(axis: Axis) -> Vec<Settings> {
    let Axis { key, values } = axis;
    let each = values.into_iter();
    each.map(|value| vec![(key.clone(), value)]).collect()
}

/// Makes the runs of a sweep that the folder `out` does not hold, here.
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
    let how = How {
        jobs: at_once(jobs, 1),
        threads: 1,
        if_exists: if_exists(overwrite),
        report,
        may_fail: true,
    };
    conduct(py, plan.plan.clone(), out, how, on_event)
}

fn if_exists(overwrite: bool) -> IfExists {
    if overwrite {
        IfExists::Replace
    } else {
        IfExists::Resume
    }
}

/// The folder of a sweep whose runs other processes make.
#[pyclass(frozen, module = "duetime._native")]
pub struct Remote {
    /// `None` once it has ended.
    at_work: Mutex<Option<remote::Remote>>,
    ended: Mutex<Option<(duetime_study::Plan, Outcome)>>,
    out: PathBuf,
    events: Events,
}

/// Keeps the JSON of events until somebody asks for them.
#[derive(Default)]
struct Events(Mutex<Vec<String>>);

impl Listener for Events {
    fn on(&self, event: &Event) {
        let text = serde_json::to_string(event).expect("plain data");
        lock(&self.0).push(text);
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().expect("no panic holds it")
}

#[pymethods]
impl Remote {
    /// Makes the folder `out` ready to take runs over.
    #[new]
    fn begin(py: Python<'_>, plan: &Plan, out: PathBuf, overwrite: bool) -> PyResult<Self> {
        let plan = plan.plan.clone();
        interruptible(py, None, move |_, _| {
            let events = Events::default();
            let remote = remote::Remote::begin(plan, &out, if_exists(overwrite), &events);
            Ok(Self {
                at_work: Mutex::new(Some(remote.map_err(|error| errors::study(&error))?)),
                ended: Mutex::default(),
                out,
                events,
            })
        })
    }

    /// What has happened since the last call: the JSON of each event.
    fn events(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.events.0))
    }

    /// The numbers of the runs that are neither kept nor failed.
    fn missing(&self) -> PyResult<Vec<usize>> {
        self.with(|remote, _| Ok(remote.missing()))
    }

    /// Takes over the run that `make_runs` left at `staged`; gives its wall time, s, unless it is kept already.
    fn adopt(&self, py: Python<'_>, run: usize, staged: PathBuf) -> PyResult<Option<f64>> {
        py.detach(|| self.with(|remote, events| remote.adopt(run, &staged, events)))
    }

    /// Notes that a run failed, and why.
    fn fail(&self, run: usize, why: &str) -> PyResult<()> {
        self.with(|remote, events| remote.fail(run, why, events))
    }

    /// Tells how far things are, with so many runs at a time.
    fn tell(&self, at_once: usize) -> PyResult<()> {
        self.with(|remote, events| {
            remote.tell(at_once, events);
            Ok(())
        })
    }

    /// Finishes the manifest. Others may write to the folder from now on.
    fn end(&self, cancelled: bool) -> PyResult<()> {
        let Some(remote) = lock(&self.at_work).take() else {
            return Ok(());
        };
        let ended = remote.end(cancelled, &self.events);
        *lock(&self.ended) = Some(ended.map_err(|error| errors::study(&error))?);
        Ok(())
    }

    /// Writes the summary of what the folder holds, and its report, once it has ended.
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
        then: impl FnOnce(&mut remote::Remote, &Events) -> Result<T, StudyError>,
    ) -> PyResult<T> {
        match lock(&self.at_work).as_mut() {
            Some(remote) => then(remote, &self.events).map_err(|error| errors::study(&error)),
            None => Err(PyRuntimeError::new_err("the sweep has ended")),
        }
    }
}

/// Makes runs of the sweep that a manifest describes, each a folder at a place of its own: the point's number, the
/// transport, the run's number, the place. Gives what failed: the index of the run, and why.
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
