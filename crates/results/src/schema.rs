//! Tables of a run folder: the name, type, meaning and value of each column.
//!
//! The records declare the columns (`crate::record`). Files and `docs/results.md` are generated from them.
//!
//! Times are whole nanoseconds, rounded down from picoseconds. The `*_ps` columns at the end of a table have the exact
//! times, so that records can be restored from their table. Absent values are null.

use std::fmt::Write;

pub use crate::record::{FLOWS, PORTS, QUERIES, QUEUES, SERVERS, THROUGHPUT};

/// Values of a row that are not in its record.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Name of the transport.
    pub transport: &'a str,
    /// Index of the run, which is the index of its seed.
    pub run: u64,
    /// Names of the sampled links; empty for tables without samples.
    pub sampled_links: &'a [String],
}

/// One cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// No value.
    Null,
    /// Count, size or time.
    Unsigned(u64),
    /// Difference.
    Signed(i64),
    /// Mean or share.
    Real(f64),
    /// Boolean.
    Boolean(bool),
    /// Name.
    Text(&'a str),
}

/// Type of a column, in files and in [`Value`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 64-bit integer, never negative. Files store it as a signed integer, because differences of unsigned columns wrap
    /// around in many tools.
    Unsigned,
    /// 64-bit signed integer.
    Signed,
    /// Double.
    Real,
    /// Boolean.
    Boolean,
    /// UTF-8 text.
    Text,
}

/// Column of a table with records of type `R`.
pub struct Column<R: 'static> {
    /// Name, which ends in the unit if the column has one.
    pub name: &'static str,
    /// Type.
    pub kind: Kind,
    /// True if the column can be null.
    pub nullable: bool,
    /// Meaning, with its unit, in one sentence.
    pub meaning: &'static str,
    /// Returns the value in a row.
    pub value: for<'a> fn(&'a Context<'a>, &'a R) -> Value<'a>,
}

/// Table with one row per record of type `R`.
pub struct Table<R: 'static> {
    /// Name of the file without its extension.
    pub name: &'static str,
    /// Description of a row.
    pub row: &'static str,
    /// Columns, in order.
    pub columns: &'static [Column<R>],
}

/// Returns the documentation of all tables as Markdown, for `docs/results.md`.
pub fn markdown() -> String {
    [
        describe(&FLOWS),
        describe(&QUERIES),
        describe(&PORTS),
        describe(&SERVERS),
        describe(&QUEUES),
        describe(&THROUGHPUT),
    ]
    .join("\n")
}

fn describe<R>(table: &Table<R>) -> String {
    let mut text = format!("### `{}`\n\n{}.\n\n", table.name, capitalised(table.row));
    text.push_str("| column | type | meaning |\n|---|---|---|\n");
    for column in table.columns {
        let kind = match column.kind {
            Kind::Unsigned | Kind::Signed => "i64",
            Kind::Real => "f64",
            Kind::Boolean => "bool",
            Kind::Text => "text",
        };
        let nullable = if column.nullable { ", nullable" } else { "" };
        let _ = writeln!(
            text,
            "| `{}` | {kind}{nullable} | {} |",
            column.name, column.meaning
        );
    }
    text
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .chain(letters)
        .collect()
}

/// Returns the column with the name of the transport, which every table has.
pub(crate) const fn transport<R>() -> Column<R> {
    Column {
        name: "transport",
        kind: Kind::Text,
        nullable: false,
        meaning: "Name of the transport.",
        value: |context, _| Value::Text(context.transport),
    }
}

/// Returns the column with the index of the run, which every table has.
pub(crate) const fn run<R>() -> Column<R> {
    Column {
        name: "run",
        kind: Kind::Unsigned,
        nullable: false,
        meaning: "Index of the run, which is the index of its seed.",
        value: |context, _| Value::Unsigned(context.run),
    }
}

impl From<u64> for Value<'_> {
    fn from(value: u64) -> Self {
        Self::Unsigned(value)
    }
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Self::Signed(value)
    }
}

impl From<f64> for Value<'_> {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

impl<T: Into<Self>> From<Option<T>> for Value<'_> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, T::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample;

    fn check<R>(table: &Table<R>, context: &Context<'_>, records: &[R]) {
        let mut names = std::collections::BTreeSet::new();
        for column in table.columns {
            assert!(
                names.insert(column.name),
                "{} twice in {}",
                column.name,
                table.name
            );
            assert!(column.meaning.ends_with('.'));
            for record in records {
                let value = (column.value)(context, record);
                let fits = match value {
                    Value::Null => column.nullable,
                    Value::Unsigned(_) => column.kind == Kind::Unsigned,
                    Value::Signed(_) => column.kind == Kind::Signed,
                    Value::Real(value) => column.kind == Kind::Real && value.is_finite(),
                    Value::Boolean(_) => column.kind == Kind::Boolean,
                    Value::Text(text) => column.kind == Kind::Text && !text.is_empty(),
                };
                assert!(fits, "{}.{} gave {value:?}", table.name, column.name);
            }
        }
    }

    #[test]
    fn values_match_column_types() {
        let records = sample::records();
        let context = Context {
            transport: "d3",
            run: 4,
            sampled_links: &records.sampled_links,
        };
        check(&FLOWS, &context, &records.flows);
        check(&QUERIES, &context, &records.queries);
        check(&PORTS, &context, &records.ports);
        check(&SERVERS, &context, &records.servers);
        check(&QUEUES, &context, &records.series);
        check(&THROUGHPUT, &context, &records.series);
    }

    #[test]
    fn late_flow_has_negative_slack() {
        let records = sample::records();
        let context = Context {
            transport: "d3",
            run: 4,
            sampled_links: &[],
        };
        let late = records
            .flows
            .iter()
            .find(|flow| flow.met() == Some(false) && flow.finish.is_some())
            .unwrap();
        let cell = |name: &str| {
            let column = FLOWS
                .columns
                .iter()
                .find(|column| column.name == name)
                .unwrap();
            (column.value)(&context, late)
        };
        assert_eq!(cell("slack_ns"), Value::Signed(-5_000_000));
        assert_eq!(cell("met"), Value::Boolean(false));
        assert_eq!(cell("run"), Value::Unsigned(4));
    }

    #[test]
    fn documentation_lists_columns() {
        let text = markdown();
        assert!(text.contains("| `fct_ns` | i64, nullable | Completion time;"));
        assert!(text.contains("### `throughput`"));
    }
}
