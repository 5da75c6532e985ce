//! Fits a scenario to packets, recorded spans or a table of calls of a service.
//!
//! ```text
//! capture ──> segments ──> messages ──> calls ─┐
//! table ─────────────────────────────> calls ──┴─> queries ──> model ──> scenario ──> both sides
//! spans ─────────────────────────────────────────> queries
//! ```
//!
//! The fit uses only the input and the values in [`Known`]. The fitted scenario is then simulated, and its results are
//! compared with the input.

#![forbid(unsafe_code)]

pub mod arrivals;
mod calls;
mod capture;
pub mod distribution;
mod export;
mod input;
pub mod model;
mod observed;
mod reproduce;
mod scenario;
mod table;
mod text;
mod verdict;

pub use export::spans;
pub use input::{Kind, observe, of_bytes};
pub use model::Known;
pub use reproduce::{COMPLETION, KS_THRESHOLD, MISSED_THRESHOLD, RELATIVE_THRESHOLD, Row};

use duetime_core::Span;
use duetime_scenario::{Diagnostic, NoFiles};
use duetime_study::StudyError;
use model::Model;
use reproduce::Failed;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Options of a fit.
#[derive(Clone, Debug)]
pub struct Request {
    /// Kind of the input, or `None` to detect it from the first bytes.
    pub kind: Option<Kind>,
    /// Longest gap within a burst of calls, or `None` to derive it from the gaps.
    pub burst: Option<Span>,
    /// Name of the scenario.
    pub name: String,
    /// Values known to the service's owner.
    pub known: Known,
}

/// Fitted scenario and its comparison with the input.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// Scenario in TOML with comments.
    pub toml: String,
    /// Text that the command prints.
    pub text: String,
    /// First sentence of the text, the verdict.
    pub answer: String,
    /// True if every quantity with a threshold is within it.
    pub reproduces: bool,
    /// Likely reasons for a bad fit, each with a remedy.
    pub reasons: Vec<String>,
    /// Quantities of the input and the fitted scenario.
    pub rows: Vec<Row>,
    /// Notes on skipped data, assumptions and uncertainties.
    pub notes: Vec<String>,
}

/// Reasons why a fit failed.
#[derive(Debug)]
pub enum FitError {
    /// Invalid input.
    Input(Diagnostic),
    /// The fitted scenario could not be run.
    Study(StudyError),
    /// The fit was stopped.
    Stopped,
}

impl std::error::Error for FitError {}

impl std::fmt::Display for FitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Input(error) => error.fmt(f),
            Self::Study(error) => write!(f, "the fitted scenario cannot be run: {error}"),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

impl From<Diagnostic> for FitError {
    fn from(error: Diagnostic) -> Self {
        Self::Input(error)
    }
}

/// Fits a scenario to the file `input`. Setting `stop` ends the fit early. `on_progress` receives the number of started
/// runs of the fitted scenario and their total, which may grow.
///
/// # Errors
/// If the file is unreadable or invalid, or if the service cannot be simulated.
pub fn fit(
    input: &Path,
    request: &Request,
    stop: &Arc<AtomicBool>,
    on_progress: &dyn Fn(usize, usize),
) -> Result<Fit, FitError> {
    let shown = input.display().to_string();
    let link = request.known.link.unwrap_or(model::DEFAULT_LINK);
    let observed = observe(input, request.kind, request.burst, link)?;
    let model =
        Model::of(&observed, &request.known).map_err(|why| Diagnostic::of_file(&shown, why))?;
    let name = input
        .file_name()
        .map_or(shown.clone(), |name| name.to_string_lossy().into_owned());
    // The name appears in a comment of one line.
    let name: String = name
        .chars()
        .filter(|character| !character.is_control())
        .collect();
    let toml = model.to_toml(&request.name, &name);
    let scenario = duetime_study::load(&toml, "<fitted>", &[], &NoFiles);
    let scenario = scenario.map_err(|error| FitError::Study(error.into()))?;
    let runs = match reproduce::simulate(&scenario, &model, stop, on_progress) {
        Ok(runs) => runs,
        Err(Failed::Setup(error)) => return Err(FitError::Study(error.into())),
        Err(Failed::Stopped) => return Err(FitError::Stopped),
    };
    let rows = reproduce::rows(&observed, runs, &model);
    let verdict = verdict::verdict(&rows, &model, &scenario.transports[0].name);
    Ok(Fit {
        text: text::text(&verdict, &rows, &model.notes),
        toml,
        answer: verdict.answer,
        reproduces: verdict.reproduces,
        reasons: verdict.reasons,
        rows,
        notes: model.notes,
    })
}
