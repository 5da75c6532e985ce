//! Run folders: execution of a scenario with [`run`], and access to results.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use duetime_results::schema::{FLOWS, PORTS, QUERIES, QUEUES, SERVERS, THROUGHPUT};
use duetime_store::{IfExists, RunFolder, RunKey, State};
use duetime_study::{Execution, Gathered, Outcome, Plan, Simulator, StudyError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;

use crate::arrow::{Additions, Constant, Table};
use crate::errors;
use crate::interruptible::interruptible;
use crate::source::Source;

/// A run folder, open for reading.
#[pyclass(frozen, module = "duetime._native")]
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    read: OnceLock<(Plan, Gathered)>,
}

impl Folder {
    /// Creates a folder from the plan and results of the runs at `path`.
    pub fn read(path: PathBuf, plan: Plan, gathered: Gathered) -> Self {
        let read = OnceLock::from((plan, gathered));
        Self { path, read }
    }

    fn open_to_read(&self) -> PyResult<RunFolder> {
        RunFolder::open(&self.path).map_err(|error| errors::folder(&error))
    }

    /// Returns the plan of the folder and the gathered results of its runs.
    fn gathered(&self, py: Python<'_>) -> PyResult<&(Plan, Gathered)> {
        if let Some(read) = self.read.get() {
            return Ok(read);
        }
        let read = py.detach(|| {
            let folder = self.open_to_read()?;
            let manifest = folder.manifest().map_err(|error| errors::folder(&error))?;
            let gather = || {
                let plan = duetime_study::plan(&manifest)?;
                let gathered = duetime_study::gather(&plan, &folder, |_, _| {})?;
                Ok((plan, gathered))
            };
            let (plan, gathered) = gather().map_err(|error| errors::study(&error))?;
            // Runs that were never executed may be missing, but all finished runs must be readable.
            let runs = manifest.runs.iter();
            let done = runs.filter(|run| run.state == State::Done).count();
            let read: usize = gathered.cells.iter().map(|cell| cell.runs.len()).sum();
            if read < done {
                let place = self.path.display();
                let absent = gathered.absent.iter();
                let lines: Vec<String> = absent.map(|(run, why)| format!("{run}: {why}")).collect();
                let unread = done - read;
                return Err(errors::damaged(&format!(
                    "`{place}`: {unread} of {done} finished runs cannot be read\n{}",
                    lines.join("\n")
                )));
            }
            Ok((plan, gathered))
        })?;
        Ok(self.read.get_or_init(|| read))
    }
}

#[pymethods]
impl Folder {
    /// Opens the run folder at `path`.
    #[new]
    fn open(path: PathBuf) -> PyResult<Self> {
        let folder = Self {
            path,
            read: OnceLock::new(),
        };
        folder.open_to_read()?;
        Ok(folder)
    }

    /// Returns the contents of `manifest.json`.
    fn manifest(&self) -> PyResult<String> {
        let manifest = self.open_to_read()?.manifest();
        let manifest = manifest.map_err(|error| errors::folder(&error))?;
        Ok(serde_json::to_string(&manifest).expect("plain data"))
    }

    /// Returns the tables that `duetime run` prints.
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        let (plan, gathered) = self.gathered(py)?;
        Ok(duetime_cli::results(plan, gathered))
    }

    /// Returns the rows of the printed tables as JSON: `warnings`, `queries`, `best`, `rows`, `verdicts`.
    fn rows(&self, py: Python<'_>) -> PyResult<String> {
        let (plan, gathered) = self.gathered(py)?;
        Ok(json!({
            "warnings": gathered.warnings,
            "queries": gathered.query_rows(plan),
            "best": gathered.best_rows(plan),
            "rows": gathered.rows(plan),
            "verdicts": gathered.verdicts,
        })
        .to_string())
    }

    /// Returns a table of all finished runs. Unless `all` is true, it has only the rows that the summary counts. `axes`
    /// are inserted as the first columns, `seed` after the run number.
    fn table(
        &self,
        py: Python<'_>,
        name: &str,
        all: bool,
        axes: Vec<Constant>,
        seed: Constant,
    ) -> PyResult<Table> {
        let meanings = columns(name)?;
        let additions = Additions {
            axes,
            seed,
            meanings,
        };
        py.detach(|| {
            let folder = self.open_to_read()?;
            let read = || {
                let mut files = Vec::new();
                let runs = folder.manifest()?.runs;
                for run in runs.into_iter().filter(|run| run.state == State::Done) {
                    let key = RunKey {
                        point: run.point.clone(),
                        transport: run.transport,
                        run: run.run,
                    };
                    files.push((run.point, folder.table(&key, name)?));
                }
                Ok(files)
            };
            let files = read().map_err(|error| errors::folder(&error))?;
            let place = self.path.display();
            Table::from_parquet(files, all, &additions)
                .map_err(|why| errors::runs(&format!("`{place}`: {why}")))
        })
    }

    /// Writes `report.html` and returns its path.
    fn report(&self, py: Python<'_>) -> PyResult<PathBuf> {
        let (plan, _) = self.gathered(py)?;
        py.detach(|| {
            let folder = self.open_to_read()?;
            let report = duetime_study::report(plan, &folder);
            report
                .map(|(_, path)| path)
                .map_err(|error| errors::study(&error))
        })
    }
}

/// Executes the runs of a scenario that the folder `out` does not contain.
#[pyfunction]
#[pyo3(signature = (source, out, *, transports, jobs, threads, if_exists, report, on_event))]
#[expect(
    clippy::too_many_arguments,
    reason = "they have names in Python, which calls it"
)]
pub fn run(
    py: Python<'_>,
    source: &Source,
    out: PathBuf,
    transports: Vec<String>,
    jobs: Option<usize>,
    threads: usize,
    if_exists: &str,
    report: bool,
    on_event: Option<Py<PyAny>>,
) -> PyResult<Folder> {
    let plan = source.plan(transports)?;
    let if_exists = match if_exists {
        "refuse" => IfExists::Refuse,
        "resume" => IfExists::Resume,
        "replace" => IfExists::Replace,
        other => return Err(PyValueError::new_err(format!("if_exists: `{other}`"))),
    };
    let options = Options {
        jobs: concurrency(jobs, threads),
        threads,
        if_exists,
        report,
        may_fail: false,
    };
    conduct(py, plan, out, options, on_event)
}

/// Options for the execution of runs in this process.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Number of concurrent runs.
    pub jobs: usize,
    /// Number of threads of a run.
    pub threads: usize,
    /// Treatment of a folder that contains results.
    pub if_exists: IfExists,
    /// True to write `report.html`.
    pub report: bool,
    /// True if failed runs are no error as long as others succeed.
    pub may_fail: bool,
}

/// Executes the runs of a plan that the folder `out` does not contain.
pub fn conduct(
    py: Python<'_>,
    plan: Plan,
    out: PathBuf,
    options: Options,
    on_event: Option<Py<PyAny>>,
) -> PyResult<Folder> {
    interruptible(py, on_event, move |listener, stop| {
        let execution = Execution {
            jobs: options.jobs,
            threads: options.threads,
            if_exists: options.if_exists,
            cancel: stop.clone(),
        };
        let execute = || {
            let outcome = duetime_study::execute(&plan, &out, &execution, &Simulator, listener)?;
            if outcome.cancelled {
                return Ok((outcome, Gathered::default()));
            }
            let folder = RunFolder::open(&out)?;
            duetime_study::verdict::verdicts(&plan, &folder, &execution, &Simulator, listener)?;
            let gathered = summarise(&plan, &out, options.report)?;
            Ok((outcome, gathered))
        };
        let (outcome, gathered) = execute().map_err(|error| errors::study(&error))?;
        if let Some(failure) = failure(&outcome, options.may_fail) {
            return Err(errors::runs(&failure));
        }
        Ok(Folder::read(out, plan, gathered))
    })
}

/// Writes the summary of a folder and, if `report` is true, its report.
pub fn summarise(plan: &Plan, out: &Path, report: bool) -> Result<Gathered, StudyError> {
    let folder = RunFolder::open(out)?;
    let gathered = if report {
        duetime_study::report(plan, &folder)?.0
    } else {
        duetime_study::gather(plan, &folder, |_, _| {})?
    };
    duetime_study::write_summary(plan, &folder, &gathered)?;
    Ok(gathered)
}

/// Returns a message that lists the failed runs, or `None` if none failed or if failures are allowed and a run
/// succeeded.
pub fn failure(outcome: &Outcome, may_fail: bool) -> Option<String> {
    if may_fail && outcome.finished > 0 {
        return None;
    }
    let failed = outcome.failures.len();
    let lines = outcome.failures.iter();
    let lines: Vec<String> = lines.map(|(run, why)| format!("{run}: {why}")).collect();
    (failed > 0).then(|| {
        let total = failed + outcome.finished;
        format!("{failed} of {total} runs failed\n{}", lines.join("\n"))
    })
}

/// Returns the number of concurrent runs: `jobs` if given, otherwise as many as fit the cores.
pub fn concurrency(jobs: Option<usize>, threads: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    jobs.unwrap_or_else(|| (cores / threads.max(1)).max(1))
}

/// Returns the columns of a table: names and meanings with units.
#[pyfunction]
pub fn columns(table: &str) -> PyResult<Vec<(&'static str, &'static str)>> {
    macro_rules! columns {
        ($($table:ident),+) => {
            $(if table == $table.name {
                return Ok($table.columns.iter().map(|column| (column.name, column.meaning)).collect());
            })+
        };
    }
    columns!(FLOWS, QUERIES, PORTS, SERVERS, QUEUES, THROUGHPUT);
    let allowed = "queries, flows, ports, servers, queues, throughput";
    Err(PyValueError::new_err(format!(
        "no table `{table}`; there are {allowed}"
    )))
}
