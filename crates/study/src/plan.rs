//! What a study consists of: scenario × points of the sweep × transports × runs.

use std::path::PathBuf;

use duetime_scenario::{Diagnostic, Document, Scenario, Sources};
use duetime_sim::unknown_link;
use duetime_store::{Files, RunKey, point_id};

use crate::error::StudyError;
use crate::event::RunName;

/// Everything that was asked for. The manifest keeps it, so that the study can be asked further questions later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The scenario file as it was read.
    pub text: String,
    /// Where it was, for messages and for the traces it names.
    pub file: PathBuf,
    /// Settings changed, in order.
    pub settings: Vec<(String, String)>,
    /// Names of the transports to compare; empty: those of the file.
    pub transports: Vec<String>,
    /// The settings of each point of the sweep; empty: no sweep.
    pub points: Vec<Vec<(String, String)>>,
}

/// One point of the sweep.
#[derive(Clone, Debug)]
pub struct Point {
    /// The settings of this point, one per axis.
    pub settings: Vec<(String, String)>,
    /// What is run.
    pub scenario: Scenario,
}

impl Point {
    /// `key=value` of each axis, with commas; empty without a sweep.
    pub fn label(&self) -> String {
        let settings: Vec<String> = self
            .settings
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        settings.join(",")
    }
}

/// One run: indices into the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Index into [`Plan::points`].
    pub point: usize,
    /// Index into the transports of the point's scenario.
    pub transport: usize,
    /// The run, from 0.
    pub run: u32,
}

/// A request, resolved.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What was asked for.
    pub request: Request,
    /// The scenario without the settings of any point; of the first point where it cannot stand alone.
    pub base: Scenario,
    /// At least one; without a sweep its settings are empty.
    pub points: Vec<Point>,
}

impl Plan {
    /// Resolves every point; the first that cannot be run is the error.
    pub fn new(request: Request) -> Result<Plan, StudyError> {
        let files = Files::beside(&request.file);
        Plan::reading(request, &files)
    }

    /// The same with the files that the scenario names from `sources`.
    pub fn reading(request: Request, sources: &dyn Sources) -> Result<Plan, StudyError> {
        let none = [Vec::new()];
        let points = if request.points.is_empty() {
            &none[..]
        } else {
            &request.points
        };
        let points = points
            .iter()
            .map(|settings| {
                Ok(Point {
                    settings: settings.clone(),
                    scenario: resolve(&request, settings, sources)?,
                })
            })
            .collect::<Result<Vec<_>, StudyError>>()?;
        let base = resolve(&request, &[], sources).unwrap_or_else(|_| points[0].scenario.clone());
        Ok(Plan {
            request,
            base,
            points,
        })
    }

    /// The scenario's name.
    pub fn name(&self) -> &str {
        &self.base.name
    }

    /// The axes of the sweep: each key with its different values, in the order of the points.
    pub fn axes(&self) -> Vec<(String, Vec<String>)> {
        let mut axes: Vec<(String, Vec<String>)> = Vec::new();
        for (key, value) in self.points.iter().flat_map(|point| &point.settings) {
            match axes.iter_mut().find(|(of, _)| of == key) {
                None => axes.push((key.clone(), vec![value.clone()])),
                Some((_, values)) if !values.contains(value) => values.push(value.clone()),
                Some(_) => {}
            }
        }
        axes
    }

    /// Every run, in the order in which they are begun: run by run, so that an unfinished study can be read.
    pub fn jobs(&self) -> Vec<Job> {
        let most = self
            .points
            .iter()
            .map(|point| point.scenario.seeds)
            .max()
            .unwrap_or(0);
        let mut jobs = Vec::new();
        for run in 0..most {
            for (point, of) in self
                .points
                .iter()
                .enumerate()
                .filter(|(_, of)| run < of.scenario.seeds)
            {
                jobs.extend((0..of.scenario.transports.len()).map(|transport| Job {
                    point,
                    transport,
                    run,
                }));
            }
        }
        jobs
    }

    /// A job by names.
    pub fn describe(&self, job: Job) -> RunName {
        let point = &self.points[job.point];
        let transport = point.scenario.transports[job.transport].name.clone();
        RunName {
            point: point.label(),
            transport,
            run: job.run,
        }
    }

    /// A job's place in the run folder.
    pub fn key(&self, job: Job) -> RunKey {
        let point = &self.points[job.point];
        RunKey {
            point: (!point.settings.is_empty()).then(|| point_id(&point.settings)),
            transport: point.scenario.transports[job.transport].name.clone(),
            run: u64::from(job.run),
        }
    }

    /// The places of all jobs, in their order.
    pub fn keys(&self) -> Vec<RunKey> {
        self.jobs().into_iter().map(|job| self.key(job)).collect()
    }
}

/// Reads a scenario as [`duetime_scenario::load`] does, and refuses links of `[record]` that its network does not have.
pub fn load(
    text: &str,
    file: &str,
    overrides: &[(String, String)],
    sources: &dyn Sources,
) -> Result<Scenario, Diagnostic> {
    let mut document = Document::parse(text, file)?;
    for (key, value) in overrides {
        document.set(key, value)?;
    }
    let scenario = document.resolve(sources)?;
    let Some(unknown) = unknown_link(&scenario) else {
        return Ok(scenario);
    };
    let wrong = document.mistake(&["record", unknown.key], unknown.index, "no such link");
    let allowed = format!(
        "\"from->to\", by the names of two nodes that a link joins, such as \"{}\"",
        unknown.example
    );
    let wrong = wrong.allowed(allowed);
    Err(match unknown.near {
        Some(near) => wrong.help(format!("did you mean \"{near}\"?")),
        None => wrong.help("`duetime topology` shows the network"),
    })
}

/// Loads the scenario of one point and keeps the transports asked for.
pub(crate) fn resolve(
    request: &Request,
    settings: &[(String, String)],
    sources: &dyn Sources,
) -> Result<Scenario, StudyError> {
    let file = request.file.display().to_string();
    let mut overrides = request.settings.clone();
    overrides.extend(settings.iter().cloned());
    let load = |overrides: &[(String, String)]| load(&request.text, &file, overrides, sources);
    let mut scenario = load(&overrides)?;
    if request.transports.is_empty() {
        return Ok(scenario);
    }
    let named = |scenario: &Scenario, name: &String| {
        scenario.transports.iter().position(|of| of.name == *name)
    };
    if request
        .transports
        .iter()
        .any(|name| named(&scenario, name).is_none())
    {
        // Not all are in the file: then the list is the file's `transport`.
        let list: Vec<String> = request
            .transports
            .iter()
            .map(|name| format!("{name:?}"))
            .collect();
        overrides.push(("transport".to_owned(), format!("[{}]", list.join(", "))));
        return Ok(load(&overrides)?);
    }
    scenario.transports = request
        .transports
        .iter()
        .filter_map(|name| named(&scenario, name))
        .map(|index| scenario.transports[index].clone())
        .collect();
    Ok(scenario)
}
