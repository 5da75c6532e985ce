//! Limits of a page. Larger scenarios need `duetime run`, which has threads and more memory.

use crate::error::Error;
use duetime_analysis::Description;
use duetime_scenario::Scenario;
use duetime_scenario::model::WorkloadKind;

/// Maximum size of a scenario's text in bytes.
pub const MAX_TEXT_BYTES: usize = 256 << 10;
/// Maximum size of a request in bytes.
#[cfg(target_arch = "wasm32")]
pub(crate) const MAX_REQUEST_BYTES: usize = 2 * MAX_TEXT_BYTES + 4096;
/// Maximum number of hosts.
pub const MAX_HOSTS: u32 = 2_048;
/// Maximum number of runs per transport.
pub const MAX_SEEDS: u32 = 50;
/// Maximum number of flows per run, each of which takes up to 1.3 KB while it is open.
pub const MAX_FLOWS: f64 = 200_000.0;
/// Maximum number of packet-hops per run, which take some seconds.
pub const MAX_PACKET_HOPS: f64 = 30e6;

/// Checks the limits that do not require the description of the scenario.
pub fn network(scenario: &Scenario) -> Result<(), Error> {
    if scenario.seeds > MAX_SEEDS {
        return Err(
            over("seeds", "runs of each transport", scenario.seeds, MAX_SEEDS).of_key("seeds"),
        );
    }
    Ok(())
}

/// Checks the limits on the scenario's contents.
pub fn contents(scenario: &Scenario, description: &Description) -> Result<(), Error> {
    if description.topology.hosts > MAX_HOSTS {
        return Err(
            over("hosts", "hosts", description.topology.hosts, MAX_HOSTS).of_key("topology"),
        );
    }
    let flows: f64 = description
        .workloads
        .iter()
        .filter_map(|workload| workload.expected_flows)
        .sum();
    if flows > MAX_FLOWS {
        return Err(over("flows", "flows in a run", flows.round(), MAX_FLOWS).of_key("duration"));
    }
    let hops = description.load.packet_hops + endless(scenario, description);
    if hops > MAX_PACKET_HOPS {
        return Err(over(
            "hops",
            "packet-hops in a run",
            hops.round(),
            MAX_PACKET_HOPS,
        )
        .of_key("duration"));
    }
    Ok(())
}

/// Estimates the packet-hops of unlimited flows, as if each filled a link of the fastest rate in the whole run, with
/// acknowledgements.
fn endless(scenario: &Scenario, description: &Description) -> f64 {
    let pairs = scenario
        .workloads
        .iter()
        .map(|workload| match &workload.kind {
            WorkloadKind::Long { pairs, .. } => pairs.len() as f64,
            _ => 0.0,
        });
    let fastest = description
        .topology
        .rates
        .iter()
        .filter(|rate| rate.host_links > 0);
    let fastest = fastest.map(|rate| rate.rate_bps).max().unwrap_or(0) as f64;
    let packets = fastest * scenario.duration.as_secs_f64() / 12_000.0;
    pairs.sum::<f64>() * packets * f64::from(description.topology.longest_path_links) * 1.5
}

fn over(name: &str, unit: &str, found: impl Into<f64>, maximum: impl Into<f64>) -> Error {
    let (found, maximum) = (found.into(), maximum.into());
    Error::plain(format!(
        "too large for a page: {found} {unit}; use `duetime run` (limit `{name}`)"
    ))
    .allowed(format!("at most {maximum} {unit} here"))
}
