//! Errors of the testbed.

use std::io;

/// Error of a run on the testbed.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// Scenario that the testbed does not support.
    #[error("the testbed cannot run this scenario: {0}")]
    Unsupported(String),
    /// Scenario that the simulator does not support either.
    #[error(transparent)]
    Setup(#[from] duetime_sim::SetupError),
    /// Scenario that cannot be scaled.
    #[error(transparent)]
    Scale(#[from] crate::ScaleError),
    /// Missing root privileges.
    #[error("the testbed creates network namespaces and loads BPF programs: run it as root")]
    NotRoot,
    /// System call failed.
    #[error("cannot {action}: {source}")]
    System {
        /// Attempted action, as a verb with its object.
        action: String,
        /// Error of the system call.
        source: io::Error,
    },
    /// Program failed.
    #[error("`{program}` failed: {output}")]
    Program {
        /// Program with its arguments.
        program: String,
        /// Standard error of the program.
        output: String,
    },
    /// The software switch could not be opened, or failed.
    #[error("the switch: {0}")]
    Switch(#[from] duetime_switch::Error),
    /// The kernel's congestion controllers could not be attached.
    #[error("the congestion controllers: {0}")]
    Kernel(String),
    /// No testbed is running.
    #[error("no testbed is running")]
    NoneRuns,
    /// Unknown host.
    #[error("no host `{name}` in the running testbed; its hosts: {known}")]
    NoSuchHost {
        /// Requested name.
        name: String,
        /// Names of the hosts.
        known: String,
    },
    /// Cancelled run.
    #[error("stopped")]
    Stopped,
}

impl LabError {
    /// Returns a function that wraps the error of a system call.
    pub(crate) fn system<E: Into<io::Error>>(action: impl Into<String>) -> impl FnOnce(E) -> Self {
        let action = action.into();
        move |source| Self::System {
            action,
            source: source.into(),
        }
    }
}
