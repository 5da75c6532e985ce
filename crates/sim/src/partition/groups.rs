//! Groups of nodes that stay together, and the two sides of a network.

use crate::topology::Network;

/// Returns the groups of nodes that stay together, divided switches excluded, with their weights. A node's work is the
/// number of packets that reach it, estimated by its incoming capacity. A host counts twice because of its transports.
/// Packets that reach a divided switch are the work of the node behind the output port.
pub(super) fn groups(network: &Network, divided: &[bool]) -> Vec<(u128, Vec<u32>)> {
    let racks = network
        .nodes
        .iter()
        .map(|node| node.rack)
        .max()
        .map_or(0, |rack| rack as usize + 1);
    let mut groups = vec![(0u128, Vec::new()); racks];
    for (number, node) in network.nodes.iter().enumerate() {
        if !divided[number] {
            groups[node.rack as usize].1.push(number as u32);
        }
    }
    for link in &network.links {
        let to = &network.nodes[link.to as usize];
        let factor = if to.host.is_some() || divided[link.from as usize] {
            2
        } else {
            1
        };
        groups[to.rack as usize].0 += u128::from(link.rate.as_bps()) * factor;
    }
    groups.retain(|(_, nodes)| !nodes.is_empty());
    groups
}

/// Returns the side of each rack number, 0 or 1, if no link joins two racks or switches of the same side. In a fat tree,
/// one side has the racks and the core switches, and the other one the aggregation switches.
pub(super) fn sides(network: &Network) -> Option<Vec<u8>> {
    let rack = |node: u32| network.nodes[node as usize].rack;
    let racks = network.nodes.iter().map(|node| node.rack as usize + 1);
    let mut neighbours = vec![Vec::new(); racks.max().unwrap_or(0)];
    for link in &network.links {
        let (from, to) = (rack(link.from), rack(link.to));
        if from != to {
            neighbours[from as usize].push(to);
        }
    }
    let mut sides: Vec<Option<u8>> = vec![None; neighbours.len()];
    for first in 0..sides.len() {
        if sides[first].is_some() {
            continue;
        }
        sides[first] = Some(0);
        let mut reached = vec![first];
        while let Some(rack) = reached.pop() {
            let opposite = sides[rack].map(|side| 1 - side);
            for &neighbour in &neighbours[rack] {
                let side = &mut sides[neighbour as usize];
                if side.is_none() {
                    *side = opposite;
                    reached.push(neighbour as usize);
                } else if *side != opposite {
                    return None;
                }
            }
        }
    }
    sides.into_iter().collect()
}
