//! Minimum times of messages in an unloaded network: no handshake, no queues, one minimum-size packet through each switch
//! before and after the slowest stage, and the hosts' receive delay.

mod paths;

pub use paths::{Crossing, SharedLink, Tier};

use crate::topology::Network;
use crate::workload::draw::min_gap;
use duetime_core::{Rate, Span};
use duetime_scenario::model::{Host, Protocol, Scenario};
use paths::Paths;

/// Network in which each message is alone.
#[derive(Debug)]
pub struct Unloaded {
    payloads: Vec<u64>,
    header: u32,
    paths: Paths,
    /// Number of switches whose paths may still be searched. From other switches, the network between switches is
    /// assumed to take no time.
    searches: u64,
}

impl Unloaded {
    /// Prepares a network for the messages of a scenario. Times are lower bounds: a packet that arrives while its host
    /// waits for a processor is received with it, so jitter of the receive delay may add nothing.
    pub fn new(scenario: &Scenario, network: &Network) -> Self {
        Self::with_receive_delay(scenario, network, scenario.host.receive_delay)
    }

    /// Prepares a network whose paths are searched from a limited number of switches. From other switches, times may be
    /// too short. Times are those of a message alone at its hosts, so they include the minimum jitter.
    pub fn with_limited_search(scenario: &Scenario, network: &Network) -> Self {
        /// Number of hops that all searches together may examine.
        const HOPS: u64 = 20_000_000;
        Self {
            searches: (HOPS / (network.links.len() as u64 + 1)).max(4),
            ..Self::with_receive_delay(scenario, network, min_receive_delay(&scenario.host))
        }
    }

    fn with_receive_delay(scenario: &Scenario, network: &Network, delay: Span) -> Self {
        let header = Protocol::MIN_HEADER_BYTES + scenario.host.frame_overhead;
        Self {
            payloads: max_payload(scenario),
            header,
            paths: Paths::new(network, header + 1, delay),
            searches: u64::MAX,
        }
    }

    /// Returns the bytes on a link of a message of a workload: its payload and the headers of the minimum number of
    /// packets.
    pub fn wire_bytes(&self, workload: usize, bytes: u64) -> u64 {
        let packets = bytes.div_ceil(self.payloads[workload]);
        bytes.saturating_add(packets.saturating_mul(u64::from(self.header)))
    }

    /// Returns the minimum time of `wire_bytes` between two hosts (from, to).
    pub fn time(&mut self, (from, to): (u32, u32), wire_bytes: u64) -> Span {
        if self.searches > 0 && self.paths.explore(from) {
            self.searches -= 1;
        }
        let links = self.paths.links();
        let stages = self.paths.crossings(from, to).map(|crossing| {
            let work = min_transmission(links[crossing.link].rate, wire_bytes);
            let around = (crossing.before + crossing.after).as_ps();
            Span::from_ps(around.saturating_add(work))
        });
        stages.max().unwrap_or(Span::ZERO)
    }

    /// Returns the minimum time of a message of `bytes` between two hosts (from, to) under the transports of a
    /// workload.
    pub fn message_time(&mut self, workload: usize, ends: (u32, u32), bytes: u64) -> Span {
        let wire_bytes = self.wire_bytes(workload, bytes);
        self.time(ends, wire_bytes)
    }

    /// Returns the links that flows share. A flow crosses at most one link of each [`Tier`].
    pub fn links(&self) -> &[SharedLink] {
        self.paths.links()
    }

    /// Returns the shared links that a flow between two hosts crosses. Unless a time from the first host was computed,
    /// the network between switches is assumed to take no time.
    pub fn crossings(&self, from: u32, to: u32) -> impl Iterator<Item = Crossing> + use<> {
        self.paths.crossings(from, to)
    }
}

/// Returns the minimum time from the NIC of a host to its transport.
pub fn min_receive_delay(host: &Host) -> Span {
    host.receive_delay + min_gap(&host.receive_jitter)
}

/// Returns the maximum payload in bytes of one packet under any transport of the scenario, by workload.
pub fn max_payload(scenario: &Scenario) -> Vec<u64> {
    let compared = (scenario.transports.iter())
        .map(|transport| transport.protocol.max_payload())
        .max();
    let workloads = scenario.workloads.iter();
    workloads
        .map(|workload| {
            let specific =
                (workload.transport.as_ref()).map(|transport| transport.protocol.max_payload());
            u64::from(specific.or(compared).unwrap_or(1).max(1))
        })
        .collect()
}

/// Returns the transmission time of `bytes` in picoseconds, rounded down.
fn min_transmission(rate: Rate, bytes: u64) -> u64 {
    let ps = rate.transmit(bytes).as_ps();
    ps.saturating_sub(u64::from(rate.transmit_cost().ps_per_byte().is_none()))
}
