//! What a page takes on: more belongs on a machine, where a run has threads and memory.

use crate::error::Error;
use duetime_scenario::Scenario;
use duetime_scenario::model::WorkloadKind;
use duetime_sim::describe::Description;

/// Bytes of a scenario's text.
pub const MOST_TEXT: usize = 256 << 10;
/// Bytes of a request.
#[cfg(target_arch = "wasm32")]
pub(crate) const MOST_REQUEST: usize = 2 * MOST_TEXT + 4096;
/// Hosts of its network.
pub const MOST_HOSTS: u32 = 2_048;
/// Runs of each transport.
pub const MOST_SEEDS: u32 = 50;
/// Flows of one run: each takes up to 1.3 KB while it is open.
pub const MOST_FLOWS: f64 = 200_000.0;
/// Packets that cross a link in one run: some seconds of work.
pub const MOST_HOPS: f64 = 30e6;

/// Checks that a network may be built at all.
pub fn network(scenario: &Scenario) -> Result<(), Error> {
    if scenario.seeds > MOST_SEEDS {
        return Err(over(
            "seeds",
            "runs of each transport",
            scenario.seeds,
            MOST_SEEDS,
        )
        .of_key("seeds"));
    }
    Ok(())
}

/// Checks what a scenario contains.
pub fn contents(scenario: &Scenario, of: &Description) -> Result<(), Error> {
    if of.topology.hosts > MOST_HOSTS {
        return Err(over("hosts", "hosts", of.topology.hosts, MOST_HOSTS).of_key("topology"));
    }
    let flows: f64 = of.workloads.iter().filter_map(|of| of.expected_flows).sum();
    if flows > MOST_FLOWS {
        return Err(over("flows", "flows in a run", flows.round(), MOST_FLOWS).of_key("duration"));
    }
    let hops = of.load.packet_hops + endless(scenario, of);
    if hops > MOST_HOPS {
        return Err(
            over("hops", "packet-hops in a run", hops.round(), MOST_HOPS).of_key("duration"),
        );
    }
    Ok(())
}

/// Packet-hops of flows without an end, if each fills a link of the fastest rate for the whole run: there and back.
fn endless(scenario: &Scenario, of: &Description) -> f64 {
    let pairs = scenario.workloads.iter().map(|of| match &of.kind {
        WorkloadKind::Long { pairs, .. } => pairs.len() as f64,
        _ => 0.0,
    });
    let fastest = of.topology.rates.iter().filter(|of| of.host_links > 0);
    let fastest = fastest.map(|of| of.rate_bps).max().unwrap_or(0) as f64;
    let packets = fastest * scenario.duration.as_secs_f64() / 12_000.0;
    pairs.sum::<f64>() * packets * f64::from(of.topology.longest_path_links) * 1.5
}

fn over(what: &str, words: &str, found: impl Into<f64>, most: impl Into<f64>) -> Error {
    let (found, most) = (found.into(), most.into());
    Error::plain(format!(
        "too large for a page: {found} {words}; `duetime run` takes it (limit `{what}`)"
    ))
    .allowed(format!("at most {most} {words} here"))
}
