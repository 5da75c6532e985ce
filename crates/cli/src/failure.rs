//! How a command fails, and with which exit code.

use std::fmt;
use std::process::ExitCode;

use duetime_scenario::Diagnostic;
use duetime_study::StudyError;

/// Why a command did not do all that was asked.
#[derive(Debug)]
pub enum Failure {
    /// What was given cannot be used; nothing was run. Exit code 2.
    Input(String),
    /// Runs failed or were stopped. Exit code 1.
    Runs(String),
    /// Standard output cannot be written. Exit code 1.
    Output(std::io::Error),
}

impl Failure {
    /// The exit code.
    pub fn code(&self) -> ExitCode {
        match self {
            Failure::Input(_) => ExitCode::from(2),
            Failure::Runs(_) | Failure::Output(_) => ExitCode::from(1),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Input(text) => write!(f, "error: {text}"),
            Failure::Runs(text) => write!(f, "{text}"),
            Failure::Output(error) => write!(f, "error: cannot write to standard output: {error}"),
        }
    }
}

impl From<StudyError> for Failure {
    fn from(error: StudyError) -> Self {
        Failure::Input(error.to_string())
    }
}

impl From<Diagnostic> for Failure {
    fn from(error: Diagnostic) -> Self {
        Failure::Input(error.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Failure::Output(error)
    }
}
