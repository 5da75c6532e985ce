//! Long D3 flows through one port in the simulator: shares equal within a quantum, progress of all flows, a busy link.

use crate::common::{link, run, scenario};
use duetime_core::{Rate, Span};
use duetime_proto::d3::Config;
use duetime_results::RunRecords;
use duetime_scenario::model::*;

/// Returns the records of `n` hosts that send to host 0 for `ms` milliseconds.
fn records(n: u32, link: Link, ms: u64) -> RunRecords {
    let pairs = (1..=n).map(|host| (host, 0)).collect();
    let long = WorkloadKind::Long {
        pairs,
        at: Span::ZERO,
        jitter: Span::ZERO,
    };
    let topology = Topology::Star { hosts: n + 1, link };
    let mut scenario = scenario(topology, Protocol::D3(Config::default()), vec![long]);
    scenario.host.start_jitter = true;
    scenario.duration = Span::from_ms(ms);
    run(&scenario).records
}

/// Returns the bytes on the wire towards host 0.
fn carried(records: &RunRecords) -> u64 {
    records
        .ports
        .iter()
        .find(|port| port.link == "switch->host0")
        .unwrap()
        .bytes
}

/// Checks averages over one second, after a warm-up of 200 ms.
fn check(n: u32, rate: Rate, latency: Span) {
    let link = link(rate, latency);
    let (before, after) = (records(n, link, 200), records(n, link, 1_200));
    let quantum = f64::from(Config::scale_for(rate)).exp2() * 1e6;
    let rates: Vec<f64> = before
        .flows
        .iter()
        .zip(&after.flows)
        .map(|(before, after)| (after.delivered_bytes - before.delivered_bytes) as f64 / quantum)
        .collect();
    assert_eq!(rates.len(), n as usize);
    let (min, max) = rates.iter().fold((f64::MAX, 0.0_f64), |(min, max), &rate| {
        (min.min(rate), max.max(rate))
    });
    let mean = rates.iter().sum::<f64>() / f64::from(n);
    let utilisation = (carried(&after) - carried(&before)) as f64 * 8.0 / rate.as_bps() as f64;
    let case = format!(
        "{n} flows at {rate}: {min:.3} / {mean:.3} / {max:.3} quanta, utilisation {utilisation:.3}"
    );
    assert!(max - min <= 1.0, "{case}");
    assert!(min > 0.25 * mean, "{case}");
    assert!((0.9..=1.0).contains(&utilisation), "{case}");
    assert!(after.ports.iter().all(|port| port.drops == 0), "{case}");
}

#[test]
fn two_to_300_flows_share_a_gigabit() {
    for n in [2, 7, 40, 130, 300] {
        check(n, Rate::from_gbps(1), Span::from_us(60));
    }
}

#[test]
fn two_to_40_flows_share_100_mbps() {
    for n in [2, 17, 40] {
        check(n, Rate::from_mbps(100), Span::from_us(20));
    }
}
