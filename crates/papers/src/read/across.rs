//! Checks that involve other experiments: sides that read them and calibrations on their curves.

use std::ops::Range;

use duetime_scenario::Diagnostic;

use super::super::experiment::{Calibration, Check, Experiment, Measured, Published};
use super::super::verdict::Kind;
use super::{EXPERIMENT, Result};

/// Checks the sides of `experiment` that read other experiments, and its calibrations.
pub(super) fn across(experiment: &Experiment, all: &[Experiment]) -> Result<()> {
    let file = experiment.folder.join(EXPERIMENT).display().to_string();
    let wrong = |span: &Range<usize>, message: String| {
        Diagnostic::at(&file, &experiment.text, span.clone(), message)
    };
    let find = |name: Option<&str>| match name {
        None => Some(experiment),
        Some(name) => experiment.sibling(name, all).map(|index| &all[index]),
    };
    for check in &experiment.checks {
        for measured in check.measured() {
            check_names(measured, &find).map_err(|message| wrong(&check.span, message))?;
        }
    }
    for calibration in &experiment.calibrations {
        let on = find(calibration.experiment.as_deref()).ok_or_else(|| {
            let name = calibration.experiment.as_deref().unwrap_or_default();
            wrong(&calibration.span, format!("unknown experiment `{name}`"))
        })?;
        let Some(scheme) = on.scheme(&calibration.scheme) else {
            let name = &calibration.scheme;
            return Err(wrong(
                &calibration.span,
                format!("unknown scheme `{name}` of {}", on.id()),
            ));
        };
        if calibration.is_deadline_aware() && on.id() == experiment.id() {
            let message = format!(
                "`{}` was fitted on {}'s own curve, so its points would predict themselves",
                calibration.key, calibration.scheme
            );
            return Err(wrong(&calibration.span, message).allowed("a curve of another scheme"));
        }
        let only_reads_fitted = |check: &&Check| {
            let mut measured = check.measured();
            check.kind == Kind::Predicted
                && check.stated
                && measured.all(|measured| was_fitted(measured, calibration, on))
        };
        if let Some(free) = on.checks.iter().find(only_reads_fitted) {
            let message = format!(
                "`{}` was fitted here, and {}'s check \"{}\" reads only fitted points",
                calibration.key,
                on.id(),
                free.text
            );
            return Err(wrong(&calibration.span, message).allowed("kind = \"calibrated\" there"));
        }
        let is_fitted = |published: &&Published| {
            let panel = &on.panels[published.panel].name;
            let at = published.at.map(|at| &on.axis.values[at]);
            published.scheme == scheme
                && calibration.panel.as_ref().is_none_or(|name| name == panel)
                && (calibration.at.is_none() || at.is_none() || calibration.at.as_ref() == at)
                && calibration
                    .metric
                    .is_none_or(|metric| metric == published.measure.metric)
        };
        if let Some(free) = on
            .published
            .iter()
            .filter(is_fitted)
            .find(|published| published.kind == Kind::Predicted)
        {
            let message = format!(
                "`{}` was fitted here, and {} has a published value of {} ({}) with kind = \"predicted\"",
                calibration.key,
                on.id(),
                calibration.scheme,
                free.source
            );
            return Err(wrong(&calibration.span, message).allowed("kind = \"calibrated\" there"));
        }
    }
    Ok(())
}

/// Returns true if a measured value of `on` belongs to the fitted points.
fn was_fitted(measured: &Measured, calibration: &Calibration, on: &Experiment) -> bool {
    let panel = measured.panel.as_ref().unwrap_or(&on.panels[0].name);
    let metric = measured.measure(on).metric;
    measured.experiment.is_none()
        && measured.scheme == calibration.scheme
        && calibration.panel.as_ref().is_none_or(|name| name == panel)
        && (calibration.at.is_none() || calibration.at == measured.at)
        && calibration.metric.is_none_or(|fitted| fitted == metric)
}

/// Checks that all names of a measured value exist.
fn check_names<'a>(
    measured: &Measured,
    find: &impl Fn(Option<&str>) -> Option<&'a Experiment>,
) -> std::result::Result<(), String> {
    let name = measured.experiment.as_deref();
    let Some(experiment) = find(name) else {
        let name = name.unwrap_or_default();
        return Err(format!("unknown experiment `{name}` of this paper"));
    };
    let refuse = |name: String, known: Vec<&str>| {
        Err(format!(
            "{} has no {name}; it has {}",
            experiment.id(),
            known.join(", ")
        ))
    };
    let scheme = &measured.scheme;
    if experiment.scheme(scheme).is_none() {
        let known = experiment.schemes.iter().map(|scheme| scheme.name.as_str());
        return refuse(format!("scheme `{scheme}`"), known.collect());
    }
    if let Some(panel) = measured
        .panel
        .as_ref()
        .filter(|name| experiment.panel(name).is_none())
    {
        let known = experiment.panels.iter().map(|panel| panel.name.as_str());
        return refuse(format!("panel `{panel}`"), known.collect());
    }
    if let Some(at) = measured
        .at
        .as_ref()
        .filter(|at| experiment.value(at).is_none())
    {
        let known = experiment.axis.values.iter().map(String::as_str);
        return refuse(format!("axis value {at}"), known.collect());
    }
    Ok(())
}
