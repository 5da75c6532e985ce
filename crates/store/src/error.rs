//! Errors of folders and files, each with its path and reason.

use std::io;
use std::path::{Path, PathBuf};

/// Folder or file that cannot be written, read or trusted.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system refuses to open, create or read a requested path.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// Attempted action: "open", "create" or "read".
        action: &'static str,
        /// Path of the action.
        path: PathBuf,
        /// Reason from the operating system.
        source: io::Error,
    },
    /// The operating system refuses to write results; results written earlier are kept.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Unwritten {
        /// Attempted action: "write", "create", "replace", "remove" or "export".
        action: &'static str,
        /// Path of the action.
        path: PathBuf,
        /// Reason from the operating system.
        source: io::Error,
    },
    /// Nothing exists at this path.
    #[error("there is no run folder at `{}`", .0.display())]
    NotFound(PathBuf),
    /// The path is a file.
    #[error("`{}` is a file; a run folder is a directory: choose another path", .0.display())]
    NotADirectory(PathBuf),
    /// The path is a directory that was not created by Duetime. It is not modified.
    #[error("`{}` is not a run folder (it has no manifest.json) and is not empty: choose another path", .0.display())]
    Foreign(PathBuf),
    /// The path holds earlier results. They are not modified.
    #[error(
        "`{}` already holds results of \"{name}\", started {started}: resume them, replace them or choose another path",
        path.display()
    )]
    Exists {
        /// Path of the folder.
        path: PathBuf,
        /// Name of the scenario.
        name: String,
        /// Start time of the earlier study.
        started: String,
    },
    /// Another process is writing to the folder.
    #[error("`{}` is being written by another process", .0.display())]
    Busy(PathBuf),
    /// The existing results cannot be combined with the requested ones.
    #[error("`{}` cannot be resumed: {reason}", path.display())]
    NotResumable {
        /// Path of the folder.
        path: PathBuf,
        /// Difference between the two.
        reason: String,
    },
    /// A file of a run folder differs from what was written.
    #[error("`{}` is damaged: {reason}", path.display())]
    Damaged {
        /// Path of the file or folder.
        path: PathBuf,
        /// Description of the damage.
        reason: String,
    },
    /// A user-provided file has invalid contents.
    #[error("`{}`: {reason}", path.display())]
    Input {
        /// Path of the file.
        path: PathBuf,
        /// Column, row and allowed values.
        reason: String,
    },
}

impl StoreError {
    /// Converts the error after results have been written: an unusable path is then a write error, not a wrong choice
    /// of path.
    #[must_use]
    pub fn after_results(self) -> Self {
        match self {
            Self::Io {
                action,
                path,
                source,
            } => Self::Unwritten {
                action,
                path,
                source,
            },
            Self::NotADirectory(path) => Self::Unwritten {
                action: "create",
                path,
                source: io::ErrorKind::NotADirectory.into(),
            },
            other => other,
        }
    }

    /// Returns a closure for `map_err` that reports the failure of `action` on `path`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }

    /// Returns a closure for `map_err` that reports the failure of `action` on `path` as a failure to write results.
    pub(crate) fn unwritten(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Unwritten {
            action,
            path,
            source,
        }
    }

    /// Creates an error for the damaged file or folder `path`.
    pub(crate) fn damaged(path: &Path, reason: impl Into<String>) -> Self {
        Self::Damaged {
            path: path.to_path_buf(),
            reason: reason.into(),
        }
    }

    /// Creates an error for the user-provided file `path`.
    pub(crate) fn input(path: &Path, reason: impl Into<String>) -> Self {
        Self::Input {
            path: path.to_path_buf(),
            reason: reason.into(),
        }
    }
}
