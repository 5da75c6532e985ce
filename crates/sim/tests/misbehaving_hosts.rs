//! One host of twelve misbehaves towards D3's routers (D3 §4.4): who is hurt? The paper expects the offender; this shows
//! where that is so and where it is not. Every figure is a mean over runs, each with its own flows.
#![expect(clippy::print_stdout, reason = "the figures are the point")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the numbers of a test are small"
)]

mod lab;

use duetime_core::random::{Purpose, Streams};
use duetime_core::{Bytes, Rate, Span};
use duetime_proto::d3;
use duetime_results::{Estimate, FlowRecord, stats};
use duetime_scenario::model::{Amount, Buffer, Protocol, Scenario, TraceFlow};
use duetime_sim::{Faults, MisbehavingHost, Misbehaviour, Options};
use lab::{long, mbps, missed, run, star, trace};

const SENDERS: u64 = 12;
const SECONDS: u64 = 2;
const OFFENDER: u32 = 1;
/// What an ingress may send beside what it is granted, where routers police.
const ALLOWANCE: Rate = Rate::from_mbps(20);
const RUNS: u64 = 4;
const BOTTLENECK: &str = "switch->host0";
/// Under overload what is missed varies from run to run.
const RUNS_UNDER_OVERLOAD: u64 = 32;

/// Deadline flows from all hosts at `load`, and a long flow from the offender and from three honest hosts.
fn scenario(load: f64, seed: u64, police: Option<Rate>) -> Scenario {
    let rate = Rate::from_gbps(1);
    let duration = Span::from_secs(SECONDS);
    let d3 = Protocol::D3(d3::Config {
        police,
        ..d3::Config::default()
    });
    let mut scenario = star(SENDERS as u32 + 1, rate, Span::from_us(125), d3, duration);
    scenario.seed = seed;
    scenario.switch.buffer = Buffer::Static(Amount::Bytes(128 * 1024));
    scenario.drain = Span::from_ms(500);
    let mut stream = Streams::new(seed, 0).stream(0, Purpose::Arrival);
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
    scenario.workloads = vec![trace(flows), long([OFFENDER, 2, 3, 4])];
    scenario
}

/// One run's misses in [0, 1] and long flows' Mbps, of honest hosts and of the offender; and the port's figures.
struct Outcome {
    honest_missed: f64,
    own_missed: f64,
    honest_long: f64,
    own_long: f64,
    utilisation: f64,
    queue_bytes: f64,
    drops: f64,
    /// Of the drops, those of the policer.
    policed: f64,
}

/// What one host does, and what the routers do about it.
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

    /// The same with routers that police.
    const fn policed(self) -> Self {
        Self {
            police: Some(ALLOWANCE),
            ..self
        }
    }
}

/// The same flows whatever the offender does: runs with the same number are compared.
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
        &Options {
            faults,
            ..Options::default()
        },
    );
    let records = output.records;
    let is_own = |flow: &&FlowRecord| flow.source == OFFENDER;
    let long = |own: bool| {
        let rates: Vec<f64> = records
            .flows
            .iter()
            .filter(|flow| !flow.is_finite() && is_own(flow) == own)
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
        .expect("asked");
    Outcome {
        honest_missed: missed(records.flows.iter().filter(|flow| !is_own(flow))).0,
        own_missed: missed(records.flows.iter().filter(is_own)).0,
        honest_long: long(false),
        own_long: long(true),
        utilisation: port.utilisation,
        queue_bytes: port.queue_mean_bytes,
        drops: port.drops as f64,
        policed: router.policed as f64,
    }
}

fn outcomes(case: Case) -> Vec<Outcome> {
    let Case {
        load, name, police, ..
    } = case;
    let runs = if load > 0.5 {
        RUNS_UNDER_OVERLOAD
    } else {
        RUNS
    };
    let runs: Vec<Outcome> = (0..runs).map(|run| outcome(case, run)).collect();
    let police = if police.is_some() { "yes" } else { "no" };
    println!(
        "| {load} | {name} | {police} | {:.1} % | {:.1} % | {:.0} Mbps | {:.0} Mbps | {:.3} | {:.1} KB | {:.0} | {:.0} |",
        mean(&runs, |run| run.honest_missed) * 100.0,
        mean(&runs, |run| run.own_missed) * 100.0,
        mean(&runs, |run| run.honest_long),
        mean(&runs, |run| run.own_long),
        mean(&runs, |run| run.utilisation),
        mean(&runs, |run| run.queue_bytes) / 1e3,
        mean(&runs, |run| run.drops),
        mean(&runs, |run| run.policed),
    );
    runs
}

fn mean(runs: &[Outcome], figure: impl Fn(&Outcome) -> f64) -> f64 {
    let figures: Vec<f64> = runs.iter().map(figure).collect();
    stats::mean(&figures).expect("runs")
}

/// Means over runs of `figure` of `runs` minus `other_figure` of `others`, which had the same flows, with their interval.
fn difference(
    (runs, figure): (&[Outcome], fn(&Outcome) -> f64),
    (others, other_figure): (&[Outcome], fn(&Outcome) -> f64),
    what: &str,
) -> Estimate {
    let pairs = runs.iter().zip(others);
    let differences: Vec<f64> = pairs.map(|(a, b)| figure(a) - other_figure(b)).collect();
    let of = |of: &[&f64]| stats::mean(&of.iter().map(|&&of| of).collect::<Vec<_>>());
    let estimate = Estimate::of(&differences, of).expect("runs");
    println!(
        "  {what}: {:.4} [{:.4}, {:.4}]",
        estimate.value,
        estimate.low(),
        estimate.high()
    );
    estimate
}

const fn asks(load: f64, (times, name): (u8, &'static str)) -> Case {
    Case::new(load, name, Some(Misbehaviour::AsksTooMuch(times)))
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
/// Times what is needed, and what this is called.
const ASK_TOO_MUCH: [(u8, &str); 3] = [
    (2, "asks twice"),
    (10, "asks ten times"),
    (100, "asks a hundred times"),
];
const HONEST_MISSED: fn(&Outcome) -> f64 = |run| run.honest_missed;
const OWN_MISSED: fn(&Outcome) -> f64 = |run| run.own_missed;

#[test]
fn asking_too_much_hurts_nobodys_deadlines_below_capacity() {
    header();
    let honest = outcomes(Case::new(0.5, "none", None));
    let [double, tenfold, hundredfold] = ASK_TOO_MUCH.map(|how| outcomes(asks(0.5, how)));
    for how in ASK_TOO_MUCH {
        outcomes(asks(0.5, how).policed());
    }
    for runs in [&double, &tenfold, &hundredfold] {
        for (run, honest) in runs.iter().zip(&honest) {
            let more = run.honest_missed - honest.honest_missed;
            assert!(more <= 0.01, "{more}");
        }
    }
    // What it reserves and cannot use is lost to every long flow, its own included: it gains nothing.
    let honest_long = |runs| mean(runs, |run| run.honest_long);
    let own_long = |runs| mean(runs, |run| run.own_long);
    assert!(honest_long(&double) > 0.95 * honest_long(&honest));
    assert!(
        honest_long(&hundredfold) < 0.9 * honest_long(&honest),
        "FALSE that only the offender is hurt"
    );
    assert!(own_long(&hundredfold) < 0.9 * own_long(&honest));
}

#[test]
fn under_overload_asking_too_much_takes_deadlines_from_others() {
    header();
    let honest = outcomes(Case::new(0.8, "none", None));
    let [double, tenfold, _] = ASK_TOO_MUCH.map(|how| asks(0.8, how));
    outcomes(double);
    let policed = outcomes(tenfold.policed());
    let tenfold = outcomes(tenfold);
    let (honest, tenfold, policed) = (&honest[..], &tenfold[..], &policed[..]);
    // FALSE that only the offender is hurt: first come, first served, and the offender comes for more.
    let others = difference(
        (tenfold, HONEST_MISSED),
        (honest, HONEST_MISSED),
        "more honest flows miss",
    );
    assert!(others.low() > 0.01, "{others:?}");
    let others = difference(
        (policed, HONEST_MISSED),
        (honest, HONEST_MISSED),
        "the same with routers that police: it takes what it is granted",
    );
    assert!(others.low() > 0.01, "{others:?}");
    let gain = difference(
        (honest, OWN_MISSED),
        (tenfold, OWN_MISSED),
        "fewer of the offender's flows miss",
    );
    assert!(gain.low() > 0.0, "and it gains: {gain:?}");
    let advantage = difference(
        (tenfold, HONEST_MISSED),
        (tenfold, OWN_MISSED),
        "honest flows miss more often than the offender's",
    );
    assert!(advantage.low() > 0.0, "{advantage:?}");
}

#[test]
fn a_host_that_returns_nothing_is_hurt_most_but_not_alone() {
    header();
    let honest = outcomes(Case::new(0.5, "none", None));
    let keeping = Case::new(0.5, "returns nothing", Some(Misbehaviour::KeepsEverything));
    outcomes(keeping.policed());
    let keeps = outcomes(keeping);
    for (keeps, honest) in keeps.iter().zip(&honest) {
        // Its own link's router runs out first.
        assert!(keeps.own_missed > 0.5, "{}", keeps.own_missed);
        assert!(keeps.honest_missed < keeps.own_missed / 2.0);
        // FALSE that only the offender is hurt: until the census finds out, what it keeps is nobody's.
        assert!(keeps.honest_missed > honest.honest_missed + 0.01);
    }
}

#[test]
fn a_host_that_ignores_grants_destroys_the_service_of_all() {
    header();
    let honest = outcomes(Case::new(0.5, "none", None));
    let ignores = outcomes(IGNORES_GRANTS);
    for (ignores, honest) in ignores.iter().zip(&honest) {
        // FALSE that only the offender is hurt: routers grant and do not police.
        assert!(honest.honest_missed < 0.01 && ignores.honest_missed > 0.5);
        assert!(ignores.own_missed < ignores.honest_missed);
    }
}

#[test]
fn policed_a_host_that_ignores_grants_hurts_itself_alone() {
    header();
    let honest = outcomes(Case::new(0.5, "none", None));
    let policed = outcomes(Case::new(0.5, "none", None).policed());
    let ignores = outcomes(IGNORES_GRANTS.policed());
    for ((ignores, policed), honest) in ignores.iter().zip(&policed).zip(&honest) {
        assert!((policed.policed, policed.honest_missed) == (0.0, honest.honest_missed));
        assert!(ignores.policed > 0.0 && ignores.honest_missed < 0.01);
    }
}
