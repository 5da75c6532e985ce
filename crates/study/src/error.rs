//! What keeps a study from being run or read.

use duetime_scenario::Diagnostic;
use duetime_sim::SetupError;
use duetime_store::StoreError;

/// What keeps a study from being run or read. A failed run is not an error of the study: it is part of its outcome.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// The scenario cannot be understood.
    #[error(transparent)]
    Scenario(#[from] Diagnostic),
    /// The scenario is understood, but cannot be simulated.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The run folder cannot be written, read or trusted.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No such run, transport, flow or point.
    #[error("{0}")]
    Choice(String),
}
