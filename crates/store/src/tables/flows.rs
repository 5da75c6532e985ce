//! `flows.parquet`.

use duetime_core::Time;
use duetime_results::{Class, FlowRecord};

use super::{ns, ps, time};
use crate::table::{Column, Get, Row, StoredTable, column};

impl Row for FlowRecord {
    const NAME: &'static str = "flows";
    const ABOUT: &'static str = "one row per flow, by `flow`";
    const COLUMNS: &'static [Column<Self>] = &[
        column(
            "flow",
            Get::Int(|r| r.flow as i64),
            "number of the flow, unique in the run, the same for any number of threads",
        ),
        column(
            "workload",
            Get::Int(|r| i64::from(r.workload)),
            "its workload: index into the scenario's workloads, from 0",
        ),
        column(
            "class",
            Get::Text(|r| class_name(r.class)),
            "`query` (down a tree), `response` (up a tree), `flow` (any other workload) or `long` (without an end)",
        ),
        column(
            "query",
            Get::OptionalInt(|r| r.query.map(|query| query as i64)),
            "the query it belongs to: `query` in queries.parquet; null: none",
        ),
        column(
            "source",
            Get::Int(|r| i64::from(r.source)),
            "sending host, from 0",
        ),
        column(
            "destination",
            Get::Int(|r| i64::from(r.destination)),
            "receiving host, from 0",
        ),
        column(
            "size_bytes",
            Get::OptionalInt(|r| (r.size_bytes != u64::MAX).then_some(r.size_bytes as i64)),
            "application bytes; null: without an end",
        ),
        column(
            "delivered_bytes",
            Get::Int(|r| r.delivered_bytes as i64),
            "bytes delivered in order by the end of the run",
        ),
        column(
            "start_ns",
            Get::Int(|r| ns(r.start)),
            "hand-over by the application, since the start of the run, rounded down",
        ),
        column(
            "fct_ns",
            Get::OptionalInt(|r| r.completion().map(|fct| fct.as_ns() as i64)),
            "completion time: from hand-over to in-order delivery of the last byte, rounded down; null: never completed",
        ),
        column(
            "deadline_ns",
            Get::OptionalInt(relative_deadline),
            "deadline relative to `start_ns`, rounded down; negative: passed before hand-over; null: none",
        ),
        column(
            "met",
            Get::OptionalBool(FlowRecord::met),
            "delivered by its deadline, decided in picoseconds; null: no deadline",
        ),
        column(
            "quenched",
            Get::Bool(|r| r.quenched),
            "ended early by its sender (D3 §6.1.3)",
        ),
        column(
            "counted",
            Get::Bool(|r| r.counted),
            "started within [warm-up, duration); only these enter the summary",
        ),
        column(
            "timeouts",
            Get::Int(|r| i64::from(r.timeouts)),
            "retransmission timeouts",
        ),
        column(
            "retransmits",
            Get::Int(|r| i64::from(r.retransmits)),
            "segments sent again",
        ),
        column(
            "marks",
            Get::Int(|r| i64::from(r.marks)),
            "data segments that arrived with CE",
        ),
        column(
            "denials",
            Get::Int(|r| i64::from(r.denials)),
            "D3: requests granted less than they asked for",
        ),
        column(
            "inversions",
            Get::Int(|r| i64::from(r.inversions)),
            "D3: of the denials, those while a later deadline held more than the base rate (D2TCP Table 1)",
        ),
        column(
            "requests",
            Get::Int(|r| i64::from(r.requests)),
            "D3: rate requests sent",
        ),
        column(
            "start_ps",
            Get::Int(|r| ps(r.start)),
            "hand-over, exact, since the start of the run",
        ),
        column(
            "finish_ps",
            Get::OptionalInt(|r| r.finish.map(ps)),
            "delivery of the last byte, exact, since the start of the run; null: never completed",
        ),
        column(
            "due_ps",
            Get::OptionalInt(|r| r.deadline.map(ps)),
            "deadline as an instant, exact, since the start of the run; null: none",
        ),
    ];
}

fn relative_deadline(flow: &FlowRecord) -> Option<i64> {
    let relative = |due: Time| i128::from(due.as_ps()) - i128::from(flow.start.as_ps());
    flow.deadline
        .map(|due| relative(due).div_euclid(1_000) as i64)
}

fn class_name(class: Class) -> &'static str {
    match class {
        Class::Query => "query",
        Class::Response => "response",
        Class::Flow => "flow",
        Class::Long => "long",
    }
}

fn class_named(name: &str) -> Option<Class> {
    [Class::Query, Class::Response, Class::Flow, Class::Long]
        .into_iter()
        .find(|class| class_name(*class) == name)
}

/// The records of a stored table, exactly as written.
pub fn read_flows(table: &StoredTable) -> Result<Vec<FlowRecord>, String> {
    let mut flow = table.column("flow")?;
    let mut workload = table.column("workload")?;
    let mut class = table.column("class")?;
    let mut query = table.column("query")?;
    let mut source = table.column("source")?;
    let mut destination = table.column("destination")?;
    let mut size = table.column("size_bytes")?;
    let mut delivered = table.column("delivered_bytes")?;
    let mut start = table.column("start_ps")?;
    let mut finish = table.column("finish_ps")?;
    let mut due = table.column("due_ps")?;
    let mut quenched = table.column("quenched")?;
    let mut counted = table.column("counted")?;
    let mut timeouts = table.column("timeouts")?;
    let mut retransmits = table.column("retransmits")?;
    let mut marks = table.column("marks")?;
    let mut denials = table.column("denials")?;
    let mut inversions = table.column("inversions")?;
    let mut requests = table.column("requests")?;
    let record = |_| {
        let name = class.text()?;
        Ok(FlowRecord {
            flow: flow.int()? as u64,
            workload: workload.int()? as u16,
            class: class_named(&name)
                .ok_or_else(|| class.error(&format!("unknown class `{name}`")))?,
            query: query.optional_int()?.map(|query| query as u64),
            source: source.int()? as u32,
            destination: destination.int()? as u32,
            size_bytes: size.optional_int()?.map_or(u64::MAX, |size| size as u64),
            delivered_bytes: delivered.int()? as u64,
            start: time(start.int()?),
            finish: finish.optional_int()?.map(time),
            deadline: due.optional_int()?.map(time),
            quenched: quenched.bool()?,
            counted: counted.bool()?,
            timeouts: timeouts.int()? as u32,
            retransmits: retransmits.int()? as u32,
            marks: marks.int()? as u32,
            denials: denials.int()? as u32,
            inversions: inversions.int()? as u32,
            requests: requests.int()? as u32,
        })
    };
    (0..table.rows()).map(record).collect()
}
