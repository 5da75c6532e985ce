//! No fitted value is shared silently: who reads one is found by looking, not by what the files say.

use duetime_scenario::Diagnostic;

use super::super::expand;
use super::super::experiment::{Calibration, Experiment};
use super::super::verdict::Kind;
use super::EXPERIMENT;
use duetime_study::StudyError;

/// What an experiment says was fitted is what its scenarios read, and no predicted value of a D3 or D2TCP curve reads
/// what was fitted on that curve, whichever experiment says so.
pub(super) fn calibrated(experiment: &Experiment, all: &[Experiment]) -> Result<(), StudyError> {
    let file = experiment.folder.join(EXPERIMENT).display().to_string();
    for of in &experiment.calibrations {
        let wrong = |message: String, allowed: &str| -> StudyError {
            let wrong = Diagnostic::at(&file, &experiment.text, of.span.clone(), message);
            wrong.allowed(allowed).into()
        };
        if !is_read(experiment, None, of)? {
            let message = format!("no scenario here reads {} = {}", of.key, of.value);
            return Err(wrong(message, "a value that is in use"));
        }
        let on = match &of.experiment {
            None => experiment,
            Some(name) => {
                let found = experiment.beside(name, all);
                &all[found.expect("it was looked up before")]
            }
        };
        let Some(scheme) = on.scheme(&of.scheme).filter(|_| of.is_deadline_aware()) else {
            continue;
        };
        let predicted = on
            .published
            .iter()
            .find(|published| published.scheme == scheme && published.kind == Kind::Predicted);
        if let Some(published) = predicted
            && is_read(on, Some(scheme), of)?
        {
            let message = format!(
                "{}'s curve of {} reads {} = {}, which was fitted on it, and has a published value ({}) that says kind = \"predicted\"",
                on.id(),
                of.scheme,
                of.key,
                of.value,
                published.source
            );
            return Err(wrong(message, "kind = \"calibrated\" there"));
        }
    }
    Ok(())
}

/// Whether a scenario of an experiment, or of one of its schemes, has the fitted value.
fn is_read(
    experiment: &Experiment,
    scheme: Option<usize>,
    of: &Calibration,
) -> Result<bool, StudyError> {
    for panel in 0..experiment.panels.len() {
        for own in 0..experiment.schemes.len() {
            if scheme.is_some_and(|scheme| scheme != own) {
                continue;
            }
            for value in 0..experiment.axis.values.len() {
                if experiment.has(panel, own, value, false)
                    && expand::has_setting(experiment, (panel, own, value), &of.key, &of.value)?
                {
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}
