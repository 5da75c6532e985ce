//! What can go wrong with a folder or a file, each with the path and the reason.

use std::io;
use std::path::{Path, PathBuf};

/// A folder or file that cannot be written, read or trusted.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system refuses to open, create or read a place that was asked for.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// What was tried: "open", "create" or "read".
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The operating system refuses to write results; those written before are left.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Unwritten {
        /// What was tried: "write", "create", "replace", "remove" or "export".
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// There is nothing at this place.
    #[error("there is no run folder at `{}`", .0.display())]
    NotFound(PathBuf),
    /// The place is taken by a file.
    #[error("`{}` is a file; a run folder is a directory: choose another place", .0.display())]
    NotADirectory(PathBuf),
    /// The place is taken by a directory of something else, which is left alone.
    #[error("`{}` is not a run folder (it has no manifest.json) and is not empty: choose another place", .0.display())]
    Foreign(PathBuf),
    /// The place holds earlier results, which are left alone.
    #[error(
        "`{}` already holds results of \"{name}\", started {started}: resume them, replace them or choose another place",
        path.display()
    )]
    Exists {
        /// The folder.
        path: PathBuf,
        /// The scenario's name.
        name: String,
        /// When the earlier study started.
        started: String,
    },
    /// Another process writes to it.
    #[error("`{}` is being written by another process", .0.display())]
    Busy(PathBuf),
    /// Its results cannot be mixed with those asked for.
    #[error("`{}` cannot be resumed: {reason}", path.display())]
    NotResumable {
        /// The folder.
        path: PathBuf,
        /// What differs.
        reason: String,
    },
    /// A file of a run folder is not what was written.
    #[error("`{}` is damaged: {reason}", path.display())]
    Damaged {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A file given by the user does not say what it must.
    #[error("`{}`: {reason}", path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// Column, row and what is allowed.
        reason: String,
    },
}

impl StoreError {
    /// The same once results are there: a place that cannot be used is then no wrong choice.
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

    /// For `map_err`: the operating system refused `action` on `path`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }

    /// For `map_err`: the operating system refused `action` on `path`, which was to hold results.
    pub(crate) fn unwritten(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Unwritten {
            action,
            path,
            source,
        }
    }

    /// `path` is not what was written, because of `reason`.
    pub(crate) fn damaged(path: &Path, reason: impl Into<String>) -> Self {
        Self::Damaged {
            path: path.to_path_buf(),
            reason: reason.into(),
        }
    }

    /// `path`, given by the user, is wrong because of `reason`.
    pub(crate) fn input(path: &Path, reason: impl Into<String>) -> Self {
        Self::Input {
            path: path.to_path_buf(),
            reason: reason.into(),
        }
    }
}
