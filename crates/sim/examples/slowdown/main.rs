//! Compares slowdowns of messages by size with those that Homa's authors published for Homa and pFabric: workload W5 at
//! 80 % on 144 hosts. The slowdown of a message is its time over that of the same message alone in the network.
//!
//! ```text
//! cargo run --release -p duetime-sim --example slowdown            # Homa, pFabric, SIRD and due: 20 minutes
//! cargo run --release -p duetime-sim --example slowdown -- homa    # one of them
//! ```
#![expect(clippy::print_stdout, reason = "the figures are the point")]
#![expect(
    clippy::disallowed_methods,
    reason = "an argument chooses the transport"
)]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "its numbers are small"
)]

use duetime_core::Span;
use duetime_results::FlowRecord;
use duetime_scenario::{Sources, TraceRow, load};
use duetime_sim::{Options, run};

/// Payload of a packet in the paper's simulations.
const PAYLOAD: u64 = 1_442;
/// A full packet on the wire: payload, 60 B of headers, 38 B of Ethernet.
const WIRE: u64 = PAYLOAD + 98;

/// Sizes in packets, first and last, and the published 99th percentiles of the slowdown: Homa, pFabric (Figure 13 of the
/// paper, from the data behind it, at 1, 20 and 1,000 packets).
const SIZES: [(u64, u64, f64, f64); 3] = [
    (1, 1, 1.48, 1.49),
    (18, 22, 1.44, 1.57),
    (850, 1_150, 2.19, 2.57),
];

/// Files of this folder.
struct Folder;

impl Sources for Folder {
    fn read_text(&self, _: &str) -> Result<String, String> {
        Ok(include_str!("w5.csv").to_owned())
    }

    fn read_trace(&self, _: &str) -> Result<Vec<TraceRow>, String> {
        Err("the scenario names no trace".to_owned())
    }
}

fn main() {
    let text = include_str!("homa.toml");
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let scenario = load(text, "homa.toml", &[], &Folder).unwrap_or_else(|error| panic!("{error}"));
    println!("| transport | packets | messages | p50 | p99 | published p99 | ratio |");
    println!("|---|---|---|---|---|---|---|");
    for (index, transport) in scenario.transports.iter().enumerate() {
        if !wanted.is_empty() && !wanted.contains(&transport.name) {
            continue;
        }
        let output = run(&scenario, index, 0, &Options::default()).expect("a sound scenario");
        let flows = &output.records.flows;
        for (first, last, homa, pfabric) in SIZES {
            let published = match transport.name.as_str() {
                "homa" => Some(homa),
                "pfabric" => Some(pfabric),
                _ => None,
            };
            row(&transport.name, flows, (first, last), published);
        }
        let open = flows
            .iter()
            .filter(|flow| flow.measured && flow.finish.is_none());
        println!(
            "| {}, unfinished | | {} | | | | |",
            transport.name,
            open.count()
        );
    }
}

fn row(name: &str, flows: &[FlowRecord], (first, last): (u64, u64), published: Option<f64>) {
    let is_of_size = |flow: &&FlowRecord| {
        let packets = flow.size_bytes.div_ceil(PAYLOAD);
        flow.measured && (first..=last).contains(&packets)
    };
    let flows = flows.iter().filter(is_of_size);
    let mut slowdowns: Vec<f64> = flows
        .map(|flow| {
            let time = flow.finish.map(|finish| finish.since(flow.start));
            time.map_or(f64::INFINITY, |time| {
                time.as_secs_f64() / alone(flow).as_secs_f64()
            })
        })
        .collect();
    slowdowns.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let place = (share * slowdowns.len() as f64) as usize;
        slowdowns.get(place).copied().unwrap_or(f64::NAN)
    };
    let (p50, p99) = (at(0.5), at(0.99));
    let (paper, ratio) = published.map_or((String::new(), String::new()), |published| {
        (format!("{published}"), format!("{:.2}", p99 / published))
    });
    println!(
        "| {name} | {first} to {last} | {} | {p50:.2} | {p99:.2} | {paper} | {ratio} |",
        slowdowns.len()
    );
}

/// Returns the time of a message alone in the network: its packets leave the sender one after the other, and the last
/// one crosses the other links.
fn alone(flow: &FlowRecord) -> Span {
    let packets = flow.size_bytes.div_ceil(PAYLOAD);
    // 10 Gbps: 800 ps per byte.
    let access = Span::from_ps(800) * WIRE;
    let hosts = Span::from_ns(1_250);
    let hop = Span::from_ns(250);
    let between = if flow.source / 16 == flow.destination / 16 {
        Span::ZERO
    } else {
        (access / 4 + hop) * 2
    };
    access * packets + hop + between + access + hop + hosts
}
