//! What can only be checked beside the other experiments: sides that read them, and points that were fitted.

use std::ops::Range;

use duetime_scenario::Diagnostic;

use super::super::experiment::{Calibration, Check, Experiment, Published, Side};
use super::super::verdict::Kind;
use super::{EXPERIMENT, Result};

/// What can only be checked beside the other experiments: sides that read them, and points that were fitted.
pub(super) fn across(experiment: &Experiment, all: &[Experiment]) -> Result<()> {
    let file = experiment.folder.join(EXPERIMENT).display().to_string();
    let wrong = |span: &Range<usize>, message: String| {
        Diagnostic::at(&file, &experiment.text, span.clone(), message)
    };
    let find = |name: Option<&str>| match name {
        None => Some(experiment),
        Some(name) => all
            .iter()
            .find(|of| of.paper == experiment.paper && of.name == name),
    };
    for check in &experiment.checks {
        for side in std::iter::once(&check.left).chain(&check.right) {
            side_exists(side, &find).map_err(|message| wrong(&check.span, message))?;
        }
    }
    for of in &experiment.calibrations {
        let on = find(of.experiment.as_deref()).ok_or_else(|| {
            let name = of.experiment.as_deref().unwrap_or_default();
            wrong(&of.span, format!("there is no experiment `{name}`"))
        })?;
        let Some(scheme) = on.scheme(&of.scheme) else {
            let name = &of.scheme;
            return Err(wrong(
                &of.span,
                format!("there is no scheme `{name}` in {}", on.id()),
            ));
        };
        if of.is_deadline_aware() && on.id() == experiment.id() {
            let message = format!(
                "`{}` was fitted on {}'s own curve: its points would predict themselves",
                of.key, of.scheme
            );
            return Err(wrong(&of.span, message).allowed("a curve of another scheme"));
        }
        let fitted = |check: &&Check| {
            let mut sides = std::iter::once(&check.left).chain(&check.right);
            check.kind == Kind::Predicted
                && check.stated
                && sides.all(|side| side_lies_on(side, of, on))
        };
        if let Some(free) = on.checks.iter().find(fitted) {
            let message = format!(
                "`{}` was fitted here, and {}'s check \"{}\" reads nothing else",
                of.key,
                on.id(),
                free.text
            );
            return Err(wrong(&of.span, message).allowed("kind = \"calibrated\" there"));
        }
        let lies_on = |published: &&Published| {
            let panel = &on.panels[published.panel].name;
            let at = published.at.map(|at| &on.axis.values[at]);
            published.scheme == scheme
                && of.panel.as_ref().is_none_or(|name| name == panel)
                && (of.at.is_none() || at.is_none() || of.at.as_ref() == at)
                && of
                    .metric
                    .is_none_or(|metric| metric == published.measure.metric)
        };
        if let Some(free) = on
            .published
            .iter()
            .filter(lies_on)
            .find(|published| published.kind == Kind::Predicted)
        {
            let message = format!(
                "`{}` was fitted here, and {} has a published value of {} ({}) that says kind = \"predicted\"",
                of.key,
                on.id(),
                of.scheme,
                free.source
            );
            return Err(wrong(&of.span, message).allowed("kind = \"calibrated\" there"));
        }
    }
    Ok(())
}

/// Whether a side of one of `on`'s checks reads nothing but what was fitted.
fn side_lies_on(side: &Side, of: &Calibration, on: &Experiment) -> bool {
    match side {
        Side::Value(_) => true,
        Side::Over(a, b) | Side::Minus(a, b) => side_lies_on(a, of, on) && side_lies_on(b, of, on),
        Side::Measured {
            experiment,
            scheme,
            panel,
            at,
            measure,
        } => {
            let panel = panel.as_deref().unwrap_or(&on.panels[0].name);
            let metric = measure.as_ref().unwrap_or(&on.measure).metric;
            experiment.is_none()
                && *scheme == of.scheme
                && of.panel.as_deref().is_none_or(|name| name == panel)
                && (of.at.is_none() || of.at == *at)
                && of.metric.is_none_or(|fitted| fitted == metric)
        }
    }
}

/// Whether every name of a side is known, as an error in words.
fn side_exists<'a>(
    side: &Side,
    find: &impl Fn(Option<&str>) -> Option<&'a Experiment>,
) -> std::result::Result<(), String> {
    match side {
        Side::Value(_) => Ok(()),
        Side::Over(a, b) | Side::Minus(a, b) => {
            side_exists(a, find)?;
            side_exists(b, find)
        }
        Side::Measured {
            experiment,
            scheme,
            panel,
            at,
            ..
        } => {
            let name = experiment.as_deref();
            let Some(of) = find(name) else {
                let name = name.unwrap_or_default();
                return Err(format!("there is no experiment `{name}` beside this one"));
            };
            let list = |names: Vec<&str>| names.join(", ");
            if of.scheme(scheme).is_none() {
                let known = list(of.schemes.iter().map(|of| of.name.as_str()).collect());
                return Err(format!(
                    "{} has no scheme `{scheme}`; it has {known}",
                    of.id()
                ));
            }
            if let Some(panel) = panel.as_ref().filter(|name| of.panel(name).is_none()) {
                let known = list(of.panels.iter().map(|of| of.name.as_str()).collect());
                return Err(format!(
                    "{} has no panel `{panel}`; it has {known}",
                    of.id()
                ));
            }
            if let Some(at) = at.as_ref().filter(|at| of.value(at).is_none()) {
                let known = of.axis.values.join(", ");
                return Err(format!(
                    "{} has no axis value {at}; it has {known}",
                    of.id()
                ));
            }
            Ok(())
        }
    }
}
