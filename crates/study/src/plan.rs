//! Plan of a study: scenario × points of the sweep × transports × runs.

use std::path::PathBuf;

use duetime_scenario::{Diagnostic, Document, ProfileOverride, Scenario, Sources};
use duetime_sim::unknown_link;
use duetime_store::{Files, RunKey, point_id};

use crate::error::StudyError;
use crate::event::RunName;

/// Request for a study. The manifest records it, so that later commands can resolve the study again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Text of the scenario file.
    pub text: String,
    /// Path of the scenario file, for messages and for the files it names.
    pub file: PathBuf,
    /// Changed settings, in order.
    pub settings: Vec<(String, String)>,
    /// Names of the transports to compare; if empty, those of the scenario file.
    pub transports: Vec<String>,
    /// Settings of each point of the sweep; empty without a sweep.
    pub points: Vec<Vec<(String, String)>>,
}

/// Point of the sweep.
#[derive(Clone, Debug)]
pub struct Point {
    /// Settings of this point, one per axis.
    pub settings: Vec<(String, String)>,
    /// Scenario with these settings.
    pub scenario: Scenario,
}

impl Point {
    /// Returns the settings as `key=value`, separated by commas, or an empty string without a sweep.
    pub fn label(&self) -> String {
        let settings: Vec<String> = self
            .settings
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        settings.join(",")
    }
}

/// Run of a plan, as indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Index into [`Plan::points`].
    pub point: usize,
    /// Index into the transports of the point's scenario.
    pub transport: usize,
    /// Index of the run, from 0.
    pub run: u32,
}

/// Resolved request.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Request that was resolved.
    pub request: Request,
    /// Scenario without the settings of any point, or that of the first point if it is invalid without them.
    pub base: Scenario,
    /// At least one point. Without a sweep, the only point has no settings.
    pub points: Vec<Point>,
}

impl Plan {
    /// Resolves every point. Fails with the error of the first invalid point.
    pub fn new(request: Request) -> Result<Plan, StudyError> {
        let files = Files::relative_to(&request.file);
        Plan::reading(request, &files)
    }

    /// Resolves every point, reading the files that the scenario names from `sources`.
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

    /// Returns the name of the scenario.
    pub fn name(&self) -> &str {
        &self.base.name
    }

    /// Returns the keys of the scenario, without the settings of any point, that change what a transport's `profile`
    /// sets.
    pub fn profile_overrides(&self) -> Vec<ProfileOverride> {
        let file = self.request.file.display().to_string();
        let Ok(mut document) = Document::parse(&self.request.text, &file) else {
            return Vec::new();
        };
        for (key, value) in &self.request.settings {
            if document.set(key, value).is_err() {
                return Vec::new();
            }
        }
        document.profile_overrides().unwrap_or_default()
    }

    /// Returns the axes of the sweep: each key with its distinct values, in the order of the points.
    pub fn axes(&self) -> Vec<(String, Vec<String>)> {
        let mut axes: Vec<(String, Vec<String>)> = Vec::new();
        for (key, value) in self.points.iter().flat_map(|point| &point.settings) {
            match axes.iter_mut().find(|(axis, _)| axis == key) {
                None => axes.push((key.clone(), vec![value.clone()])),
                Some((_, values)) if !values.contains(value) => values.push(value.clone()),
                Some(_) => {}
            }
        }
        axes
    }

    /// Returns all runs in the order in which they start. Every point and transport gets its first run before any gets
    /// its second, so that an unfinished study can be compared.
    pub fn jobs(&self) -> Vec<Job> {
        let max_runs = self
            .points
            .iter()
            .map(|point| point.scenario.seeds)
            .max()
            .unwrap_or(0);
        let mut jobs = Vec::new();
        for run in 0..max_runs {
            for (index, point) in self
                .points
                .iter()
                .enumerate()
                .filter(|(_, point)| run < point.scenario.seeds)
            {
                jobs.extend((0..point.scenario.transports.len()).map(|transport| Job {
                    point: index,
                    transport,
                    run,
                }));
            }
        }
        jobs
    }

    /// Returns the name of a job.
    pub fn describe(&self, job: Job) -> RunName {
        let point = &self.points[job.point];
        let transport = point.scenario.transports[job.transport].name.clone();
        RunName {
            point: point.label(),
            transport,
            run: job.run,
        }
    }

    /// Returns the key of a job in the run folder.
    pub fn key(&self, job: Job) -> RunKey {
        let point = &self.points[job.point];
        RunKey {
            point: (!point.settings.is_empty()).then(|| point_id(&point.settings)),
            transport: point.scenario.transports[job.transport].name.clone(),
            run: u64::from(job.run),
        }
    }

    /// Returns the keys of all jobs in order.
    pub fn keys(&self) -> Vec<RunKey> {
        self.jobs().into_iter().map(|job| self.key(job)).collect()
    }
}

/// Loads a scenario as [`duetime_scenario::load`] does, and rejects links in `[record]` that its network does not have.
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
        "\"from->to\" with the names of two linked nodes, such as \"{}\"",
        unknown.example
    );
    let wrong = wrong.allowed(allowed);
    Err(match unknown.near {
        Some(near) => wrong.help(format!("did you mean \"{near}\"?")),
        None => wrong.help("`duetime topology` shows the network"),
    })
}

/// Loads the scenario of one point with the requested transports.
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
        scenario
            .transports
            .iter()
            .position(|transport| transport.name == *name)
    };
    if request
        .transports
        .iter()
        .any(|name| named(&scenario, name).is_none())
    {
        // Some transports are not in the file, so replace its `transport` list.
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
