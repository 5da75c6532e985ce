//! Files on disk that a scenario names, including flow traces in Parquet.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "floats are range-checked before the cast"
)]

use std::path::{Path, PathBuf};

use duetime_core::{Bytes, Span};
use duetime_results::schema::Value;
use duetime_scenario::{Sources, TraceRow, decode};

use crate::table::{StoredColumn, StoredTable};
use crate::{StoreError, file};

/// Files on disk, relative to the folder of the scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    folder: PathBuf,
}

impl Files {
    /// Resolves paths relative to the folder of the scenario file at `scenario`.
    pub fn relative_to(scenario: &Path) -> Self {
        Self {
            folder: scenario
                .parent()
                .map_or_else(PathBuf::new, Path::to_path_buf),
        }
    }
}

impl Sources for Files {
    fn read_text(&self, path: &str) -> Result<String, String> {
        let bytes = self.read_bytes(path)?;
        decode(bytes, &self.shown(path)).map_err(|error| error.to_string())
    }

    fn read_trace(&self, path: &str) -> Result<Vec<TraceRow>, String> {
        read_trace_parquet(&self.folder.join(path)).map_err(|error| error.to_string())
    }

    fn read_bytes(&self, path: &str) -> Result<Vec<u8>, String> {
        let path = self.folder.join(path);
        std::fs::read(&path).map_err(|error| format!("`{}`: {error}", path.display()))
    }

    fn shown(&self, path: &str) -> String {
        self.folder.join(path).display().to_string()
    }
}

/// Reads a flow trace from a Parquet file. Columns: `start_ns`, `source`, `destination`, `size_bytes`, and optionally
/// `deadline_ns`, relative to the start and null for flows without a deadline. The types are INT32, INT64 or DOUBLE.
/// Fractions of a nanosecond are kept to the picosecond. Other columns are ignored, so a `flows.parquet` sorted by
/// start is a valid trace.
pub fn read_trace_parquet(path: &Path) -> Result<Vec<TraceRow>, StoreError> {
    let bytes = file::read(path)?;
    read(bytes).map_err(|reason| StoreError::input(path, reason))
}

/// Reads a flow trace from the bytes of a Parquet file.
pub(crate) fn read(bytes: Vec<u8>) -> Result<Vec<TraceRow>, String> {
    let table = StoredTable::open(bytes.into())?;
    let mut start = table.column("start_ns")?;
    let mut source = table.column("source")?;
    let mut destination = table.column("destination")?;
    let mut size = table.column("size_bytes")?;
    let mut deadline = table.optional_column("deadline_ns")?;
    let row = |index| {
        Ok(TraceRow {
            row: index + 1,
            start: required(&mut start, span)?,
            source: required(&mut source, host)?,
            destination: required(&mut destination, host)?,
            size: required(&mut size, bytes_of)?,
            deadline: match &mut deadline {
                Some(deadline) => optional(deadline, span)?,
                None => None,
            },
        })
    };
    (0..table.rows()).map(row).collect()
}

/// Integer or floating-point number.
#[derive(Clone, Copy)]
enum Number {
    Int(i64),
    Real(f64),
}

type Convert<T> = fn(Number) -> Result<T, &'static str>;

fn required<T>(column: &mut StoredColumn, convert: Convert<T>) -> Result<T, String> {
    optional(column, convert)?.ok_or_else(|| column.error("a value is missing"))
}

fn optional<T>(column: &mut StoredColumn, convert: Convert<T>) -> Result<Option<T>, String> {
    let (number, shown) = match column.cell()? {
        Value::Null => return Ok(None),
        Value::Signed(value) => (Number::Int(value), value.to_string()),
        Value::Real(value) => (Number::Real(value), value.to_string()),
        other => {
            let shown = format!("{other:?}");
            return Err(column.error(&format!("{shown} is not a number")));
        }
    };
    convert(number)
        .map(Some)
        .map_err(|allowed| column.error(&format!("{shown}: {allowed}")))
}

fn span(number: Number) -> Result<Span, &'static str> {
    const ALLOWED: &str = "nanoseconds are 0 or more and below 9e15 (104 days)";
    const LIMIT: i64 = 9_000_000_000_000_000;
    match number {
        Number::Int(ns @ 0..LIMIT) => Ok(Span::from_ns(ns.unsigned_abs())),
        // NaN fails both comparisons.
        Number::Real(ns) if ns >= 0.0 && ns < LIMIT as f64 => {
            Ok(Span::from_ps((ns * 1_000.0).round() as u64))
        }
        _ => Err(ALLOWED),
    }
}

fn host(number: Number) -> Result<u32, &'static str> {
    whole(number)
        .and_then(|host| u32::try_from(host).ok())
        .ok_or("a host is a whole number from 0")
}

fn bytes_of(number: Number) -> Result<Bytes, &'static str> {
    match whole(number) {
        Some(bytes @ 1..) => Ok(Bytes(bytes.unsigned_abs())),
        _ => Err("a size is a whole number of bytes, 1 or more"),
    }
}

fn whole(number: Number) -> Option<i64> {
    match number {
        Number::Int(value) => Some(value),
        Number::Real(value) if value.fract() == 0.0 && value.abs() < 9e15 => Some(value as i64),
        Number::Real(_) => None,
    }
}
