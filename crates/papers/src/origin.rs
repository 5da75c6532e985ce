//! Sources of experiments: a folder on disk or the files built into the program.

use std::fs;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use duetime_scenario::{Sources, TraceRow};
use duetime_store::Files;

/// Path below `papers/` and text of each built-in file, sorted by path.
const BUILT_IN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/papers.rs"));
/// Name of the built-in folder in messages.
pub(crate) const BUILT_IN_FOLDER: &str = "papers";

/// Source of experiments. Paths have the same form in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Files on disk.
    Disk,
    /// Files of [`BUILT_IN`], below [`BUILT_IN_FOLDER`].
    BuiltIn,
}

impl Origin {
    /// Reads a file.
    pub(crate) fn read(self, path: &Path) -> Result<String, Error> {
        if self == Self::Disk {
            return fs::read_to_string(path);
        }
        let found = BUILT_IN.iter().find(|(name, _)| built_in(name) == path);
        found
            .map(|(_, text)| (*text).to_owned())
            .ok_or_else(|| ErrorKind::NotFound.into())
    }

    /// Returns true if the file exists.
    pub(crate) fn has(self, path: &Path) -> bool {
        match self {
            Self::Disk => path.is_file(),
            Self::BuiltIn => BUILT_IN.iter().any(|(name, _)| built_in(name) == path),
        }
    }

    /// Returns the subfolders of a folder, sorted by name.
    pub(crate) fn folders(self, path: &Path) -> Result<Vec<PathBuf>, Error> {
        let mut found = Vec::new();
        match self {
            Self::Disk => {
                for entry in fs::read_dir(path)? {
                    found.push(entry?.path());
                }
                found.retain(|path| path.is_dir());
            }
            Self::BuiltIn => {
                let below = BUILT_IN.iter().filter_map(|(name, _)| {
                    let file = built_in(name);
                    let mut parts = file.strip_prefix(path).ok()?.iter();
                    let first = path.join(parts.next()?);
                    parts.next().map(|_| first)
                });
                found.extend(below);
            }
        }
        found.sort();
        found.dedup();
        Ok(found)
    }

    /// Returns the reader of the files that a scenario in this folder names.
    pub(crate) fn sources(self, folder: &Path) -> Box<dyn Sources> {
        let scenario = folder.join("scenario.toml");
        match self {
            Self::Disk => Box::new(Files::relative_to(&scenario)),
            Self::BuiltIn => Box::new(BuiltInFiles(folder.to_path_buf())),
        }
    }
}

fn built_in(name: &str) -> PathBuf {
    Path::new(BUILT_IN_FOLDER).join(name)
}

/// Built-in files of a folder.
struct BuiltInFiles(PathBuf);

impl Sources for BuiltInFiles {
    fn read_text(&self, path: &str) -> Result<String, String> {
        let text = Origin::BuiltIn.read(&self.0.join(path));
        text.map_err(|_| "not a built-in file of the papers".to_owned())
    }

    fn read_trace(&self, _: &str) -> Result<Vec<TraceRow>, String> {
        Err("built-in traces must be CSV".to_owned())
    }

    fn shown(&self, path: &str) -> String {
        self.0.join(path).display().to_string()
    }
}
