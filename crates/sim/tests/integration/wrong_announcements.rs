//! Harm to `due` from hosts: sizes that they only estimate, deadlines that some shorten to be served earlier, and deaths. All
//! numbers are means over runs with equal flows.

use crate::lab::{DeadlineFlows, missed, run, star, trace};
use duetime_core::random::{Purpose, Streams, mix};
use duetime_core::{Rate, Span};
use duetime_proto::due::Config;
use duetime_results::FlowRecord;
use duetime_scenario::model::{Amount, Buffer, Protocol, Scenario};
use duetime_sim::{Death, Faults, Options};

const SENDERS: u64 = 20;
const SECONDS: u64 = 2;
const RUNS: u64 = 2;

/// Returns a scenario of deadline flows from all hosts to one.
fn scenario(load: f64, seed: u64, config: Config) -> Scenario {
    let rate = Rate::from_gbps(1);
    let duration = Span::from_secs(SECONDS);
    let protocol = Protocol::Due(config);
    let mut scenario = star(
        SENDERS as u32 + 1,
        rate,
        Span::from_us(20),
        protocol,
        duration,
    );
    scenario.seed = seed;
    scenario.switch.buffer = Buffer::Static(Amount::Bytes(128 * 1024));
    scenario.drain = Span::from_ms(500);
    let mut stream = Streams::new(seed, 0).stream(0, Purpose::Arrival);
    let flows = DeadlineFlows {
        senders: SENDERS,
        rate,
        load,
        bytes: (2_000, 98_000),
        deadline: (Span::from_ms(10), Span::from_ms(2)),
    };
    let flows = flows.draw(&mut stream, duration);
    scenario.workloads = vec![trace(flows)];
    scenario
}

/// Returns true if the host announces false deadlines, which the simulator decides by the same hash.
fn is_false(host: u32, config: &Config) -> bool {
    (mix(u64::from(host), 0x0f10) >> 32) % 1_000 < u64::from(config.false_deadline_permille)
}

/// Missed shares in % of the flows of honest hosts and of the others.
#[derive(Clone, Copy)]
struct Missed {
    honest: f64,
    others: f64,
    /// Number of flows that did not finish.
    unfinished: usize,
}

fn outcome(name: &str, load: f64, config: Config) -> Missed {
    with_deaths(name, load, config, Vec::new(), |host| {
        is_false(host, &config)
    })
}

/// Runs the scenario with deaths of hosts. `is_other` returns true for sources that are counted apart.
fn with_deaths(
    name: &str,
    load: f64,
    config: Config,
    deaths: Vec<Death>,
    is_other: impl Fn(u32) -> bool,
) -> Missed {
    let faults = Faults {
        deaths,
        ..Faults::default()
    };
    let options = Options::with_faults(faults);
    let (mut honest, mut others) = (Vec::new(), Vec::new());
    for seed in 0..RUNS {
        let output = run(&scenario(load, 70 + seed, config), &options);
        let (wrong, right): (Vec<FlowRecord>, Vec<FlowRecord>) = output
            .records
            .flows
            .into_iter()
            .partition(|flow| is_other(flow.source));
        honest.extend(right);
        others.extend(wrong);
    }
    let unfinished = honest.iter().chain(&others);
    let unfinished = unfinished.filter(|flow| flow.finish.is_none()).count();
    let share = |flows: &[FlowRecord]| missed(flows.iter()).0 * 100.0;
    let missed = Missed {
        honest: share(&honest),
        others: share(&others),
        unfinished,
    };
    println!(
        "| {load} | {name} | {:.2} % | {:.2} % of {} |",
        missed.honest,
        missed.others,
        others.len()
    );
    missed
}

fn header() {
    println!("| load | hosts | missed | missed by the others |");
    println!("|---|---|---|---|");
}

fn with_sizes(announced_permille: u32) -> Config {
    Config {
        announced_permille,
        ..Config::default()
    }
}

fn with_false_deadlines(false_deadline_permille: u32) -> Config {
    Config {
        false_deadline_permille,
        ..Config::default()
    }
}

#[test]
fn wrong_sizes_cost_little() {
    header();
    for load in [0.7, 0.95] {
        let right = outcome("right sizes", load, with_sizes(1_000)).honest;
        for (permille, name, limit) in [
            // A tenth of a few packets, rounded to packets, says little about the size.
            (100, "a tenth", 10.0),
            (500, "half", 2.0),
            (2_000, "double", 2.0),
            (10_000, "tenfold", 2.0),
        ] {
            let wrong = outcome(name, load, with_sizes(permille)).honest;
            let more = wrong - right;
            assert!(more <= limit, "{name}: {wrong} % instead of {right} %");
        }
    }
}

#[test]
fn false_deadlines_hurt_only_their_hosts() {
    header();
    for load in [0.7, 0.95] {
        let right = outcome("right deadlines", load, with_false_deadlines(0)).honest;
        for (permille, name) in [(100, "a tenth of the hosts"), (300, "30 % of the hosts")] {
            let missed = outcome(name, load, with_false_deadlines(permille));
            let honest = missed.honest;
            assert!(
                honest <= right * 1.1 + 0.1,
                "{name}: {honest} % instead of {right} %"
            );
            // What cannot meet the announced deadline is postponed, so a false one does not pay.
            assert!(missed.others > right, "{name}: {} %", missed.others);
        }
    }
}

/// Returns deaths of the hosts, one every `interval`.
fn deaths(hosts: std::ops::RangeInclusive<u32>, interval: Span) -> Vec<Death> {
    let count = Span::from_secs(SECONDS).as_ps() / interval.as_ps();
    let hosts = hosts.cycle().zip(1..count);
    let death = |(host, number)| Death {
        at: interval * number,
        host,
    };
    hosts.map(death).collect()
}

/// A source that dies leaves grants that it never uses. Its link time goes to others after the shortest timer.
#[test]
fn dying_sources_hurt_only_their_messages() {
    header();
    let config = Config::default();
    for load in [0.7, 0.95] {
        let is_mortal = |host| (1..=5).contains(&host);
        let name = "a quarter of the sources";
        let right = with_deaths(name, load, config, Vec::new(), is_mortal).honest;
        let dying = deaths(1..=5, Span::from_ms(10));
        let name = "a quarter of the sources, of which one dies every 10 ms";
        let missed = with_deaths(name, load, config, dying, is_mortal);
        let honest = missed.honest;
        assert!(
            honest <= right * 1.1 + 0.1,
            "{load}: {honest} % instead of {right} %"
        );
        assert!(missed.others > right, "{load}: {} %", missed.others);
    }
}

/// A receiver that restarts knows none of the messages in flight. Their sources announce them again.
#[test]
fn messages_survive_the_death_of_their_receiver() {
    header();
    let config = Config::default();
    for load in [0.7, 0.95] {
        let dying = deaths(0..=0, Span::from_ms(400));
        let name = "the receiver dies every 400 ms";
        let missed = with_deaths(name, load, config, dying, |_| false);
        assert_eq!(missed.unfinished, 0, "{load}");
    }
}
