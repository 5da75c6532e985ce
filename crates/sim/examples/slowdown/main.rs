//! Compares slowdowns of messages by size with those that Homa's authors published for Homa and pFabric (SIGCOMM 2018):
//! workloads W3 and W5 at 50 and 80 % on 144 hosts. The slowdown of a message is its time over that of the same message
//! alone in the network.
//!
//! ```text
//! cargo run --release -p duetime-sim --example slowdown            # Homa and pFabric: 20 minutes
//! cargo run --release -p duetime-sim --example slowdown -- homa    # one of them
//! ```
//!
//! The published 99th percentiles of Homa are means over the receivers: of 5 messages of 20 packets per receiver, say, the
//! largest slowdown. The example computes the same mean. The percentiles of pFabric are those of all messages.
#![expect(clippy::print_stdout, reason = "the figures are the point")]
#![expect(
    clippy::disallowed_methods,
    reason = "an argument chooses the transport"
)]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "its numbers are small"
)]

mod published;

use duetime_core::Span;
use duetime_results::FlowRecord;
use duetime_scenario::{Sources, TraceRow, load};
use duetime_sim::{Options, run};
use published::{Point, RUNS, Run};

/// Largest difference from a published value that counts as agreement.
const AGREEMENT: f64 = 0.15;

/// The only file that the scenario reads: the distribution of sizes.
struct Sizes(&'static str);

impl Sources for Sizes {
    fn read_text(&self, _: &str) -> Result<String, String> {
        Ok(self.0.to_owned())
    }

    fn read_trace(&self, _: &str) -> Result<Vec<TraceRow>, String> {
        Err("the scenario names no trace".to_owned())
    }
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    println!(
        "| transport | workload | message | p50 published | ours | p99 published | ours | ratio |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let (mut agreeing, mut values) = (0, 0);
    for case in &RUNS {
        if !wanted.is_empty() && !wanted.iter().any(|name| name == case.transport) {
            continue;
        }
        let flows = flows(case);
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
            for ratio in [median / point.median, p99 / point.p99] {
                values += 1;
                agreeing += u32::from((ratio - 1.0).abs() <= AGREEMENT);
            }
        }
    }
    println!("\n{agreeing} of {values} within 15 %");
}

/// Runs a case and returns the measured messages.
fn flows(case: &Run) -> Vec<FlowRecord> {
    let settings = case.settings.iter();
    let mut settings: Vec<(String, String)> = settings
        .map(|&(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    settings.push(("transport".to_owned(), case.transport.to_owned()));
    let text = include_str!("homa.toml");
    let scenario = load(text, "homa.toml", &settings, &Sizes(case.sizes));
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let output = run(&scenario, 0, 0, &Options::default()).expect("a sound scenario");
    let mut flows = output.records.flows;
    flows.retain(|flow| flow.measured);
    assert!(
        flows.iter().all(|flow| flow.finish.is_some()),
        "a message did not finish"
    );
    flows
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

/// Returns the smallest value that at least `share` of the values do not exceed.
fn at(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = (share * values.len() as f64).ceil() as usize;
    values.get(place.max(1) - 1).copied().unwrap_or(f64::NAN)
}

fn slowdown(case: &Run, flow: &FlowRecord) -> f64 {
    let time = flow
        .finish
        .expect("the message is complete")
        .since(flow.start);
    time.as_secs_f64() / alone(case, flow).as_secs_f64()
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
