//! Tests that no transport beats the bound.

use super::generator::Case;
use super::{scenario, seeds};
use duetime_analysis::bound::RunBound;
use duetime_core::random::{Purpose, Stream, Streams};
use duetime_results::{Class, RunRecords};
use duetime_scenario::Scenario;
use duetime_scenario::model::{Transport, WorkloadKind};
use duetime_sim::topology::Network;
use duetime_sim::{Options, run};
use std::collections::BTreeMap;

#[test]
fn no_transport_beats_the_bound_on_bursts() {
    let (mut bounded, mut met) = (0, 0);
    for seed in seeds(1_000) {
        let (best, records) = check_transports(seed, &burst(seed));
        let flows = records.iter().flat_map(|records| &records.flows);
        met += flows.filter(|flow| flow.met() == Some(true)).count();
        let all = best.all.expect("has deadlines");
        bounded += usize::from(all.late > 0 && all.late < all.asked);
    }
    if std::env::var("DUETIME_SEEDS").is_err() {
        // The test is not trivial: many bounds are strictly between none and all, and transports meet many deadlines.
        assert!(bounded > 300 && met > 10_000, "{bounded} {met}");
    }
}

#[test]
fn no_transport_beats_the_bound_on_trees() {
    let (mut bounded, mut met) = (0, 0);
    for seed in seeds(150) {
        let (best, records) = check_transports(seed, &trees(seed));
        let queries = records.iter().flat_map(|records| &records.queries);
        met += queries.filter(|query| query.met() == Some(true)).count();
        let queries = best.queries[&0];
        assert!(
            !queries.if_prompt,
            "the budget starts when the query arrives"
        );
        bounded += usize::from(queries.late > 0 && queries.late < queries.asked);
    }
    if std::env::var("DUETIME_SEEDS").is_err() {
        assert!(bounded > 30 && met > 500, "{bounded} {met}");
    }
}

/// Runs every transport of the scenario and checks the results against the bound.
fn check_transports(seed: u64, scenario: &Scenario) -> (RunBound, Vec<RunRecords>) {
    let best = best(scenario);
    let run = |(index, transport): (usize, &Transport)| {
        let records = records(scenario, index);
        check(scenario, &best, &records).unwrap_or_else(|error| {
            panic!(
                "DUETIME_SEEDS={seed}..{} {}: {error}",
                seed + 1,
                transport.name
            )
        });
        records
    };
    let records = scenario.transports.iter().enumerate().map(run).collect();
    (best, records)
}

#[test]
fn no_transport_beats_the_bound_on_any_scenario() {
    for seed in seeds(300) {
        let case = Case::new(seed);
        let records = run(&case.scenario, 0, 0, &Options::default())
            .expect("it can be run")
            .records;
        let best = RunBound::of(&case.scenario, 0, &case.network).expect("it can be set up");
        check(&case.scenario, &best, &records).unwrap_or_else(|error| {
            panic!(
                "DUETIME_SEEDS={seed}..{} ({}): {error}",
                seed + 1,
                case.summary()
            )
        });
    }
}

fn best(scenario: &Scenario) -> RunBound {
    let network = Network::build(&scenario.topology).expect("a network");
    RunBound::of(scenario, 0, &network).expect("it can be set up")
}

fn records(scenario: &Scenario, transport: usize) -> RunRecords {
    run(scenario, transport, 0, &Options::default())
        .expect("it can be run")
        .records
}

/// Returns an error if a run has fewer late flows or queries than the bound, or a different demand.
fn check(scenario: &Scenario, best: &RunBound, records: &RunRecords) -> Result<(), String> {
    let mut met: BTreeMap<(u16, Class), u64> = BTreeMap::new();
    for flow in records.flows.iter().filter(|flow| flow.measured) {
        *met.entry((flow.workload, flow.class)).or_default() += u64::from(flow.met() == Some(true));
    }
    for (group, bound) in &best.groups {
        let kind = &scenario.workloads[usize::from(group.0)].kind;
        let one = matches!(kind, WorkloadKind::Oldi(trees) if trees.applications == 1);
        let met = met.get(group).copied().unwrap_or(0);
        if !bound.if_prompt && bound.asked - met < bound.late {
            return Err(format!("{group:?}: {met} met, but {bound:?}"));
        }
        let asked = records
            .queries
            .iter()
            .filter(|query| query.measured && query.workload == group.0);
        let asked: u64 = asked.map(|query| u64::from(query.asked)).sum();
        // Applications without deadlines also request answers, which cannot be late.
        if group.1 == Class::Response && (asked < bound.asked || one && asked != bound.asked) {
            return Err(format!("{group:?}: {asked} asked, but {bound:?}"));
        }
    }
    for (workload, bound) in &best.queries {
        let judged = || {
            records
                .queries
                .iter()
                .filter(|query| query.measured && query.workload == *workload)
        };
        let met = judged().filter(|query| query.met() == Some(true)).count() as u64;
        if judged().filter(|query| query.judged).count() as u64 != bound.asked {
            return Err(format!(
                "queries of {workload}: different number of queries, but {bound:?}"
            ));
        }
        if !bound.if_prompt && bound.asked - met < bound.late {
            return Err(format!("queries of {workload}: {met} met, but {bound:?}"));
        }
    }
    Ok(())
}

const TRANSPORTS: &str = r#"["tcp", "dctcp", "rcpdc", "d3", "d2tcp"]"#;

/// Returns one or two bursts into one host, with deadlines that only some of the flows can meet.
fn burst(seed: u64) -> Scenario {
    let mut draw = Streams::new(seed, 0).stream(0, Purpose::Fault);
    let senders = draw.between(2, 16);
    let largest = draw.between(2, 60);
    let one_size = draw.chance(0.3);
    let size = if one_size {
        format!("{largest} KB")
    } else {
        format!("uniform 1 KB..{largest} KB")
    };
    let mean = if one_size {
        largest
    } else {
        largest.midpoint(1)
    };
    // Microseconds on a link of 1 Gbps.
    let all = senders * mean * 8 + 200;
    let base = draw.between(all / 4, all);
    let deadline = match draw.below(3) {
        0 => format!("\"{base} us\""),
        1 => format!("{{ base = \"{base} us\", variation = \"uniform 50%\" }}"),
        _ => format!("{{ mean = \"{base} us\" }}"),
    };
    let jitter = if draw.chance(0.5) {
        0
    } else {
        draw.between(1, all)
    };
    let bursts = draw.between(1, 2);
    let every = jitter.max(draw.between(all / 2, all * 2)).max(1);
    scenario(&format!(
        r#"
        transport = {TRANSPORTS}
        seed = {seed}
        duration = "100 ms"
        {}
        [switch]
        buffer = "{} KB"
        [tcp]
        rto_min = "5 ms"
        [[workload]]
        kind = "burst"
        senders = {senders}
        size = "{size}"
        deadline = {deadline}
        repeat = {bursts}
        every = "{every} us"
        jitter = "{jitter} us"
        "#,
        topology(&mut draw),
        draw.between(50, 2_000),
    ))
}

/// Returns queries with a budget in which only some of the answers fit.
fn trees(seed: u64) -> Scenario {
    let mut draw = Streams::new(seed, 1).stream(0, Purpose::Fault);
    let deep = draw.chance(0.3);
    let fan_in = draw.between(2, 12);
    let layers = if deep {
        format!("[{}, {}]", fan_in.min(4), draw.between(1, 3))
    } else {
        fan_in.to_string()
    };
    let size = draw.between(2, 30);
    let all = fan_in * size * 8;
    let within = draw.between(all / 3 + 200, all * 2 + 400);
    let every = draw.between(all / 2, all * 3).max(1);
    let from = if draw.chance(0.5) {
        "query"
    } else {
        "response"
    };
    let answers = ["100 %", "90 %", "50 %"][draw.below(3) as usize];
    scenario(&format!(
        r#"
        transport = {TRANSPORTS}
        seed = {seed}
        duration = "{} us"
        {}
        [switch]
        buffer = "{} KB"
        [tcp]
        rto_min = "5 ms"
        [[workload]]
        kind = "oldi"
        fan_in = {layers}
        trees = {}
        share_hosts = true
        response = "uniform 1 KB..{size} KB"
        deadline = "{within} us"
        deadline_from = "{from}"
        objective = {{ within = "{within} us", answers = "{answers}" }}
        every = "exponential {every} us"
        compute = "exponential {} us"
        "#,
        every * 12,
        topology(&mut draw),
        draw.between(50, 2_000),
        draw.between(1, 3),
        draw.between(1, within / 2),
    ))
}

fn topology(draw: &mut Stream) -> String {
    match draw.below(3) {
        0 | 1 => format!(
            r#"[topology]
            kind = "star"
            hosts = 18
            link = {{ rate = "1 Gbps", latency = "{} us" }}"#,
            draw.between(1, 40)
        ),
        _ => r#"[topology]
            kind = "leaf-spine"
            racks = 3
            hosts_per_rack = 6
            spines = 2
            host_link = { rate = "1 Gbps", latency = "10 us" }
            uplink = { rate = "400 Mbps", latency = "5 us" }"#
            .to_owned(),
    }
}
