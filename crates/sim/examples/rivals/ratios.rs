//! Published numbers of SIRD and PDQ: SIRD's slowdowns as multiples of Homa's, and the share of other transports'
//! mean completion times that PDQ saves.

use crate::{Score, at, records, seconds};
use duetime_results::FlowRecord;

/// Prints a row for each published number of the transports.
pub fn compare(is_wanted: &dyn Fn(&str) -> bool, score: &mut Score) {
    if !is_wanted("sird") && !is_wanted("pdq") {
        return;
    }
    println!("\n| number | published | ours | ratio |");
    println!("|---|---|---|---|");
    let mut row = |text: &str, published: f64, ours: f64| {
        println!(
            "| {text} | {published:.2} | {ours:.2} | {:.2} |",
            ours / published
        );
        score.count(ours / published);
    };
    if is_wanted("sird") {
        sird(&mut row);
    }
    if is_wanted("pdq") {
        pdq(&mut row);
    }
}

/// SIRD. "Medium" messages of the paper are taken to be those of 1 to 8 bandwidth-delay products, each of 100 KB.
fn sird(row: &mut dyn FnMut(&str, f64, f64)) {
    for (load, published) in [("0.5", 1.85), ("0.7", 2.68)] {
        let p99 = |transport| {
            let load = [("workload.messages.load", load)];
            slowdown(&records(include_str!("sird.toml"), transport, &load, "").flows)
        };
        row(
            &format!("SIRD / Homa, load {load}: p99 slowdown of 100 to 800 KB"),
            published,
            p99("sird") / p99("homa"),
        );
    }
}

/// Returns the 99th percentile of the slowdowns, relative to the time of the bytes alone on a link of 100 Gbps.
fn slowdown(flows: &[FlowRecord]) -> f64 {
    let medium = |flow: &&FlowRecord| (100_000..=800_000).contains(&flow.size_bytes);
    let slowdowns = flows.iter().filter(medium).map(|flow| {
        let bytes = flow.size_bytes as f64 * 1_500.0 / 1_460.0;
        seconds(flow) / (bytes * 8.0 / 100e9)
    });
    at(&mut slowdowns.collect::<Vec<_>>(), 0.99)
}

/// PDQ, whose mean completion times are about 30 % below those of RCP and TCP.
fn pdq(row: &mut dyn FnMut(&str, f64, f64)) {
    let mean = |transport| {
        let flows = records(include_str!("pdq.toml"), transport, &[], "").flows;
        flows.iter().map(seconds).sum::<f64>() / flows.len() as f64
    };
    let pdq = mean("pdq");
    for (transport, label) in [("rcpdc", "RCP"), ("tcp", "TCP")] {
        row(
            &format!("PDQ, saving of {label}'s mean completion time"),
            0.3,
            1.0 - pdq / mean(transport),
        );
    }
}
