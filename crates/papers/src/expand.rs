//! From an experiment to its points: panel × scheme × axis value, each a resolved scenario with a name of its own.

use duetime_scenario::{Diagnostic, Scenario, resolved_json};
use duetime_store::{VERSION, checksum};
use serde_json::json;

use super::experiment::{Check, Experiment, Ideal, Method};
use super::sums::Keep;
use duetime_study::StudyError;

/// One point of one experiment.
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
    /// What is run; it has one transport.
    pub scenario: Scenario,
    /// Whether its flows come from a simulation; otherwise from the scenario alone.
    pub simulated: bool,
    /// Ideal schedulers to be applied to its flows, each with its scheme.
    pub ideals: Vec<(Ideal, usize)>,
    /// What is kept beside sums.
    pub keep: Keep,
    /// Seeds.
    pub seeds: u32,
    /// Seeds of a quick campaign: a batch ends there.
    pub quick_seeds: u32,
    /// Names what its runs leave: equal for equal results.
    pub digest: String,
}

/// The points of experiment number `index`.
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
        for (scheme, of) in experiment.schemes.iter().enumerate() {
            let fluid = experiment.method == Method::Fluid;
            if of.ideal.is_some() && !fluid {
                continue;
            }
            for value in 0..experiment.axis.values.len() {
                let ideals: Vec<(Ideal, usize)> = experiment
                    .schemes
                    .iter()
                    .enumerate()
                    .filter(|(_, other)| other.ideal.is_some_and(|(_, from)| from == Some(scheme)))
                    .filter(|(other, _)| experiment.has(panel, *other, value, quick))
                    .filter_map(|(other, it)| Some((it.ideal?.0, other)))
                    .chain(of.ideal.filter(|_| fluid).map(|(ideal, _)| (ideal, scheme)))
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
                    seeds: of.repetitions.of(quick),
                    quick_seeds: of.repetitions.quick,
                });
            }
        }
    }
    if let Some(point) = points.first() {
        workloads_exist(experiment, &point.scenario)?;
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

/// Whether the scenario of one point (panel, scheme, axis value) has this setting: whether setting it changes nothing.
pub(super) fn has_setting(
    experiment: &Experiment,
    (panel, scheme, value): (usize, usize, usize),
    key: &str,
    written: &str,
) -> Result<bool, StudyError> {
    let own = scenario(experiment, panel, scheme, value, None)?;
    // A key that this point does not know is not read by it.
    let set = scenario(experiment, panel, scheme, value, Some((key, written)));
    Ok(set.is_ok_and(|set| resolved_json(&set) == resolved_json(&own)))
}

/// The scenario of one point: panel, then scheme, then the axis are set over the file, and then `more`.
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
        &*experiment.origin.beside(&experiment.folder),
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

/// What decides the results of a run, and nothing else: not the scenario's name, its number of seeds or what its
/// transport is called.
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
        "scenario": resolved,
        "simulated": simulated,
        "ideals": ideals,
        "keep": keep,
    });
    checksum(all.to_string().as_bytes())
}

/// Every workload that a metric names is one of the scenario's.
fn workloads_exist(experiment: &Experiment, scenario: &Scenario) -> Result<(), StudyError> {
    let own = std::iter::once(&experiment.measure)
        .chain(experiment.figures.iter().map(|of| &of.measure))
        .chain(experiment.published.iter().map(|of| &of.measure));
    // What another experiment measures is its own matter.
    let read = experiment.checks.iter().flat_map(Check::measured);
    let read = read.filter(|of| of.experiment.is_none());
    let all = own.chain(read.filter_map(|of| of.measure.as_ref()));
    let mut names = all.filter_map(|of| of.workload.as_deref());
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
