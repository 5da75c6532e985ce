//! Export of a run's queries as spans, in the format of the workload `trace` and of [`fit`](crate::fit()).

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

/// Kind of a client's span in OTLP.
const CLIENT: u8 = 3;

/// Writes the queries of a run as spans, one per line. The root's span lasts from the query's arrival until it is
/// complete. Below it, each request has a client's span, from the request until the answer arrives, and a server's
/// span, from the arrival of the request until the submission of the answer. Queries without an answer by the end of
/// the run are skipped. Returns the numbers of written and skipped queries.
pub fn spans(records: &RunRecords, to: &mut impl Write) -> io::Result<(u64, u64)> {
    let mut workloads: Vec<u16> = records.queries.iter().map(|query| query.workload).collect();
    workloads.sort_unstable();
    workloads.dedup();
    let (mut written, mut skipped) = (0, 0);
    for workload in workloads {
        let calls = Calls::of(&records.flows, workload);
        for query in records
            .queries
            .iter()
            .filter(|query| query.workload == workload)
        {
            let layered = calls.layered(query.query, query.root);
            let is_complete = layered
                .iter()
                .all(|(_, _, call)| call.answered.is_some() && call.asked.finish.is_some());
            let Some(complete) = query
                .complete
                .filter(|_| is_complete && !layered.is_empty())
            else {
                skipped += 1;
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
            for (index, (_, cause, call)) in layered.iter().enumerate() {
                let (Some(received), Some(answered)) = (call.asked.finish, call.answered) else {
                    continue;
                };
                // An answer in flight at the end of the run was not needed.
                let arrived = answered.finish.unwrap_or(complete).max(answered.start);
                let client = format!("{index}c");
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
                    id: index.to_string(),
                    parent: Some(client),
                    start_ns: received.as_ns(),
                    duration_ns: answered.start.since(received).as_ns(),
                    request_bytes: Some(call.asked.size_bytes),
                    response_bytes: Some(answered.size_bytes),
                    host: host(call.asked.destination),
                    kind: None,
                })?;
            }
            written += 1;
        }
    }
    Ok((written, skipped))
}

/// Returns the name of a host, with leading zeros so that names sort by number.
fn host(number: u32) -> String {
    format!("host-{number:06}")
}
