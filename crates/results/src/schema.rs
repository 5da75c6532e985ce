//! Every column of every table of a run folder: its name with its unit, its type, its meaning, and where it comes from.
//! Files are written from these tables, and `docs/results.md` is generated from them.
//!
//! Times are whole nanoseconds, rounded down from picoseconds; the `*_ps` columns at the end of a table are the same
//! instants exactly, so that a table holds all of its records. What can be absent is null, never a magic number.

use crate::{FlowRecord, PortRecord, QueryRecord, SeriesSample};
use duetime_core::{Span, Time};
use std::fmt::Write;

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
    /// 64-bit integer that is never negative. Files hold it as a signed one: differences of unsigned columns would wrap
    /// around in the hands of many a reader.
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

macro_rules! column {
    ($name:literal, $kind:ident, $meaning:literal, $value:expr) => {
        Column {
            name: $name,
            kind: Kind::$kind,
            nullable: false,
            meaning: $meaning,
            value: $value,
        }
    };
    ($name:literal, $kind:ident?, $meaning:literal, $value:expr) => {
        Column {
            name: $name,
            kind: Kind::$kind,
            nullable: true,
            meaning: $meaning,
            value: $value,
        }
    };
}

/// `flows`: one row per flow.
pub const FLOWS: Table<FlowRecord> = Table {
    name: "flows",
    row: "one row per flow, by run and flow; its clock starts when the application hands it over and stops when its \
          last byte is delivered in order",
    columns: &[
        column!("transport", Text, "Name of the transport.", |c, _| {
            Value::Text(c.transport)
        }),
        column!(
            "run",
            Unsigned,
            "Number of the run: the position of its seed.",
            |c, _| Value::Unsigned(c.run)
        ),
        column!(
            "flow",
            Unsigned,
            "Number of the flow, unique in the run.",
            |_, r| Value::Unsigned(r.flow)
        ),
        column!(
            "workload",
            Unsigned,
            "Position of its workload in the scenario, from 0.",
            |_, r| count(r.workload)
        ),
        column!(
            "class",
            Text,
            "`query`, `response`, `flow` or `long`.",
            |_, r| Value::Text(r.class.name())
        ),
        column!("query", Unsigned?, "The query it belongs to.", |_, r| {
            option(r.query)
        }),
        column!("source", Unsigned, "Sending host.", |_, r| count(r.source)),
        column!("destination", Unsigned, "Receiving host.", |_, r| count(
            r.destination
        )),
        column!(
            "size_bytes",
            Unsigned?,
            "Application bytes; null for a flow without an end.",
            |_, r| { option(r.is_finite().then_some(r.size_bytes)) }
        ),
        column!(
            "delivered_bytes",
            Unsigned,
            "Bytes delivered in order by the end of the run.",
            |_, r| { Value::Unsigned(r.delivered_bytes) }
        ),
        column!(
            "start_ns",
            Unsigned,
            "Hand-over by the application, since the start of the run.",
            |_, r| { instant(r.start) }
        ),
        column!(
            "fct_ns",
            Unsigned?,
            "Completion time; null if unfinished, quenched or reset.",
            |_, r| { option(r.completion().map(Span::as_ns)) }
        ),
        column!(
            "deadline_ns",
            Unsigned?,
            "Time allowed, from the start; null without a deadline.",
            |_, r| { option(r.deadline.map(|deadline| deadline.since(r.start).as_ns())) }
        ),
        column!(
            "slack_ns",
            Signed?,
            "Deadline minus finish, negative when late; null without either.",
            |_, r| {
                r.slack_ps()
                    .map_or(Value::Null, |ps| Value::Signed(ps.div_euclid(1_000)))
            }
        ),
        column!(
            "met",
            Boolean?,
            "Delivered by its deadline; null without one.",
            |_, r| { r.met().map_or(Value::Null, Value::Boolean) }
        ),
        column!("quenched", Boolean, "Ended early by its sender.", |_, r| {
            Value::Boolean(r.quenched)
        }),
        column!(
            "measured",
            Boolean,
            "In the measurement window: started within [warm-up, duration).",
            |_, r| { Value::Boolean(r.measured) }
        ),
        column!("timeouts", Unsigned, "Retransmission timeouts.", |_, r| {
            count(r.timeouts)
        }),
        column!("retransmits", Unsigned, "Segments sent again.", |_, r| {
            count(r.retransmits)
        }),
        column!(
            "marks",
            Unsigned,
            "Data segments that arrived marked (CE).",
            |_, r| count(r.marks)
        ),
        column!(
            "leaves",
            Unsigned,
            "Leaves whose answers it holds; 0 but for answers, and for those of aggregators that gave up empty-handed.",
            |_, r| count(r.leaves)
        ),
        column!("requests", Unsigned, "D3: rate requests sent.", |_, r| {
            count(r.requests)
        }),
        column!(
            "denials",
            Unsigned,
            "D3: requests granted less than they asked for.",
            |_, r| count(r.denials)
        ),
        column!(
            "inversions",
            Unsigned,
            "D3: denials while a later deadline held more than the base rate.",
            |_, r| { count(r.inversions) }
        ),
        column!("start_ps", Unsigned, "Hand-over, exact.", |_, r| exact(
            r.start
        )),
        column!(
            "finish_ps",
            Unsigned?,
            "Delivery of the last byte since the start of the run, exact; null as `fct_ns`.",
            |_, r| option(r.finish.map(Time::as_ps))
        ),
        column!(
            "due_ps",
            Unsigned?,
            "The deadline as an instant since the start of the run, exact; null without one.",
            |_, r| option(r.deadline.map(Time::as_ps))
        ),
    ],
};

/// `queries`: one row per query.
pub const QUERIES: Table<QueryRecord> = Table {
    name: "queries",
    row: "one row per query, as the root of its tree sees it",
    columns: &[
        column!("transport", Text, "Name of the transport.", |c, _| {
            Value::Text(c.transport)
        }),
        column!(
            "run",
            Unsigned,
            "Number of the run: the position of its seed.",
            |c, _| Value::Unsigned(c.run)
        ),
        column!(
            "query",
            Unsigned,
            "Number of the query, unique in the run.",
            |_, r| Value::Unsigned(r.query)
        ),
        column!(
            "workload",
            Unsigned,
            "Position of its workload in the scenario, from 0.",
            |_, r| count(r.workload)
        ),
        column!(
            "application",
            Unsigned,
            "Application within the workload, from 0.",
            |_, r| count(r.application)
        ),
        column!("root", Unsigned, "Host of the root.", |_, r| count(r.root)),
        column!(
            "start_ns",
            Unsigned,
            "Arrival at the root, since the start of the run.",
            |_, r| instant(r.start)
        ),
        column!(
            "qct_ns",
            Unsigned?,
            "From arrival until `complete_at` of the root's children had answered; null if they never had.",
            |_, r| { option(r.complete.map(|complete| complete.since(r.start).as_ns())) }
        ),
        column!("children", Unsigned, "Children of the root.", |_, r| count(
            r.children
        )),
        column!(
            "answered",
            Unsigned,
            "Their answers that arrived at all.",
            |_, r| count(r.answered)
        ),
        column!(
            "in_time",
            Unsigned,
            "Their answers that arrived by their deadlines.",
            |_, r| count(r.in_time)
        ),
        column!("completeness", Real, "`in_time` / `children`.", |_, r| {
            Value::Real(r.completeness())
        }),
        column!(
            "measured",
            Boolean,
            "In the measurement window: arrived within [warm-up, duration).",
            |_, r| { Value::Boolean(r.measured) }
        ),
        column!(
            "asked",
            Unsigned,
            "Answers asked for in all layers: one of every node below the root.",
            |_, r| count(r.asked)
        ),
        column!("leaves", Unsigned, "Leaves of its tree.", |_, r| count(
            r.leaves
        )),
        column!(
            "needed",
            Unsigned,
            "Leaves whose answers are enough for the objective.",
            |_, r| count(r.needed)
        ),
        column!(
            "leaves_answered",
            Unsigned,
            "Leaves whose answers the root held at the end of the run, directly or through aggregators.",
            |_, r| count(r.leaves_answered)
        ),
        column!(
            "leaves_in_time",
            Unsigned,
            "Of them, those at the root by the end of the query's budget; without a budget, by their own deadlines.",
            |_, r| count(r.leaves_in_time)
        ),
        column!(
            "gave_up",
            Unsigned,
            "Aggregators that stopped waiting for their children.",
            |_, r| count(r.gave_up)
        ),
        column!(
            "judged",
            Boolean,
            "Whether anything says when the query is late: a budget of its own, or deadlines of its answers.",
            |_, r| Value::Boolean(r.judged)
        ),
        column!(
            "met",
            Boolean?,
            "Whether enough leaves' answers were at the root in time; null where nothing says when the query is late.",
            |_, r| r.met().map_or(Value::Null, Value::Boolean)
        ),
        column!(
            "budget_ns",
            Unsigned?,
            "The query's budget, from its arrival at the root; null without one.",
            |_, r| option(r.due.map(|due| due.since(r.start).as_ns()))
        ),
        column!(
            "enough_ns",
            Unsigned?,
            "From arrival until the root held enough leaves' answers; null if it never did.",
            |_, r| option(r.enough.map(|enough| enough.since(r.start).as_ns()))
        ),
        column!(
            "start_ps",
            Unsigned,
            "Arrival at the root, exact.",
            |_, r| exact(r.start)
        ),
        column!(
            "complete_ps",
            Unsigned?,
            "When enough of the root's children had answered, since the start of the run, exact; null as `qct_ns`.",
            |_, r| option(r.complete.map(Time::as_ps))
        ),
        column!(
            "due_ps",
            Unsigned?,
            "End of the query's budget, since the start of the run, exact; null as `budget_ns`.",
            |_, r| option(r.due.map(Time::as_ps))
        ),
        column!(
            "enough_ps",
            Unsigned?,
            "When the root held enough leaves' answers, since the start of the run, exact; null as `enough_ns`.",
            |_, r| option(r.enough.map(Time::as_ps))
        ),
    ],
};

/// `ports`: one row per directed link.
pub const PORTS: Table<PortRecord> = Table {
    name: "ports",
    row: "one row per directed link that carried anything, with the port that feeds it, from the warm-up to the end of the measurement window",
    columns: &[
        column!("transport", Text, "Name of the transport.", |c, _| {
            Value::Text(c.transport)
        }),
        column!(
            "run",
            Unsigned,
            "Number of the run: the position of its seed.",
            |c, _| Value::Unsigned(c.run)
        ),
        column!("link", Text, "`from->to`, by node names.", |_, r| {
            Value::Text(&r.link)
        }),
        column!("packets", Unsigned, "Packets that left.", |_, r| {
            Value::Unsigned(r.packets)
        }),
        column!(
            "sent_bytes",
            Unsigned,
            "Bytes that left, on the wire.",
            |_, r| Value::Unsigned(r.bytes)
        ),
        column!(
            "drops",
            Unsigned,
            "Packets dropped for want of buffer.",
            |_, r| Value::Unsigned(r.drops)
        ),
        column!("dropped_bytes", Unsigned, "Their bytes.", |_, r| {
            Value::Unsigned(r.drop_bytes)
        }),
        column!(
            "losses",
            Unsigned,
            "Packets lost by seeded loss.",
            |_, r| Value::Unsigned(r.losses)
        ),
        column!("lost_bytes", Unsigned, "Their bytes.", |_, r| {
            Value::Unsigned(r.loss_bytes)
        }),
        column!("marks", Unsigned, "Packets marked (CE).", |_, r| {
            Value::Unsigned(r.marks)
        }),
        column!(
            "queue_max_bytes",
            Unsigned,
            "Largest queue, the packet in service included.",
            |_, r| { Value::Unsigned(r.queue_max_bytes) }
        ),
        column!(
            "queue_mean_bytes",
            Real,
            "Time average of the queue, the packet in service included.",
            |_, r| { Value::Real(r.queue_mean_bytes) }
        ),
        column!(
            "utilisation",
            Real,
            "Share of the time that the link was sending, 0 to 1.",
            |_, r| { Value::Real(r.utilisation) }
        ),
    ],
};

/// `queues`: one row per sample of a sampled link's queue.
pub const QUEUES: Table<SeriesSample> = Table {
    name: "queues",
    row: "one row per sample of a sampled link's queue, by time",
    columns: &[
        column!("transport", Text, "Name of the transport.", |c, _| {
            Value::Text(c.transport)
        }),
        column!(
            "run",
            Unsigned,
            "Number of the run: the position of its seed.",
            |c, _| Value::Unsigned(c.run)
        ),
        column!(
            "link",
            Text,
            "`from->to`, by node names.",
            |c, r| link_name(c, r)
        ),
        column!(
            "at_ns",
            Unsigned,
            "When, since the start of the run.",
            |_, r| instant(r.at)
        ),
        column!(
            "queue_bytes",
            Unsigned,
            "Bytes queued, the packet in service included.",
            |_, r| { Value::Unsigned(r.queue_bytes) }
        ),
        column!(
            "queue_packets",
            Unsigned,
            "Packets queued, the packet in service included.",
            |_, r| { count(r.queue_packets) }
        ),
        column!("at_ps", Unsigned, "When, exact.", |_, r| exact(r.at)),
    ],
};

/// `throughput`: one row per sample of a sampled link's throughput.
pub const THROUGHPUT: Table<SeriesSample> = Table {
    name: "throughput",
    row: "one row per sample of a sampled link's throughput, by time",
    columns: &[
        column!("transport", Text, "Name of the transport.", |c, _| {
            Value::Text(c.transport)
        }),
        column!(
            "run",
            Unsigned,
            "Number of the run: the position of its seed.",
            |c, _| Value::Unsigned(c.run)
        ),
        column!(
            "link",
            Text,
            "`from->to`, by node names.",
            |c, r| link_name(c, r)
        ),
        column!(
            "at_ns",
            Unsigned,
            "End of the sampled interval, since the start of the run.",
            |_, r| instant(r.at)
        ),
        column!(
            "sent_bytes",
            Unsigned,
            "Bytes that left since the link's last sample, on the wire.",
            |_, r| { Value::Unsigned(r.sent_bytes) }
        ),
        column!("at_ps", Unsigned, "When, exact.", |_, r| exact(r.at)),
    ],
};

/// All tables as Markdown, for `docs/results.md`.
pub fn markdown() -> String {
    [
        describe(&FLOWS),
        describe(&QUERIES),
        describe(&PORTS),
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

fn count<'a>(value: impl Into<u64>) -> Value<'a> {
    Value::Unsigned(value.into())
}

fn option<'a>(value: Option<u64>) -> Value<'a> {
    value.map_or(Value::Null, Value::Unsigned)
}

fn instant<'a>(at: Time) -> Value<'a> {
    Value::Unsigned(at.as_ns())
}

fn exact<'a>(at: Time) -> Value<'a> {
    Value::Unsigned(at.as_ps())
}

fn link_name<'a>(context: &'a Context<'a>, sample: &SeriesSample) -> Value<'a> {
    context
        .sampled_links
        .get(sample.link as usize)
        .map_or(Value::Text(""), |name| Value::Text(name))
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
