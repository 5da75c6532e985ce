//! Splits a large partition into sub-partitions.

use super::Cut;
use super::groups::{groups, sides};
use crate::topology::{DirectedLink, Network};
use duetime_core::Span;
use std::collections::BTreeMap;

/// Sub-partitions of a partition. An event in one affects another only after the latency of the links between them.
#[derive(Clone, Debug)]
pub struct Subpartitions {
    /// Sub-partition of each node; 0 for nodes of other partitions.
    pub of_node: Vec<u16>,
    /// Neighbours of each sub-partition that have a link into it, with the shortest latency of these links.
    pub neighbours: Vec<Vec<(u16, Span)>>,
    /// Sub-partitions of each side of the network, if the sides may run in turn with [`Subpartitions::latency`] as the
    /// latency between them (see `sides`).
    pub sides: Option<[Vec<u16>; 2]>,
    /// Shortest latency between sub-partitions, or [`Span::MAX`] if there is one.
    pub latency: Span,
}

impl Subpartitions {
    /// Splits partition `index` of `cut` into at most `count` sub-partitions: one per rack or switch if `count` permits,
    /// otherwise neighbouring racks with about equal work. Makes only one sub-partition if a link without latency would
    /// join two.
    pub fn cut(network: &Network, cut: &Cut, index: u16, count: usize) -> Self {
        let mut groups = groups(network, &vec![false; network.nodes.len()]);
        groups.retain(|(_, nodes)| cut.partition_of[nodes[0] as usize] == index);
        let count = count.min(groups.len());
        if count <= 1 {
            return Self::one(network);
        }
        let sides = sides(network);
        let side = |node: u32| {
            let rack = network.nodes[node as usize].rack as usize;
            sides.as_ref().map_or(0, |sides| sides[rack])
        };
        groups.sort_unstable_by_key(|(_, nodes)| (side(nodes[0]), nodes[0]));
        let total: u128 = groups.iter().map(|(weight, _)| weight).sum();
        let is_one_each = groups.len() == count;
        // No sub-partition has racks or switches of both sides.
        let shares = count - usize::from(sides.is_some());
        let mut of_node = vec![0; network.nodes.len()];
        let mut of_side = [Vec::new(), Vec::new()];
        let mut before = 0;
        for (number, (weight, nodes)) in groups.into_iter().enumerate() {
            let side = side(nodes[0]);
            let subpartition = if is_one_each {
                number as u16
            } else {
                (before * shares as u128 / total.max(1)) as u16 + u16::from(side)
            };
            before += weight;
            of_side[usize::from(side)].push(subpartition);
            for node in nodes {
                of_node[node as usize] = subpartition;
            }
        }
        of_side.iter_mut().for_each(Vec::dedup);
        let Some(neighbours) = neighbours(network, cut, index, &of_node, count) else {
            return Self::one(network);
        };
        let latencies = (neighbours.iter().flatten()).map(|&(_, latency)| latency);
        let shortest = latencies.clone().min().unwrap_or(Span::MAX);
        // With different latencies, the windows of one thread last longer if each depends on its neighbours.
        let sufficient = match cut.partitions {
            1 => latencies.max().unwrap_or(Span::MAX),
            _ => cut.lookahead,
        };
        let alternate = sides.is_some() && shortest >= sufficient;
        Self {
            of_node,
            neighbours,
            sides: alternate.then_some(of_side),
            latency: shortest,
        }
    }

    /// Creates a single sub-partition of the whole partition.
    pub fn one(network: &Network) -> Self {
        Self {
            of_node: vec![0; network.nodes.len()],
            neighbours: vec![Vec::new()],
            sides: None,
            latency: Span::MAX,
        }
    }

    /// Returns true if `link` leads to a sub-partition of partition `index` from another one, or from another
    /// partition.
    pub fn is_inlet(&self, link: &DirectedLink, partition_of: &[u16], index: u16) -> bool {
        let ends = [link.from, link.to].map(|node| node as usize);
        let [from, to] = ends.map(|node| (partition_of[node], self.of_node[node]));
        self.len() > 1 && to.0 == index && from != to
    }

    /// Returns the number of sub-partitions.
    pub fn len(&self) -> usize {
        self.neighbours.len()
    }
}

/// Returns the neighbours of each sub-partition of partition `index`, or `None` if a link without latency joins two.
fn neighbours(
    network: &Network,
    cut: &Cut,
    index: u16,
    of_node: &[u16],
    count: usize,
) -> Option<Vec<Vec<(u16, Span)>>> {
    let mut neighbours = vec![BTreeMap::new(); count];
    for link in &network.links {
        let ends = [link.from, link.to].map(|node| node as usize);
        let [sent, reached] = ends.map(|node| of_node[node]);
        if ends.iter().all(|&node| cut.partition_of[node] == index) && sent != reached {
            if link.latency == Span::ZERO {
                return None;
            }
            let of_reached = &mut neighbours[usize::from(reached)];
            let shortest = of_reached.entry(sent).or_insert(link.latency);
            *shortest = link.latency.min(*shortest);
        }
    }
    let sorted = neighbours
        .into_iter()
        .map(|from| from.into_iter().collect());
    Some(sorted.collect())
}

#[cfg(test)]
mod tests {
    use super::super::cut;
    use super::*;
    use duetime_core::Rate;
    use duetime_scenario::model::{Link, Topology};

    fn link(gbps: u64) -> Link {
        Link {
            rate: Rate::from_gbps(gbps),
            latency: Span::from_us(1),
            loss: 0.0,
        }
    }

    /// If there are enough sub-partitions, each rack and each spine is one; otherwise neighbouring racks share one, and
    /// their works are about equal. Racks and spines never share one.
    #[test]
    fn racks_and_switches_are_subpartitions() {
        let topology = Topology::LeafSpine {
            racks: 6,
            hosts_per_rack: 40,
            spines: 2,
            host_link: link(1),
            uplink: link(40),
        };
        let network = Network::build(&topology).expect("a network");
        let whole = cut(&network, 1, false, true);
        let of = |count: usize| {
            let Subpartitions {
                of_node,
                neighbours,
                ..
            } = Subpartitions::cut(&network, &whole, 0, count);
            let first_hosts = [0, 40, 80, 120, 160, 200];
            let spines = [246, 247];
            (
                first_hosts.map(|host| of_node[host]),
                spines.map(|spine| of_node[spine]),
                neighbours.len(),
            )
        };
        assert_eq!(of(100), ([0, 1, 2, 3, 4, 5], [6, 7], 8));
        assert_eq!(
            of(3),
            ([0, 0, 0, 0, 0, 1], [2, 2], 3),
            "a spine is as much work as 1.2 racks"
        );
        assert_eq!(of(2), ([0; 6], [1, 1], 2));
        assert_eq!(of(1), ([0; 6], [0, 0], 1));
    }

    /// In a fat tree, the aggregation switches are one side. A link within a side, or one that is shorter than those
    /// between the partitions, rules out sides.
    #[test]
    fn fat_tree_has_two_sides() {
        let topology = Topology::FatTree {
            k: 4,
            link: link(10),
        };
        let network = Network::build(&topology).expect("a network");
        let halves = cut(&network, 2, false, true);
        let sides = |network: &Network, index| {
            let parts = Subpartitions::cut(network, &halves, index, 100);
            parts.sides.map(|sides| (parts.of_node, sides))
        };
        for index in 0..2 {
            let (of_node, of_side) = sides(&network, index).expect("equal latencies");
            for (number, node) in network.nodes.iter().enumerate() {
                if halves.partition_of[number] == index {
                    let side = usize::from(node.name.starts_with("agg"));
                    assert!(of_side[side].contains(&of_node[number]), "{}", node.name);
                }
            }
        }
        let mut with_short = network.clone();
        let is_inside = |link: &&mut DirectedLink| {
            let ends = [link.from, link.to];
            let is_first = |&node: &u32| node >= 16 && halves.partition_of[node as usize] == 0;
            ends.iter().all(is_first)
        };
        let short = with_short.links.iter_mut().find(is_inside);
        short.expect("a switch").latency = Span::from_ns(900);
        assert_eq!(sides(&with_short, 0), None);
        let mut with_ring = network.clone();
        with_ring.links.push(DirectedLink {
            from: 16,
            to: 17,
            ..network.links[0]
        });
        assert_eq!(sides(&with_ring, 0), None);
        assert_eq!(sides(&with_ring, 1), None);
    }
}
