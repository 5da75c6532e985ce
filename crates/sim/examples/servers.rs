//! Compares waits for servers with queueing theory, and shows where hedging helps and hurts when servers have slots.
//!
//! ```text
//! cargo run --release -p duetime-sim --example servers            # M/M/c and M/D/1, within 1 %: some minutes
//! cargo run --release -p duetime-sim --example servers -- hedges  # scenarios/servers.toml: a minute
//! ```
#![expect(clippy::print_stdout, reason = "the figures are the point")]
#![expect(
    clippy::disallowed_methods,
    reason = "an argument chooses the figures, and two threads make the runs"
)]

#[path = "../tests/integration/queueing/mod.rs"]
mod queueing;

use duetime_results::{RunSummary, ServerRecord};
use duetime_scenario::model::Scenario;
use duetime_scenario::{NoFiles, load};
use duetime_sim::{Options, run};
use queueing::{MEAN_S, md1, mmc, service};

/// Computations of one run.
const PER_RUN: f64 = 400_000.0;

fn main() {
    if std::env::args().any(|argument| argument == "hedges") {
        hedges();
    } else {
        theory();
    }
}

fn theory() {
    println!(
        "| servers | utilisation | computations | mean wait / mean computation | theory | error |"
    );
    println!("|---|---|---|---|---|---|");
    for (slots, utilisation, runs) in [(1, 0.5, 20), (1, 0.8, 40), (8, 0.5, 20), (8, 0.8, 40)] {
        let wait = mean_wait(slots, utilisation, "exponential 100 us", runs);
        row(
            &format!("M/M/{slots}"),
            utilisation,
            runs,
            wait,
            mmc(slots, utilisation),
        );
    }
    for (utilisation, runs) in [(0.5, 10), (0.8, 20)] {
        let wait = mean_wait(1, utilisation, "100 us", runs);
        row("M/D/1", utilisation, runs, wait, md1(utilisation));
    }
}

fn row(name: &str, utilisation: f64, runs: u64, wait: f64, theory: f64) {
    let millions = runs as f64 * PER_RUN / 1e6;
    println!(
        "| {name} | {:.0} % | {millions} million | {wait:.4} | {theory:.4} | {:+.2} % |",
        100.0 * utilisation,
        100.0 * (wait / theory - 1.0)
    );
}

/// Mean wait in units of the mean computation, over so many runs on two threads.
fn mean_wait(slots: u32, utilisation: f64, compute: &str, runs: u64) -> f64 {
    let rate = utilisation * f64::from(slots) / MEAN_S;
    let text = service(slots, utilisation, compute, 50.0, PER_RUN / rate);
    let scenario = parse(&text);
    let scenario = &scenario;
    let part = |first: u64| {
        let seeds = (first..runs).step_by(2);
        seeds.fold((0.0, 0.0), |(waited, count), seed| {
            let output = run(scenario, 0, seed, &Options::default()).expect("a sound scenario");
            let ServerRecord {
                computations,
                wait_mean_ps,
                ..
            } = output.records.servers[0];
            let computations = computations as f64;
            (
                waited + wait_mean_ps as f64 * computations,
                count + computations,
            )
        })
    };
    let (waited, count) = std::thread::scope(|scope| {
        let other = scope.spawn(|| part(1));
        let (waited, count) = part(0);
        let other = other.join().expect("the other thread ends");
        (waited + other.0, count + other.1)
    });
    waited / count / 1e12 / MEAN_S
}

fn parse(text: &str) -> Scenario {
    load(text, "servers.toml", &[], &NoFiles).unwrap_or_else(|error| panic!("{error}"))
}

fn hedges() {
    let text = include_str!("../../../scenarios/servers.toml");
    println!(
        "| servers | offered | hedge | cancel | busiest | mean | extra computations per leaf | p50 | p99 | in time |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    // Rates for these shares of the slots.
    for (utilisation, rate) in [(20, 800), (60, 2_400), (85, 3_400)] {
        for unlimited in [true, false] {
            for (after, cancel) in [("never", true), ("p95", true), ("p95", false)] {
                let mut set = vec![
                    ("workload.rate".to_owned(), format!("\"{rate} /s\"")),
                    ("workload.hedge.after".to_owned(), format!("\"{after}\"")),
                    ("workload.hedge.cancel".to_owned(), cancel.to_string()),
                ];
                if unlimited {
                    set.push(("host.servers".to_owned(), "\"unlimited\"".to_owned()));
                }
                let scenario = load(text, "servers.toml", &set, &NoFiles)
                    .unwrap_or_else(|error| panic!("{error}"));
                let output = run(&scenario, 0, 0, &Options::default()).expect("a sound scenario");
                let summary = RunSummary::of(0, &output.records);
                let query = &summary.queries[0];
                let servers = summary.servers.as_ref();
                let busy = |value: Option<f64>| {
                    value.map_or("–".to_owned(), |value| format!("{:.1} %", 100.0 * value))
                };
                let time = |value: Option<f64>| {
                    value.map_or("–".to_owned(), |value| format!("{:.2} ms", 1e3 * value))
                };
                println!(
                    "| {} | {utilisation} % | {after} | {cancel} | {} | {} | {:.2} % | {} | {} | {:.2} % |",
                    if unlimited { "unlimited" } else { "4 slots" },
                    busy(servers.map(|of| of.utilisation)),
                    busy(servers.map(|of| of.utilisation_mean)),
                    100.0 * query.again.extra_computes as f64 / query.leaves as f64,
                    time(query.completion_s.p50),
                    time(query.completion_s.p99),
                    100.0 * query.met as f64 / query.judged as f64
                );
            }
        }
    }
}
