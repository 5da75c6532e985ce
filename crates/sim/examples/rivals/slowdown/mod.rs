//! Slowdowns of messages by size with Homa and pFabric: workloads W3 and W5 at 50 and 80 % on 144 hosts. The slowdown of a
//! message is its time over that of the same message alone in the network.
//!
//! The published 99th percentiles of Homa are means over the receivers: of 5 messages of 20 packets per receiver, say, the
//! largest slowdown. The same mean is computed here. The percentiles of pFabric are those of all messages.

mod published;

use crate::{Score, at, records, seconds};
use duetime_core::Span;
use duetime_results::FlowRecord;
use published::{Point, RUNS, Run};

/// Prints a row for each published point of the transports.
pub fn compare(is_wanted: &dyn Fn(&str) -> bool, score: &mut Score) {
    if !RUNS.iter().any(|case| is_wanted(case.transport)) {
        return;
    }
    println!(
        "| transport | workload | message | p50 published | ours | p99 published | ours | ratio |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for case in RUNS.iter().filter(|case| is_wanted(case.transport)) {
        let scenario = include_str!("homa.toml");
        let flows = records(scenario, case.transport, case.settings, case.sizes).flows;
        for point in &case.points {
            let (median, p99) = percentiles(case, point, &flows);
            println!(
                "| {} | {} at {} % | {} | {:.2} | {median:.2} | {:.2} | {p99:.2} | {:.2} |",
                case.transport,
                case.workload,
                case.load,
                point.size,
                point.median,
                point.p99,
                p99 / point.p99,
            );
            score.count(median / point.median);
            score.count(p99 / point.p99);
        }
    }
}

/// Returns the median and the 99th percentile of the slowdowns.
fn percentiles(case: &Run, point: &Point, flows: &[FlowRecord]) -> (f64, f64) {
    let (above, up_to) = point.bytes;
    let mut flows: Vec<&FlowRecord> = flows
        .iter()
        .filter(|flow| flow.size_bytes > above && flow.size_bytes <= up_to)
        .collect();
    // Messages of one receiver, in the order of their starts, form the groups.
    flows.sort_by_key(|flow| (flow.destination, flow.start));
    let slowdowns = flows.into_iter().map(|flow| slowdown(case, flow));
    let mut slowdowns: Vec<f64> = slowdowns.collect();
    let group = point.per_receiver.unwrap_or(slowdowns.len());
    let group = group.min(slowdowns.len()).max(1);
    let groups = slowdowns.chunks_exact_mut(group);
    let sum: f64 = groups.map(|slowdowns| at(slowdowns, 0.99)).sum();
    let p99 = sum / (slowdowns.len() / group) as f64;
    (at(&mut slowdowns, 0.5), p99)
}

fn slowdown(case: &Run, flow: &FlowRecord) -> f64 {
    seconds(flow) / alone(case, flow).as_secs_f64()
}

/// Returns the authors' time of a message alone in the network: its packets leave the sender one after the other, and the
/// last one crosses the other links.
fn alone(case: &Run, flow: &FlowRecord) -> Span {
    // Payload of a full packet, and bytes in addition to the payload. Homa's own header is not counted.
    let (payload, headers) = if case.transport == "homa" {
        (1_472, 66)
    } else {
        (1_460, 40)
    };
    let bytes = flow.size_bytes;
    let total = bytes + bytes.div_ceil(payload) * headers;
    let first = bytes.min(payload) + headers;
    // 10 Gbps: 800 ps per byte.
    let access = |bytes: u64| Span::from_ps(800) * bytes;
    let between = if flow.source / 16 == flow.destination / 16 {
        Span::ZERO
    } else {
        (access(first) / 4 + Span::from_ns(250)) * 2
    };
    access(total) + between + access(first) + Span::from_ns(250 + 1_500)
}
