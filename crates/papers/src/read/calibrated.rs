//! Check that no prediction depends on a value fitted on its own curve. Scenarios are inspected for the value, so that
//! an undeclared use is found too.

use duetime_scenario::Diagnostic;

use super::super::expand;
use super::super::experiment::{Calibration, Experiment};
use super::super::verdict::Kind;
use super::EXPERIMENT;
use duetime_study::StudyError;

/// Checks that the scenarios of an experiment use its fitted values, and that no prediction on a D3 or D2TCP curve uses
/// a value that any experiment fitted on that curve.
pub(super) fn calibrated(experiment: &Experiment, all: &[Experiment]) -> Result<(), StudyError> {
    let file = experiment.folder.join(EXPERIMENT).display().to_string();
    for calibration in &experiment.calibrations {
        let wrong = |message: String, allowed: &str| -> StudyError {
            let wrong = Diagnostic::at(&file, &experiment.text, calibration.span.clone(), message);
            wrong.allowed(allowed).into()
        };
        if !is_read(experiment, None, calibration)? {
            let message = format!(
                "no scenario here reads {} = {}",
                calibration.key, calibration.value
            );
            return Err(wrong(message, "a value in use"));
        }
        let on = match &calibration.experiment {
            None => experiment,
            Some(name) => {
                let found = experiment.sibling(name, all);
                &all[found.expect("checked by `across`")]
            }
        };
        let Some(scheme) = on
            .scheme(&calibration.scheme)
            .filter(|_| calibration.is_deadline_aware())
        else {
            continue;
        };
        let predicted = on
            .published
            .iter()
            .find(|published| published.scheme == scheme && published.kind == Kind::Predicted);
        if let Some(published) = predicted
            && is_read(on, Some(scheme), calibration)?
        {
            let message = format!(
                "{}'s curve of {} reads {} = {}, which was fitted on it, and has a published value ({}) with kind = \"predicted\"",
                on.id(),
                calibration.scheme,
                calibration.key,
                calibration.value,
                published.source
            );
            return Err(wrong(message, "kind = \"calibrated\" there"));
        }
    }
    Ok(())
}

/// Returns true if a scenario of the experiment, or of one scheme, has the fitted value.
fn is_read(
    experiment: &Experiment,
    scheme: Option<usize>,
    calibration: &Calibration,
) -> Result<bool, StudyError> {
    for panel in 0..experiment.panels.len() {
        for index in 0..experiment.schemes.len() {
            if scheme.is_some_and(|scheme| scheme != index) {
                continue;
            }
            for value in 0..experiment.axis.values.len() {
                if experiment.has(panel, index, value, false)
                    && expand::has_setting(
                        experiment,
                        (panel, index, value),
                        &calibration.key,
                        &calibration.value,
                    )?
                {
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}
