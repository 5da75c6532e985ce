//! Kinds of input files and their readers.

use crate::observed::{DEFAULT_REQUEST, Observed};
use crate::{capture, table};
use duetime_core::{Rate, Span};
use duetime_scenario::{Diagnostic, decode, is_json, recorded};
use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::Path;

/// Kind of an input file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Packet capture in pcap or pcapng.
    Pcap,
    /// Spans as JSON lines.
    Spans,
    /// Table of calls or flows in CSV.
    Csv,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Pcap, Self::Spans, Self::Csv];

    /// Returns the name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pcap => "pcap",
            Self::Spans => "spans",
            Self::Csv => "csv",
        }
    }

    /// Returns the kind with this name, or `None` if it is unknown.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Detects the kind from the first bytes of a file.
    fn detect(head: &[u8]) -> Self {
        if capture::is_capture(head) {
            Self::Pcap
        } else if is_json(String::from_utf8_lossy(head).trim_start_matches('\u{feff}')) {
            Self::Spans
        } else {
            Self::Csv
        }
    }
}

/// Maximum size of a file of spans in bytes, since it is read into memory.
const MAX_SPANS_BYTES: u64 = 4_000_000_000;
/// Number of bytes that determine a file's kind.
const HEAD: u64 = 64;

/// Reads a file. `kind` and `burst` are as in [`Request`](crate::Request); `link` is the rate of the hosts' links.
///
/// # Errors
/// If the file is unreadable or invalid.
pub fn observe(
    input: &Path,
    kind: Option<Kind>,
    burst: Option<Span>,
    link: Rate,
) -> Result<Observed, Diagnostic> {
    let shown = input.display().to_string();
    let read_error =
        |why: std::io::Error| Diagnostic::of_file(&shown, format!("cannot be read: {why}"));
    let file = File::open(input).map_err(read_error)?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        let error = Diagnostic::of_file(&shown, "a folder");
        return Err(
            error.allowed("a capture (pcap, pcapng), spans as JSON lines, or a table in CSV")
        );
    }
    let mut file = BufReader::new(file);
    let mut head = Vec::new();
    file.by_ref()
        .take(HEAD)
        .read_to_end(&mut head)
        .map_err(read_error)?;
    let kind = kind.unwrap_or_else(|| Kind::detect(&head));
    of_bytes(&shown, Cursor::new(head).chain(file), kind, burst, link)
}

/// Reads an input like [`observe`]; `file` is its name in messages.
///
/// # Errors
/// If the input is unreadable or invalid.
pub fn of_bytes(
    file: &str,
    input: impl Read,
    kind: Kind,
    burst: Option<Span>,
    link: Rate,
) -> Result<Observed, Diagnostic> {
    let burst_ns = burst.map(Span::as_ns);
    match kind {
        Kind::Pcap => Ok(capture::read(file, input, link)?.into_observed(burst_ns)),
        Kind::Spans => {
            let mut bytes = Vec::new();
            let read = input.take(MAX_SPANS_BYTES + 1).read_to_end(&mut bytes);
            read.map_err(|why| Diagnostic::of_file(file, format!("cannot be read: {why}")))?;
            if bytes.len() as u64 > MAX_SPANS_BYTES {
                let error = Diagnostic::of_file(file, "too large a file of spans");
                return Err(error.allowed(format!("at most {MAX_SPANS_BYTES} bytes")));
            }
            let text = decode(bytes, file)?;
            Ok(Observed::from_spans(&recorded(
                &text,
                file,
                DEFAULT_REQUEST,
            )?))
        }
        Kind::Csv => Ok(table::read(file, input)?.into_observed(burst_ns)),
    }
}
