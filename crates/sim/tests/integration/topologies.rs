//! Wiring, names and numbering of topologies as documented.

use crate::routing::check_routes;
use duetime_core::{Rate, Span};
use duetime_scenario::model::{Edge, Link, Node, Topology};
use duetime_sim::SetupError;
use duetime_sim::routing::Routing;
use duetime_sim::topology::Network;

/// Returns a link of `gbps` with a latency of 20 us.
pub fn link(gbps: u64) -> Link {
    Link {
        rate: Rate::from_gbps(gbps),
        latency: Span::from_us(20),
        loss: 0.0,
    }
}

/// Returns a leaf-spine network with hosts at 1 Gbps and uplinks at 40 Gbps.
pub fn leaf_spine(racks: u32, hosts_per_rack: u32, spines: u32) -> Topology {
    Topology::LeafSpine {
        racks,
        hosts_per_rack,
        spines,
        host_link: link(1),
        uplink: link(40),
    }
}

/// Returns a network and its routes.
pub fn build(topology: &Topology) -> (Network, Routing) {
    let network = Network::build(topology).unwrap();
    let routing = Routing::build(&network).unwrap();
    (network, routing)
}

/// Returns a graph of hosts, numbered first, and switches with these edges.
pub fn graph(hosts: usize, switches: usize, edges: &[(usize, usize)]) -> Topology {
    let node = |i| Node {
        name: format!("n{i}"),
        host: i < hosts,
    };
    let edge = |&(a, b): &(usize, usize)| Edge {
        a,
        b,
        link: link(1),
    };
    Topology::Graph {
        nodes: (0..hosts + switches).map(node).collect(),
        edges: edges.iter().map(edge).collect(),
    }
}

#[test]
fn d3_testbed_is_numbered_as_documented() {
    let (network, routing) = build(&Topology::D3Testbed { link: link(1) });
    assert_eq!(
        (network.hosts(), network.switches(), network.links.len()),
        (14, 5, 2 * 18)
    );
    let names = |links: Vec<u32>| {
        links
            .into_iter()
            .map(|link| network.link_name(link))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names(routing.path(&network, 0, 2, 0)),
        ["host0->rack0", "rack0->host2"]
    );
    assert_eq!(
        names(routing.path(&network, 3, 11, 0)),
        [
            "host3->rack1",
            "rack1->root",
            "root->rack3",
            "rack3->host11"
        ]
    );
    assert_eq!(
        names(routing.path(&network, 12, 13, 0)),
        ["host12->root", "root->host13"]
    );
    let racks: Vec<u32> = network.nodes[..14].iter().map(|node| node.rack).collect();
    assert_eq!(racks, [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4]);
}

#[test]
fn links_have_names_and_reverse_links() {
    let (network, _) = build(&leaf_spine(2, 2, 2));
    for link in 0..network.links.len() as u32 {
        assert_eq!(network.find_link(&network.link_name(link)), Some(link));
        let (forward, reverse) = (
            &network.links[link as usize],
            &network.links[link as usize ^ 1],
        );
        assert_eq!((forward.from, forward.to), (reverse.to, reverse.from));
    }
    assert_eq!(network.find_link("rack0->host3"), None);
    for host in 0..4_u32 {
        assert_eq!(
            network.links[network.uplink[host as usize] as usize].from,
            host
        );
        assert_eq!(
            network.links[network.downlink[host as usize] as usize].to,
            host
        );
        assert_eq!(
            network.nodes[network.switch_of(host) as usize].name,
            format!("rack{}", host / 2)
        );
    }
}

#[test]
fn graphs_list_nodes_in_any_order() {
    let nodes = [("middle", false), ("b", true), ("edge", false), ("a", true)];
    let nodes = nodes.map(|(name, host)| Node {
        name: name.into(),
        host,
    });
    let edges = [(1, 0), (0, 2), (2, 3)].map(|(a, b)| Edge {
        a,
        b,
        link: link(1),
    });
    let (network, routing) = build(&Topology::Graph {
        nodes: nodes.into(),
        edges: edges.into(),
    });
    let names: Vec<&str> = network
        .nodes
        .iter()
        .map(|node| node.name.as_str())
        .collect();
    assert_eq!(names, ["b", "a", "middle", "edge"]);
    check_routes(&network, &routing, &[0]);
}

#[test]
fn invalid_topologies_are_rejected() {
    let message = |topology: &Topology| -> String {
        let result =
            Network::build(topology).and_then(|network| Routing::build(&network).map(|_| ()));
        result.map_or_else(
            |error: SetupError| error.to_string(),
            |()| "no error".into(),
        )
    };
    let cases = [
        (graph(2, 2, &[(0, 2), (1, 3)]), "no path from `n1` to `n0`"),
        (
            graph(2, 2, &[(0, 2), (1, 3), (1, 2)]),
            "host `n1` has 2 links",
        ),
        (graph(2, 1, &[(0, 2)]), "host `n1` has 0 links"),
        (graph(2, 1, &[(0, 1)]), "host `n0` is joined to host `n1`"),
        (
            graph(2, 1, &[(0, 2), (1, 2), (2, 2)]),
            "`n2` is joined to itself",
        ),
        (graph(1, 1, &[(0, 1)]), "1 host(s); at least 2"),
        (
            graph(2, 1, &[(0, 2), (1, 7)]),
            "an edge refers to node 7, but there are 3 nodes",
        ),
        (
            Topology::FatTree {
                k: 5,
                link: link(1),
            },
            "k = 5; k must be even",
        ),
        (leaf_spine(2, 2, 0), "under 0 spines"),
        (
            Topology::Star {
                hosts: 3,
                link: link(0),
            },
            "has no rate",
        ),
    ];
    for (topology, expected) in cases {
        let found = message(&topology);
        assert!(
            found.contains(expected),
            "{found:?} should contain {expected:?}"
        );
    }
}
