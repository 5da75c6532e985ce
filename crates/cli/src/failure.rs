//! Failures of commands and their exit codes.

use std::fmt;
use std::io::ErrorKind;

use duetime_scenario::Diagnostic;
use duetime_store::StoreError;
use duetime_study::StudyError;

/// Reason why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// The input is invalid; nothing was run or written. Exit code 2.
    Input(String),
    /// Runs failed, were stopped or measured nothing. Exit code 1.
    Runs(String),
    /// Runs on real stacks were invalid only because of a lack of processor time. Exit code 3.
    #[cfg_attr(
        not(all(feature = "lab", target_os = "linux")),
        expect(dead_code, reason = "only the testbed has runs in real time")
    )]
    Late(String),
    /// A file could not be written; earlier output is kept. Exit code 1.
    Unwritten(String),
    /// Standard output could not be written. Exit code 1.
    Output(std::io::Error),
}

impl Failure {
    /// Returns the exit code.
    pub fn code(&self) -> u8 {
        match self {
            Failure::Input(_) => 2,
            Failure::Runs(_) | Failure::Unwritten(_) | Failure::Output(_) => 1,
            Failure::Late(_) => 3,
        }
    }

    /// Appends `more` to the message.
    pub fn and(self, more: &str) -> Failure {
        match self {
            Failure::Input(text) => Failure::Input(text + more),
            Failure::Runs(text) => Failure::Runs(text + more),
            Failure::Late(text) => Failure::Late(text + more),
            Failure::Unwritten(text) => Failure::Unwritten(text + more),
            Failure::Output(error) => Failure::Output(error),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Input(text) => write!(f, "error: {text}"),
            Failure::Runs(text) | Failure::Late(text) => write!(f, "{text}"),
            Failure::Unwritten(text) => {
                write!(f, "error: {text} (partial output was kept)")
            }
            Failure::Output(error) => write!(f, "error: cannot write to standard output: {error}"),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Unwritten { .. } => Failure::Unwritten(error.to_string()),
            // Unless the disk is full, a folder that cannot be created or read is invalid input.
            StoreError::Io { source, .. } if is_full(source.kind()) => {
                Failure::Unwritten(error.to_string())
            }
            _ => Failure::Input(error.to_string()),
        }
    }
}

fn is_full(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge
    )
}

impl From<StudyError> for Failure {
    fn from(error: StudyError) -> Self {
        match error {
            StudyError::Store(error) => error.into(),
            error => Failure::Input(error.to_string()),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_output_is_not_invalid_input() {
        let code = |error: StoreError| Failure::from(StudyError::Store(error)).code();
        let io = |kind: ErrorKind| StoreError::Io {
            action: "create",
            path: "out".into(),
            source: kind.into(),
        };
        let unwritten = |kind: ErrorKind| StoreError::Unwritten {
            action: "create",
            path: "out/runs/tcp".into(),
            source: kind.into(),
        };
        assert_eq!(code(unwritten(ErrorKind::StorageFull)), 1);
        assert_eq!(code(unwritten(ErrorKind::PermissionDenied)), 1);
        assert_eq!(code(io(ErrorKind::StorageFull)), 1);
        assert_eq!(code(io(ErrorKind::PermissionDenied)), 2);
        assert_eq!(code(io(ErrorKind::NotFound)), 2);
        assert_eq!(Failure::from(StoreError::NotFound("out".into())).code(), 2);
    }
}
