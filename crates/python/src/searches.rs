//! Capacity searches and the papers' experiments.

#![expect(
    clippy::needless_pass_by_value,
    reason = "arguments from Python come by value"
)]

use std::path::PathBuf;

use duetime_papers::{
    Campaign, Counts, Extent, Method, built_in_library, choose, keep, library, rows, run_campaign,
};
use duetime_store::IfExists;
use duetime_study::capacity::{
    Check, On, Prober, Quantity, Search, Stopped, Subject, Target, answers,
};
use duetime_study::{Execution, Simulator, StudyError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;

use crate::errors;
use crate::folder::concurrency;
use crate::interruptible::interruptible;
use crate::source::Source;

/// Searches for the capacity of each transport. Returns the results as JSON.
#[pyfunction]
#[pyo3(signature = (source, journal, *, of, layer, on, target, workload, step, check_all, transports, jobs, on_event))]
#[expect(
    clippy::too_many_arguments,
    reason = "they have names in Python, which calls it"
)]
pub fn capacity(
    py: Python<'_>,
    source: &Source,
    journal: PathBuf,
    of: &str,
    layer: Option<u32>,
    on: Option<&str>,
    target: Option<&str>,
    workload: Vec<String>,
    step: Option<&str>,
    check_all: bool,
    transports: Vec<String>,
    jobs: Option<usize>,
    on_event: Option<Py<PyAny>>,
) -> PyResult<String> {
    let quantity = match (of, layer) {
        ("fan-in", layer) => Quantity::FanIn(layer),
        (_, Some(_)) => return Err(PyValueError::new_err("layer is for of=\"fan-in\"")),
        ("senders", None) => Quantity::Senders,
        ("rate", None) => Quantity::Rate,
        ("load", None) => Quantity::Load,
        ("deadline", None) => Quantity::Deadline,
        ("budget", None) => Quantity::Budget,
        (other, None) => {
            let allowed = "senders, fan-in, rate, load, deadline, budget";
            let message = format!("of={other:?}: it is one of {allowed}");
            return Err(PyValueError::new_err(message));
        }
    };
    let on = match on {
        None => None,
        Some("queries") => Some(On::Queries),
        Some("answers") => Some(On::Answers),
        Some(other) => {
            let message = format!("on={other:?}: it is \"queries\" or \"answers\"");
            return Err(PyValueError::new_err(message));
        }
    };
    let target = target.map(str::parse::<Target>).transpose();
    let target = target.map_err(|why| PyValueError::new_err(format!("target: {why}")))?;
    let request = source.request(transports);
    let subject = || -> Result<Subject, StudyError> {
        let subject = Subject::new(request, quantity, &workload, step)?;
        on.map_or(Ok(subject.clone()), |on| subject.clone().on(on))
    };
    let subject = subject().map_err(|error| errors::study(&error))?;
    let search = Search {
        check: if check_all {
            Check::All
        } else {
            Check::Doubtful
        },
        ..subject.search(target.unwrap_or(subject.target(quantity)))
    };
    interruptible(py, on_event, move |listener, stop| {
        let execution = Execution {
            jobs: concurrency(jobs, 1),
            threads: 1,
            if_exists: IfExists::Resume,
            cancel: stop.clone(),
        };
        let prober = Prober::new(&Simulator, &execution, &journal, listener);
        let prober = prober.map_err(|error| errors::folder(&error))?;
        let (found, failed) = answers(&prober, &subject, &search, &execution);
        match failed {
            None => {}
            Some(Stopped::Cancelled) => return Err(errors::runs("stopped")),
            Some(Stopped::Failed(error)) => return Err(errors::study(&error)),
        }
        let rows: Vec<_> = found
            .iter()
            .map(|found| found.row(&subject, &search))
            .collect();
        Ok(json!(rows).to_string())
    })
}

/// Returns the papers' experiments as JSON.
#[pyfunction]
pub fn experiments(papers: Option<PathBuf>) -> PyResult<String> {
    let found = match &papers {
        Some(papers) => library(papers),
        None => built_in_library(),
    };
    let found = found.map_err(|error| errors::study(&error))?;
    let found = found.iter().map(|experiment| {
        json!({
            "paper": experiment.paper,
            "experiment": experiment.name,
            "title": experiment.title,
            "numbers": experiment.published.len(),
            "checks": experiment.checks.len(),
            "runs": !matches!(experiment.method, Method::Note),
        })
    });
    Ok(json!(found.collect::<Vec<_>>()).to_string())
}

/// Runs some of the papers' experiments. Returns rows, counts and files as JSON.
#[pyfunction]
#[pyo3(signature = (which, out, *, extent, papers, jobs, on_event))]
pub fn paper(
    py: Python<'_>,
    which: Vec<String>,
    out: PathBuf,
    extent: &str,
    papers: Option<PathBuf>,
    jobs: Option<usize>,
    on_event: Option<Py<PyAny>>,
) -> PyResult<String> {
    let extent = match extent {
        "quick" => Extent::Quick,
        "settled" => Extent::Settled,
        _ => Extent::Full,
    };
    let campaign = || {
        let experiments = match &papers {
            Some(papers) => library(papers)?,
            None => built_in_library()?,
        };
        let chosen = choose(&experiments, &which)?;
        Campaign::new(experiments, chosen, extent)
    };
    let campaign = campaign().map_err(|error: StudyError| errors::study(&error))?;
    interruptible(py, on_event, move |listener, stop| {
        let execution = Execution {
            jobs: concurrency(jobs, 1),
            threads: 1,
            if_exists: IfExists::Resume,
            cancel: stop.clone(),
        };
        let run = || {
            let (results, outcome) =
                run_campaign(&campaign, &out, &execution, &Simulator, listener)?;
            if outcome.cancelled {
                return Ok(None);
            }
            let rows = rows(&results);
            let counts = Counts::of(&rows);
            let files = keep(&results, &rows, &out)?;
            let failures = outcome.failures.iter();
            let failures: Vec<_> = failures.map(|(run, why)| format!("{run}: {why}")).collect();
            let files: serde_json::Map<_, _> = files
                .into_iter()
                .map(|(name, path)| (name.to_owned(), json!(path)))
                .collect();
            Ok(Some(json!({
                "rows": rows,
                "files": files,
                "failures": failures,
                "met": counts.numbers.to_string(),
                "orderings": counts.orderings.to_string(),
            })))
        };
        match run().map_err(|error: StudyError| errors::study(&error))? {
            Some(result) => Ok(result.to_string()),
            None => Err(errors::runs("stopped")),
        }
    })
}
