//! Properties of a network: sizes, rates, longest path and round trip, and capacity between its halves.

mod bisection;

use duetime_core::{Rate, Span};
use duetime_scenario::model::Host;
use duetime_sim::min_receive_delay;
use duetime_sim::routing::Routing;
use duetime_sim::topology::{DirectedLink, Network};
use serde::Serialize;
use std::cmp::Reverse;

/// Properties of a network.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TopologyDescription {
    /// Number of hosts.
    pub hosts: u32,
    /// Number of switches.
    pub switches: u32,
    /// Number of full-duplex links, including those of the hosts.
    pub links: u32,
    /// Distinct link rates with the number of links each, slowest first.
    pub rates: Vec<RateCount>,
    /// Maximum length of a shortest path between two hosts, in links.
    pub longest_path_links: u32,
    /// Longest round trip on an idle network: a 1500 B packet in one direction, a 40 B acknowledgement in the other,
    /// and the minimum receive delay of both hosts.
    pub base_rtt_ns: u64,
    /// Product of the slowest rate on that path and the round trip.
    pub bandwidth_delay_product_bytes: u64,
    /// Maximum rate from the first half of the hosts, in index order, to the second half.
    pub between_halves_bps: u64,
    /// `between_halves_bps` as a share of the total link rate of the smaller half.
    pub between_halves_share: f64,
    /// Size of the routing tables, in bytes.
    pub routing_table_bytes: u64,
}

/// Number of full-duplex links with one rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RateCount {
    /// Link rate, in bits per second.
    pub rate_bps: u64,
    /// Number of links to hosts.
    pub host_links: u32,
    /// Number of links between switches.
    pub switch_links: u32,
}

impl TopologyDescription {
    /// Describes a network whose hosts have the options `host`.
    pub(crate) fn new(network: &Network, routing: &Routing, host: &Host) -> Self {
        let (rtt, rate_bps) = longest_round_trip(network, routing, host.frame_overhead);
        let rtt = rtt + min_receive_delay(host) * 2;
        let between_halves = bisection::capacity(network);
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

/// Returns the longest idle round trip and the slowest rate on its path.
fn longest_round_trip(network: &Network, routing: &Routing, frame_overhead: u32) -> (Span, u64) {
    const DATA: u32 = 1500;
    const ACKNOWLEDGEMENT: u32 = 40;
    // Both directions of a link have the same properties.
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
        // All links of a layer are equal, so one pair of hosts represents all pairs at the same distance.
        let on_each = network.hosts() / regular.with_hosts();
        let farthest = [1, on_each, network.hosts() - 1].into_iter();
        let trips = farthest.filter(|&host| 0 < host && host < network.hosts());
        let trips = trips.map(|host| round_trip(0, host));
        return trips.max_by_key(|trip| trip.0).unwrap_or((Span::ZERO, 0));
    }
    // Of each switch, only the two hosts farthest from it matter.
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
    use crate::regular_shapes::regular_shapes;

    #[test]
    fn regular_shapes_need_few_pairs() {
        for (network, plain) in regular_shapes() {
            let routing = Routing::build(&network).expect("routes");
            for overhead in [0, 38] {
                assert_eq!(
                    longest_round_trip(&network, &routing, overhead),
                    longest_round_trip(&plain, &routing, overhead)
                );
            }
        }
    }
}
