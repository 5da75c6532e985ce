//! Compares the rivals with what their authors published: Homa and pFabric by slowdown (SIGCOMM 2018), SIRD by its ratio
//! to Homa (NSDI 2025), PDQ by the completion times that it saves (SIGCOMM 2012).
//!
//! ```text
//! cargo run --release -p duetime-sim --example rivals            # all of them: 10 minutes
//! cargo run --release -p duetime-sim --example rivals -- sird    # one of homa, pfabric, sird and pdq
//! ```
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

mod ratios;
mod slowdown;

use duetime_results::{FlowRecord, RunRecords};
use duetime_scenario::{Sources, TraceRow, load};
use duetime_sim::{Options, run};

/// Largest difference from a published value that counts as agreement.
const AGREEMENT: f64 = 0.15;

/// Values compared so far.
#[derive(Default)]
struct Score {
    agreeing: u32,
    values: u32,
}

impl Score {
    /// Counts a value, as its ratio to the published one.
    fn count(&mut self, ratio: f64) {
        self.values += 1;
        self.agreeing += u32::from((ratio - 1.0).abs() <= AGREEMENT);
    }
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    let mut score = Score::default();
    slowdown::compare(&is_wanted, &mut score);
    ratios::compare(&is_wanted, &mut score);
    println!("\n{} of {} within 15 %", score.agreeing, score.values);
}

/// The only file that a scenario reads: the distribution of sizes.
struct Sizes(&'static str);

impl Sources for Sizes {
    fn read_text(&self, _: &str) -> Result<String, String> {
        Ok(self.0.to_owned())
    }

    fn read_trace(&self, _: &str) -> Result<Vec<TraceRow>, String> {
        Err("the scenario names no trace".to_owned())
    }
}

/// Runs a scenario under one transport and returns its records, with the measured flows only.
fn records(
    text: &str,
    transport: &str,
    settings: &[(&str, &str)],
    sizes: &'static str,
) -> RunRecords {
    let settings = settings.iter().copied();
    let settings: Vec<(String, String)> = settings
        .chain([("transport", transport)])
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let scenario = load(text, "its scenario", &settings, &Sizes(sizes));
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let mut records = run(&scenario, 0, 0, &Options::default())
        .expect("a sound scenario")
        .records;
    records.flows.retain(|flow| flow.measured);
    assert!(
        records.flows.iter().all(|flow| flow.finish.is_some()),
        "a message did not finish"
    );
    records
}

/// Returns the smallest value that at least `share` of the values do not exceed.
fn at(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = (share * values.len() as f64).ceil() as usize;
    values.get(place.max(1) - 1).copied().unwrap_or(f64::NAN)
}

/// Returns the completion time of a flow, in seconds.
fn seconds(flow: &FlowRecord) -> f64 {
    let finish = flow.finish.expect("the message is complete");
    finish.since(flow.start).as_secs_f64()
}
