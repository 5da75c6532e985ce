//! Hedged requests on an idle network, compared with exact order statistics without a network.

use duetime_core::normal_cdf;
use duetime_results::RunSummary;
use duetime_scenario::{NoFiles, load};
use duetime_sim::{Options, run};

const SCENARIO: &str = include_str!("../../../../scenarios/hedge.toml");
/// Number of leaves of a query, followed by its budget in medians of their computation time.
const FAN_IN: i32 = 20;
const BUDGET: f64 = 10.0;

/// Returns the probability that a lognormal time (median 1, sigma 1) is at most `t`.
fn lognormal(t: f64) -> f64 {
    if t > 0.0 {
        normal_cdf(libm::log(t))
    } else {
        0.0
    }
}

/// Returns the share of queries in time if each leaf is hedged after `h`.
fn exact(h: f64) -> f64 {
    let late = 1.0 - lognormal(BUDGET);
    let leaf = if BUDGET <= h {
        1.0 - late
    } else {
        1.0 - late * (1.0 - lognormal(BUDGET - h))
    };
    libm::pow(leaf, f64::from(FAN_IN))
}

/// Returns the quantile of the lognormal time.
fn quantile(share: f64) -> f64 {
    libm::exp(duetime_core::normal_quantile(share))
}

/// 32 parents, each of which receives about 310 answers within the measurement window and hedges from its first query
/// on.
const COLD: &str = r#"
transport = ["tcp"]
duration = "1020 ms"
warm_up = "20 ms"
[topology]
kind = "star"
hosts = 64
link = { rate = "25 Gbps", latency = "2 us" }
[[workload]]
kind = "oldi"
trees = 32
share_hosts = true
fan_in = 20
rate = "500 /s"
query = "1 KB"
response = "1 KB"
compute = { median = "1 ms", sigma = 1 }
hedge = { after = "p95" }
deadline = "10 ms"
deadline_from = "query"
objective = { within = "10 ms", answers = "100 %", share = "99 %" }
"#;

/// Runs the ready-made scenario `seeds` times. Returns the share of queries in time, the hedges per leaf, the
/// additional computations per leaf, and the share of additional answer bytes.
fn simulated(after: &str, cancel: bool, seeds: u64) -> [f64; 4] {
    simulated_of(SCENARIO, after, cancel, seeds)
}

/// Returns the values of [`simulated`] for another scenario.
fn simulated_of(text: &str, after: &str, cancel: bool, seeds: u64) -> [f64; 4] {
    let set = |key: &str, value: String| (format!("workload.hedge.{key}"), value);
    let set = [
        set("after", format!("\"{after}\"")),
        set("cancel", cancel.to_string()),
    ];
    let scenario =
        load(text, "hedge.toml", &set, &NoFiles).unwrap_or_else(|error| panic!("{error}"));
    let runs: Vec<RunSummary> = (0..seeds)
        .map(|seed| {
            let output = run(&scenario, 0, seed, &Options::default()).expect("a valid scenario");
            RunSummary::of(seed, &output.records)
        })
        .collect();
    let sum = |pick: fn(&RunSummary) -> u64| runs.iter().map(pick).sum::<u64>() as f64;
    let leaves = sum(|run| run.queries[0].leaves);
    [
        sum(|run| run.queries[0].met) / sum(|run| run.queries[0].judged),
        sum(|run| run.queries[0].again.hedges) / leaves,
        sum(|run| run.queries[0].again.extra_computes) / leaves,
        sum(|run| run.queries[0].again.extra_answer_bytes)
            / sum(|run| run.queries[0].again.answer_bytes),
    ]
}

/// Asserts that two shares differ by less than `points` percentage points.
fn assert_near(label: &str, found: f64, expected: f64, points: f64) {
    let off = (found - expected).abs() * 100.0;
    assert!(off < points, "{label}: {found}, expected {expected}");
}

#[test]
fn hedging_matches_order_statistics() {
    let (seeds, never) = (3, f64::INFINITY);
    let [plain, hedges, ..] = simulated("never", true, seeds);
    assert_near("without hedges", plain, exact(never), 2.0);
    assert!(hedges == 0.0);
    let [hedged, hedges, computes, bytes] = simulated("p95", true, seeds);
    assert_near("at the 95th percentile", hedged, exact(quantile(0.95)), 2.0);
    assert_near("hedges", hedges, 0.05, 0.5);
    assert_near("computations", computes, 0.05, 0.5);
    // A host that is cancelled while it computes sends nothing.
    assert!(bytes < 0.002, "{bytes}");
    assert!(
        hedged > plain + 0.1,
        "{plain} without hedges, {hedged} with"
    );
    // Without cancellations, the second answers are sent as well.
    let [without_cancel, _, _, bytes] = simulated("p95", false, seeds);
    assert_near(
        "without cancellations",
        without_cancel,
        exact(quantile(0.95)),
        2.0,
    );
    assert_near("answer bytes", bytes, 0.05, 0.5);
}

#[test]
fn hedges_work_from_the_first_query() {
    let [in_time, hedges, ..] = simulated_of(COLD, "p95", true, 5);
    println!(
        "in time {in_time}, theory {}, hedges per leaf {hedges}",
        exact(quantile(0.95))
    );
    assert_near("in time", in_time, exact(quantile(0.95)), 1.0);
    // The 95th of 100 times is exceeded by 6 of 101 others.
    assert_near("hedges", hedges, 0.055, 0.5);
}

#[test]
#[ignore = "prints the table of docs/validation.md"]
fn print_table() {
    for (after, h) in [
        ("never", f64::INFINITY),
        ("p90", quantile(0.9)),
        ("p95", quantile(0.95)),
        ("p99", quantile(0.99)),
    ] {
        for cancel in [true, false] {
            let [in_time, hedges, computes, bytes] = simulated(after, cancel, 5);
            println!(
                "| {after} | {} | {:.1} % | {:.1} % | {:.2} % | {:.2} % | {:.2} % |",
                if cancel { "yes" } else { "no" },
                in_time * 100.0,
                exact(h) * 100.0,
                hedges * 100.0,
                computes * 100.0,
                bytes * 100.0,
            );
        }
    }
}
