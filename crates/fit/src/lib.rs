//! A scenario from what a service already has: packets, recorded spans, or a table of its calls.
//!
//! ```text
//! capture ──> segments ──> messages ──> calls ─┐
//! table ─────────────────────────────> calls ──┴─> queries ──> model ──> scenario ──> both sides
//! spans ─────────────────────────────────────────> queries
//! ```
//!
//! Nothing is fitted but what the input holds and what its owner says beside. The fitted scenario is then simulated, and
//! what comes out is counted as the input was.

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
pub use reproduce::{COMPLETION, KS, POINTS, Row, WITHIN};

use duetime_core::Span;
use duetime_scenario::{Diagnostic, NoFiles};
use duetime_study::StudyError;
use model::Model;
use reproduce::Failed;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What is asked of a fit.
#[derive(Clone, Debug)]
pub struct Request {
    /// What the file holds; `None`: its first bytes tell.
    pub kind: Option<Kind>,
    /// No gap within a burst of calls is longer; `None`: the gaps themselves tell.
    pub burst: Option<Span>,
    /// Name of the scenario.
    pub name: String,
    /// What its owner knows.
    pub known: Known,
}

/// A fitted scenario, and how well it reproduces its input.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The scenario, in TOML with comments.
    pub toml: String,
    /// What the command prints.
    pub text: String,
    /// Its first sentence: how well the input is reproduced.
    pub answer: String,
    /// True if every quantity with a threshold is within it.
    pub reproduces: bool,
    /// Likely reasons of a bad fit, each with what to change.
    pub reasons: Vec<String>,
    /// Both sides.
    pub rows: Vec<Row>,
    /// What was left out, taken for granted, or is uncertain.
    pub notes: Vec<String>,
}

/// What keeps an input from being fitted.
#[derive(Debug)]
pub enum FitError {
    /// The input cannot be used.
    Input(Diagnostic),
    /// The fitted scenario cannot be run.
    Study(StudyError),
    /// It was stopped.
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

/// Fits a scenario to the file `input`; ends early when `stop` is set. `begun` hears how many runs of the fitted scenario
/// are begun, and of how many, which may become more.
///
/// # Errors
/// If the file cannot be read or used, or what it holds is no service that can be simulated.
pub fn fit(
    input: &Path,
    asked: &Request,
    stop: &Arc<AtomicBool>,
    begun: &dyn Fn(usize, usize),
) -> Result<Fit, FitError> {
    let shown = input.display().to_string();
    let link = asked.known.link.unwrap_or(model::USUAL_LINK);
    let seen = observe(input, asked.kind, asked.burst, link)?;
    let model = Model::of(&seen, &asked.known).map_err(|why| Diagnostic::of_file(&shown, why))?;
    let name = input
        .file_name()
        .map_or(shown.clone(), |name| name.to_string_lossy().into_owned());
    // A comment is one line.
    let name: String = name.chars().filter(|of| !of.is_control()).collect();
    let toml = model.to_toml(&asked.name, &name);
    let scenario = duetime_study::load(&toml, "<fitted>", &[], &NoFiles);
    let scenario = scenario.map_err(|error| FitError::Study(error.into()))?;
    let runs = match reproduce::simulate(&scenario, &model, stop, begun) {
        Ok(runs) => runs,
        Err(Failed::Setup(error)) => return Err(FitError::Study(error.into())),
        Err(Failed::Stopped) => return Err(FitError::Stopped),
    };
    let rows = reproduce::rows(&seen, runs, &model);
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
