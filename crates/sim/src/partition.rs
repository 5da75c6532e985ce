//! Cutting a network into parts for threads: a rack's switch and hosts stay together.

use crate::topology::Network;
use duetime_core::Span;

/// A cut.
pub struct Cut {
    /// Per node: its part.
    pub partition_of: Vec<u16>,
    /// How many parts.
    pub parts: usize,
    /// The shortest latency between two parts: nothing that happens in one is felt in another sooner.
    pub lookahead: Span,
}

/// Cuts the network into at most `threads` parts of about equal work; into one where it cannot be cut.
pub fn cut(network: &Network, threads: usize) -> Cut {
    let groups = groups(network);
    let parts = if cfg!(feature = "threads") {
        threads.clamp(1, groups.len().max(1))
    } else {
        1
    };
    let mut load = vec![0u128; parts];
    let mut partition_of = vec![0u16; network.nodes.len()];
    for (weight, nodes) in groups {
        let lightest = (0..parts)
            .min_by_key(|&part| load[part])
            .expect("at least one part");
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
            parts: 1,
            lookahead: Span::MAX,
        };
    }
    Cut {
        partition_of,
        parts,
        lookahead,
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
