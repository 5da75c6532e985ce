//! Tests of the engine's extension points with `due`: a transport that the receivers drive, and a port discipline that
//! may drop a packet other than the arriving one. Each is one line in a list of the engine.

mod lowest_last;

pub use lowest_last::LowestLast;

use crate::{Options, RunOutput, run};
use duetime_results::digest;
use duetime_scenario::{NoFiles, Scenario};
use std::fmt::Write as _;

/// Options of `due` that put more packets in flight than [`LowestLast`] queues.
const OVERCOMMIT: &str = "[due]\nwindow = 4\novercommit = 4";

/// Runs ten simultaneous flows of 15 to 330 KB to one host in another rack with `due`. The name of the scenario selects the
/// discipline.
fn burst(name: &str, options: &str, threads: usize) -> RunOutput {
    let mut text = format!(
        r#"
name = "{name}"
transport = "due"
[topology]
kind = "leaf-spine"
racks = 2
hosts_per_rack = 11
spines = 2
host_link = {{ rate = "1 Gbps", latency = "20 us" }}
uplink = {{ rate = "10 Gbps", latency = "20 us" }}
[host]
receive_jitter = "0 ps"
[switch]
buffer = "unlimited"
{options}
"#
    );
    for (host, kilobytes) in (12..22).zip((0..10).map(|flow| 15 + 35 * flow)) {
        let _ = writeln!(
            text,
            "[[workload]]\nkind = \"burst\"\nsenders = 1\nfrom = [{host}]\nreceiver = 0\nsize = \"{kilobytes} KB\""
        );
    }
    let mut scenario: Scenario = duetime_scenario::load(&text, "burst", &[], &NoFiles)
        .unwrap_or_else(|error| panic!("{error}"));
    scenario.transports[0].priorities = 4;
    let run_options = Options {
        threads,
        ..Options::default()
    };
    // A run ends with its last flow. In run 0, a packet without payload would still be in flight.
    run(&scenario, 0, 1, &run_options).expect("a valid scenario")
}

/// Checks that all flows ended, that the network is empty, and that bytes are conserved.
fn assert_complete(output: &RunOutput) {
    let flows = &output.records.flows;
    assert_eq!(flows.len(), 10);
    assert!(flows.iter().all(|flow| flow.finish.is_some()));
    let totals = output.records.totals;
    assert_eq!(totals.in_flight_bytes, 0);
    assert_eq!(
        totals.injected_bytes,
        totals.arrived_bytes + totals.dropped_bytes
    );
}

#[test]
fn receiver_schedules_flows_of_a_burst() {
    let output = burst("strict-priority", "", 1);
    assert_complete(&output);
    // Shortest remaining flow first, so flows end in the order of their sizes.
    let mut flows = output.records.flows.clone();
    flows.sort_by_key(|flow| flow.size_bytes);
    assert!(flows.windows(2).all(|pair| pair[0].finish < pair[1].finish));
    // Without a handshake, the burst takes its transmission time and at most two more round trips.
    let bytes: u64 = flows.iter().map(|flow| flow.size_bytes).sum();
    let last = flows[9].finish.expect("checked above").as_ps() as f64 / 1e6;
    let min = bytes as f64 * (1500.0 / 1440.0) / 125.0;
    assert!((min..min + 500.0).contains(&last), "{last} us, {min}");
    assert_eq!(
        digest(&output.records),
        digest(&burst("strict-priority", "", 2).records)
    );
}

#[test]
fn port_may_drop_a_queued_packet() {
    let output = burst(lowest_last::NAME, OVERCOMMIT, 1);
    assert_complete(&output);
    let ports = &output.records.ports;
    assert!(ports.iter().map(|port| port.drops).sum::<u64>() > 0);
    assert_eq!(
        digest(&output.records),
        digest(&burst(lowest_last::NAME, OVERCOMMIT, 2).records)
    );
}
