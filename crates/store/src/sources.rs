//! Copies of the files that a scenario names, for machines that do not have them.

use std::cell::RefCell;
use std::collections::BTreeMap;

use duetime_scenario::{Sources, TraceRow, decode};

use crate::trace;

/// File source that records the contents of every file read through it.
pub struct Recording<'a> {
    source: &'a dyn Sources,
    read: RefCell<BTreeMap<String, Vec<u8>>>,
}

impl<'a> Recording<'a> {
    /// Records the files read from `source`.
    pub fn new(source: &'a dyn Sources) -> Self {
        Self {
            source,
            read: RefCell::default(),
        }
    }

    /// Returns the recorded files, keyed by their paths in the scenario.
    pub fn into_files(self) -> BTreeMap<String, Vec<u8>> {
        self.read.into_inner()
    }
}

impl Sources for Recording<'_> {
    fn read_text(&self, path: &str) -> Result<String, String> {
        decode(self.read_bytes(path)?, &self.shown(path)).map_err(|error| error.to_string())
    }

    fn read_trace(&self, path: &str) -> Result<Vec<TraceRow>, String> {
        let rows = self.source.read_trace(path)?;
        self.read_bytes(path)?;
        Ok(rows)
    }

    fn read_bytes(&self, path: &str) -> Result<Vec<u8>, String> {
        // Each point of a sweep reads the same files.
        if let Some(read) = self.read.borrow().get(path) {
            return Ok(read.clone());
        }
        let bytes = self.source.read_bytes(path)?;
        self.read
            .borrow_mut()
            .insert(path.to_owned(), bytes.clone());
        Ok(bytes)
    }

    fn shown(&self, path: &str) -> String {
        self.source.shown(path)
    }
}

/// File source with only the given files, keyed by their paths in the scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copies(pub BTreeMap<String, Vec<u8>>);

impl Sources for Copies {
    fn read_text(&self, path: &str) -> Result<String, String> {
        decode(self.read_bytes(path)?, path).map_err(|error| error.to_string())
    }

    fn read_trace(&self, path: &str) -> Result<Vec<TraceRow>, String> {
        trace::read(self.read_bytes(path)?).map_err(|reason| format!("`{path}`: {reason}"))
    }

    fn read_bytes(&self, path: &str) -> Result<Vec<u8>, String> {
        let found = self.0.get(path).cloned();
        found.ok_or_else(|| format!("`{path}`: the file was not included"))
    }
}
