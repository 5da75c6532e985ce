//! Proof that the engine is open: a receiver-driven transport and a port discipline that drops another packet than the
//! one that arrives, in tests only. Each is one line in a list of the engine.

mod grants;
mod lowest_last;

pub use grants::Grants;
pub use lowest_last::LowestLast;

use crate::{Options, RunOutput, run};
use duetime_results::digest;
use duetime_scenario::{NoFiles, Scenario};
use std::fmt::Write as _;

/// Ten flows of 15 to 330 KB to one host in another rack, at once, by the receiver-driven transport. The scenario's
/// name chooses the discipline.
fn burst(name: &str, threads: usize) -> RunOutput {
    let mut text = format!(
        r#"
name = "{name}"
transport = "tcp"
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
    grants::NAME.clone_into(&mut scenario.transports[0].name);
    scenario.transports[0].priorities = 4;
    let options = Options {
        threads,
        ..Options::default()
    };
    // A run ends with its last flow. In run 0 a packet without payload is still on its way then.
    run(&scenario, 0, 1, &options).expect("a valid scenario")
}

/// All flows are over, nothing is left in the network, and what was injected went somewhere.
fn is_complete(output: &RunOutput) {
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
fn a_receiver_schedules_the_flows_of_a_burst() {
    let output = burst("strict-priority", 1);
    is_complete(&output);
    // The shortest remaining flow first: they end in the order of their sizes.
    let mut flows = output.records.flows.clone();
    flows.sort_by_key(|flow| flow.size_bytes);
    assert!(flows.windows(2).all(|pair| pair[0].finish < pair[1].finish));
    // Without a handshake: data flows as soon as it may, the whole burst within its time on the link and two round
    // trips more.
    let bytes: u64 = flows.iter().map(|flow| flow.size_bytes).sum();
    let last = flows[9].finish.expect("checked above").as_ps() as f64 / 1e6;
    let least = bytes as f64 * (1500.0 / grants::PAYLOAD as f64) / 125.0;
    assert!((least..least + 500.0).contains(&last), "{last} us, {least}");
    assert_eq!(
        digest(&output.records),
        digest(&burst("strict-priority", 2).records)
    );
}

#[test]
fn a_port_drops_another_packet_than_the_one_that_arrives() {
    let output = burst(lowest_last::NAME, 1);
    is_complete(&output);
    let ports = &output.records.ports;
    assert!(ports.iter().map(|port| port.drops).sum::<u64>() > 0);
    assert_eq!(
        digest(&output.records),
        digest(&burst(lowest_last::NAME, 2).records)
    );
}
