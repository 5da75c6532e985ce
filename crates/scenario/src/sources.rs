//! Access to the files that a scenario names. This crate opens no files itself.

use duetime_core::{Bytes, Span};

/// Reader of a scenario's CDF and trace files. Paths are as written in the scenario.
pub trait Sources {
    /// Returns the content of a text file, or the reason why it cannot be read.
    fn read_text(&self, path: &str) -> Result<String, String>;

    /// Returns the rows of a trace in Parquet, or the reason why it cannot be read.
    fn read_trace(&self, path: &str) -> Result<Vec<TraceRow>, String>;

    /// Returns the bytes of any file, or the reason why it cannot be read.
    fn read_bytes(&self, path: &str) -> Result<Vec<u8>, String> {
        self.read_text(path).map(String::into_bytes)
    }

    /// Returns the path of a file as shown in messages.
    fn shown(&self, path: &str) -> String {
        path.to_owned()
    }
}

/// Row of a trace file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRow {
    /// Line of the CSV file, or row of another file, from 1.
    pub row: usize,
    /// Submission by the application.
    pub start: Span,
    /// Sending host.
    pub source: u32,
    /// Receiving host.
    pub destination: u32,
    /// Application bytes.
    pub size: Bytes,
    /// Deadline, from `start`.
    pub deadline: Option<Span>,
}

/// Source without files, for scenarios that name none.
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
