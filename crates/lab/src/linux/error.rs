//! Why a run on the testbed did not happen.

use std::io;

/// Why a run on the testbed did not happen, or gave no result.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The scenario asks for what the testbed cannot do.
    #[error("the testbed cannot run this scenario: {0}")]
    Unsupported(String),
    /// The simulator would not run it either.
    #[error(transparent)]
    Setup(#[from] duetime_sim::SetupError),
    /// It cannot be scaled.
    #[error(transparent)]
    Scale(#[from] crate::ScaleError),
    /// Not root.
    #[error("the testbed makes network namespaces and loads BPF programs: run it as root")]
    NotRoot,
    /// A call to the system failed.
    #[error("cannot {action}: {source}")]
    System {
        /// What was tried, as a verb with its object.
        action: String,
        /// Why it failed.
        source: io::Error,
    },
    /// A program failed.
    #[error("`{program}` failed: {output}")]
    Program {
        /// The program, with its arguments.
        program: String,
        /// What it said.
        output: String,
    },
    /// The software switch could not be made, or failed.
    #[error("the switch: {0}")]
    Switch(#[from] duetime_switch::Error),
    /// The kernel's congestion controllers could not be attached.
    #[error("the congestion controllers: {0}")]
    Kernel(String),
    /// No testbed runs.
    #[error("no testbed runs now")]
    NoneRuns,
    /// It has no such host.
    #[error("no host `{name}` in the testbed that runs; it has: {known}")]
    NoSuchHost {
        /// What was asked for.
        name: String,
        /// The hosts.
        known: String,
    },
    /// Told to stop.
    #[error("stopped")]
    Stopped,
}

impl LabError {
    /// Wraps the error of a system call.
    pub(crate) fn system<E: Into<io::Error>>(action: impl Into<String>) -> impl FnOnce(E) -> Self {
        let action = action.into();
        move |source| Self::System {
            action,
            source: source.into(),
        }
    }
}
