//! What a table of a run folder is: its columns, each with its name and unit, its type, its meaning, and its value in a
//! row. The records declare them (`crate::record`); files are written from them, and `docs/results.md` is generated from
//! them.
//!
//! Times are whole nanoseconds, rounded down from picoseconds; the `*_ps` columns at the end of a table are the same
//! instants exactly, so that a table holds all of its records. What can be absent is null, never a magic number.

use std::fmt::Write;

pub use crate::record::{FLOWS, PORTS, QUERIES, QUEUES, SERVERS, THROUGHPUT};

/// What a row needs beside its own record.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The transport's name.
    pub transport: &'a str,
    /// The run's number: its seed's position.
    pub run: u64,
    /// Names of the sampled links; empty for tables without samples.
    pub sampled_links: &'a [String],
}

/// One cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// Absent.
    Null,
    /// A count, a size or an instant.
    Unsigned(u64),
    /// A difference.
    Signed(i64),
    /// A mean or a share.
    Real(f64),
    /// Yes or no.
    Boolean(bool),
    /// A name.
    Text(&'a str),
}

/// A column's type, of the files as of [`Value`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 64-bit integer that is never negative. Files hold it as a signed one: in many tools, differences of unsigned
    /// columns wrap around.
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

/// One column of a table of `R`.
pub struct Column<R: 'static> {
    /// Its name; ends in its unit where it has one.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Whether it can be null.
    pub nullable: bool,
    /// What it means, with its unit, in one sentence.
    pub meaning: &'static str,
    /// Its value in a row.
    pub value: for<'a> fn(&'a Context<'a>, &'a R) -> Value<'a>,
}

/// One table of rows made from `R`.
pub struct Table<R: 'static> {
    /// The file's name without its ending.
    pub name: &'static str,
    /// What a row is.
    pub row: &'static str,
    /// The columns, in order.
    pub columns: &'static [Column<R>],
}

/// All tables as Markdown, for `docs/results.md`.
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

/// The column that names the transport, in every table.
pub(crate) const fn transport<R>() -> Column<R> {
    Column {
        name: "transport",
        kind: Kind::Text,
        nullable: false,
        meaning: "Name of the transport.",
        value: |context, _| Value::Text(context.transport),
    }
}

/// The column that numbers the run, in every table.
pub(crate) const fn run<R>() -> Column<R> {
    Column {
        name: "run",
        kind: Kind::Unsigned,
        nullable: false,
        meaning: "Number of the run: the position of its seed.",
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
    fn every_column_gives_what_it_promises() {
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
    fn a_late_flow_has_negative_slack() {
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
    fn the_documentation_names_every_column() {
        let text = markdown();
        assert!(text.contains("| `fct_ns` | i64, nullable | Completion time;"));
        assert!(text.contains("### `throughput`"));
    }
}
