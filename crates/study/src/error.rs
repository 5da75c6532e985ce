//! Errors of running or reading a study.

use duetime_scenario::Diagnostic;
use duetime_sim::SetupError;
use duetime_store::StoreError;

/// Error of running or reading a study. A failed run is part of the study's outcome and not an error.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// The scenario file is invalid.
    #[error(transparent)]
    Scenario(#[from] Diagnostic),
    /// The scenario is valid, but cannot be simulated.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The run folder cannot be written or read, or is damaged.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The selected run, transport, flow or point does not exist, or the run failed or does not fit into memory.
    #[error("{0}")]
    Choice(String),
}
