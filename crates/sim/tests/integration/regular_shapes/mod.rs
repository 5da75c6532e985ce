//! Regular shapes of all kinds, including the smallest ones.

use duetime_core::{Rate, Span};
use duetime_scenario::model::{Link, Topology};
use duetime_sim::topology::Network;

/// Returns networks of regular shapes, each also as a plain network whose routes are found by search.
pub fn regular_shapes() -> impl Iterator<Item = (Network, Network)> {
    let link = |gbps| Link {
        rate: Rate::from_gbps(gbps),
        latency: Span::from_us(1),
        loss: 0.0,
    };
    let leaf_spine = |racks, hosts_per_rack, spines| Topology::LeafSpine {
        racks,
        hosts_per_rack,
        spines,
        host_link: link(1),
        uplink: link(10),
    };
    let fat_tree = |k| Topology::FatTree { k, link: link(1) };
    let shapes = [
        leaf_spine(1, 2, 1),
        leaf_spine(2, 1, 3),
        leaf_spine(5, 3, 1),
        leaf_spine(7, 2, 4),
        fat_tree(2),
        fat_tree(4),
        fat_tree(6),
        fat_tree(8),
    ];
    shapes.into_iter().map(|shape| {
        let network = Network::build(&shape).expect("a network");
        let plain = Network {
            regular: None,
            ..network.clone()
        };
        (network, plain)
    })
}
