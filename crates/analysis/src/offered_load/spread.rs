//! Spreading of traffic between hosts over the links.

use duetime_sim::routing::SwitchGraph;
use duetime_sim::topology::{DirectedLink, Network, Regular};
use duetime_sim::workload::Offer;

/// Traffic between hosts in bytes per second, collected so that it can be spread over the links at once.
pub(super) struct Traffic {
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
    pub(super) fn new(network: &Network, graph: &SwitchGraph) -> Self {
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

    pub(super) fn add(&mut self, offer: Offer) {
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
    pub(super) fn over_links(mut self, network: &Network, graph: &SwitchGraph) -> Vec<f64> {
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
            let between = |link: &DirectedLink| link.from >= hosts && link.to >= hosts;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regular_shapes::regular_shapes;
    use duetime_core::random::{Purpose, Streams};

    #[test]
    fn sums_match_search_in_regular_shapes() {
        let mut stream = Streams::new(3, 0).stream(0, Purpose::Size);
        for (network, plain) in regular_shapes() {
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
