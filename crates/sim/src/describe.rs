//! What a scenario contains, told before it runs.

mod doubts;
mod halves;
mod hopeless;
mod load;
mod measured;
mod recorded;
mod servers;
mod workloads;

pub use doubts::Doubt;
pub use hopeless::{Hopeless, Judged};
pub use load::{HEAVY, LinkLoad, LoadDescription, NotSustained, Oversubscription, WorkloadLoad};
pub use servers::{HostLoad, ServersDescription};
pub use workloads::{DeadlineQuantiles, WorkloadDescription};

use crate::SetupError;
use crate::routing::Routing;
use crate::setup::least_receive_delay;
use crate::topology::{DirectedLink, Network};
use crate::workload::Workloads;
use duetime_core::random::Streams;
use duetime_core::{Rate, Span};
use duetime_scenario::model::{Host, Scenario};
use serde::Serialize;
use std::cmp::Reverse;

/// A scenario's network and workloads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Description {
    /// The network.
    pub topology: TopologyDescription,
    /// In the order of the file.
    pub workloads: Vec<WorkloadDescription>,
    /// What the workloads offer to the links.
    pub load: LoadDescription,
    /// Load of the hosts' servers.
    pub servers: ServersDescription,
    /// Settings that are allowed, but hardly meant.
    pub doubts: Vec<Doubt>,
    /// Deadlines that no transport meets, by workload.
    pub hopeless: Vec<Hopeless>,
}

impl Description {
    /// Whether it is certain beforehand that nothing will count: no workload starts anything from the warm-up on and
    /// before the duration.
    pub fn counts_nothing(&self) -> bool {
        let mut measured = self.workloads.iter().map(|of| of.expected_measured);
        measured.all(|expected| expected == Some(0.0))
    }
}

/// A network in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TopologyDescription {
    /// Hosts.
    pub hosts: u32,
    /// Switches.
    pub switches: u32,
    /// Full-duplex links, those of the hosts included.
    pub links: u32,
    /// The different rates and how many links have each, slowest first.
    pub rates: Vec<RateCount>,
    /// Links on the longest of the shortest paths between two hosts.
    pub longest_path_links: u32,
    /// The longest round trip on an idle network: a 1500 B packet one way, a 40 B acknowledgement back, and the least time
    /// that both hosts take to receive.
    pub base_rtt_ns: u64,
    /// The slowest rate on that path × the round trip.
    pub bandwidth_delay_product_bytes: u64,
    /// Most that the first half of the hosts, in their numbering, can send to the second half at once.
    pub between_halves_bps: u64,
    /// That, as a share of what the links of the smaller half could take.
    pub between_halves_share: f64,
    /// Size of the routing tables.
    pub routing_table_bytes: u64,
}

/// How many full-duplex links have one rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RateCount {
    /// The rate.
    pub rate_bps: u64,
    /// Links to hosts with it.
    pub host_links: u32,
    /// Links between switches with it.
    pub switch_links: u32,
}

/// Describes a scenario as its first run would find it.
pub fn describe(scenario: &Scenario) -> Result<Description, SetupError> {
    let network = Network::build(&scenario.topology)?;
    let routing = Routing::build(&network)?;
    let workloads = Workloads::new(scenario, &network, &Streams::new(scenario.seed, 0))?;
    let mut described = workloads::describe(scenario, &network, &workloads);
    let load = load::describe(scenario, &network, &workloads, &mut described);
    let topology = TopologyDescription::new(&network, &routing, &scenario.host);
    Ok(Description {
        doubts: doubts::of(scenario, &network, &workloads, topology.base_rtt_ns),
        hopeless: hopeless::of(scenario, &network, &workloads),
        servers: servers::describe(scenario, &network, &workloads),
        topology,
        workloads: described,
        load,
    })
}

impl TopologyDescription {
    /// Describes a network of such hosts.
    pub fn new(network: &Network, routing: &Routing, host: &Host) -> Self {
        let (rtt, rate_bps) = longest_round_trip(network, routing, host.frame_overhead);
        let rtt = rtt + least_receive_delay(host) * 2;
        let between_halves = halves::capacity(network);
        let half = network.hosts() / 2;
        let side = |hosts: std::ops::Range<u32>| -> u64 {
            hosts
                .map(|host| {
                    network.links[network.uplink[host as usize] as usize]
                        .rate
                        .as_bps()
                })
                .sum()
        };
        let smaller_side = side(0..half).min(side(half..network.hosts()));
        Self {
            hosts: network.hosts(),
            switches: network.switches(),
            links: network.links.len() as u32 / 2,
            rates: rates(network),
            longest_path_links: network.longest_path(),
            base_rtt_ns: rtt.as_ns(),
            bandwidth_delay_product_bytes: Rate::from_bps(rate_bps).bytes_in(rtt),
            between_halves_bps: between_halves,
            between_halves_share: between_halves as f64 / smaller_side as f64,
            routing_table_bytes: routing.table_bytes() as u64,
        }
    }
}

fn rates(network: &Network) -> Vec<RateCount> {
    let mut rates: Vec<RateCount> = Vec::new();
    for link in network.links.iter().step_by(2) {
        let rate_bps = link.rate.as_bps();
        let at = rates
            .iter()
            .position(|count| count.rate_bps == rate_bps)
            .unwrap_or_else(|| {
                rates.push(RateCount {
                    rate_bps,
                    host_links: 0,
                    switch_links: 0,
                });
                rates.len() - 1
            });
        let to_host = link.from < network.hosts() || link.to < network.hosts();
        *(if to_host {
            &mut rates[at].host_links
        } else {
            &mut rates[at].switch_links
        }) += 1;
    }
    rates.sort_by_key(|count| count.rate_bps);
    rates
}

/// The longest idle round trip, and the slowest rate on its path.
fn longest_round_trip(network: &Network, routing: &Routing, frame_overhead: u32) -> (Span, u64) {
    const DATA: u32 = 1500;
    const ACKNOWLEDGEMENT: u32 = 40;
    // Both directions of a link are alike.
    let both_ways = |link: &DirectedLink| {
        let cost = link.rate.transmit_cost();
        link.latency * 2
            + cost.of(DATA + frame_overhead)
            + cost.of(ACKNOWLEDGEMENT + frame_overhead)
    };
    let spans: Vec<Span> = network.links.iter().map(both_ways).collect();
    let round_trip = |source: u32, destination: u32| {
        let path = routing.path(network, source, destination, 0);
        let rtt = path
            .iter()
            .fold(Span::ZERO, |sum, &link| sum + spans[link as usize]);
        let slowest = path
            .iter()
            .map(|&link| network.links[link as usize].rate.as_bps())
            .min();
        (rtt, slowest.unwrap_or(0))
    };
    if let Some(regular) = network.regular {
        // All links of a layer are alike, so one pair of hosts stands for all that are as far apart.
        let on_each = network.hosts() / regular.with_hosts();
        let farthest = [1, on_each, network.hosts() - 1].into_iter();
        let trips = farthest.filter(|&host| 0 < host && host < network.hosts());
        let trips = trips.map(|host| round_trip(0, host));
        return trips.max_by_key(|trip| trip.0).unwrap_or((Span::ZERO, 0));
    }
    // On each switch only the two hosts that are farthest from it can matter.
    let mut hosts: Vec<u32> = (0..network.hosts()).collect();
    let distance = |host: u32| spans[network.uplink[host as usize] as usize];
    hosts.sort_by_key(|&host| (network.switch_of(host), Reverse(distance(host)), host));
    let by_switch: Vec<&[u32]> = hosts
        .chunk_by(|&a, &b| network.switch_of(a) == network.switch_of(b))
        .collect();
    let within = by_switch
        .iter()
        .filter(|hosts| hosts.len() > 1)
        .map(|hosts| (hosts[0], hosts[1]));
    let apart = by_switch.iter().enumerate();
    let apart = apart.flat_map(|(at, one)| {
        by_switch[at + 1..]
            .iter()
            .map(move |other| (one[0], other[0]))
    });
    within
        .chain(apart)
        .map(|(a, b)| round_trip(a, b))
        .max_by_key(|trip| trip.0)
        .unwrap_or((Span::ZERO, 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::tests::regular_shapes;

    #[test]
    fn a_few_pairs_of_a_regular_shape_stand_for_all() {
        for network in regular_shapes() {
            let routing = Routing::build(&network).expect("routes");
            let plain = Network {
                regular: None,
                ..network.clone()
            };
            for overhead in [0, 38] {
                assert_eq!(
                    longest_round_trip(&network, &routing, overhead),
                    longest_round_trip(&plain, &routing, overhead)
                );
            }
        }
    }
}
