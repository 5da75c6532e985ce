//! Minimum time of a flow: all its bytes over its slowest link, plus the latency of the path. With packet spraying, links
//! between switches do not limit a flow, which can use several at once.

use crate::generator::Case;
use duetime_core::{Rate, Span};
use duetime_proto::{d3, pdq};
use duetime_results::FlowRecord;
use duetime_scenario::model::{Connection, Protocol};
use duetime_sim::topology::Network;

/// Size of the TCP and IP headers in bytes.
const HEADERS: u64 = 40;

/// Best values over all shortest paths between any two hosts.
pub struct Minimum {
    paths: Vec<Vec<Path>>,
}

/// Minimum latency and maximum capacity over the shortest paths, possibly of different paths.
#[derive(Clone, Copy)]
struct Path {
    links: u32,
    latency: Span,
    capacity: Rate,
}

impl Minimum {
    /// Searches the network from every host.
    pub fn new(case: &Case) -> Self {
        let network = &case.network;
        Self {
            paths: (0..network.hosts())
                .map(|host| paths_from(network, case.sprays(), host))
                .collect(),
        }
    }

    /// Returns the minimum time of a flow from submission to delivery.
    pub fn flow_time(&self, case: &Case, flow: &FlowRecord) -> Span {
        let forward = self.paths[flow.source as usize][flow.destination as usize];
        let back = self.paths[flow.destination as usize][flow.source as usize];
        let overhead = u64::from(case.scenario.host.frame_overhead);
        let host = case.scenario.host.receive_delay;
        let (payload, handshake) = match case.protocol(flow.workload) {
            Protocol::Tcp(config) => {
                let needs_handshake = case.scenario.workloads[usize::from(flow.workload)]
                    .connection
                    == Connection::PerFlow;
                (config.mss, needs_handshake.then_some(HEADERS))
            }
            // Opening takes a request and its answer.
            Protocol::D3(config) => {
                let header = HEADERS as u32 + d3::Packet::REQUEST_BYTES;
                (config.wire.mtu - HEADERS as u32, Some(u64::from(header)))
            }
            Protocol::Due(config) => (config.mtu - HEADERS as u32, None),
            Protocol::PFabric(config) => (config.mtu - HEADERS as u32, None),
            Protocol::Homa(config) => (config.mtu - HEADERS as u32, None),
            Protocol::Pdq(config) => (config.payload(), Some(u64::from(pdq::HEADER_BYTES))),
            Protocol::Sird(config) => (config.mtu - HEADERS as u32, None),
        };
        let packets = flow.size_bytes.div_ceil(u64::from(payload));
        let wire = flow.size_bytes + packets * (HEADERS + overhead);
        let data = forward.capacity.transmit(wire) + forward.latency + host;
        let Some(header) = handshake else { return data };
        let opening = [forward, back]
            .map(|path| path.capacity.transmit(header + overhead) + path.latency + host);
        data + opening[0] + opening[1]
    }
}

/// Returns the shortest paths from a host, by breadth-first search.
fn paths_from(network: &Network, sprays: bool, host: u32) -> Vec<Path> {
    let start = Path {
        links: 0,
        latency: Span::ZERO,
        capacity: Rate::from_bps(u64::MAX),
    };
    let mut best: Vec<Option<Path>> = vec![None; network.nodes.len()];
    best[host as usize] = Some(start);
    let mut layer = vec![host];
    while !layer.is_empty() {
        let mut next = Vec::new();
        for link in network
            .links
            .iter()
            .filter(|link| layer.contains(&link.from))
        {
            let before = best[link.from as usize].expect("in this layer");
            let is_switch = |node: u32| network.nodes[node as usize].host.is_none();
            let is_limit = !(sprays && is_switch(link.from) && is_switch(link.to));
            let path = Path {
                links: before.links + 1,
                latency: before.latency + link.latency,
                capacity: if is_limit {
                    before.capacity.min(link.rate)
                } else {
                    before.capacity
                },
            };
            match &mut best[link.to as usize] {
                Some(known) if known.links < path.links => {}
                Some(known) => {
                    known.latency = known.latency.min(path.latency);
                    known.capacity = known.capacity.max(path.capacity);
                }
                unknown @ None => {
                    *unknown = Some(path);
                    next.push(link.to);
                }
            }
        }
        // Paths do not pass through hosts other than the first.
        layer = next
            .into_iter()
            .filter(|&node| network.nodes[node as usize].host.is_none())
            .collect();
    }
    best[..network.hosts() as usize]
        .iter()
        .map(|path| path.expect("every host can be reached"))
        .collect()
}
