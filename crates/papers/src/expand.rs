//! Expansion of an experiment to points: panel × scheme × axis value, each with a resolved scenario and a digest.

use duetime_scenario::{Diagnostic, Scenario, resolved_json};
use duetime_store::{VERSION, checksum};
use serde_json::json;

use super::experiment::{Check, Experiment, Ideal, Method};
use super::sums::Keep;
use duetime_study::StudyError;

/// A point of an experiment.
#[derive(Clone, Debug)]
pub(super) struct Point {
    /// Index of the experiment.
    pub experiment: usize,
    /// Index of the panel.
    pub panel: usize,
    /// Index of the scheme.
    pub scheme: usize,
    /// Index of the axis value.
    pub value: usize,
    /// Scenario, with a single transport.
    pub scenario: Scenario,
    /// True if the flows come from a simulation, false if from the scenario alone.
    pub simulated: bool,
    /// Ideal schedulers to apply to the flows, each with its scheme.
    pub ideals: Vec<(Ideal, usize)>,
    /// Data to store in addition to sums.
    pub keep: Keep,
    /// Number of seeds.
    pub seeds: u32,
    /// Number of seeds of a quick campaign, where a batch ends.
    pub quick_seeds: u32,
    /// Digest that names the point's files; equal for equal results.
    pub digest: String,
}

/// Expands an experiment; `index` is its place in the library.
pub(super) fn points(
    index: usize,
    experiment: &Experiment,
    quick: bool,
) -> Result<Vec<Point>, StudyError> {
    let mut points = Vec::new();
    if experiment.method == Method::Note {
        return Ok(points);
    }
    for panel in 0..experiment.panels.len() {
        for (scheme, curve) in experiment.schemes.iter().enumerate() {
            let fluid = experiment.method == Method::Fluid;
            if curve.ideal.is_some() && !fluid {
                continue;
            }
            for value in 0..experiment.axis.values.len() {
                let ideals: Vec<(Ideal, usize)> = experiment
                    .schemes
                    .iter()
                    .enumerate()
                    .filter(|(_, other)| other.ideal.is_some_and(|(_, from)| from == Some(scheme)))
                    .filter(|(other, _)| experiment.has(panel, *other, value, quick))
                    .filter_map(|(index, other)| Some((other.ideal?.0, index)))
                    .chain(
                        curve
                            .ideal
                            .filter(|_| fluid)
                            .map(|(ideal, _)| (ideal, scheme)),
                    )
                    .collect();
                if !experiment.has(panel, scheme, value, quick) {
                    continue;
                }
                let scenario = scenario(experiment, panel, scheme, value, None)?;
                let keep = keep(&experiment.method, value);
                points.push(Point {
                    experiment: index,
                    panel,
                    scheme,
                    value,
                    digest: digest(&scenario, !fluid, &ideals, keep),
                    scenario,
                    simulated: !fluid,
                    ideals,
                    keep,
                    seeds: curve.repetitions.of(quick),
                    quick_seeds: curve.repetitions.quick,
                });
            }
        }
    }
    if let Some(point) = points.first() {
        check_workloads(experiment, &point.scenario)?;
    }
    Ok(points)
}

fn keep(method: &Method, value: usize) -> Keep {
    match method {
        Method::Scatter { runs } => Keep {
            flows_of_runs: *runs,
            ..Keep::default()
        },
        Method::Series { at, .. } => Keep {
            series: *at == value,
            ..Keep::default()
        },
        _ => Keep::default(),
    }
}

/// Returns true if the scenario of a point (panel, scheme, axis value) already has this setting.
pub(super) fn has_setting(
    experiment: &Experiment,
    (panel, scheme, value): (usize, usize, usize),
    key: &str,
    written: &str,
) -> Result<bool, StudyError> {
    let current = scenario(experiment, panel, scheme, value, None)?;
    // A point that does not know the key does not read it.
    let set = scenario(experiment, panel, scheme, value, Some((key, written)));
    Ok(set.is_ok_and(|set| resolved_json(&set) == resolved_json(&current)))
}

/// Loads the scenario of a point: the file with the settings of panel, scheme and axis, and `more`, in this order.
fn scenario(
    experiment: &Experiment,
    panel: usize,
    scheme: usize,
    value: usize,
    more: Option<(&str, &str)>,
) -> Result<Scenario, StudyError> {
    let axis = &experiment.axis;
    let (panel_of, scheme_of) = (&experiment.panels[panel], &experiment.schemes[scheme]);
    let settings: Vec<(String, String)> = panel_of
        .set
        .iter()
        .chain(&scheme_of.set)
        .cloned()
        .chain(
            axis.keys
                .iter()
                .map(|key| (key.clone(), axis.values[value].clone())),
        )
        .chain(more.map(|(key, written)| (key.to_owned(), written.to_owned())))
        .collect();
    let path = experiment.folder.join("scenario.toml");
    let file = path.display().to_string();
    let place = || {
        let toml = experiment.folder.join("experiment.toml");
        format!(
            "{}: scheme {}, panel \"{}\", {} {}",
            toml.display(),
            scheme_of.name,
            panel_of.name,
            axis.keys.join(" and "),
            axis.values[value]
        )
    };
    let wrong = |error: &Diagnostic| StudyError::Choice(format!("{}:\n{error}", place()));
    let scenario = duetime_study::load(
        &experiment.scenario,
        &file,
        &settings,
        &*experiment.origin.sources(&experiment.folder),
    )
    .map_err(|error| wrong(&error))?;
    if scenario.transports.len() != 1 {
        return Err(StudyError::Choice(format!(
            "{}: several transports ({}); set `transport` to one of them",
            place(),
            scenario.transport_names().join(", ")
        )));
    }
    Ok(scenario)
}

/// Returns the digest of everything that affects a run's results. It excludes the names of the scenario and the
/// transport and the number of seeds.
fn digest(scenario: &Scenario, simulated: bool, ideals: &[(Ideal, usize)], keep: Keep) -> String {
    let mut resolved = resolved_json(scenario);
    if let Some(keys) = resolved.as_object_mut() {
        keys.remove("name");
        keys.remove("seeds");
    }
    if let Some(transport) = resolved["transports"][0].as_object_mut() {
        transport.remove("name");
    }
    let ideals: Vec<&str> = ideals.iter().map(|(ideal, _)| ideal.name()).collect();
    let all = json!({
        "version": VERSION,
        // A new version of the transports must not resume the points of the last one.
        "sources": env!("DUETIME_SOURCES"),
        "scenario": resolved,
        "simulated": simulated,
        "ideals": ideals,
        "keep": keep,
    });
    checksum(all.to_string().as_bytes())
}

/// Checks that the scenario has every workload that a metric names.
fn check_workloads(experiment: &Experiment, scenario: &Scenario) -> Result<(), StudyError> {
    let drawn = std::iter::once(&experiment.measure)
        .chain(experiment.figures.iter().map(|figure| &figure.measure))
        .chain(
            experiment
                .published
                .iter()
                .map(|published| &published.measure),
        );
    // Other experiments check their own workloads.
    let checked = experiment.checks.iter().flat_map(Check::measured);
    let checked = checked.filter(|measured| measured.experiment.is_none());
    let all = drawn.chain(checked.filter_map(|measured| measured.measure.as_ref()));
    let mut names = all.filter_map(|measure| measure.workload.as_deref());
    let known = scenario.workload_names();
    match names.find(|name| !known.contains(name)) {
        None => Ok(()),
        Some(name) => {
            let at = experiment.text.find(&format!("\"{name}\"")).unwrap_or(0);
            let file = experiment
                .folder
                .join("experiment.toml")
                .display()
                .to_string();
            let span = at..at + name.len() + 2;
            let message = "the scenario has no workload of this name";
            Err(Diagnostic::at(&file, &experiment.text, span, message)
                .key("workload")
                .value(format!("\"{name}\""))
                .allowed(known.join(", "))
                .into())
        }
    }
}
