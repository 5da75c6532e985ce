//! The files that a scenario names, taken along to a machine that does not have them.

use std::cell::RefCell;
use std::collections::BTreeMap;

use duetime_scenario::{Sources, TraceRow, decode};

use crate::trace;

/// Remembers the content of every file that is read through it.
pub struct Recording<'a> {
    of: &'a dyn Sources,
    read: RefCell<BTreeMap<String, Vec<u8>>>,
}

impl<'a> Recording<'a> {
    /// Of what is read from `of`.
    pub fn new(of: &'a dyn Sources) -> Self {
        Self {
            of,
            read: RefCell::default(),
        }
    }

    /// The files, by the paths that the scenario gives them.
    pub fn into_files(self) -> BTreeMap<String, Vec<u8>> {
        self.read.into_inner()
    }
}

impl Sources for Recording<'_> {
    fn read_text(&self, path: &str) -> Result<String, String> {
        decode(self.read_bytes(path)?, &self.shown(path)).map_err(|error| error.to_string())
    }

    fn read_trace(&self, path: &str) -> Result<Vec<TraceRow>, String> {
        let rows = self.of.read_trace(path)?;
        self.read_bytes(path)?;
        Ok(rows)
    }

    fn read_bytes(&self, path: &str) -> Result<Vec<u8>, String> {
        // A sweep reads the same files for each of its points.
        if let Some(read) = self.read.borrow().get(path) {
            return Ok(read.clone());
        }
        let bytes = self.of.read_bytes(path)?;
        self.read
            .borrow_mut()
            .insert(path.to_owned(), bytes.clone());
        Ok(bytes)
    }

    fn shown(&self, path: &str) -> String {
        self.of.shown(path)
    }
}

/// Files by the paths that a scenario gives them, and no others.
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
        found.ok_or_else(|| format!("`{path}`: it was not taken along"))
    }
}
