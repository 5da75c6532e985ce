//! The queries of a run as spans, in the form that a workload of kind `trace` and [`fit`](crate::fit()) take.

use crate::observed::Calls;
use duetime_results::RunRecords;
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
struct Span<'s> {
    #[serde(rename = "trace_id")]
    trace: &'s str,
    #[serde(rename = "span_id")]
    id: String,
    #[serde(rename = "parent_id", skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    start_ns: u64,
    duration_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_bytes: Option<u64>,
    host: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<u8>,
}

/// The kind of a client's span in OTLP.
const CLIENT: u8 = 3;

/// Writes the queries of a run as spans, one a line: the root's from the query's arrival until its answer was complete,
/// below it, for each request, its client's from the request until the answer arrived, and its server's from the arrival of
/// the request until it handed the answer over. Queries without an answer by the
/// end of the run are left out. Gives how many were written, and how many left out.
pub fn spans(records: &RunRecords, to: &mut impl Write) -> io::Result<(u64, u64)> {
    let mut workloads: Vec<u16> = records.queries.iter().map(|of| of.workload).collect();
    workloads.sort_unstable();
    workloads.dedup();
    let (mut written, mut left_out) = (0, 0);
    for workload in workloads {
        let calls = Calls::of(&records.flows, workload);
        for query in records.queries.iter().filter(|of| of.workload == workload) {
            let layered = calls.layered(query.query, query.root);
            let whole = layered
                .iter()
                .all(|of| of.2.answered.is_some() && of.2.asked.finish.is_some());
            let Some(complete) = query.complete.filter(|_| whole && !layered.is_empty()) else {
                left_out += 1;
                continue;
            };
            let trace = query.query.to_string();
            let mut line = |span: &Span<'_>| {
                serde_json::to_writer(&mut *to, span)?;
                to.write_all(b"\n")
            };
            line(&Span {
                trace: &trace,
                id: "root".to_owned(),
                parent: None,
                start_ns: query.start.as_ns(),
                duration_ns: complete.since(query.start).as_ns(),
                request_bytes: None,
                response_bytes: None,
                host: host(query.root),
                kind: None,
            })?;
            for (at, (_, cause, call)) in layered.iter().enumerate() {
                let (Some(got), Some(answered)) = (call.asked.finish, call.answered) else {
                    continue;
                };
                // An answer that was still on its way when the run ended is one that nobody waited for.
                let arrived = answered.finish.unwrap_or(complete).max(answered.start);
                let client = format!("{at}c");
                line(&Span {
                    trace: &trace,
                    id: client.clone(),
                    parent: Some(cause.map_or("root".to_owned(), |cause| cause.to_string())),
                    start_ns: call.asked.start.as_ns(),
                    duration_ns: arrived.since(call.asked.start).as_ns(),
                    request_bytes: None,
                    response_bytes: None,
                    host: host(call.asked.source),
                    kind: Some(CLIENT),
                })?;
                line(&Span {
                    trace: &trace,
                    id: at.to_string(),
                    parent: Some(client),
                    start_ns: got.as_ns(),
                    duration_ns: answered.start.since(got).as_ns(),
                    request_bytes: Some(call.asked.size_bytes),
                    response_bytes: Some(answered.size_bytes),
                    host: host(call.asked.destination),
                    kind: None,
                })?;
            }
            written += 1;
        }
    }
    Ok((written, left_out))
}

/// The name of a host: with leading zeros, so that names sort as their numbers do.
fn host(number: u32) -> String {
    format!("host-{number:06}")
}
