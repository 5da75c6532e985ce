//! Conversion of a table of flows from Python to the text of a trace.

use std::fmt::Write as _;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
    DurationSecondType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use duetime_scenario::Diagnostic;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyCapsule, PyDict, PyFloat, PyInt, PyList};

use crate::{arrow, errors};

/// Name of the table in error messages.
const TABLE: &str = "<flows>";
/// Names of each column; the second one is the name in trace files.
const COLUMNS: [[&str; 2]; 5] = [
    ["src", "source"],
    ["dst", "destination"],
    ["bytes", "size_bytes"],
    ["start", "start_ns"],
    ["deadline", "deadline_ns"],
];
const ALLOWED: &str = "src, dst, bytes, start and, where flows have one, deadline";
/// Description of the valid values of `src` and `dst`.
const HOSTS: &str = "hosts of the topology";
const SECOND_NS: f64 = 1e9;
/// Maximum of a start or deadline: 24 hours.
const MAX_TIME_NS: i64 = 86_400 * 1_000_000_000;
const MAX_BYTES: i64 = 1_000_000_000_000;

/// A cell of the table, before its column is known.
#[derive(Clone, Debug, PartialEq)]
enum Cell {
    Missing,
    Whole(i128),
    Real(f64),
    /// A duration in nanoseconds.
    Duration(i128),
    /// A value that is invalid in every column, as text.
    Other(String),
}

/// Converts a table of flows to the CSV text of a trace, sorted by start. The table is an Arrow stream in a capsule, or
/// a dict of lists. `hosts` is the number of hosts of the topology. If `accept_extra` is true, unknown columns are
/// ignored.
#[pyfunction]
pub fn flows_csv(table: &Bound<'_, PyAny>, hosts: u32, accept_extra: bool) -> PyResult<String> {
    let wanted = |name: &str| !accept_extra || COLUMNS.iter().flatten().any(|known| *known == name);
    let (names, columns) = if let Ok(stream) = table.cast::<PyCapsule>() {
        from_arrow(&arrow::import(stream)?, wanted)
    } else if let Ok(columns) = table.cast::<PyDict>() {
        from_dict(columns, wanted)?
    } else {
        return Err(PyTypeError::new_err("an Arrow stream or a dict of lists"));
    };
    csv(&names, &columns, hosts).map_err(|error| errors::scenario(&error))
}

type Columns = (Vec<String>, Vec<Vec<Cell>>);

fn from_dict(table: &Bound<'_, PyDict>, wanted: impl Fn(&str) -> bool) -> PyResult<Columns> {
    let (mut names, mut columns) = (Vec::new(), Vec::new());
    for (name, values) in table {
        let name: String = name.extract()?;
        if !wanted(&name) {
            continue;
        }
        names.push(name);
        let values = values.cast::<PyList>()?.iter();
        columns.push(values.map(|value| cell(&value)).collect::<PyResult<_>>()?);
    }
    Ok((names, columns))
}

fn cell(value: &Bound<'_, PyAny>) -> PyResult<Cell> {
    if value.is_none() {
        Ok(Cell::Missing)
    } else if value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>() {
        // An integer beyond i64 is out of range in every column, so only its text is needed.
        let whole = value.extract::<i64>().map(i128::from);
        whole.map_or_else(
            |_| Ok(Cell::Other(value.to_string())),
            |whole| Ok(Cell::Whole(whole)),
        )
    } else if let Ok(real) = value.cast::<PyFloat>() {
        Ok(Cell::Real(real.value()))
    } else {
        Ok(Cell::Other(value.repr()?.to_string()))
    }
}

fn from_arrow(batches: &[RecordBatch], wanted: impl Fn(&str) -> bool) -> Columns {
    let Some(first) = batches.first() else {
        return (Vec::new(), Vec::new());
    };
    let fields = first.schema_ref().fields().iter().enumerate();
    let fields = fields.filter(|(_, field)| wanted(field.name()));
    fields
        .map(|(at, field)| {
            let parts = batches.iter().map(|batch| cells(batch.column(at)));
            (field.name().clone(), parts.flatten().collect())
        })
        .unzip()
}

fn cells(column: &dyn Array) -> Vec<Cell> {
    fn convert<T: ArrowPrimitiveType>(
        column: &dyn Array,
        cell: impl Fn(T::Native) -> Cell,
    ) -> Vec<Cell> {
        let values = column.as_primitive::<T>().iter();
        let cell = |value: Option<T::Native>| value.map_or(Cell::Missing, &cell);
        values.map(cell).collect()
    }
    let whole = Cell::Whole;
    let span = |number: i64, ns: i128| Cell::Duration(i128::from(number) * ns);
    match column.data_type() {
        DataType::Int8 => convert::<Int8Type>(column, |value| whole(value.into())),
        DataType::Int16 => convert::<Int16Type>(column, |value| whole(value.into())),
        DataType::Int32 => convert::<Int32Type>(column, |value| whole(value.into())),
        DataType::Int64 => convert::<Int64Type>(column, |value| whole(value.into())),
        DataType::UInt8 => convert::<UInt8Type>(column, |value| whole(value.into())),
        DataType::UInt16 => convert::<UInt16Type>(column, |value| whole(value.into())),
        DataType::UInt32 => convert::<UInt32Type>(column, |value| whole(value.into())),
        DataType::UInt64 => convert::<UInt64Type>(column, |value| whole(value.into())),
        DataType::Float32 => convert::<Float32Type>(column, |value| Cell::Real(value.into())),
        DataType::Float64 => convert::<Float64Type>(column, Cell::Real),
        DataType::Duration(unit) => match unit {
            TimeUnit::Second => {
                convert::<DurationSecondType>(column, |value| span(value, 1_000_000_000))
            }
            TimeUnit::Millisecond => {
                convert::<DurationMillisecondType>(column, |value| span(value, 1_000_000))
            }
            TimeUnit::Microsecond => {
                convert::<DurationMicrosecondType>(column, |value| span(value, 1_000))
            }
            TimeUnit::Nanosecond => {
                convert::<DurationNanosecondType>(column, |value| span(value, 1))
            }
        },
        DataType::Null => vec![Cell::Missing; column.len()],
        other => vec![Cell::Other(format!("a value of type {other}")); column.len()],
    }
}

/// A recognized column of the table.
struct Column<'a> {
    name: &'a str,
    /// True if plain numbers are nanoseconds.
    in_ns: bool,
    cells: &'a [Cell],
}

impl Column<'_> {
    /// Creates an error for a row of the column.
    fn error(&self, row: usize, message: &str, allowed: &str) -> Diagnostic {
        let shown = match &self.cells[row] {
            Cell::Missing => "none".to_owned(),
            Cell::Whole(whole) => whole.to_string(),
            Cell::Real(real) => real.to_string(),
            Cell::Duration(ns) => format!("{ns} ns"),
            Cell::Other(text) => text.clone(),
        };
        let line = format!("row {row}, counted from 0: {} = {shown}", self.name);
        let text = format!("{}{line}", "\n".repeat(row));
        let start = text.len() - shown.len();
        Diagnostic::at(TABLE, &text, start..text.len(), message)
            .key(self.name)
            .value(shown)
            .allowed(allowed)
    }

    fn integer(&self, row: usize, low: i64, high: i64, label: &str) -> Result<i64, Diagnostic> {
        let wrong = |message: &str| self.error(row, message, &format!("{label}: {low}..={high}"));
        let whole = match &self.cells[row] {
            Cell::Missing => return Err(wrong("a value is missing")),
            &Cell::Whole(whole) => whole,
            Cell::Real(real) if real.is_nan() => return Err(wrong("not a number")),
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the number is whole and below 2^53"
            )]
            &Cell::Real(real) if real.fract() == 0.0 && real.abs() < 9e15 => real as i128,
            _ => return Err(wrong("not a whole number")),
        };
        let fits = i64::try_from(whole)
            .ok()
            .filter(|whole| (low..=high).contains(whole));
        fits.ok_or_else(|| {
            wrong(match whole {
                _ if whole < 0 => "negative",
                _ if whole < low.into() => "too small",
                _ if label == HOSTS => "no such host",
                _ => "too large",
            })
        })
    }

    /// Returns the time in nanoseconds, or `None` if the value is missing.
    fn time(&self, row: usize, low: i64) -> Result<Option<i64>, Diagnostic> {
        let unit = if self.in_ns { "nanoseconds" } else { "seconds" };
        let least = if low == 0 { "0" } else { "1 ns" };
        let allowed = format!("{least} to 24 hours, as a number of {unit} or a duration");
        let wrong = |message: &str| self.error(row, message, &allowed);
        let ns = match &self.cells[row] {
            Cell::Missing => return Ok(None),
            &Cell::Duration(ns) => ns,
            &Cell::Whole(whole) if self.in_ns => whole,
            &Cell::Whole(whole) => whole.saturating_mul(1_000_000_000),
            Cell::Real(real) if real.is_nan() => return Err(wrong("not a number")),
            &Cell::Real(real) => {
                let ns = if self.in_ns { real } else { real * SECOND_NS };
                #[expect(clippy::cast_possible_truncation, reason = "a cast saturates")]
                let ns = ns.round() as i128;
                ns
            }
            Cell::Other(_) => return Err(wrong("not a time")),
        };
        let fits = i64::try_from(ns)
            .ok()
            .filter(|ns| (low..=MAX_TIME_NS).contains(ns));
        fits.map(Some).ok_or_else(|| {
            wrong(match ns {
                _ if ns < 0 => "negative",
                _ if ns < low.into() => "too small",
                _ => "too large",
            })
        })
    }
}

/// Finds the columns of the table, in the order of [`COLUMNS`].
fn find<'a>(
    names: &'a [String],
    columns: &'a [Vec<Cell>],
) -> Result<[Option<Column<'a>>; 5], Diagnostic> {
    let mut found = [const { None }; 5];
    let of_table = |message: String| Diagnostic::of_file(TABLE, message).allowed(ALLOWED);
    for (name, cells) in names.iter().zip(columns) {
        let index = COLUMNS
            .iter()
            .position(|names| names.contains(&name.as_str()));
        let Some(index) = index else {
            let known = COLUMNS.iter().flatten().copied();
            let error = of_table(format!("unknown column `{name}`")).key(name);
            let error = error.help("accept_extra_columns=True ignores other columns");
            return Err(error.suggest(name, known, '`'));
        };
        let column = Column {
            name,
            in_ns: *name == COLUMNS[index][1],
            cells,
        };
        if let Some(other) = found[index].replace(column) {
            let message = format!(
                "columns `{}` and `{name}` have the same meaning",
                other.name
            );
            return Err(of_table(message).key(name));
        }
    }
    match (0..4).find(|&index| found[index].is_none()) {
        Some(missing) => {
            let name = COLUMNS[missing][0];
            Err(of_table(format!("column `{name}` is missing")).key(name))
        }
        None => Ok(found),
    }
}

fn csv(names: &[String], columns: &[Vec<Cell>], hosts: u32) -> Result<String, Diagnostic> {
    let [Some(src), Some(dst), Some(bytes), Some(start), deadline] = find(names, columns)? else {
        unreachable!("a missing column is an error")
    };
    let rows = src.cells.len();
    for column in [Some(&dst), Some(&bytes), Some(&start), deadline.as_ref()] {
        if let Some(column) = column
            && column.cells.len() != rows
        {
            let (name, has) = (column.name, column.cells.len());
            let message = format!("column `{name}` has {has} rows, `{}` has {rows}", src.name);
            return Err(Diagnostic::of_file(TABLE, message).key(name));
        }
    }
    if rows == 0 {
        return Err(Diagnostic::of_file(TABLE, "no flow").allowed("at least one row"));
    }
    let last = i64::from(hosts) - 1;
    let mut flows = Vec::with_capacity(rows);
    for row in 0..rows {
        let ends = [
            src.integer(row, 0, last, HOSTS)?,
            dst.integer(row, 0, last, HOSTS)?,
        ];
        if ends[0] == ends[1] {
            return Err(dst.error(row, "the same as its source", "two different hosts"));
        }
        let size = bytes.integer(row, 1, MAX_BYTES, "bytes")?;
        let Some(at) = start.time(row, 0)? else {
            return Err(start.error(row, "a value is missing", "0 to 24 hours"));
        };
        let due = deadline.as_ref().map(|column| column.time(row, 1));
        flows.push((at, ends, size, due.transpose()?.flatten()));
    }
    // The sort is stable: flows with equal starts keep their order.
    flows.sort_by_key(|&(at, ..)| at);
    let mut text = String::from("start_ns,source,destination,size_bytes,deadline_ns\n");
    for (at, [src, dst], size, due) in flows {
        let due = due.map_or_else(String::new, |due| due.to_string());
        let _ = writeln!(text, "{at},{src},{dst},{size},{due}");
    }
    Ok(text)
}
