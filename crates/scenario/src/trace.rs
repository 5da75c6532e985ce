//! Traces: flows in CSV or Parquet, or spans as JSON lines. The first bytes of the file determine the format.

use crate::diagnostic::Diagnostic;
use crate::model::TraceFlow;
use crate::place::Place;
use crate::sources::{Sources, TraceRow};
use crate::spans;
use crate::text::{decode, unquoted};
use duetime_core::{Bytes, Span};
use std::ops::Range;

type Result<T> = std::result::Result<T, Diagnostic>;

const COLUMNS: [&str; 5] = [
    "start_ns",
    "source",
    "destination",
    "size_bytes",
    "deadline_ns",
];
const ALLOWED: &str =
    "start_ns,source,destination,size_bytes in any order, and optionally deadline_ns";
/// First bytes of every Parquet file.
const PARQUET: &[u8] = b"PAR1";
const LATEST_NS: u64 = 24 * 3_600 * 1_000_000_000;

/// Content of a trace file.
pub(crate) enum Trace {
    /// Flows between the hosts of the topology, sorted by their start.
    Flows(Vec<TraceFlow>),
    /// Spans, not yet parsed: the text, and the name of the file in messages.
    Spans(String, String),
}

/// Reads the file at `path`, which `place` names. Flows must be between the first `hosts` hosts.
pub(crate) fn read(
    place: &Place<'_>,
    path: &str,
    hosts: u32,
    sources: &dyn Sources,
) -> Result<Trace> {
    let unreadable = |why: String| place.wrong(format!("cannot be read: {why}"));
    let file = sources.shown(path);
    let bytes = sources.read_bytes(path).map_err(unreadable)?;
    if bytes.starts_with(PARQUET) {
        let rows = sources.read_trace(path).map_err(unreadable)?;
        let flows = check(&rows, hosts, &file, |row, message| {
            Diagnostic::of_file(&file, format!("row {row}: {message}"))
        });
        return flows.map(Trace::Flows);
    }
    let text = decode(bytes, &file).map_err(|error| {
        error.allowed("a trace in CSV or spans as JSON lines, as text in UTF-8, or in Parquet")
    })?;
    if spans::is_json(&text) {
        return Ok(Trace::Spans(text, file));
    }
    csv(&text, &file, hosts).map(Trace::Flows)
}

/// Reads an inline trace. Messages call it `name`.
pub(crate) fn inline(text: &str, name: &str, hosts: u32) -> Result<Trace> {
    if spans::is_json(text) {
        return Ok(Trace::Spans(text.to_owned(), name.to_owned()));
    }
    csv(text, name, hosts).map(Trace::Flows)
}

fn csv(text: &str, file: &str, hosts: u32) -> Result<Vec<TraceFlow>> {
    let (rows, lines) = parse(text, file)?;
    check(&rows, hosts, file, |line, message| {
        Diagnostic::at(
            file,
            text,
            lines.get(line - 1).cloned().unwrap_or(0..0),
            message,
        )
    })
}

/// Checks the rows and their order, and converts them to flows.
fn check(
    rows: &[TraceRow],
    hosts: u32,
    file: &str,
    at: impl Fn(usize, String) -> Diagnostic,
) -> Result<Vec<TraceFlow>> {
    if rows.is_empty() {
        let message = "the trace is empty";
        return Err(
            Diagnostic::of_file(file, message).allowed("at least one flow after the header")
        );
    }
    let mut before = Span::ZERO;
    for row in rows {
        let wrong = |message: String, allowed: String| Err(at(row.row, message).allowed(allowed));
        if row.start < before {
            let message = format!(
                "start_ns = {} is before the row above ({})",
                row.start.as_ns(),
                before.as_ns()
            );
            return wrong(message, "rows sorted by start_ns".to_owned());
        }
        before = row.start;
        for (column, host) in [("source", row.source), ("destination", row.destination)] {
            if host >= hosts {
                let message = format!("{column} = {host}: the topology has {hosts} hosts");
                return wrong(message, format!("0..={}", hosts - 1));
            }
        }
        if row.source == row.destination {
            let message = format!("destination = {}: equal to its source", row.destination);
            return wrong(message, "two different hosts".to_owned());
        }
        if row.size.0 == 0 || row.size.0 > crate::keys::FLOW_SIZE.1 {
            return wrong(
                format!("size_bytes = {}: out of range", row.size.0),
                "1 B to 1000 GB".to_owned(),
            );
        }
        if row.start.as_ns() > LATEST_NS {
            return wrong(
                format!("start_ns = {}: too late", row.start.as_ns()),
                "at most 24 hours".to_owned(),
            );
        }
        if row
            .deadline
            .is_some_and(|deadline| deadline == Span::ZERO || deadline.as_ns() > LATEST_NS)
        {
            return wrong(
                "deadline_ns is out of range".to_owned(),
                "1 ns to 24 hours, or empty".to_owned(),
            );
        }
    }
    Ok(rows
        .iter()
        .map(|row| TraceFlow {
            start: row.start,
            source: row.source,
            destination: row.destination,
            size: row.size,
            deadline: row.deadline,
        })
        .collect())
}

/// Parses the rows of a CSV text. Returns them with the span of each line.
fn parse(text: &str, file: &str) -> Result<(Vec<TraceRow>, Vec<Range<usize>>)> {
    let mut rows = Vec::new();
    let mut lines = Vec::new();
    let mut header: Option<Vec<usize>> = None;
    let mut start = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let trimmed = line.trim_end();
        lines.push(start..start + trimmed.len());
        let line_start = start;
        start += line.len();
        if trimmed.trim().is_empty() || trimmed.starts_with('#') {
            continue;
        }
        let cells: Vec<(Range<usize>, &str)> = cells(trimmed, line_start);
        match &header {
            None => header = Some(columns(&cells, text, file, line_start)?),
            Some(order) => rows.push(row(&cells, order, number + 1, text, file)?),
        }
    }
    Ok((rows, lines))
}

fn cells(line: &str, mut start: usize) -> Vec<(Range<usize>, &str)> {
    line.split(',')
        .map(|cell| {
            let lead = start + cell.len() - cell.trim_start().len();
            start += cell.len() + 1;
            (lead..lead + cell.trim().len(), unquoted(cell))
        })
        .collect()
}

/// Returns the index in [`COLUMNS`] of each cell of the header.
fn columns(
    cells: &[(Range<usize>, &str)],
    text: &str,
    file: &str,
    line_start: usize,
) -> Result<Vec<usize>> {
    let mut order = Vec::new();
    for (span, name) in cells {
        let Some(column) = COLUMNS.iter().position(|column| column == name) else {
            let message = format!("unknown column `{name}`");
            let error =
                Diagnostic::at(file, text, span.clone(), message).suggest(name, COLUMNS, '`');
            return Err(error.allowed(ALLOWED));
        };
        if order.contains(&column) {
            return Err(Diagnostic::at(
                file,
                text,
                span.clone(),
                format!("column `{name}` twice"),
            ));
        }
        order.push(column);
    }
    match (0..4).find(|column| !order.contains(column)) {
        Some(missing) => {
            let message = format!("column `{}` is missing", COLUMNS[missing]);
            Err(Diagnostic::at(file, text, line_start..line_start, message).allowed(ALLOWED))
        }
        None => Ok(order),
    }
}

fn row(
    cells: &[(Range<usize>, &str)],
    order: &[usize],
    line: usize,
    text: &str,
    file: &str,
) -> Result<TraceRow> {
    if cells.len() != order.len() {
        let span = cells[0].0.start..cells[cells.len() - 1].0.end;
        let message = format!(
            "{} cells in a table of {} columns",
            cells.len(),
            order.len()
        );
        let allowed = format!("{} cells", order.len());
        return Err(Diagnostic::at(file, text, span, message).allowed(allowed));
    }
    let mut values = [None; 5];
    for ((span, cell), &column) in cells.iter().zip(order) {
        if cell.is_empty() && column == 4 {
            continue;
        }
        let most = if matches!(column, 1 | 2) {
            u64::from(u32::MAX)
        } else {
            u64::MAX / 1_000
        };
        match cell.parse::<u64>() {
            Ok(value) if value <= most => values[column] = Some(value),
            _ => {
                let message = format!("{} = {cell}: not a whole number in range", COLUMNS[column]);
                return Err(Diagnostic::at(file, text, span.clone(), message)
                    .allowed(format!("0..={most}")));
            }
        }
    }
    let [start, source, destination, size, deadline] = values;
    let host = |host: Option<u64>| u32::try_from(host.unwrap_or(0)).expect("checked above");
    Ok(TraceRow {
        row: line,
        start: Span::from_ns(start.unwrap_or(0)),
        source: host(source),
        destination: host(destination),
        size: Bytes(size.unwrap_or(0)),
        deadline: deadline.map(Span::from_ns),
    })
}
