//! Calls from a CSV table with a row per call, or from flows in the format of Duetime's tables and traces.

use crate::calls::{Call, Calls};
use crate::observed::{DeadlineFrom, Others};
use csv::{ReaderBuilder, StringRecord, Trim};
use duetime_scenario::Diagnostic;
use rustc_hash::FxHashMap;
use std::io::Read;

type Result<T> = std::result::Result<T, Diagnostic>;

/// Maximum number of rows.
const MAX_ROWS: usize = 20_000_000;
/// Maximum duration of a call and maximum distance of starts: a day.
const DAY_NS: u64 = 24 * 3_600 * 1_000_000_000;
/// Maximum size of an answer in bytes.
const MAX_BYTES: u64 = 1_000_000_000_000;
/// Suffixes of columns of times, with their units in nanoseconds.
const UNITS: [(&str, u64); 4] = [
    ("_ns", 1),
    ("_us", 1_000),
    ("_ms", 1_000_000),
    ("_s", 1_000_000_000),
];
const ALLOWED: &str = "a row per call with start_ns, end_ns or duration_ns, and bytes, optionally query, client, server, \
                       request_bytes, compute_ns, deadline_ns (times also in _us, _ms or _s); or flows with source, \
                       destination, size_bytes, start_ns, as in a trace or in flows.csv";

/// Names of columns, without the units of times.
const QUERY: &[&str] = &["query", "query_id", "trace_id"];
const CLIENT: &[&str] = &["client", "caller", "root"];
const SERVER: &[&str] = &["server", "callee"];
const BYTES: &[&str] = &["bytes", "response_bytes", "size_bytes"];
const REQUEST: &[&str] = &["request_bytes"];
const START: &[&str] = &["start"];
const END: &[&str] = &["end"];
const DURATION: &[&str] = &["duration", "latency", "fct"];
const COMPUTE: &[&str] = &["compute"];
const DEADLINE: &[&str] = &["deadline"];

/// Reads the calls of the table `file`.
pub(crate) fn read(file: &str, input: impl Read) -> Result<Calls> {
    let mut reader = ReaderBuilder::new()
        .comment(Some(b'#'))
        .trim(Trim::All)
        .flexible(true)
        .from_reader(input);
    let header = reader
        .headers()
        .map_err(|why| unreadable(file, &why))?
        .clone();
    if header.iter().all(str::is_empty) {
        let error = Diagnostic::of_file(file, "the table is empty");
        return Err(error.allowed(ALLOWED));
    }
    let columns = Columns::of(file, &header)?;
    let mut rows = Vec::new();
    let mut record = StringRecord::new();
    let mut names = Names::default();
    while reader
        .read_record(&mut record)
        .map_err(|why| unreadable(file, &why))?
    {
        let line = record
            .position()
            .map_or(0, |position| usize::try_from(position.line()).unwrap_or(0));
        let cells = Cells {
            file,
            line,
            record: &record,
            header: &header,
        };
        if rows.len() == MAX_ROWS {
            let message = "too many rows";
            return Err(cells
                .row_error(message)
                .allowed(format!("at most {MAX_ROWS} rows")));
        }
        if record.len() != header.len() {
            let message = format!(
                "{} cells in a table of {} columns",
                record.len(),
                header.len()
            );
            return Err(cells
                .row_error(&message)
                .allowed(format!("{} cells", header.len())));
        }
        rows.push(columns.row(&cells, &mut names)?);
    }
    if rows.is_empty() {
        let error = Diagnostic::of_file(file, "the table has no rows");
        return Err(error.allowed("at least two calls after the header"));
    }
    Columns::check_times(file, &rows)?;
    Ok(columns.calls(rows, &names))
}

fn unreadable(file: &str, why: &csv::Error) -> Diagnostic {
    let at = why.position().map_or(String::new(), |position| {
        format!("line {}: ", position.line())
    });
    let message = match why.kind() {
        csv::ErrorKind::Io(why) => format!("cannot be read: {why}"),
        csv::ErrorKind::Utf8 { .. } => format!("{at}not UTF-8"),
        _ => format!("{at}{why}"),
    };
    Diagnostic::of_file(file, message).allowed(ALLOWED)
}

/// Numbers of host and query names.
#[derive(Default)]
struct Names {
    hosts: FxHashMap<String, u32>,
    queries: FxHashMap<String, u64>,
}

impl Names {
    fn host(&mut self, name: &str) -> u32 {
        let next = u32::try_from(self.hosts.len()).unwrap_or(u32::MAX);
        *self.hosts.entry(name.to_owned()).or_insert(next)
    }

    fn query(&mut self, name: &str) -> u64 {
        let next = self.queries.len() as u64;
        *self.queries.entry(name.to_owned()).or_insert(next)
    }
}

/// Kind of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// Call.
    Call,
    /// Request of a call, which has another row for the answer.
    Request,
    /// Answer of a call, which has another row for the request.
    Answer,
    /// Flow that belongs to no query.
    Flow,
    /// Other row, which is skipped.
    Other,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    class: Class,
    /// Workload of a simulated run, of which only one is used.
    workload: u64,
    /// Call. In a table of flows, the client receives answers and sends requests.
    call: Call,
}

/// Positions of the columns.
struct Columns {
    query: Option<usize>,
    client: Option<usize>,
    server: Option<usize>,
    bytes: usize,
    request: Option<usize>,
    start: (usize, u64),
    end: Option<(usize, u64)>,
    duration: Option<(usize, u64)>,
    compute: Option<(usize, u64)>,
    deadline: Option<(usize, u64)>,
    /// True if rows are flows from a source to a destination.
    flows: bool,
    /// Column that distinguishes requests and answers.
    class: Option<usize>,
    attempt: Option<usize>,
    workload: Option<usize>,
}

impl Columns {
    fn of(file: &str, header: &StringRecord) -> Result<Self> {
        let line = header.iter().collect::<Vec<_>>().join(",");
        for (at, name) in header.iter().enumerate() {
            if header.iter().take(at).any(|other| other == name) {
                let message = format!("column `{name}` twice");
                return Err(Diagnostic::in_line(file, 1, &line, 0..line.len(), message));
            }
        }
        let find = |names: &[&str]| header.iter().position(|name| names.contains(&name));
        let time = |names: &[&str]| {
            header.iter().enumerate().find_map(|(at, name)| {
                let unit = UNITS.iter().find_map(|(ending, unit)| {
                    let name = name.strip_suffix(ending)?;
                    names.contains(&name).then_some(*unit)
                })?;
                Some((at, unit))
            })
        };
        let missing = |column: &str| {
            let message = format!("column `{column}` is missing");
            let error = Diagnostic::in_line(file, 1, &line, 0..line.len(), message);
            let known = [QUERY, CLIENT, SERVER, BYTES, REQUEST].concat();
            let unknown = header.iter().find(|name| !known.contains(name));
            let error = unknown.map_or(error.clone(), |name| error.suggest(name, [column], '`'));
            error.allowed(ALLOWED)
        };
        let ends = (find(&["source"]), find(&["destination"]));
        let flows = ends.0.is_some() && ends.1.is_some();
        let found = Self {
            query: find(QUERY),
            client: if flows { ends.1 } else { find(CLIENT) },
            server: if flows { ends.0 } else { find(SERVER) },
            bytes: find(BYTES).ok_or_else(|| missing("bytes"))?,
            request: find(REQUEST),
            start: time(START).ok_or_else(|| missing("start_ns"))?,
            end: time(END),
            duration: time(DURATION),
            compute: time(COMPUTE),
            deadline: time(DEADLINE),
            flows,
            class: find(&["class"]).filter(|_| flows),
            attempt: find(&["attempt"]).filter(|_| flows),
            workload: find(&["workload"]).filter(|_| flows),
        };
        if !flows && found.end.is_none() && found.duration.is_none() {
            return Err(missing("duration_ns"));
        }
        Ok(found)
    }

    fn row(&self, cells: &Cells<'_>, names: &mut Names) -> Result<Row> {
        let cell = |at: Option<usize>| {
            at.and_then(|at| cells.record.get(at))
                .filter(|cell| !cell.is_empty())
        };
        let class = match cell(self.class) {
            None => Class::Call,
            Some("query") => Class::Request,
            Some("response") => Class::Answer,
            Some("flow") => Class::Flow,
            Some(_) => Class::Other,
        };
        // Hedges and retries are not separate calls.
        let class = match cell(self.attempt) {
            Some(attempt) if attempt != "0" => Class::Other,
            _ => class,
        };
        let time = |column: Option<(usize, u64)>| match column {
            Some((at, _)) if cell(Some(at)).is_none() => Ok(None),
            Some((at, unit)) => cells.time(at, unit).map(Some),
            None => Ok(None),
        };
        let (at, unit) = self.start;
        let start_ns = cells.time(at, unit)?;
        let span = |column: Option<(usize, u64)>| match (column, time(column)?) {
            (Some((at, _)), Some(ns)) if ns > DAY_NS => {
                Err(cells.cell_error(at, "too long").allowed("at most 24 hours"))
            }
            (_, ns) => Ok(ns),
        };
        let end_ns = match (time(self.end)?, self.end) {
            (Some(end), Some((at, _))) => {
                if end < start_ns {
                    return Err(cells
                        .cell_error(at, "before the start")
                        .allowed("the start or later"));
                }
                if end - start_ns > DAY_NS {
                    return Err(cells
                        .cell_error(at, "too late")
                        .allowed("calls of at most 24 hours"));
                }
                Some(end)
            }
            _ => span(self.duration)?.map(|duration| start_ns + duration),
        };
        let deadline_ns = span(self.deadline)?;
        let bytes = match class {
            Class::Other => 1,
            _ => cells.bytes(self.bytes)?,
        };
        let request_bytes = match self.request {
            Some(at) if cell(Some(at)).is_some() => Some(cells.bytes(at)?),
            _ => None,
        };
        let mut host = |at: Option<usize>| cell(at).map(|name| names.host(name));
        let (client, server) = (host(self.client), host(self.server));
        let client_and_server = if class == Class::Request {
            (server, client)
        } else {
            (client, server)
        };
        let workload = cell(self.workload).and_then(|cell| cell.parse().ok());
        Ok(Row {
            class,
            workload: workload.unwrap_or(0),
            call: Call {
                query: cell(self.query).map(|name| names.query(name)),
                client: client_and_server.0.unwrap_or(u32::MAX),
                server: client_and_server.1.unwrap_or(u32::MAX),
                start_ns,
                end_ns,
                bytes: Some(bytes),
                request_bytes,
                compute_ns: span(self.compute)?,
                deadline_ns,
                due_ns: deadline_ns.map(|deadline| start_ns + deadline),
            },
        })
    }

    /// Checks that all starts are within a day.
    fn check_times(file: &str, rows: &[Row]) -> Result<()> {
        let starts = || rows.iter().map(|row| row.call.start_ns);
        let (first, last) = (starts().min().unwrap_or(0), starts().max().unwrap_or(0));
        if last - first > DAY_NS {
            let message = format!("the starts are {} h apart", (last - first) / (DAY_NS / 24));
            let error = Diagnostic::of_file(file, message);
            return Err(error.allowed("starts within 24 hours; is the unit of the column right?"));
        }
        Ok(())
    }

    fn calls(&self, rows: Vec<Row>, names: &Names) -> Calls {
        let mut notes = Vec::new();
        let mut hosts = names.hosts.len();
        let others = rows.iter().filter(|row| row.class == Class::Flow);
        let others = Others {
            bytes: others
                .filter_map(|row| row.call.bytes)
                .map(|bytes| bytes as f64)
                .collect(),
            observed_hosts: None,
        };
        let calls = if self.class.is_some() {
            Self::joined(&rows, &mut notes)
        } else {
            let mut calls: Vec<Call> = rows.into_iter().map(|row| row.call).collect();
            if self.client.is_none() || self.server.is_none() {
                let mut numbers: FxHashMap<Option<u64>, u32> = FxHashMap::default();
                let mut max_number = 0;
                for call in &mut calls {
                    // Unnamed servers of a query are assumed to be distinct.
                    let number = numbers.entry(call.query).or_default();
                    *number = number.saturating_add(1);
                    max_number = max_number.max(*number);
                    if call.server == u32::MAX {
                        call.server = *number;
                    }
                }
                let known = usize::try_from(max_number).unwrap_or(0) + 1;
                hosts = hosts.max(known.min(if self.query.is_some() { known } else { 2 }));
                notes.push(
                    "the table does not name both clients and servers, so hosts are unknown"
                        .to_owned(),
                );
            }
            calls
        };
        let deadline_from = if self.flows {
            DeadlineFrom::Response
        } else {
            DeadlineFrom::Query
        };
        Calls {
            list: calls,
            hosts,
            deadline_from,
            others,
            notes,
            ..Calls::default()
        }
    }

    /// Joins the requests and answers of a table of flows to calls.
    fn joined(rows: &[Row], notes: &mut Vec<String>) -> Vec<Call> {
        let mut of_workload: FxHashMap<u64, u64> = FxHashMap::default();
        for row in rows.iter().filter(|row| row.class == Class::Request) {
            *of_workload.entry(row.workload).or_default() += 1;
        }
        let Some((&workload, _)) = of_workload
            .iter()
            .max_by_key(|(number, count)| (**count, u64::MAX - **number))
        else {
            // Without requests, the flows are answers.
            let flows = rows
                .iter()
                .filter(|row| !matches!(row.class, Class::Other | Class::Flow));
            return flows.map(|row| row.call).collect();
        };
        if of_workload.len() > 1 {
            notes.push(format!("only the queries of workload {workload} are used"));
        }
        let mut calls: Vec<Call> = Vec::new();
        let mut open: FxHashMap<(Option<u64>, u32, u32), Vec<usize>> = FxHashMap::default();
        let rows_of = |class| {
            rows.iter()
                .filter(move |row| row.class == class && row.workload == workload)
        };
        for Row { call: asked, .. } in rows_of(Class::Request) {
            let key = (asked.query, asked.client, asked.server);
            open.entry(key).or_default().push(calls.len());
            calls.push(Call {
                request_bytes: asked.bytes,
                bytes: None,
                // Holds the arrival of the request until the answer is known.
                compute_ns: asked.end_ns,
                end_ns: None,
                deadline_ns: None,
                due_ns: None,
                ..*asked
            });
        }
        for Row { call: answer, .. } in rows_of(Class::Answer) {
            let key = (answer.query, answer.client, answer.server);
            let Some(index) = open
                .get_mut(&key)
                .and_then(|indices| (!indices.is_empty()).then(|| indices.remove(0)))
            else {
                continue;
            };
            let call = &mut calls[index];
            call.bytes = answer.bytes.filter(|_| answer.end_ns.is_some());
            call.end_ns = answer.end_ns;
            call.compute_ns = call
                .compute_ns
                .map(|received| answer.start_ns.saturating_sub(received));
            (call.deadline_ns, call.due_ns) = (answer.deadline_ns, answer.due_ns);
        }
        for index in open.into_values().flatten() {
            calls[index].compute_ns = None;
        }
        calls
    }
}

/// Cells of a row.
struct Cells<'r> {
    file: &'r str,
    line: usize,
    record: &'r StringRecord,
    header: &'r StringRecord,
}

impl Cells<'_> {
    fn text(&self) -> String {
        self.record.iter().collect::<Vec<_>>().join(",")
    }

    /// Creates an error for the row.
    fn row_error(&self, message: &str) -> Diagnostic {
        let text = self.text();
        Diagnostic::in_line(self.file, self.line, &text, 0..text.len(), message)
    }

    /// Creates an error for a cell.
    fn cell_error(&self, at: usize, message: &str) -> Diagnostic {
        let start: usize = self.record.iter().take(at).map(|cell| cell.len() + 1).sum();
        let cell = self.record.get(at).unwrap_or_default();
        let place = start..start + cell.len();
        Diagnostic::in_line(self.file, self.line, &self.text(), place, message)
            .key(self.header.get(at).unwrap_or_default())
            .value(if cell.is_empty() { "(empty)" } else { cell })
    }

    fn bytes(&self, at: usize) -> Result<u64> {
        let number = self
            .record
            .get(at)
            .and_then(|cell| cell.parse::<u64>().ok());
        number
            .filter(|bytes| (1..=MAX_BYTES).contains(bytes))
            .ok_or_else(|| {
                let error = self.cell_error(at, "not an integer number of bytes in range");
                error.allowed(format!("1 to {MAX_BYTES}"))
            })
    }

    /// Reads a time from a cell in units of `unit` nanoseconds. Returns exact nanoseconds.
    fn time(&self, at: usize, unit: u64) -> Result<u64> {
        let cell = self.record.get(at).unwrap_or_default();
        time(cell, unit).ok_or_else(|| {
            let error = self.cell_error(at, "not a time");
            error.allowed("a non-negative number, such as 1250 or 0.25")
        })
    }
}

/// Converts a decimal number of units to nanoseconds, truncating finer digits.
fn time(text: &str, unit: u64) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(part) {
        return None;
    }
    let mut ns = whole.parse::<u64>().ok()?.checked_mul(unit)?;
    let mut place = unit;
    for digit in part.bytes() {
        place /= 10;
        ns = ns.checked_add(u64::from(digit - b'0') * place)?;
    }
    // Leave room for adding a day and a deadline.
    (ns < u64::MAX / 2).then_some(ns)
}

#[cfg(test)]
mod tests;
