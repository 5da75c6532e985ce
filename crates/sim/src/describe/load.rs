//! Load that the workloads offer to every directed link, computed without a run.
//!
//! The load of a link is the mean rate of the bytes on the wire that flows offer to it, headers and framing included,
//! divided by the link's rate. If several paths are equally short, each next hop takes an equal share, which is the
//! mean of the per-flow choice. Acknowledgements, handshakes, D3's requests and retransmissions are left out; the
//! acknowledgements of a flow add about 3 % of its bytes in the reverse direction.

use super::workloads::WorkloadDescription;
use crate::routing::SwitchGraph;
use crate::topology::{Network, Regular};
use crate::workload::{Mean, Offer, Pace, Workloads, draw};
use duetime_scenario::model::{Scenario, Size, Transport, Workload};
use serde::Serialize;

/// Load above which a link deserves a warning; queues grow without bound towards a load of 1.
pub const HEAVY: f64 = 0.9;
/// Approximate number of acknowledgements per data packet.
const ACKNOWLEDGEMENTS: f64 = 0.6;
/// Number of packets that open and close a connection.
const CONTROL: f64 = 4.0;
/// Number of links that are listed.
pub(super) const LISTED: usize = 10;

/// Load that the workloads offer to the links.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LoadDescription {
    /// Busiest links, busiest first; at most ten.
    pub links: Vec<LinkLoad>,
    /// Number of directed links.
    pub of_links: u32,
    /// Number of links with a sustained load above 90 %.
    pub heavy_links: u32,
    /// Number of links with a sustained load above 100 %, which cannot carry what is offered.
    pub overloaded_links: u32,
    /// Switches with hosts, by the ratio of the hosts' rates to the rates of the links to other switches; highest
    /// first.
    pub oversubscription: Vec<Oversubscription>,
    /// Workloads without a sustained load: they send all at once, once, or as fast as the network permits.
    pub not_sustained: Vec<NotSustained>,
    /// Estimated number of packet-hops within the duration, acknowledgements included. Losses are ignored, and flows
    /// that send as fast as they can are not counted.
    pub packet_hops: f64,
}

/// Load of one directed link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkLoad {
    /// Name of the link: `from->to`, by node names.
    pub link: String,
    /// Rate of the link, in bits per second.
    pub rate_bps: u64,
    /// Mean rate offered by workloads with a sustained load, in bits per second.
    pub offered_bps: f64,
    /// `offered_bps` as a share of the link's rate.
    pub load: f64,
    /// Loads by workload, largest first; only workloads that offer load to the link.
    pub by_workload: Vec<WorkloadLoad>,
}

/// A workload's share of a link's load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkloadLoad {
    /// Name of the workload.
    pub workload: String,
    /// Load as a share of the link's rate.
    pub load: f64,
}

/// Oversubscription of a group of equal switches: their hosts can send more, or less, than the links to other switches
/// carry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Oversubscription {
    /// Name of the first switch of the group.
    pub switch: String,
    /// Number of switches in the group.
    pub switches: u32,
    /// Sum of the rates of the links from the hosts of a switch, in bits per second.
    pub from_hosts_bps: u64,
    /// Sum of the rates of the links of a switch to other switches, in bits per second.
    pub to_switches_bps: u64,
    /// Ratio of `from_hosts_bps` to `to_switches_bps`.
    pub ratio: f64,
}

/// A workload that is not part of the links' load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NotSustained {
    /// Name of the workload.
    pub workload: String,
    /// Reason.
    pub why: &'static str,
}

/// Computes the load, and adds each workload's busiest link to its description.
pub(super) fn describe(
    scenario: &Scenario,
    network: &Network,
    workloads: &Workloads,
    described: &mut [WorkloadDescription],
) -> LoadDescription {
    let seconds = scenario.duration.as_secs_f64();
    let graph = SwitchGraph::new(network);
    let mut not_sustained = Vec::new();
    let mut packet_hops = 0.0;
    // Workloads with a sustained load, each with its bytes per second by link.
    let mut sustained: Vec<(usize, Vec<f64>)> = Vec::new();
    for (index, workload) in scenario.workloads.iter().enumerate() {
        let sizes = Packets::new(scenario, workload, workloads.header());
        let mut traffic = Traffic::new(network, &graph);
        let (mut bytes, mut packets, mut flows) = (0.0, 0.0, 0.0);
        let pace = workloads.offers(
            index,
            &workload.kind,
            scenario.duration,
            &|size| sizes.mean(size),
            &mut |offer| {
                bytes += offer.bytes_per_s;
                packets += offer.packets_per_s;
                flows += offer.flows_per_s;
                traffic.add(offer);
            },
        );
        let links = traffic.over_links(network, &graph);
        if bytes > 0.0 {
            let per_byte = (packets * (1.0 + ACKNOWLEDGEMENTS) + flows * CONTROL) / bytes;
            packet_hops += links.iter().sum::<f64>() * seconds * per_byte;
        }
        let name = || workload.name.clone();
        let mut leave_out = |why| {
            not_sustained.push(NotSustained {
                workload: name(),
                why,
            });
        };
        match pace {
            Pace::Sustained => {
                described[index].busiest_link = busiest(network, &links);
                sustained.push((index, links));
            }
            Pace::Once => leave_out("sends its flows once"),
            Pace::Backlogged => leave_out("sends as fast as the network lets it"),
        }
    }
    let mut total = vec![0.0; network.links.len()];
    for (_, links) in &sustained {
        for (sum, bytes) in total.iter_mut().zip(links) {
            *sum += bytes;
        }
    }
    let loads: Vec<f64> = (0..network.links.len())
        .map(|link| load(network, link, total[link]))
        .collect();
    let mut order: Vec<usize> = (0..loads.len()).filter(|&link| loads[link] > 0.0).collect();
    // Sums of many shares differ in their last bits; rounding keeps equal links in the order of the network.
    let rounded = |link: usize| libm::round(loads[link] * 1e9) as u64;
    order.sort_by_key(|&link| (std::cmp::Reverse(rounded(link)), link));
    order.truncate(LISTED);
    let name = |index: usize| scenario.workloads[index].name.clone();
    let listed = order.iter().map(|&link| {
        let mut by_workload: Vec<WorkloadLoad> = sustained
            .iter()
            .filter(|(_, links)| links[link] > 0.0)
            .map(|(index, links)| WorkloadLoad {
                workload: name(*index),
                load: load(network, link, links[link]),
            })
            .collect();
        by_workload.sort_by(|a, b| b.load.total_cmp(&a.load));
        LinkLoad {
            by_workload,
            ..LinkLoad::new(network, link, total[link])
        }
    });
    let above = |limit: f64| loads.iter().filter(|load| **load > limit).count() as u32;
    LoadDescription {
        links: listed.collect(),
        of_links: network.links.len() as u32,
        heavy_links: above(HEAVY),
        overloaded_links: above(1.0),
        oversubscription: oversubscription(network),
        not_sustained,
        packet_hops,
    }
}

impl LinkLoad {
    fn new(network: &Network, link: usize, bytes_per_s: f64) -> Self {
        Self {
            link: network.link_name(link as u32),
            rate_bps: network.links[link].rate.as_bps(),
            offered_bps: 8.0 * bytes_per_s,
            load: load(network, link, bytes_per_s),
            by_workload: Vec::new(),
        }
    }
}

fn load(network: &Network, link: usize, bytes_per_s: f64) -> f64 {
    8.0 * bytes_per_s / network.links[link].rate.as_bps() as f64
}

fn busiest(network: &Network, links: &[f64]) -> Option<LinkLoad> {
    let at = |link: usize| load(network, link, links[link]);
    let highest = (0..links.len()).reduce(|best, link| {
        // Among links that are equal up to rounding, keep the first.
        if at(link) > at(best) * (1.0 + 1e-9) {
            link
        } else {
            best
        }
    })?;
    (links[highest] > 0.0).then(|| LinkLoad::new(network, highest, links[highest]))
}

/// Segmentation of a workload's bytes into packets, by the transport with the smallest packets.
struct Packets {
    segment: u64,
    header: u32,
}

impl Packets {
    fn new(scenario: &Scenario, workload: &Workload, header: u32) -> Self {
        let payload = |transport: &Transport| u64::from(transport.protocol.max_payload());
        let smallest = if let Some(transport) = &workload.transport {
            Some(payload(transport))
        } else {
            scenario.transports.iter().map(payload).min()
        };
        Self {
            segment: smallest.unwrap_or(draw::SEGMENT).max(1),
            header,
        }
    }

    fn mean(&self, size: &Size) -> Mean {
        let packets = draw::mean_segments(size, self.segment);
        Mean {
            packets,
            bytes: draw::mean_size(size) + f64::from(self.header) * packets,
        }
    }
}

/// Traffic between hosts in bytes per second, collected so that it can be spread over the links at once.
struct Traffic {
    /// Traffic from each host to specific hosts.
    sent: Vec<f64>,
    /// Traffic from each host to any other host.
    sent_to_any: Vec<f64>,
    /// Traffic to each host from specific hosts.
    received: Vec<f64>,
    /// Index of each host's switch in `attachments`.
    place: Vec<u32>,
    /// Switches with hosts, numbered as in the graph.
    attachments: Vec<u32>,
    /// Traffic from switch (row) to switch (column) of `attachments`. Empty if no traffic has a specific destination,
    /// and in a regular shape.
    between: Vec<f64>,
    /// Regular shape, with the sums of its traffic.
    sums: Option<(Regular, Sums)>,
}

/// Traffic between switches with hosts and between pods of a regular shape, in bytes per second.
struct Sums {
    /// From each switch to others.
    out: Vec<f64>,
    /// From others to each switch.
    into: Vec<f64>,
    /// From each pod to others.
    pod_out: Vec<f64>,
    /// From others to each pod.
    pod_into: Vec<f64>,
}

impl Sums {
    fn new(shape: Regular) -> Self {
        let (switches, pods) = (shape.with_hosts() as usize, shape.pods() as usize);
        Self {
            out: vec![0.0; switches],
            into: vec![0.0; switches],
            pod_out: vec![0.0; pods],
            pod_into: vec![0.0; pods],
        }
    }

    /// Adds traffic from one switch to another.
    fn add(&mut self, shape: Regular, from: u32, to: u32, bytes: f64) {
        if from == to {
            return;
        }
        self.out[from as usize] += bytes;
        self.into[to as usize] += bytes;
        let pods = (shape.pod_of(from) as usize, shape.pod_of(to) as usize);
        if pods.0 != pods.1 {
            self.pod_out[pods.0] += bytes;
            self.pod_into[pods.1] += bytes;
        }
    }

    /// Adds traffic from hosts to any other host, where `any` is the traffic from the hosts of each switch.
    fn add_any(&mut self, shape: Regular, any: &[f64], hosts: f64) {
        let on_switch = hosts / any.len() as f64;
        let in_pod = hosts / self.pod_out.len() as f64;
        let all: f64 = any.iter().sum();
        let mut by_pod = vec![0.0; self.pod_out.len()];
        for (switch, from_here) in any.iter().enumerate() {
            by_pod[shape.pod_of(switch as u32) as usize] += from_here;
            self.out[switch] += from_here * (hosts - on_switch) / (hosts - 1.0);
            self.into[switch] += (all - from_here) * on_switch / (hosts - 1.0);
        }
        for (pod, from_here) in by_pod.iter().enumerate() {
            self.pod_out[pod] += from_here * (hosts - in_pod) / (hosts - 1.0);
            self.pod_into[pod] += (all - from_here) * in_pod / (hosts - 1.0);
        }
    }

    /// Returns the traffic on the link between two switches: equal-cost links carry equal shares.
    fn on(&self, shape: Regular, switches: u32, from: u32, to: u32) -> f64 {
        let edges = shape.with_hosts();
        match shape {
            Regular::LeafSpine { racks } if from < racks => {
                self.out[from as usize] / f64::from(switches - racks)
            }
            Regular::LeafSpine { racks } => self.into[to as usize] / f64::from(switches - racks),
            Regular::FatTree { half } if from < edges => self.out[from as usize] / f64::from(half),
            Regular::FatTree { half } if to < edges => self.into[to as usize] / f64::from(half),
            Regular::FatTree { half } if from < 2 * edges => {
                self.pod_out[shape.pod_of(from) as usize] / f64::from(half * half)
            }
            Regular::FatTree { half } => {
                self.pod_into[shape.pod_of(to) as usize] / f64::from(half * half)
            }
        }
    }
}

impl Traffic {
    fn new(network: &Network, graph: &SwitchGraph) -> Self {
        let hosts = network.hosts();
        let attachments = graph.attachments(network);
        let mut place_of = vec![u32::MAX; graph.switches()];
        for (place, &switch) in attachments.iter().enumerate() {
            place_of[switch as usize] = place as u32;
        }
        let place = |host| place_of[(network.switch_of(host) - hosts) as usize];
        Self {
            sent: vec![0.0; hosts as usize],
            sent_to_any: vec![0.0; hosts as usize],
            received: vec![0.0; hosts as usize],
            place: (0..hosts).map(place).collect(),
            attachments,
            between: Vec::new(),
            sums: network.regular.map(|shape| (shape, Sums::new(shape))),
        }
    }

    fn add(&mut self, offer: Offer) {
        let from = offer.from as usize;
        let Some(to) = offer.to else {
            self.sent_to_any[from] += offer.bytes_per_s;
            return;
        };
        self.sent[from] += offer.bytes_per_s;
        self.received[to as usize] += offer.bytes_per_s;
        if let Some((shape, sums)) = &mut self.sums {
            let place = |host: u32| self.place[host as usize];
            sums.add(*shape, place(offer.from), place(to), offer.bytes_per_s);
            return;
        }
        let places = self.attachments.len();
        if self.between.is_empty() {
            self.between.resize(places * places, 0.0);
        }
        let pair = self.place[from] as usize * places + self.place[to as usize] as usize;
        self.between[pair] += offer.bytes_per_s;
    }

    /// Returns the traffic on every link in bytes per second.
    fn over_links(mut self, network: &Network, graph: &SwitchGraph) -> Vec<f64> {
        let mut links = vec![0.0; network.links.len()];
        let others = f64::from(network.hosts()) - 1.0;
        let any: f64 = self.sent_to_any.iter().sum();
        let places = self.attachments.len();
        let (mut hosts_on, mut any_from) = (vec![0.0; places], vec![0.0; places]);
        for host in 0..network.hosts() as usize {
            let to_any = self.sent_to_any[host];
            links[network.uplink[host] as usize] += self.sent[host] + to_any;
            links[network.downlink[host] as usize] += self.received[host] + (any - to_any) / others;
            hosts_on[self.place[host] as usize] += 1.0;
            any_from[self.place[host] as usize] += to_any;
        }
        if let Some((shape, sums)) = &mut self.sums {
            let hosts = network.hosts();
            sums.add_any(*shape, &any_from, f64::from(hosts));
            let between =
                |link: &crate::topology::DirectedLink| link.from >= hosts && link.to >= hosts;
            let switch_links = (network.links.iter().enumerate()).filter(|(_, link)| between(link));
            for (index, link) in switch_links {
                links[index] += sums.on(
                    *shape,
                    network.switches(),
                    link.from - hosts,
                    link.to - hosts,
                );
            }
            return links;
        }
        let mut spread = Spread::new(graph);
        for (column, &to) in self.attachments.iter().enumerate() {
            let offered = |row: usize| {
                let specific = self.between.get(row * places + column).copied();
                specific.unwrap_or(0.0) + any_from[row] * hosts_on[column] / others
            };
            let rows = (0..places).filter(|&row| row != column);
            let demands = rows.map(|row| (self.attachments[row], offered(row)));
            spread.towards(to, demands, &mut links);
        }
        links
    }
}

/// Spreads traffic over the shortest paths, one destination switch at a time.
struct Spread<'a> {
    graph: &'a SwitchGraph,
    distance: Vec<u32>,
    /// Traffic that passes each switch.
    passing: Vec<f64>,
    /// Switches in order of decreasing distance.
    order: Vec<u32>,
}

impl<'a> Spread<'a> {
    fn new(graph: &'a SwitchGraph) -> Self {
        Self {
            graph,
            distance: Vec::new(),
            passing: Vec::new(),
            order: Vec::new(),
        }
    }

    fn towards(&mut self, to: u32, demands: impl Iterator<Item = (u32, f64)>, links: &mut [f64]) {
        self.passing.clear();
        self.passing.resize(self.graph.switches(), 0.0);
        let mut any = false;
        for (switch, bytes) in demands {
            self.passing[switch as usize] += bytes;
            any |= bytes > 0.0;
        }
        if !any {
            return;
        }
        let (distance, passing) = (&mut self.distance, &mut self.passing);
        self.graph.distances(to, distance);
        let reached = |switch: &u32| distance[*switch as usize] != u32::MAX;
        self.order.clear();
        self.order
            .extend((0..self.graph.switches() as u32).filter(reached));
        self.order
            .sort_by_key(|&switch| std::cmp::Reverse(distance[switch as usize]));
        for &switch in &self.order {
            let here = passing[switch as usize];
            if here <= 0.0 || switch == to {
                continue;
            }
            let nearer = || {
                let all = self.graph.neighbours(switch as usize).iter();
                all.filter(|(next, _)| distance[*next as usize] + 1 == distance[switch as usize])
            };
            let share = here / nearer().count() as f64;
            for &(next, link) in nearer() {
                links[link as usize] += share;
                passing[next as usize] += share;
            }
        }
    }
}

fn oversubscription(network: &Network) -> Vec<Oversubscription> {
    let hosts = network.hosts();
    let switches = network.switches() as usize;
    let (mut below, mut above) = (vec![0u64; switches], vec![0u64; switches]);
    for link in &network.links {
        let rate = link.rate.as_bps();
        if link.from < hosts {
            below[(link.to - hosts) as usize] += rate;
        } else if link.to >= hosts {
            above[(link.from - hosts) as usize] += rate;
        }
    }
    let mut kinds: Vec<Oversubscription> = Vec::new();
    for switch in (0..switches).filter(|&switch| below[switch] > 0 && above[switch] > 0) {
        let same = kinds.iter_mut().find(|kind| {
            (kind.from_hosts_bps, kind.to_switches_bps) == (below[switch], above[switch])
        });
        if let Some(same) = same {
            same.switches += 1;
            continue;
        }
        kinds.push(Oversubscription {
            switch: network.nodes[hosts as usize + switch].name.clone(),
            switches: 1,
            from_hosts_bps: below[switch],
            to_switches_bps: above[switch],
            ratio: below[switch] as f64 / above[switch] as f64,
        });
    }
    kinds.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::tests::regular_shapes;
    use duetime_core::random::{Purpose, Streams};

    #[test]
    fn sums_match_search_in_regular_shapes() {
        let mut stream = Streams::new(3, 0).stream(0, Purpose::Size);
        for network in regular_shapes() {
            let plain = Network {
                regular: None,
                ..network.clone()
            };
            let graph = SwitchGraph::new(&network);
            let hosts = u64::from(network.hosts());
            let mut summed = Traffic::new(&network, &graph);
            let mut searched = Traffic::new(&plain, &graph);
            for _ in 0..100 {
                let from = stream.below(hosts) as u32;
                let other = (from + 1 + stream.below(hosts - 1) as u32) % network.hosts();
                let offer = Offer {
                    from,
                    to: (stream.below(3) > 0).then_some(other),
                    flows_per_s: 0.0,
                    packets_per_s: 0.0,
                    bytes_per_s: stream.between(1, 1_000_000) as f64,
                };
                summed.add(offer);
                searched.add(offer);
            }
            let pairs = summed
                .over_links(&network, &graph)
                .into_iter()
                .zip(searched.over_links(&plain, &graph));
            for (link, (summed, searched)) in pairs.enumerate() {
                assert!(
                    (summed - searched).abs() <= 1e-9 * searched.abs(),
                    "{}: {summed}, {searched}",
                    network.link_name(link as u32)
                );
            }
        }
    }
}
