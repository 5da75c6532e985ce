//! What the workloads offer to every directed link, before anything runs.
//!
//! The load of a link is the mean of the bytes on the wire that flows offer to it, headers and framing included, over
//! its rate. Where several paths are equally short, each next link takes an equal share, as the choice by flow does in
//! the mean. Acknowledgements, handshakes, D3's requests and everything sent again are left out: the acknowledgements
//! of a flow add about 3 % of its bytes the other way.

use super::workloads::WorkloadDescription;
use crate::routing::SwitchGraph;
use crate::topology::{Network, Regular};
use crate::workload::{Mean, Offer, Pace, Workloads, draw};
use duetime_scenario::model::{Protocol, Scenario, Size, Workload};
use serde::Serialize;

/// From this load on a link is worth a warning: queues grow without bound towards 1.
pub const HEAVY: f64 = 0.9;
/// Acknowledgements per data packet, about.
const ACKNOWLEDGEMENTS: f64 = 0.6;
/// Packets that open and close a connection.
const CONTROL: f64 = 4.0;
/// Links that are listed.
pub(super) const LISTED: usize = 10;

/// What the workloads offer to the links.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LoadDescription {
    /// The busiest links, busiest first; at most ten.
    pub links: Vec<LinkLoad>,
    /// Directed links in all.
    pub of_links: u32,
    /// Links with a sustained load above 90 %.
    pub heavy_links: u32,
    /// Links with a sustained load above 100 %: they cannot carry what is offered.
    pub overloaded_links: u32,
    /// Switches with hosts, by how much more these could send than the links to other switches carry; highest first.
    pub oversubscription: Vec<Oversubscription>,
    /// Workloads without a sustained load: they send all at once, once, or as fast as the network lets them.
    pub not_sustained: Vec<NotSustained>,
    /// Packets that cross a link within the duration, acknowledgements included, to first order: without losses, and
    /// with nothing for flows that send as fast as they can.
    pub packet_hops: f64,
}

/// The load of one directed link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkLoad {
    /// `from->to`, by node names.
    pub link: String,
    /// Its rate.
    pub rate_bps: u64,
    /// What is offered to it in the mean by workloads with a sustained load.
    pub offered_bps: f64,
    /// That over its rate.
    pub load: f64,
    /// Whose it is: loads by workload, largest first; only those that offer anything.
    pub by_workload: Vec<WorkloadLoad>,
}

/// A workload's part of a link's load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkloadLoad {
    /// Name of the workload.
    pub workload: String,
    /// Its load, as a share of the link's rate.
    pub load: f64,
}

/// Switches that are alike: their hosts can send more, or less, than their links to other switches carry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Oversubscription {
    /// The first of them.
    pub switch: String,
    /// How many.
    pub switches: u32,
    /// Sum of the rates of the links from its hosts.
    pub from_hosts_bps: u64,
    /// Sum of the rates of its links to other switches.
    pub to_switches_bps: u64,
    /// The one over the other.
    pub ratio: f64,
}

/// A workload that is not in the links' load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NotSustained {
    /// Its name.
    pub workload: String,
    /// Why.
    pub why: &'static str,
}

/// Computes the load and notes each workload's busiest link in its description.
pub(super) fn describe(
    scenario: &Scenario,
    network: &Network,
    workloads: &Workloads,
    described: &mut [WorkloadDescription],
) -> LoadDescription {
    let seconds = scenario.duration.as_secs_f64();
    let graph = SwitchGraph::of(network);
    let mut not_sustained = Vec::new();
    let mut packet_hops = 0.0;
    // Bytes per second, by workload with a sustained load and link.
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
        for (sum, one) in total.iter_mut().zip(links) {
            *sum += one;
        }
    }
    let loads: Vec<f64> = (0..network.links.len())
        .map(|link| load(network, link, total[link]))
        .collect();
    let mut order: Vec<usize> = (0..loads.len()).filter(|&link| loads[link] > 0.0).collect();
    // Sums of many shares differ in their last bits; links that are alike stay in the order of the network.
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
            ..LinkLoad::of(network, link, total[link])
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
    fn of(network: &Network, link: usize, bytes_per_s: f64) -> Self {
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
    let most = (0..links.len()).reduce(|best, link| {
        // Beyond the last bits, the first of equals.
        if at(link) > at(best) * (1.0 + 1e-9) {
            link
        } else {
            best
        }
    })?;
    (links[most] > 0.0).then(|| LinkLoad::of(network, most, links[most]))
}

/// How a workload's bytes are cut into packets: by the transport, among those compared, with the smallest ones.
struct Packets {
    segment: u64,
    header: u32,
}

impl Packets {
    fn new(scenario: &Scenario, workload: &Workload, header: u32) -> Self {
        let payload = |protocol: &Protocol| match protocol {
            Protocol::Tcp(config) => u64::from(config.mss),
            Protocol::D3(config) => u64::from(config.mtu.saturating_sub(draw::TCP_IP_HEADER)),
        };
        let smallest = if let Some(own) = &workload.transport {
            Some(payload(&own.protocol))
        } else {
            let compared = scenario.transports.iter();
            compared.map(|it| payload(&it.protocol)).min()
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

/// Traffic from hosts to hosts, in bytes per second, gathered so that it can be spread over the links at once.
struct Traffic {
    /// Per host: what it sends to given hosts, and to any other host.
    sent: Vec<f64>,
    sent_to_any: Vec<f64>,
    /// Per host: what comes from given hosts.
    got: Vec<f64>,
    /// Number of each host's switch among those with hosts.
    place: Vec<u32>,
    /// Switches with hosts, numbered as in the graph.
    attachments: Vec<u32>,
    /// From switch (row) to switch (column) among them; empty as long as nothing goes between given hosts, and in a
    /// regular shape.
    between: Vec<f64>,
    /// In a regular shape: what leaves and reaches each switch with hosts, and each pod.
    sums: Option<(Regular, Sums)>,
}

/// Bytes per second between switches with hosts and between pods of a regular shape.
struct Sums {
    /// Per switch: to others.
    out: Vec<f64>,
    /// Per switch: from others.
    into: Vec<f64>,
    /// Per pod: to others.
    pod_out: Vec<f64>,
    /// Per pod: from others.
    pod_into: Vec<f64>,
}

impl Sums {
    fn new(of: Regular) -> Self {
        let (switches, pods) = (of.with_hosts() as usize, of.pods() as usize);
        Self {
            out: vec![0.0; switches],
            into: vec![0.0; switches],
            pod_out: vec![0.0; pods],
            pod_into: vec![0.0; pods],
        }
    }

    /// Adds what goes from one switch to another.
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

    /// Adds what hosts send to any other host alike, per switch `any` of them.
    fn add_any(&mut self, shape: Regular, any: &[f64], hosts: f64) {
        let on_switch = hosts / any.len() as f64;
        let in_pod = hosts / self.pod_out.len() as f64;
        let all: f64 = any.iter().sum();
        let mut of_pod = vec![0.0; self.pod_out.len()];
        for (switch, own) in any.iter().enumerate() {
            of_pod[shape.pod_of(switch as u32) as usize] += own;
            self.out[switch] += own * (hosts - on_switch) / (hosts - 1.0);
            self.into[switch] += (all - own) * on_switch / (hosts - 1.0);
        }
        for (pod, own) in of_pod.iter().enumerate() {
            self.pod_out[pod] += own * (hosts - in_pod) / (hosts - 1.0);
            self.pod_into[pod] += (all - own) * in_pod / (hosts - 1.0);
        }
    }

    /// The part of a link from one switch to another: each hop takes an equal share.
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
            got: vec![0.0; hosts as usize],
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
        self.got[to as usize] += offer.bytes_per_s;
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

    /// Bytes per second on every link.
    fn over_links(mut self, network: &Network, graph: &SwitchGraph) -> Vec<f64> {
        let mut links = vec![0.0; network.links.len()];
        let others = f64::from(network.hosts()) - 1.0;
        let any: f64 = self.sent_to_any.iter().sum();
        let places = self.attachments.len();
        let (mut hosts_on, mut any_from) = (vec![0.0; places], vec![0.0; places]);
        for host in 0..network.hosts() as usize {
            let own = self.sent_to_any[host];
            links[network.uplink[host] as usize] += self.sent[host] + own;
            links[network.downlink[host] as usize] += self.got[host] + (any - own) / others;
            hosts_on[self.place[host] as usize] += 1.0;
            any_from[self.place[host] as usize] += own;
        }
        if let Some((shape, sums)) = &mut self.sums {
            let hosts = network.hosts();
            sums.add_any(*shape, &any_from, f64::from(hosts));
            let between =
                |link: &crate::topology::DirectedLink| link.from >= hosts && link.to >= hosts;
            for (index, link) in network.links.iter().enumerate().filter(|it| between(it.1)) {
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
                let given = self.between.get(row * places + column).copied();
                given.unwrap_or(0.0) + any_from[row] * hosts_on[column] / others
            };
            let rows = (0..places).filter(|&row| row != column);
            let demands = rows.map(|row| (self.attachments[row], offered(row)));
            spread.towards(to, demands, &mut links);
        }
        links
    }
}

/// Spreads traffic towards one switch after another over the shortest paths.
struct Spread<'a> {
    graph: &'a SwitchGraph,
    distance: Vec<u32>,
    /// Per switch: what passes it.
    passing: Vec<f64>,
    /// Switches, farthest first.
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
    fn sums_over_a_regular_shape_are_those_of_a_search() {
        let mut stream = Streams::new(3, 0).stream(0, Purpose::Size);
        for network in regular_shapes() {
            let plain = Network {
                regular: None,
                ..network.clone()
            };
            let graph = SwitchGraph::of(&network);
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
