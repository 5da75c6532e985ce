//! `queries.parquet`.

use duetime_results::QueryRecord;

use super::{ns, ps, time};
use crate::table::{Column, Get, Row, StoredTable, column};

impl Row for QueryRecord {
    const NAME: &'static str = "queries";
    const ABOUT: &'static str = "one row per query of a tree, as its root sees it, by `query`";
    const COLUMNS: &'static [Column<Self>] = &[
        column(
            "query",
            Get::Int(|r| r.query as i64),
            "number of the query, unique in the run",
        ),
        column(
            "workload",
            Get::Int(|r| i64::from(r.workload)),
            "its workload: index into the scenario's workloads, from 0",
        ),
        column(
            "application",
            Get::Int(|r| i64::from(r.application)),
            "application within the workload, from 0",
        ),
        column(
            "root",
            Get::Int(|r| i64::from(r.root)),
            "the root's host, from 0",
        ),
        column(
            "start_ns",
            Get::Int(|r| ns(r.start)),
            "arrival at the root, since the start of the run, rounded down",
        ),
        column(
            "completion_ns",
            Get::OptionalInt(completion),
            "from arrival until enough answers were in, rounded down; null: never",
        ),
        column(
            "children",
            Get::Int(|r| i64::from(r.children)),
            "children of the root",
        ),
        column(
            "answered",
            Get::Int(|r| i64::from(r.answered)),
            "their answers that arrived at all by the end of the run",
        ),
        column(
            "in_time",
            Get::Int(|r| i64::from(r.in_time)),
            "their answers that arrived by their deadlines",
        ),
        column(
            "counted",
            Get::Bool(|r| r.counted),
            "arrived within [warm-up, duration); only these enter the summary",
        ),
        column(
            "start_ps",
            Get::Int(|r| ps(r.start)),
            "arrival at the root, exact, since the start of the run",
        ),
        column(
            "complete_ps",
            Get::OptionalInt(|r| r.complete.map(ps)),
            "when enough answers were in, exact, since the start of the run; null: never",
        ),
    ];
}

fn completion(query: &QueryRecord) -> Option<i64> {
    query
        .complete
        .map(|complete| complete.since(query.start).as_ns() as i64)
}

/// The records of a stored table, exactly as written.
pub fn read_queries(table: &StoredTable) -> Result<Vec<QueryRecord>, String> {
    let mut query = table.column("query")?;
    let mut workload = table.column("workload")?;
    let mut application = table.column("application")?;
    let mut root = table.column("root")?;
    let mut start = table.column("start_ps")?;
    let mut complete = table.column("complete_ps")?;
    let mut children = table.column("children")?;
    let mut answered = table.column("answered")?;
    let mut in_time = table.column("in_time")?;
    let mut counted = table.column("counted")?;
    let record = |_| {
        Ok(QueryRecord {
            query: query.int()? as u64,
            workload: workload.int()? as u16,
            application: application.int()? as u16,
            root: root.int()? as u32,
            start: time(start.int()?),
            complete: complete.optional_int()?.map(time),
            children: children.int()? as u32,
            answered: answered.int()? as u32,
            in_time: in_time.int()? as u32,
            counted: counted.bool()?,
        })
    };
    (0..table.rows()).map(record).collect()
}
