//! A table of flows from Python, checked and written as the text of a trace.

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

/// What messages call the table.
const TABLE: &str = "<flows>";
/// Each column's names, the second of which is that of a trace.
const COLUMNS: [[&str; 2]; 5] = [
    ["src", "source"],
    ["dst", "destination"],
    ["bytes", "size_bytes"],
    ["start", "start_ns"],
    ["deadline", "deadline_ns"],
];
const ALLOWED: &str = "src, dst, bytes, start and, where flows have one, deadline";
/// What the ends of a flow are.
const HOSTS: &str = "hosts of the topology";
const SECOND_NS: f64 = 1e9;
/// The largest of a start and a deadline: 24 hours.
const LATEST_NS: i64 = 86_400 * 1_000_000_000;
const MOST_BYTES: i64 = 1_000_000_000_000;

/// One cell as it came.
#[derive(Clone, Debug, PartialEq)]
enum Cell {
    Missing,
    Whole(i128),
    Real(f64),
    /// A duration in nanoseconds.
    Duration(i128),
    /// What no column holds, as text.
    Other(String),
}

/// The text of a trace in CSV, sorted by start, of a table of flows: an Arrow stream in a capsule, or a dict of lists.
/// `hosts` is how many hosts the flows may be between. With `accept_extra`, columns of other names are left out.
#[pyfunction]
pub fn flows_csv(table: &Bound<'_, PyAny>, hosts: u32, accept_extra: bool) -> PyResult<String> {
    let wanted = |name: &str| !accept_extra || COLUMNS.iter().flatten().any(|of| *of == name);
    let (names, columns) = if let Ok(stream) = table.cast::<PyCapsule>() {
        of_arrow(&arrow::import(stream)?, wanted)
    } else if let Ok(columns) = table.cast::<PyDict>() {
        of_dict(columns, wanted)?
    } else {
        return Err(PyTypeError::new_err("an Arrow stream or a dict of lists"));
    };
    csv(&names, &columns, hosts).map_err(|error| errors::scenario(&error))
}

type Columns = (Vec<String>, Vec<Vec<Cell>>);

fn of_dict(table: &Bound<'_, PyDict>, wanted: impl Fn(&str) -> bool) -> PyResult<Columns> {
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
        // What does not fit is out of every range; it is shown as text.
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

fn of_arrow(batches: &[RecordBatch], wanted: impl Fn(&str) -> bool) -> Columns {
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
    fn of<T: ArrowPrimitiveType>(
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
        DataType::Int8 => of::<Int8Type>(column, |of| whole(of.into())),
        DataType::Int16 => of::<Int16Type>(column, |of| whole(of.into())),
        DataType::Int32 => of::<Int32Type>(column, |of| whole(of.into())),
        DataType::Int64 => of::<Int64Type>(column, |of| whole(of.into())),
        DataType::UInt8 => of::<UInt8Type>(column, |of| whole(of.into())),
        DataType::UInt16 => of::<UInt16Type>(column, |of| whole(of.into())),
        DataType::UInt32 => of::<UInt32Type>(column, |of| whole(of.into())),
        DataType::UInt64 => of::<UInt64Type>(column, |of| whole(of.into())),
        DataType::Float32 => of::<Float32Type>(column, |of| Cell::Real(of.into())),
        DataType::Float64 => of::<Float64Type>(column, Cell::Real),
        DataType::Duration(unit) => match unit {
            TimeUnit::Second => of::<DurationSecondType>(column, |of| span(of, 1_000_000_000)),
            TimeUnit::Millisecond => {
                of::<DurationMillisecondType>(column, |of| span(of, 1_000_000))
            }
            TimeUnit::Microsecond => of::<DurationMicrosecondType>(column, |of| span(of, 1_000)),
            TimeUnit::Nanosecond => of::<DurationNanosecondType>(column, |of| span(of, 1)),
        },
        DataType::Null => vec![Cell::Missing; column.len()],
        other => vec![Cell::Other(format!("a value of type {other}")); column.len()],
    }
}

/// A column that was found: its name, whether its numbers are nanoseconds, and its cells.
struct Found<'a> {
    name: &'a str,
    in_ns: bool,
    cells: &'a [Cell],
}

impl Found<'_> {
    /// What is wrong with a row of it.
    fn wrong(&self, row: usize, message: &str, allowed: &str) -> Diagnostic {
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

    fn whole(&self, row: usize, low: i64, high: i64, what: &str) -> Result<i64, Diagnostic> {
        let wrong = |message: &str| self.wrong(row, message, &format!("{what}: {low}..={high}"));
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
                _ if what == HOSTS => "no such host",
                _ => "too large",
            })
        })
    }

    /// Nanoseconds; `None` where there is no value.
    fn time(&self, row: usize, low: i64) -> Result<Option<i64>, Diagnostic> {
        let unit = if self.in_ns { "nanoseconds" } else { "seconds" };
        let least = if low == 0 { "0" } else { "1 ns" };
        let allowed = format!("{least} to 24 hours, as a number of {unit} or a duration");
        let wrong = |message: &str| self.wrong(row, message, &allowed);
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
            .filter(|ns| (low..=LATEST_NS).contains(ns));
        fits.map(Some).ok_or_else(|| {
            wrong(match ns {
                _ if ns < 0 => "negative",
                _ if ns < low.into() => "too small",
                _ => "too large",
            })
        })
    }
}

/// Which of the table's columns is which of [`COLUMNS`].
fn find<'a>(
    names: &'a [String],
    columns: &'a [Vec<Cell>],
) -> Result<[Option<Found<'a>>; 5], Diagnostic> {
    let mut found = [const { None }; 5];
    let of_table = |message: String| Diagnostic::of_file(TABLE, message).allowed(ALLOWED);
    for (name, cells) in names.iter().zip(columns) {
        let known = COLUMNS.iter().position(|of| of.contains(&name.as_str()));
        let Some(which) = known else {
            let known = COLUMNS.iter().flatten().copied();
            let wrong = of_table(format!("unknown column `{name}`")).key(name);
            let wrong = wrong.help("accept_extra_columns=True leaves other columns out");
            return Err(wrong.suggest(name, known, '`'));
        };
        let column = Found {
            name,
            in_ns: *name == COLUMNS[which][1],
            cells,
        };
        if let Some(other) = found[which].replace(column) {
            let message = format!("columns `{}` and `{name}` say the same", other.name);
            return Err(of_table(message).key(name));
        }
    }
    match (0..4).find(|&which| found[which].is_none()) {
        Some(missing) => {
            let name = COLUMNS[missing][0];
            Err(of_table(format!("column `{name}` is missing")).key(name))
        }
        None => Ok(found),
    }
}

fn csv(names: &[String], columns: &[Vec<Cell>], hosts: u32) -> Result<String, Diagnostic> {
    let [Some(src), Some(dst), Some(bytes), Some(start), deadline] = find(names, columns)? else {
        unreachable!("a column that is missing is an error")
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
            src.whole(row, 0, last, HOSTS)?,
            dst.whole(row, 0, last, HOSTS)?,
        ];
        if ends[0] == ends[1] {
            return Err(dst.wrong(row, "the same as its source", "two different hosts"));
        }
        let size = bytes.whole(row, 1, MOST_BYTES, "bytes")?;
        let Some(at) = start.time(row, 0)? else {
            return Err(start.wrong(row, "a value is missing", "0 to 24 hours"));
        };
        let due = deadline.as_ref().map(|column| column.time(row, 1));
        flows.push((at, ends, size, due.transpose()?.flatten()));
    }
    // Flows of one instant stay in their order.
    flows.sort_by_key(|&(at, ..)| at);
    let mut text = String::from("start_ns,source,destination,size_bytes,deadline_ns\n");
    for (at, [src, dst], size, due) in flows {
        let due = due.map_or_else(String::new, |due| due.to_string());
        let _ = writeln!(text, "{at},{src},{dst},{size},{due}");
    }
    Ok(text)
}
