//! Routes along shortest paths, spread over equal ones.

use crate::topologies::{build, graph, leaf_spine, link};
use duetime_core::Time;
use duetime_core::random::{Purpose, Streams, mix};
use duetime_scenario::NoFiles;
use duetime_scenario::model::Topology;
use duetime_sim::Options;
use duetime_sim::routing::Routing;
use duetime_sim::topology::Network;
use proptest::prelude::*;
use std::collections::VecDeque;

/// Returns the distances from one node to all others, as a simple reference.
fn reference_distances(network: &Network, from: u32) -> Vec<u32> {
    let mut distance = vec![u32::MAX; network.nodes.len()];
    distance[from as usize] = 0;
    let mut queue = VecDeque::from([from]);
    while let Some(node) = queue.pop_front() {
        for link in network.links.iter().filter(|link| link.from == node) {
            if distance[link.to as usize] == u32::MAX {
                distance[link.to as usize] = distance[node as usize] + 1;
                queue.push_back(link.to);
            }
        }
    }
    distance
}

/// Checks that every host reaches every other by a connected path that is shortest.
pub fn check_routes(network: &Network, routing: &Routing, hashes: &[u32]) {
    for source in 0..network.hosts() {
        let distance = reference_distances(network, source);
        for destination in (0..network.hosts()).filter(|&host| host != source) {
            for &hash in hashes {
                let mut node = source;
                let mut length = 0;
                while node != destination {
                    let link = &network.links[routing.next(node, destination, hash) as usize];
                    assert_eq!(link.from, node);
                    node = link.to;
                    length += 1;
                    assert!(
                        length <= distance[destination as usize],
                        "path from host {source} to {destination} is too long"
                    );
                }
                assert_eq!(length, distance[destination as usize]);
            }
        }
    }
}

#[test]
fn topologies_route_along_shortest_paths() {
    let shapes = [
        (
            Topology::Star {
                hosts: 5,
                link: link(1),
            },
            2,
        ),
        (
            Topology::Dumbbell {
                left: 3,
                right: 2,
                link: link(1),
                bottleneck: link(1),
            },
            3,
        ),
        (Topology::D3Testbed { link: link(1) }, 4),
        (leaf_spine(5, 4, 3), 4),
        (leaf_spine(5, 4, 1), 4),
        (
            Topology::FatTree {
                k: 2,
                link: link(1),
            },
            6,
        ),
        (
            Topology::FatTree {
                k: 6,
                link: link(1),
            },
            6,
        ),
    ];
    for (shape, longest) in shapes {
        let (network, routing) = build(&shape);
        assert_eq!(network.longest_path(), longest, "{shape:?}");
        check_routes(&network, &routing, &[0, 1, 0xdead_beef, u32::MAX]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_graphs_route_along_shortest_paths(
        switches in 1_usize..14,
        hosts in 2_usize..12,
        picks in proptest::collection::vec(any::<u32>(), 64),
        hash: u32,
    ) {
        let mut picks = picks.into_iter().map(|pick| pick as usize).cycle();
        let mut edges = Vec::new();
        for host in 0..hosts {
            edges.push((host, hosts + picks.next().unwrap() % switches));
        }
        for switch in 1..switches {
            edges.push((hosts + switch, hosts + picks.next().unwrap() % switch));
        }
        // More links create loops and equal paths, some of them parallel links.
        for _ in 0..picks.next().unwrap() % (2 * switches) {
            let (a, b) = (picks.next().unwrap() % switches, picks.next().unwrap() % switches);
            if a != b {
                edges.push((hosts + a, hosts + b));
            }
        }
        let (network, routing) = build(&graph(hosts, switches, &edges));
        check_routes(&network, &routing, &[hash, hash.wrapping_mul(77)]);
        let mut longest = 0;
        for source in 0..network.hosts() {
            let distance = reference_distances(&network, source);
            longest = longest.max(distance[..hosts].iter().copied().max().unwrap());
        }
        prop_assert_eq!(network.longest_path(), longest);
    }
}

/// Counts the flows over each link at one hop of their paths, with hashes spread as in the engine.
fn spread(
    routing: &Routing,
    network: &Network,
    ends: (u32, u32),
    at_link: usize,
    flows: u32,
) -> Vec<u32> {
    let mut counts = vec![0; network.links.len()];
    for flow in 0..flows {
        let hash = duetime_core::random::mix(9, u64::from(flow)) as u32;
        counts[routing.path(network, ends.0, ends.1, hash)[at_link] as usize] += 1;
    }
    counts.retain(|&count| count > 0);
    counts
}

#[test]
fn flows_spread_evenly_over_equal_paths() {
    let (network, routing) = build(&leaf_spine(4, 2, 5));
    let counts = spread(&routing, &network, (0, 7), 1, 10_000);
    assert_eq!(counts.len(), 5);
    assert!(
        counts.iter().all(|count| (1_850..=2_150).contains(count)),
        "{counts:?}"
    );

    // There are four aggregation switches with four cores each. If the second choice depended on the first, some of the
    // 16 cores would receive no flow.
    let (network, routing) = build(&Topology::FatTree {
        k: 8,
        link: link(1),
    });
    let counts = spread(&routing, &network, (0, 127), 2, 32_000);
    assert_eq!(counts.len(), 16);
    assert!(
        counts.iter().all(|count| (1_800..=2_200).contains(count)),
        "{counts:?}"
    );
}

/// Checks how often two flows take the same of two spines under different keys, for the first flows of a run.
#[test]
fn collisions_depend_on_the_key() {
    const KEYS: u64 = 2_000;
    let network = Network::build(&leaf_spine(2, 2, 2)).unwrap();
    for other in 1..5 {
        let hash = |flow| mix(flow, 9) as u32;
        let collisions = (0..KEYS).filter(|&run| {
            let key = Streams::new(1, run).key(0, Purpose::Path);
            let routing = Routing::build(&network).unwrap().keyed(key);
            let path = |flow| routing.path(&network, 0, 2, hash(flow));
            path(0) == path(other)
        });
        // The bounds are five standard deviations.
        let collisions = collisions.count();
        assert!((888..=1_112).contains(&collisions), "{other}: {collisions}");
    }
}

#[test]
fn runs_have_different_collisions() {
    const SEEDS: u64 = 50;
    let text = "name = \"ecmp\"\ntransport = \"tcp\"\nduration = \"20 ms\"\ndrain = \"0 us\"\n\
        [topology]\nkind = \"leaf-spine\"\nracks = 2\nhosts_per_rack = 2\nspines = 2\n\
        host_link = { rate = \"1 Gbps\", latency = \"5 us\" }\n\
        uplink = { rate = \"1 Gbps\", latency = \"5 us\" }\n\
        [[workload]]\nkind = \"long\"\npairs = [[0, 2], [1, 3]]\n";
    let scenario = duetime_scenario::load(text, "ecmp", &[], &NoFiles).unwrap();
    let paths_in_use = |run| {
        let output = duetime_sim::run(&scenario, 0, run, &Options::default()).unwrap();
        let ports = output.records.ports.iter();
        let uplinks = ports.filter(|port| port.link.starts_with("rack0->spine"));
        uplinks.filter(|port| port.utilisation > 0.2).count()
    };
    // Half of the runs collide, within nearly four standard deviations.
    let collisions = (0..SEEDS).filter(|&run| paths_in_use(run) == 1).count();
    assert!((12..=38).contains(&collisions), "{collisions} of {SEEDS}");
}

#[test]
fn a_flow_keeps_its_path() {
    let (network, routing) = build(&leaf_spine(4, 2, 5));
    assert_eq!(
        routing.path(&network, 0, 7, 42),
        routing.path(&network, 0, 7, 42)
    );
}

#[test]
fn tables_of_16_000_hosts_fit_in_a_megabyte() {
    let (network, routing) = build(&Topology::FatTree {
        k: 40,
        link: link(10),
    });
    assert_eq!((network.hosts(), network.switches()), (16_000, 2_000));
    assert!(
        routing.table_bytes() <= 1_000_000,
        "{}",
        routing.table_bytes()
    );
    assert_eq!(routing.path(&network, 0, 15_999, 7).len(), 6);
    assert_eq!(routing.path(&network, 0, 19, 7).len(), 2);
    assert_eq!(routing.path(&network, 0, 20, 7).len(), 4);
}

/// Checks that the routes of a network of a regular shape are computed, and that they are those that search finds, at
/// every `step`-th node towards every `step`-th host.
fn check_computed(network: &Network, plain: &Network, step: usize) {
    let (hosts, switches) = (network.hosts(), network.switches());
    let computed = Routing::build(network).expect("routes");
    let searched = Routing::build(plain).expect("routes");
    assert_eq!(
        computed.table_bytes(),
        (4 * hosts + 32 * switches) as usize,
        "nothing but positions of switches"
    );
    for (key, is_sprayed) in [(0, false), (0x5eed, false), (0x5eed, true)] {
        let [computed, searched] =
            [&computed, &searched].map(|it| it.clone().keyed(key).sprayed(is_sprayed));
        for switch in (0..switches).step_by(step) {
            for host in (0..hosts).step_by(step) {
                for (hash, ps) in [(0, 0), (1, 77), (0x9e37_79b9, 1), (u32::MAX, 1_000_000)] {
                    let arrival = Time::from_ps(ps);
                    assert_eq!(
                        computed.next_at_switch(switch, host, hash, arrival),
                        searched.next_at_switch(switch, host, hash, arrival),
                        "from switch {switch} to host {host} of {hosts}"
                    );
                }
            }
        }
    }
    for host in 0..hosts {
        let to = (host + 1) % hosts;
        assert_eq!(computed.next(host, to, 0), searched.next(host, to, 0));
    }
}

#[test]
fn computed_routes_match_search() {
    for (network, plain) in crate::regular_shapes::regular_shapes() {
        check_computed(&network, &plain, 1);
        assert_eq!(network.longest_path(), plain.longest_path());
    }
    let larger = [
        leaf_spine(9, 37, 5),
        leaf_spine(3, 101, 17),
        Topology::FatTree {
            k: 18,
            link: link(1),
        },
    ];
    for shape in larger {
        let network = Network::build(&shape).unwrap();
        check_computed(&network, &without_shape(&network), 7);
    }
}

/// Returns a network whose routes are found by search.
fn without_shape(network: &Network) -> Network {
    Network {
        regular: None,
        ..network.clone()
    }
}

#[test]
fn irregular_numbers_of_links_need_tables() {
    let (mut network, regular) = build(&Topology::FatTree {
        k: 4,
        link: link(1),
    });
    let last = network.links.len() - 4;
    for direction in [last, last + 1] {
        network.links.swap(direction, direction + 2);
    }
    let routing = Routing::build(&network).unwrap();
    assert_ne!(routing.table_bytes(), regular.table_bytes());
    check_routes(&network, &routing, &[0, 1, u32::MAX]);
}
