//! Harm of one misbehaving host of twelve to D3 flows (D3 §4.4). The paper expects harm only to the offender; these
//! tests show when that is true. All numbers are means over runs with different flows.

use crate::lab::{DeadlineFlows, long, mbps, missed, run, star, trace};
use duetime_core::random::{Purpose, Streams};
use duetime_core::{Rate, Span};
use duetime_proto::d3;
use duetime_results::{Estimate, FlowRecord, stats};
use duetime_scenario::model::{Amount, Buffer, Protocol, Scenario};
use duetime_sim::{Faults, MisbehavingHost, Misbehaviour, Options};
use std::thread;

const SENDERS: u64 = 12;
const SECONDS: u64 = 2;
const OFFENDER: u32 = 1;
/// Rate that an ingress may send above its grants if routers police.
const ALLOWANCE: Rate = Rate::from_mbps(20);
const RUNS: u64 = 4;
const BOTTLENECK: &str = "switch->host0";
/// Number of runs under overload, where misses vary more from run to run.
const RUNS_UNDER_OVERLOAD: u64 = 32;

/// Returns a scenario of deadline flows from all hosts at `load`, with a long flow each from the offender and three
/// others.
fn scenario(load: f64, seed: u64, police: Option<Rate>) -> Scenario {
    let rate = Rate::from_gbps(1);
    let duration = Span::from_secs(SECONDS);
    let d3 = Protocol::D3(d3::Config::default().with(|c| c.router.police = police));
    let mut scenario = star(SENDERS as u32 + 1, rate, Span::from_us(125), d3, duration);
    scenario.seed = seed;
    scenario.switch.buffer = Buffer::Static(Amount::Bytes(128 * 1024));
    scenario.drain = Span::from_ms(500);
    let mut stream = Streams::new(seed, 0).stream(0, Purpose::Arrival);
    let flows = DeadlineFlows {
        senders: SENDERS,
        rate,
        load,
        bytes: (2_000, 50_000),
        deadline: (Span::from_ms(30), Span::from_ms(5)),
    };
    let flows = flows.draw(&mut stream, duration);
    scenario.workloads = vec![trace(flows), long([OFFENDER, 2, 3, 4])];
    scenario
}

/// Results of one run: missed shares in [0, 1] and long flows' rates in Mbps, and the bottleneck port's statistics.
struct Outcome {
    honest_missed: f64,
    offender_missed: f64,
    honest_long: f64,
    offender_long: f64,
    utilisation: f64,
    queue_bytes: f64,
    drops: f64,
    /// Drops by the policer.
    policed: f64,
}

/// Misbehaviour of one host and the routers' response.
#[derive(Clone, Copy)]
struct Case {
    load: f64,
    name: &'static str,
    how: Option<Misbehaviour>,
    police: Option<Rate>,
}

impl Case {
    const fn new(load: f64, name: &'static str, how: Option<Misbehaviour>) -> Self {
        Self {
            load,
            name,
            how,
            police: None,
        }
    }

    /// Adds policing routers.
    const fn policed(self) -> Self {
        Self {
            police: Some(ALLOWANCE),
            ..self
        }
    }
}

/// Runs a case; runs with the same number have the same flows, whatever the offender does.
fn outcome(case: Case, run_number: u64) -> Outcome {
    let misbehaving = case.how.map(|how| MisbehavingHost {
        host: OFFENDER,
        how,
    });
    let faults = Faults {
        misbehaving: misbehaving.into_iter().collect(),
        ..Faults::default()
    };
    let output = run(
        &scenario(case.load, 5 + run_number, case.police),
        &Options::with_faults(faults),
    );
    let records = output.records;
    let is_offender = |flow: &&FlowRecord| flow.source == OFFENDER;
    let long = |offender: bool| {
        let rates: Vec<f64> = records
            .flows
            .iter()
            .filter(|flow| !flow.is_finite() && is_offender(flow) == offender)
            .map(|flow| mbps(flow, records.totals.end.since(duetime_core::Time::ZERO)))
            .collect();
        stats::mean(&rates).expect("long flows")
    };
    let port = records
        .ports
        .iter()
        .find(|port| port.link == BOTTLENECK)
        .expect("used");
    let router = output
        .allocators
        .iter()
        .find(|router| router.link == BOTTLENECK)
        .expect("used");
    Outcome {
        honest_missed: missed(records.flows.iter().filter(|flow| !is_offender(flow))).0,
        offender_missed: missed(records.flows.iter().filter(is_offender)).0,
        honest_long: long(false),
        offender_long: long(true),
        utilisation: port.utilisation,
        queue_bytes: port.queue_mean_bytes,
        drops: port.drops as f64,
        policed: router.policed as f64,
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the longest test ends alone, so it uses two threads"
)]
fn outcomes(case: Case) -> Vec<Outcome> {
    let Case {
        load, name, police, ..
    } = case;
    let runs = if load > 0.5 {
        RUNS_UNDER_OVERLOAD
    } else {
        RUNS
    };
    let half = runs / 2;
    let runs: Vec<Outcome> = thread::scope(|scope| {
        let parts = [0..half, half..runs].map(|part| {
            scope.spawn(|| -> Vec<Outcome> { part.map(|run| outcome(case, run)).collect() })
        });
        let parts = parts.map(|part| part.join().expect("no panic"));
        parts.into_iter().flatten().collect()
    });
    let police = if police.is_some() { "yes" } else { "no" };
    println!(
        "| {load} | {name} | {police} | {:.1} % | {:.1} % | {:.0} Mbps | {:.0} Mbps | {:.3} | {:.1} KB | {:.0} | {:.0} |",
        mean(&runs, |run| run.honest_missed) * 100.0,
        mean(&runs, |run| run.offender_missed) * 100.0,
        mean(&runs, |run| run.honest_long),
        mean(&runs, |run| run.offender_long),
        mean(&runs, |run| run.utilisation),
        mean(&runs, |run| run.queue_bytes) / 1e3,
        mean(&runs, |run| run.drops),
        mean(&runs, |run| run.policed),
    );
    runs
}

fn mean(runs: &[Outcome], value: impl Fn(&Outcome) -> f64) -> f64 {
    let values: Vec<f64> = runs.iter().map(value).collect();
    stats::mean(&values).expect("runs")
}

/// Prints and returns the mean difference, with its interval, between two values of runs with the same flows.
fn difference(
    (runs, value): (&[Outcome], fn(&Outcome) -> f64),
    (others, other_value): (&[Outcome], fn(&Outcome) -> f64),
    label: &str,
) -> Estimate {
    let pairs = runs.iter().zip(others);
    let differences: Vec<f64> = pairs.map(|(a, b)| value(a) - other_value(b)).collect();
    let mean =
        |values: &[&f64]| stats::mean(&values.iter().map(|&&value| value).collect::<Vec<_>>());
    let estimate = Estimate::of(&differences, mean).expect("runs");
    println!(
        "  {label}: {:.4} [{:.4}, {:.4}]",
        estimate.value,
        estimate.low(),
        estimate.high()
    );
    estimate
}

const fn over_request(load: f64, (times, name): (u8, &'static str)) -> Case {
    Case::new(load, name, Some(Misbehaviour::OverRequests(times)))
}

fn header() {
    println!(
        "D3, one of {SENDERS} hosts misbehaves, 1 Gbps, long flows from it and three others, means of {RUNS} runs, \
         {RUNS_UNDER_OVERLOAD} at a load of 0.8:"
    );
    println!(
        "| load of deadline flows | misbehaviour | policed | honest missed | offender missed | honest long flow | offender's long flow | utilisation | mean queue | drops | by the policer |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
}

const IGNORES_GRANTS: Case = Case::new(0.5, "ignores grants", Some(Misbehaviour::IgnoresGrants));
/// Factors of over-requesting, with their names.
const ASK_TOO_MUCH: [(u8, &str); 3] = [
    (2, "asks twice"),
    (10, "asks ten times"),
    (100, "asks a hundred times"),
];
const HONEST_MISSED: fn(&Outcome) -> f64 = |run| run.honest_missed;
const OFFENDER_MISSED: fn(&Outcome) -> f64 = |run| run.offender_missed;

#[test]
fn over_requests_keep_deadlines_below_capacity() {
    header();
    let honest = outcomes(Case::new(0.5, "none", None));
    let [double, tenfold, hundredfold] = ASK_TOO_MUCH.map(|how| outcomes(over_request(0.5, how)));
    for how in ASK_TOO_MUCH {
        outcomes(over_request(0.5, how).policed());
    }
    for runs in [&double, &tenfold, &hundredfold] {
        for (run, honest) in runs.iter().zip(&honest) {
            let more = run.honest_missed - honest.honest_missed;
            assert!(more <= 0.01, "{more}");
        }
    }
    // Capacity that the offender reserves and cannot use is lost to all long flows, including its own.
    let honest_long = |runs| mean(runs, |run| run.honest_long);
    let offender_long = |runs| mean(runs, |run| run.offender_long);
    assert!(honest_long(&double) > 0.95 * honest_long(&honest));
    assert!(
        honest_long(&hundredfold) < 0.9 * honest_long(&honest),
        "honest long flows should lose too"
    );
    assert!(offender_long(&hundredfold) < 0.9 * offender_long(&honest));
}

#[test]
#[ignore = "a minute in a debug build: script/faults --long"]
fn over_requests_hurt_others_under_overload() {
    header();
    let honest = outcomes(Case::new(0.8, "none", None));
    let [double, tenfold, _] = ASK_TOO_MUCH.map(|how| over_request(0.8, how));
    outcomes(double);
    let policed = outcomes(tenfold.policed());
    let tenfold = outcomes(tenfold);
    let (honest, tenfold, policed) = (&honest[..], &tenfold[..], &policed[..]);
    // The offender is not the only victim: routers serve first come, first served, and the offender requests more.
    let others = difference(
        (tenfold, HONEST_MISSED),
        (honest, HONEST_MISSED),
        "more honest flows miss",
    );
    assert!(others.low() > 0.01, "{others:?}");
    let others = difference(
        (policed, HONEST_MISSED),
        (honest, HONEST_MISSED),
        "more honest flows miss with policing routers, as the offender keeps to its grants",
    );
    assert!(others.low() > 0.01, "{others:?}");
    let gain = difference(
        (honest, OFFENDER_MISSED),
        (tenfold, OFFENDER_MISSED),
        "fewer of the offender's flows miss",
    );
    assert!(gain.low() > 0.0, "the offender should gain: {gain:?}");
    let advantage = difference(
        (tenfold, HONEST_MISSED),
        (tenfold, OFFENDER_MISSED),
        "honest flows miss more often than the offender's",
    );
    assert!(advantage.low() > 0.0, "{advantage:?}");
}

#[test]
fn keeping_grants_hurts_the_offender_most() {
    header();
    let honest = outcomes(Case::new(0.5, "none", None));
    let keeping = Case::new(0.5, "returns nothing", Some(Misbehaviour::NeverReturns));
    outcomes(keeping.policed());
    let keeps = outcomes(keeping);
    for (keeps, honest) in keeps.iter().zip(&honest) {
        // The router of the offender's own link runs out first.
        assert!(keeps.offender_missed > 0.5, "{}", keeps.offender_missed);
        assert!(keeps.honest_missed < keeps.offender_missed / 2.0);
        // The offender is not the only victim: no flow can use what it keeps until the census finds out.
        assert!(keeps.honest_missed > honest.honest_missed + 0.01);
    }
}

#[test]
fn ignoring_grants_hurts_all_hosts() {
    header();
    let honest = outcomes(Case::new(0.5, "none", None));
    let ignores = outcomes(IGNORES_GRANTS);
    for (ignores, honest) in ignores.iter().zip(&honest) {
        // The offender is not the only victim: routers grant, but do not police.
        assert!(honest.honest_missed < 0.01 && ignores.honest_missed > 0.5);
        assert!(ignores.offender_missed < ignores.honest_missed);
    }
}

#[test]
fn policing_confines_the_harm_to_the_offender() {
    header();
    let honest = outcomes(Case::new(0.5, "none", None));
    let policed = outcomes(Case::new(0.5, "none", None).policed());
    let ignores = outcomes(IGNORES_GRANTS.policed());
    for ((ignores, policed), honest) in ignores.iter().zip(&policed).zip(&honest) {
        assert!((policed.policed, policed.honest_missed) == (0.0, honest.honest_missed));
        assert!(ignores.policed > 0.0 && ignores.honest_missed < 0.01);
    }
}
