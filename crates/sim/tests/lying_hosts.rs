//! One host of twelve lies to D3's routers (D3 §4.4): who is hurt? The paper expects the offender; this shows where
//! that is so and where it is not.
#![expect(clippy::print_stdout, reason = "the figures are the point")]

mod lab;

use duetime_core::random::{Purpose, Streams};
use duetime_core::{Bytes, Rate, Span};
use duetime_results::FlowRecord;
use duetime_scenario::model::{Amount, Buffer, Scenario, TraceFlow};
use duetime_sim::{Faults, Liar, Lie, Options};
use lab::{d3, long, mbps, missed, run, star, trace};

const SENDERS: u64 = 12;
const SECONDS: u64 = 2;
const LIAR: u32 = 1;

/// Deadline flows from all hosts at `load`, and a long flow from the liar and from three honest hosts.
fn scenario(load: f64) -> Scenario {
    let rate = Rate::from_gbps(1);
    let duration = Span::from_secs(SECONDS);
    let mut scenario = star(SENDERS as u32 + 1, rate, Span::from_us(125), d3(), duration);
    scenario.switch.buffer = Buffer::Static(Amount::Bytes(128 * 1024));
    scenario.drain = Span::from_ms(500);
    let mut stream = Streams::new(5, 0).stream(0, Purpose::Arrival);
    let gap = Span::from_ps((26_000.0 * 8e12 / (load * rate.as_bps() as f64)) as u64);
    let mut flows = Vec::new();
    let mut at = stream.exponential(gap);
    while at < duration {
        flows.push(TraceFlow {
            start: at,
            source: 1 + stream.below(SENDERS) as u32,
            destination: 0,
            size: Bytes(stream.between(2_000, 50_000)),
            deadline: Some(stream.exponential(Span::from_ms(30)).max(Span::from_ms(5))),
        });
        at += stream.exponential(gap);
    }
    scenario.workloads = vec![trace(flows), long([LIAR, 2, 3, 4])];
    scenario
}

/// Misses in [0, 1] and long flows' Mbps, of honest hosts and of the liar.
struct Outcome {
    honest_missed: f64,
    liar_missed: f64,
    honest_long: f64,
    liar_long: f64,
}

fn outcome(load: f64, name: &str, lie: Option<Lie>) -> Outcome {
    let liars = lie
        .map(|lie| Liar { host: LIAR, lie })
        .into_iter()
        .collect();
    let faults = Faults {
        liars,
        ..Faults::default()
    };
    let records = run(
        &scenario(load),
        &Options {
            faults,
            ..Options::default()
        },
    )
    .records;
    let lies = |flow: &&FlowRecord| flow.source == LIAR;
    let long = |lying: bool| {
        let rates: Vec<f64> = records
            .flows
            .iter()
            .filter(|flow| !flow.is_finite() && (flow.source == LIAR) == lying)
            .map(|flow| mbps(flow, records.totals.end.since(duetime_core::Time::ZERO)))
            .collect();
        rates.iter().sum::<f64>() / rates.len() as f64
    };
    let port = records
        .ports
        .iter()
        .find(|port| port.link == "switch->host0")
        .expect("used");
    let outcome = Outcome {
        honest_missed: missed(records.flows.iter().filter(|flow| !lies(flow))).0,
        liar_missed: missed(records.flows.iter().filter(lies)).0,
        honest_long: long(false),
        liar_long: long(true),
    };
    println!(
        "| {load} | {name} | {:.1} % | {:.1} % | {:.0} Mbps | {:.0} Mbps | {:.3} | {:.0} B | {} |",
        outcome.honest_missed * 100.0,
        outcome.liar_missed * 100.0,
        outcome.honest_long,
        outcome.liar_long,
        port.utilisation,
        port.queue_mean_bytes,
        port.drops,
    );
    outcome
}

fn header() {
    println!(
        "D3, one liar among {SENDERS} hosts, 1 Gbps, long flows from the liar and three others:"
    );
    println!(
        "| load of deadline flows | lie | honest missed | liar missed | honest long flow | liar's long flow | utilisation | mean queue | drops |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
}

#[test]
fn asking_too_much_hurts_nobodys_deadlines_while_there_is_room() {
    header();
    let honest = outcome(0.5, "none", None);
    let double = outcome(0.5, "asks twice", Some(Lie::AsksTooMuch(2)));
    let tenfold = outcome(0.5, "asks ten times", Some(Lie::AsksTooMuch(10)));
    let hundredfold = outcome(0.5, "asks a hundred times", Some(Lie::AsksTooMuch(100)));
    for lie in [&double, &tenfold, &hundredfold] {
        assert!(
            lie.honest_missed - honest.honest_missed <= 0.01,
            "{}",
            lie.honest_missed
        );
    }
    // What it reserves and cannot use is lost to every long flow, its own included: it gains nothing.
    assert!(double.honest_long > 0.95 * honest.honest_long);
    assert!(
        hundredfold.honest_long < 0.9 * honest.honest_long,
        "FALSE that only the offender is hurt"
    );
    assert!(hundredfold.liar_long < 0.9 * honest.liar_long);
}

#[test]
fn under_overload_asking_too_much_takes_deadlines_from_others() {
    header();
    let honest = outcome(0.8, "none", None);
    outcome(0.8, "asks twice", Some(Lie::AsksTooMuch(2)));
    let tenfold = outcome(0.8, "asks ten times", Some(Lie::AsksTooMuch(10)));
    // FALSE that only the offender is hurt: first come, first served, and the liar comes for more.
    assert!(
        tenfold.honest_missed > honest.honest_missed + 0.02,
        "{}",
        tenfold.honest_missed
    );
    assert!(tenfold.liar_missed < honest.liar_missed, "and it gains");
    assert!(
        tenfold.liar_missed < tenfold.honest_missed,
        "the liar is the better off"
    );
}

#[test]
fn a_host_that_returns_nothing_is_hurt_most_but_not_alone() {
    header();
    let honest = outcome(0.5, "none", None);
    let keeps = outcome(0.5, "returns nothing", Some(Lie::KeepsEverything));
    assert!(
        keeps.liar_missed > 0.5,
        "its own link's router runs out first: {}",
        keeps.liar_missed
    );
    assert!(keeps.honest_missed < keeps.liar_missed / 2.0);
    // FALSE that only the offender is hurt: until the census finds out, what it keeps is nobody's.
    assert!(keeps.honest_missed > honest.honest_missed + 0.01);
}

#[test]
fn a_host_that_ignores_grants_destroys_the_service_of_all() {
    header();
    let honest = outcome(0.5, "none", None);
    let ignores = outcome(0.5, "ignores grants", Some(Lie::IgnoresGrants));
    // FALSE that only the offender is hurt: routers grant and do not police.
    assert!(
        honest.honest_missed < 0.01 && ignores.honest_missed > 0.5,
        "{}",
        ignores.honest_missed
    );
    assert!(ignores.liar_missed < ignores.honest_missed);
}
