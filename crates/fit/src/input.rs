//! What a file holds, and its reader.

use crate::observed::{Observed, USUAL_REQUEST};
use crate::{capture, table};
use duetime_core::{Rate, Span};
use duetime_scenario::{Diagnostic, decode, is_json, recorded};
use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::Path;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Packets, in pcap or pcapng.
    Pcap,
    /// Spans as JSON lines.
    Spans,
    /// A table of calls or flows, in CSV.
    Csv,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Pcap, Self::Spans, Self::Csv];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pcap => "pcap",
            Self::Spans => "spans",
            Self::Csv => "csv",
        }
    }

    /// The kind of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Of a file that begins so.
    fn of(head: &[u8]) -> Self {
        if capture::is_capture(head) {
            Self::Pcap
        } else if is_json(String::from_utf8_lossy(head).trim_start_matches('\u{feff}')) {
            Self::Spans
        } else {
            Self::Csv
        }
    }
}

/// The largest file of spans, in bytes: its text is held whole.
const MOST_TEXT: u64 = 4_000_000_000;
/// Bytes by which a file's kind is known.
const HEAD: u64 = 64;

/// What the file shows; `kind` and `burst` as in [`Request`](crate::Request). The links of hosts are of the rate `link`.
///
/// # Errors
/// If it cannot be read, or holds something else.
pub fn observe(
    input: &Path,
    kind: Option<Kind>,
    burst: Option<Span>,
    link: Rate,
) -> Result<Observed, Diagnostic> {
    let shown = input.display().to_string();
    let unread =
        |why: std::io::Error| Diagnostic::of_file(&shown, format!("cannot be read: {why}"));
    let file = File::open(input).map_err(unread)?;
    if file.metadata().is_ok_and(|of| of.is_dir()) {
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
        .map_err(unread)?;
    let kind = kind.unwrap_or_else(|| Kind::of(&head));
    of_bytes(&shown, Cursor::new(head).chain(file), kind, burst, link)
}

/// The same for what `input` reads; messages call it `file`.
///
/// # Errors
/// As of [`observe`].
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
            let read = input.take(MOST_TEXT + 1).read_to_end(&mut bytes);
            read.map_err(|why| Diagnostic::of_file(file, format!("cannot be read: {why}")))?;
            if bytes.len() as u64 > MOST_TEXT {
                let error = Diagnostic::of_file(file, "too large a file of spans");
                return Err(error.allowed(format!("at most {MOST_TEXT} bytes")));
            }
            let text = decode(bytes, file)?;
            Ok(Observed::of_spans(&recorded(&text, file, USUAL_REQUEST)?))
        }
        Kind::Csv => Ok(table::read(file, input)?.into_observed(burst_ns)),
    }
}
