//! The files that a scenario names. This crate opens none itself.

use duetime_core::{Bytes, Span};

/// Where a scenario's CDF and trace files come from. Paths are as written in the scenario.
pub trait Sources {
    /// The content of a text file, or why it cannot be read.
    fn read_text(&self, path: &str) -> Result<String, String>;

    /// The rows of a trace in Parquet, or why it cannot be read.
    fn read_trace(&self, path: &str) -> Result<Vec<TraceRow>, String>;

    /// The bytes of any file, or why it cannot be read: where it may be no text.
    fn read_bytes(&self, path: &str) -> Result<Vec<u8>, String> {
        self.read_text(path).map(String::into_bytes)
    }

    /// What messages call a file: its path as whoever reads them sees it.
    fn shown(&self, path: &str) -> String {
        path.to_owned()
    }
}

/// One row of a trace file as it stands there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRow {
    /// Line of the CSV file, or row of another file, from 1.
    pub row: usize,
    /// When the application submits the flow.
    pub start: Span,
    /// Sending host.
    pub source: u32,
    /// Receiving host.
    pub destination: u32,
    /// Application bytes.
    pub size: Bytes,
    /// After `start`.
    pub deadline: Option<Span>,
}

/// No files at all: for scenarios that name none.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Sources for NoFiles {
    fn read_text(&self, _: &str) -> Result<String, String> {
        Err("no files can be read here".to_owned())
    }

    fn read_trace(&self, _: &str) -> Result<Vec<TraceRow>, String> {
        Err("no files can be read here".to_owned())
    }
}
