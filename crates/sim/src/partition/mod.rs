//! Splits a network into partitions for threads, and a large partition into sub-partitions that fit the processor's
//! caches (see `subpartitions`). A rack's switch and hosts are never separated.

mod groups;
mod subpartitions;

pub use subpartitions::Subpartitions;

use crate::topology::{DirectedLink, Network};
use duetime_core::Span;
use groups::{groups, sides};
use std::cmp::Reverse;

/// Marks a divided switch in [`Cut::partition_of`]. Most of its ports are in the partition that they lead to, and a
/// packet that arrives at the switch is processed in the partition of its output port.
pub const DIVIDED: u16 = u16::MAX;

/// Partitions of a network.
pub struct Cut {
    /// Partition of each node, or [`DIVIDED`].
    pub partition_of: Vec<u16>,
    /// Partition of the port at the near end of each link.
    pub port_in: Vec<u16>,
    /// Number of partitions.
    pub partitions: usize,
    /// Shortest latency between two partitions: no event in one affects another sooner.
    pub lookahead: Span,
}

/// Splits the network into at most `threads` partitions with about equal work, or into one if it cannot be split.
/// `divides` permits dividing switches between racks. If `alternates` is true, the sides of the network, if it has two,
/// run in turn, so that the work of each must be about equal.
pub fn cut(network: &Network, threads: usize, divides: bool, alternates: bool) -> Cut {
    let divided = if divides && threads > 1 {
        divided(network)
    } else {
        vec![false; network.nodes.len()]
    };
    let groups = groups(network, &divided);
    let partitions = if cfg!(feature = "threads") {
        threads.clamp(1, groups.len().max(1))
    } else {
        1
    };
    let sides = if alternates { sides(network) } else { None };
    let (partition_of, mut load) = assign(network, groups, sides.as_deref(), partitions);
    let port_in = |link: &DirectedLink| match partition_of[link.from as usize] {
        DIVIDED => partition_of[link.to as usize],
        partition => partition,
    };
    let mut port_in: Vec<u16> = network.links.iter().map(port_in).collect();
    balance(network, &partition_of, &mut port_in, &mut load);
    let mut cut = Cut {
        partition_of,
        port_in,
        partitions,
        lookahead: Span::MAX,
    };
    let links = network.links.iter().enumerate();
    let crossing = links.filter(|&(number, _)| cut.is_crossing(network, number));
    cut.lookahead = crossing
        .map(|(_, link)| link.latency)
        .min()
        .unwrap_or(Span::MAX);
    if partitions == 1 || cut.lookahead == Span::ZERO {
        return Cut {
            partition_of: vec![0; network.nodes.len()],
            port_in: vec![0; network.links.len()],
            partitions: 1,
            lookahead: Span::MAX,
        };
    }
    cut
}

/// Assigns groups of nodes to partitions. Neighbouring racks are in one partition; a switch without hosts is where most
/// of its neighbours' capacity is, such as that of a pod with its racks, unless this partition already has its share
/// of the work of the switch's side. `sides` is the side of each rack number, if the sides run in turn. Returns the
/// partition of each node and the load of each partition.
fn assign(
    network: &Network,
    mut groups: Vec<(u128, Vec<u32>)>,
    sides: Option<&[u8]>,
    partitions: usize,
) -> (Vec<u16>, Vec<u128>) {
    let has_hosts = |nodes: &[u32]| {
        let mut hosts = nodes.iter().map(|&node| network.nodes[node as usize].host);
        hosts.any(|host| host.is_some())
    };
    groups.sort_by_key(|(_, nodes)| (!has_hosts(nodes), nodes[0]));
    let weight_of =
        |groups: &[(u128, Vec<u32>)]| -> u128 { groups.iter().map(|group| group.0).sum() };
    let racks = groups.partition_point(|(_, nodes)| has_hosts(nodes));
    let in_racks = weight_of(&groups[..racks]).max(1);
    let side_of = |nodes: &[u32]| {
        let rack = network.nodes[nodes[0] as usize].rack as usize;
        sides.map_or(0, |sides| usize::from(sides[rack]))
    };
    let mut shares = [0u128; 2];
    for (weight, nodes) in &groups {
        shares[side_of(nodes)] += weight;
    }
    let shares = shares.map(|work| work / partitions as u128);
    let mut neighbours = vec![Vec::new(); network.nodes.len()];
    for link in &network.links {
        neighbours[link.to as usize].push((link.from, link.rate.as_bps()));
    }
    let mut load = vec![[0u128; 2]; partitions];
    let mut partition_of = vec![DIVIDED; network.nodes.len()];
    let mut before = 0;
    for (number, (weight, nodes)) in groups.into_iter().enumerate() {
        let side = side_of(&nodes);
        let partition = if number < racks {
            // Less than the number of partitions, unless the last rack has no weight.
            ((before * partitions as u128 / in_racks) as usize).min(partitions - 1)
        } else {
            let mut shared = vec![0u128; partitions];
            for &(neighbour, bps) in nodes.iter().flat_map(|&node| &neighbours[node as usize]) {
                if let Some(shared) = shared.get_mut(usize::from(partition_of[neighbour as usize]))
                {
                    *shared += u128::from(bps);
                }
            }
            let fits = |partition: usize| load[partition][side] < shares[side];
            (0..partitions)
                .min_by_key(|&partition| {
                    (
                        !fits(partition),
                        Reverse(shared[partition]),
                        load[partition][side],
                    )
                })
                .expect("at least one partition")
        };
        before += weight;
        load[partition][side] += weight;
        for node in nodes {
            partition_of[node as usize] = partition as u16;
        }
    }
    let load = load.into_iter().map(|sides| sides.iter().sum()).collect();
    (partition_of, load)
}

impl Cut {
    /// Returns true if packets on a link may arrive in a partition other than that of the link's port.
    pub fn is_crossing(&self, network: &Network, link: usize) -> bool {
        self.port_in[link] != self.partition_of[network.links[link].to as usize]
    }
}

/// Moves ports of divided switches from the most loaded partition to the least loaded one while that reduces the
/// maximum load.
fn balance(network: &Network, partition_of: &[u16], port_in: &mut [u16], load: &mut [u128]) {
    for (link, port_in) in network.links.iter().zip(port_in) {
        let weight = u128::from(link.rate.as_bps());
        let by_load = (0..load.len()).min_by_key(|&partition| load[partition]);
        let (from, to) = (usize::from(*port_in), by_load.unwrap_or(0));
        let is_heaviest = load.iter().all(|&other| other <= load[from]);
        let gains = load[from] > load[to] + 2 * weight;
        if partition_of[link.from as usize] == DIVIDED && is_heaviest && gains {
            load[from] -= weight;
            load[to] += weight;
            *port_in = to as u16;
        }
    }
}

/// Returns, for each node, true if it is a switch to divide. These are switches that connect only to undivided
/// switches: half of the packets through such a switch stay in their partition, and the others cross partitions once. A
/// switch at the far end of a link with random loss is not divided, because the losses must be drawn in one partition.
fn divided(network: &Network) -> Vec<bool> {
    let mut divided: Vec<bool> = network
        .nodes
        .iter()
        .map(|node| node.host.is_none())
        .collect();
    for link in &network.links {
        let hosts_or_loss = network.nodes[link.from as usize].host.is_some() || link.loss > 0.0;
        if hosts_or_loss || link.latency == Span::ZERO {
            divided[link.to as usize] = false;
        }
    }
    for link in &network.links {
        if divided[link.from as usize] {
            divided[link.to as usize] = false;
        }
    }
    divided
}

#[cfg(test)]
mod tests {
    use super::*;
    use duetime_core::Rate;
    use duetime_scenario::model::{Link, Topology};

    fn leaf_spine(racks: u32, spines: u32, loss: f64) -> Network {
        let link = |gbps| Link {
            rate: Rate::from_gbps(gbps),
            latency: Span::from_us(20),
            loss,
        };
        let topology = Topology::LeafSpine {
            racks,
            hosts_per_rack: 40,
            spines,
            host_link: link(1),
            uplink: link(40),
        };
        Network::build(&topology).expect("a network")
    }

    fn fat_tree(k: u32) -> Network {
        let link = Link {
            rate: Rate::from_gbps(10),
            latency: Span::from_us(1),
            loss: 0.0,
        };
        Network::build(&Topology::FatTree { k, link }).expect("a network")
    }

    /// Returns the links from spines to racks.
    fn down(network: &Network) -> impl Iterator<Item = usize> + '_ {
        let first_spine = (network.nodes.iter())
            .position(|node| node.name.starts_with("spine"))
            .expect("a spine");
        let links = network.links.iter().enumerate();
        links
            .filter(move |(_, link)| link.from as usize >= first_spine)
            .map(|(number, _)| number)
    }

    /// With an even number of racks, each port of a spine is in its rack's partition, and only links into spines cross.
    #[test]
    fn spines_are_divided_among_racks() {
        let network = leaf_spine(6, 2, 0.0);
        let cut = cut(&network, 2, true, false);
        assert_eq!((cut.partitions, cut.lookahead), (2, Span::from_us(20)));
        for (number, link) in network.links.iter().enumerate() {
            let into_spine = cut.partition_of[link.to as usize] == DIVIDED;
            assert_eq!(cut.is_crossing(&network, number), into_spine);
        }
        let in_first = down(&network).filter(|&link| cut.port_in[link] == 0);
        assert_eq!(in_first.count(), 6, "of twelve");
    }

    /// With an odd number of racks, ports compensate for the rack that one partition has more. A rack's work is five
    /// times that of its port.
    #[test]
    fn spine_ports_balance_odd_racks() {
        let network = leaf_spine(25, 1, 0.0);
        let cut = cut(&network, 2, true, false);
        let elsewhere = down(&network)
            .filter(|&link| cut.is_crossing(&network, link))
            .count();
        assert_eq!(elsewhere, 2);
        let shares = [0, 1].map(|partition| {
            let racks = (1_000..1_025).filter(|&node| cut.partition_of[node] == partition);
            let ports = down(&network).filter(|&link| cut.port_in[link] == partition);
            4 * racks.count() + ports.count()
        });
        assert_eq!(shares, [4 * 13 + 11, 4 * 12 + 14]);
    }

    /// The pods of a fat tree are not split, so that only links of core switches cross partitions, half of them.
    #[test]
    fn pods_stay_whole() {
        let network = fat_tree(4);
        let cut = cut(&network, 2, false, false);
        let crossing = (0..network.links.len()).filter(|&link| cut.is_crossing(&network, link));
        let core = |node: u32| network.nodes[node as usize].name.starts_with("core");
        let mut of_core = 0;
        for link in crossing {
            let link = &network.links[link];
            assert!(core(link.from) || core(link.to));
            of_core += 1;
        }
        assert_eq!(of_core, 16, "of 4 core switches with 8 links each");
    }

    /// With sides that run in turn, each partition has about an equal share of either.
    #[test]
    fn sides_are_balanced() {
        let network = fat_tree(8);
        let most = |alternates: bool, name: &str| {
            let cut = cut(&network, 5, false, alternates);
            let in_partition = |partition: u16| {
                let nodes = network.nodes.iter().zip(&cut.partition_of);
                nodes
                    .filter(|(node, of)| node.name.starts_with(name) && **of == partition)
                    .count()
            };
            (0..5).map(in_partition).max()
        };
        // 32 aggregation switches in 8 pods.
        assert_eq!(most(true, "aggregation"), Some(7));
        assert_eq!(most(false, "aggregation"), Some(8));
        assert_eq!(most(true, "edge"), Some(7));
    }

    /// A switch is not divided if losses are drawn on its links or if the caller forbids it.
    #[test]
    fn spines_stay_whole_if_required() {
        for (loss, divides) in [(0.01, true), (0.0, false)] {
            let network = leaf_spine(4, 1, loss);
            let cut = cut(&network, 2, divides, false);
            assert!(cut.partition_of.iter().all(|&partition| partition < 2));
        }
    }
}
