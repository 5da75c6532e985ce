//! Cutting a network into partitions for threads, and a large partition into sub-partitions that fit the processor's
//! caches: a rack's switch and hosts stay together.

use crate::topology::Network;
use duetime_core::Span;
use std::collections::BTreeMap;

/// A cut.
pub struct Cut {
    /// Per node: its partition.
    pub partition_of: Vec<u16>,
    /// How many partitions.
    pub partitions: usize,
    /// The shortest latency between two partitions: nothing that happens in one is felt in another sooner.
    pub lookahead: Span,
}

/// Cuts the network into at most `threads` partitions of about equal work; into one where it cannot be cut.
pub fn cut(network: &Network, threads: usize) -> Cut {
    let groups = groups(network);
    let partitions = if cfg!(feature = "threads") {
        threads.clamp(1, groups.len().max(1))
    } else {
        1
    };
    let mut load = vec![0u128; partitions];
    let mut partition_of = vec![0u16; network.nodes.len()];
    for (weight, nodes) in groups {
        let lightest = (0..partitions)
            .min_by_key(|&partition| load[partition])
            .expect("at least one partition");
        load[lightest] += weight;
        for node in nodes {
            partition_of[node as usize] = lightest as u16;
        }
    }
    let crossing = network
        .links
        .iter()
        .filter(|link| partition_of[link.from as usize] != partition_of[link.to as usize]);
    let lookahead = crossing.map(|link| link.latency).min().unwrap_or(Span::MAX);
    if lookahead == Span::ZERO {
        return Cut {
            partition_of: vec![0; network.nodes.len()],
            partitions: 1,
            lookahead: Span::MAX,
        };
    }
    Cut {
        partition_of,
        partitions,
        lookahead,
    }
}

/// The sub-partitions of a partition. What happens in one is felt in another only after the latency of the links
/// between them.
#[derive(Clone, Debug)]
pub struct Subpartitions {
    /// Per node: its sub-partition; 0 for the nodes of other partitions.
    pub of_node: Vec<u16>,
    /// Per sub-partition: those with a link into it, each with the shortest latency of these links.
    pub neighbours: Vec<Vec<(u16, Span)>>,
}

impl Subpartitions {
    /// Cuts partition `index` of `partition_of` into at most `count` sub-partitions of about equal work and of
    /// neighbouring racks; into one where two would be joined by a link without latency.
    pub fn cut(network: &Network, partition_of: &[u16], index: u16, count: usize) -> Self {
        let mut groups = groups(network);
        groups.retain(|(_, nodes)| partition_of[nodes[0] as usize] == index);
        groups.sort_unstable_by_key(|(_, nodes)| nodes[0]);
        let count = count.min(groups.len()).max(1);
        let total: u128 = groups.iter().map(|(weight, _)| weight).sum();
        let mut subpartitions = Self {
            of_node: vec![0; network.nodes.len()],
            neighbours: Vec::new(),
        };
        let mut before = 0;
        for (weight, nodes) in groups {
            let own = (before * count as u128 / total.max(1)) as u16;
            before += weight;
            for node in nodes {
                subpartitions.of_node[node as usize] = own;
            }
        }
        let mut neighbours = vec![BTreeMap::new(); count];
        for link in &network.links {
            let [from, to] = [link.from, link.to].map(|node| node as usize);
            let [own, other] = [from, to].map(|node| partition_of[node]);
            let [sent, reached] = [from, to].map(|node| subpartitions.of_node[node]);
            if own == index && other == index && sent != reached {
                let least = neighbours[usize::from(reached)]
                    .entry(sent)
                    .or_insert(link.latency);
                *least = link.latency.min(*least);
            }
        }
        if neighbours
            .iter()
            .any(|from| from.values().any(|&latency| latency == Span::ZERO))
        {
            return Self::one(network);
        }
        subpartitions.neighbours = neighbours
            .into_iter()
            .map(|from| from.into_iter().collect())
            .collect();
        subpartitions
    }

    /// The whole partition as one.
    pub fn one(network: &Network) -> Self {
        Self {
            of_node: vec![0; network.nodes.len()],
            neighbours: vec![Vec::new()],
        }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.neighbours.len()
    }
}

/// Nodes that stay together with their weight, heaviest first. A node's work is the packets that reach it, so its
/// incoming capacity stands for it; a host's transports make it count double.
fn groups(network: &Network) -> Vec<(u128, Vec<u32>)> {
    let racks = network
        .nodes
        .iter()
        .map(|node| node.rack)
        .max()
        .map_or(0, |rack| rack as usize + 1);
    let mut groups = vec![(0u128, Vec::new()); racks];
    for (number, node) in network.nodes.iter().enumerate() {
        groups[node.rack as usize].1.push(number as u32);
    }
    for link in &network.links {
        let to = &network.nodes[link.to as usize];
        let factor = if to.host.is_some() { 2 } else { 1 };
        groups[to.rack as usize].0 += u128::from(link.rate.as_bps()) * factor;
    }
    groups.retain(|(_, nodes)| !nodes.is_empty());
    groups.sort_by_key(|(weight, nodes)| (std::cmp::Reverse(*weight), nodes[0]));
    groups
}
