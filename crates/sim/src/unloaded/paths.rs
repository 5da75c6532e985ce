//! Links that every flow between two hosts must share with others, and the minimum times from the flow's ends to them.

use crate::topology::Network;
use duetime_core::{Rate, Span};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A link that a flow cannot avoid, or a group of links over which flows can be spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedLink {
    /// Position of the link on a flow's path.
    pub tier: Tier,
    /// Index of the host, or node index of the switch.
    pub node: u32,
    /// Total capacity of the links.
    pub rate: Rate,
}

/// Position of a link on a flow's path. A flow between two hosts of one switch crosses only the first and the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// Link of the sending host.
    Sending,
    /// All links from the sender's switch to other switches together.
    RackOut,
    /// All links from other switches to the receiver's switch together.
    RackIn,
    /// Link of the receiving host.
    Receiving,
}

/// A flow's crossing of a shared link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// Index into the shared links.
    pub link: usize,
    /// Minimum time from submission to the first bit on the link.
    pub before: Span,
    /// Minimum time from the last bit on the link to delivery.
    pub after: Span,
}

/// Shared links of a network, and the fastest paths between its switches.
#[derive(Debug)]
pub(super) struct Paths {
    links: Vec<SharedLink>,
    hosts: usize,
    /// Minimum time from the NIC of any host to its transport.
    receive: Span,
    /// Switch of each host, as an index among switches.
    switch: Vec<usize>,
    /// Propagation on each host's link in one direction, and transmission of a minimum-size packet on it.
    access: Vec<Hop>,
    /// Hops to other switches, by switch.
    neighbours: Vec<Vec<(usize, Hop)>>,
    /// Longest transmission of a minimum-size packet out of each switch.
    slowest_out: Vec<Span>,
    /// Longest hop into each switch.
    longest_in: Vec<Span>,
    /// Shortest propagation into each switch.
    nearest_in: Vec<Span>,
    /// Time of the fastest path of a minimum-size packet from each switch to every other, or `None` if not explored.
    fastest: Vec<Option<Vec<Span>>>,
}

#[derive(Clone, Copy, Debug)]
struct Hop {
    propagation: Span,
    transmission: Span,
}

impl Hop {
    fn whole(self) -> Span {
        self.propagation + self.transmission
    }
}

impl Paths {
    /// Prepares the network. No packet is smaller than `packet_bytes`, and none takes less than `receive` at its host.
    pub(super) fn new(network: &Network, packet_bytes: u32, receive: Span) -> Self {
        let (hosts, switches) = (network.hosts() as usize, network.switches() as usize);
        let hop = |link: u32| {
            let link = &network.links[link as usize];
            Hop {
                propagation: link.latency,
                transmission: link.rate.transmit_cost().of(packet_bytes),
            }
        };
        let rate = |link: u32| network.links[link as usize].rate;
        let mut this = Self {
            links: Vec::with_capacity(2 * (hosts + switches)),
            hosts,
            receive,
            switch: (0..hosts as u32)
                .map(|host| network.switch_of(host) as usize - hosts)
                .collect(),
            access: network.uplink.iter().map(|&link| hop(link)).collect(),
            neighbours: vec![Vec::new(); switches],
            slowest_out: vec![Span::ZERO; switches],
            longest_in: vec![Span::ZERO; switches],
            nearest_in: vec![Span::MAX; switches],
            fastest: vec![None; switches],
        };
        let (mut out, mut into) = (vec![0u64; switches], vec![0u64; switches]);
        for (index, link) in network.links.iter().enumerate() {
            let (from, to) = (link.from as usize, link.to as usize);
            if from < hosts || to < hosts {
                continue;
            }
            let (from, to, hop) = (from - hosts, to - hosts, hop(index as u32));
            this.neighbours[from].push((to, hop));
            out[from] = out[from].saturating_add(link.rate.as_bps());
            into[to] = into[to].saturating_add(link.rate.as_bps());
            this.slowest_out[from] = this.slowest_out[from].max(hop.transmission);
            this.longest_in[to] = this.longest_in[to].max(hop.whole());
            this.nearest_in[to] = this.nearest_in[to].min(hop.propagation);
        }
        let shared = |tier, node: usize, rate| SharedLink {
            tier,
            node: node as u32,
            rate,
        };
        let access = |tier, links: &[u32]| -> Vec<SharedLink> {
            let hosts = links.iter().enumerate();
            hosts
                .map(|(host, &link)| shared(tier, host, rate(link)))
                .collect()
        };
        let racks = |tier, rates: &[u64]| -> Vec<SharedLink> {
            let switches = rates.iter().enumerate();
            switches
                .map(|(switch, &bps)| shared(tier, hosts + switch, Rate::from_bps(bps)))
                .collect()
        };
        this.links.extend(access(Tier::Sending, &network.uplink));
        this.links
            .extend(access(Tier::Receiving, &network.downlink));
        this.links.extend(racks(Tier::RackOut, &out));
        this.links.extend(racks(Tier::RackIn, &into));
        this
    }

    pub(super) fn links(&self) -> &[SharedLink] {
        &self.links
    }

    /// Finds the fastest paths from a host; call before [`Self::crossings`]. Returns true if a search was needed.
    pub(super) fn explore(&mut self, from: u32) -> bool {
        let start = self.switch[from as usize];
        if self.fastest[start].is_some() {
            return false;
        }
        // Dijkstra's algorithm.
        let mut fastest = vec![Span::MAX; self.neighbours.len()];
        let mut reached = BinaryHeap::from([Reverse((Span::ZERO, start))]);
        while let Some(Reverse((span, switch))) = reached.pop() {
            if span >= fastest[switch] {
                continue;
            }
            fastest[switch] = span;
            for &(to, hop) in &self.neighbours[switch] {
                if span + hop.whole() < fastest[to] {
                    reached.push(Reverse((span + hop.whole(), to)));
                }
            }
        }
        self.fastest[start] = Some(fastest);
        true
    }

    /// Returns the shared links that a flow between two hosts crosses. If the paths from the source were not explored,
    /// the network between switches is assumed to take no time.
    pub(super) fn crossings(&self, from: u32, to: u32) -> impl Iterator<Item = Crossing> + use<> {
        let (source, sink) = (from as usize, to as usize);
        let (first, mut last) = (self.access[source], self.access[sink]);
        last.propagation += self.receive;
        let (start, end) = (self.switch[source], self.switch[sink]);
        let between = self.fastest[start]
            .as_ref()
            .map_or(Span::ZERO, |fastest| fastest[end]);
        let crossing = |link, before, after| Crossing {
            link,
            before,
            after,
        };
        let apart = start != end;
        let outside = [
            crossing(
                2 * self.hosts + start,
                first.whole(),
                between.saturating_sub(self.slowest_out[start]) + last.whole(),
            ),
            crossing(
                2 * self.hosts + self.neighbours.len() + end,
                first.whole() + between.saturating_sub(self.longest_in[end]),
                self.nearest_in[end] + last.whole(),
            ),
        ];
        [
            crossing(
                source,
                Span::ZERO,
                first.propagation + between + last.whole(),
            ),
            crossing(self.hosts + sink, first.whole() + between, last.propagation),
        ]
        .into_iter()
        .chain(outside.into_iter().filter(move |_| apart))
    }
}
