//! Checks of `describe` with values computed by hand.

#[path = "../../sim/tests/integration/bare/mod.rs"]
mod bare;

use duetime_analysis::{Description, RateCount, describe};
use duetime_core::{Bytes, Rate, Span};
use duetime_scenario::model::*;

fn link(gbps: u64) -> Link {
    Link {
        rate: Rate::from_gbps(gbps),
        latency: Span::from_us(20),
        loss: 0.0,
    }
}

fn described(topology: Topology, kinds: Vec<WorkloadKind>) -> Description {
    let workloads = kinds.into_iter().map(|kind| bare::workload("test", kind));
    let mut scenario = Scenario {
        duration: Span::from_secs(2),
        drain: Span::ZERO,
        ..bare::scenario(topology, workloads.collect())
    };
    scenario.host.start_jitter = true;
    describe(&scenario).unwrap()
}

fn search() -> Topology {
    Topology::LeafSpine {
        racks: 25,
        hosts_per_rack: 40,
        spines: 1,
        host_link: link(1),
        uplink: link(40),
    }
}

#[test]
fn search_study_topology() {
    let topology = described(search(), Vec::new()).topology;
    assert_eq!(
        (topology.hosts, topology.switches, topology.links),
        (1_000, 26, 1_025)
    );
    assert_eq!(
        topology.rates,
        [
            RateCount {
                rate_bps: 1_000_000_000,
                host_links: 1_000,
                switch_links: 0
            },
            RateCount {
                rate_bps: 40_000_000_000,
                host_links: 0,
                switch_links: 25
            },
        ]
    );
    assert_eq!(topology.longest_path_links, 4);
    // Eight times 20 us, 1540 B twice at 1 Gbps (12.32 us) and twice at 40 Gbps (0.308 us).
    assert_eq!(topology.base_rtt_ns, 160_000 + 2 * 12_320 + 2 * 308);
    assert_eq!(topology.bandwidth_delay_product_bytes, 185_256 / 8);
    // Rack 12 is split between the halves. The remaining traffic uses the uplinks of 12 racks and half of one, which
    // have the capacity of the hosts below them.
    assert_eq!(topology.between_halves_bps, 500_000_000_000);
    assert!((topology.between_halves_share - 1.0).abs() < 1e-12);
}

#[test]
fn bisection_is_the_narrowest_cut() {
    let between =
        |topology| described(topology, Vec::new()).topology.between_halves_bps / 1_000_000;
    assert_eq!(
        between(Topology::Star {
            hosts: 7,
            link: link(1)
        }),
        3_000
    );
    assert_eq!(
        between(Topology::Dumbbell {
            left: 4,
            right: 4,
            link: link(1),
            bottleneck: link(2)
        }),
        2_000
    );
    assert_eq!(
        between(Topology::FatTree {
            k: 8,
            link: link(1)
        }),
        64_000
    );
    let oversubscribed = Topology::LeafSpine {
        racks: 4,
        hosts_per_rack: 8,
        spines: 3,
        host_link: link(1),
        uplink: link(1),
    };
    assert_eq!(between(oversubscribed), 6_000);
    // Hosts 0 to 6 are racks 0 and 1 and one host of rack 2, which reaches the other two without the root.
    assert_eq!(between(Topology::D3Testbed { link: link(1) }), 3_000);
}

#[test]
fn round_trip_is_of_the_slowest_pair() {
    let slow = Link {
        rate: Rate::from_mbps(100),
        latency: Span::from_us(300),
        loss: 0.0,
    };
    let node = |name: &str, host| Node {
        name: name.into(),
        host,
    };
    let nodes = vec![
        node("a", true),
        node("b", true),
        node("c", true),
        node("x", false),
        node("y", false),
    ];
    let edge = |a, b, link| Edge { a, b, link };
    let edges = vec![
        edge(0, 3, slow),
        edge(1, 3, slow),
        edge(2, 4, link(1)),
        edge(3, 4, link(1)),
    ];
    let topology = described(Topology::Graph { nodes, edges }, Vec::new()).topology;
    // The path from a to b has two links and from a to c three, but the former are slow.
    assert_eq!(topology.longest_path_links, 3);
    assert_eq!(topology.base_rtt_ns, 1_200_000 + 2 * 123_200);
    assert_eq!(
        topology.bandwidth_delay_product_bytes,
        1_446_400 * 100 / 8 / 1_000
    );
}

#[test]
fn trees_have_load_and_burst() {
    let oldi = Oldi {
        applications: 5,
        trees: 4,
        fan_in: vec![40],
        query: Bytes(100),
        response: vec![Size::Fixed(Bytes(14_600))],
        deadline: vec![Deadline::Added {
            base: Span::from_ms(20),
            added: 0.5,
        }],
        layer_share: vec![1.0],
        deadline_from: DeadlineFrom::Query,
        query_deadline: Deadline::None,
        arrival: QueryArrival::Every(Gap::Fixed(Span::from_ms(50))),
        compute: Gap::Fixed(Span::ZERO),
        jitter: Gap::Fixed(Span::ZERO),
        complete_at: 0.95,
        objective: Objective {
            within: Vec::new(),
            answers: 1.0,
            share: None,
        },
        hedge: None,
        retry: None,
        cancel_spares: false,
        aggregate_compute: Gap::ZERO,
        layer_response: Vec::new(),
        give_up: GiveUp::Children,
        share_hosts: false,
    };
    let back_to_back = Oldi {
        arrival: QueryArrival::BackToBack,
        ..oldi.clone()
    };
    let workloads = described(
        search(),
        vec![WorkloadKind::Oldi(oldi), WorkloadKind::Oldi(back_to_back)],
    )
    .workloads;
    let tree = &workloads[0];
    assert_eq!(
        (tree.trees, tree.roots.len(), tree.senders),
        (Some(20), 20, 820)
    );
    assert_eq!(
        (tree.answers_needed, &tree.fan_in[..]),
        (Some(38), &[40][..])
    );
    // 40 queries per tree in two seconds; each sends 40 queries and 40 answers.
    assert_eq!(
        (tree.expected_queries, tree.expected_flows),
        (Some(800.0), Some(64_000.0))
    );
    // 40 answers of ten full segments.
    assert_eq!(tree.burst_bytes, Some(600_000.0));
    assert_eq!(tree.burst_drain_ns, Some(4_800_000));
    assert!((tree.offered_load.unwrap() - 4.8 / 50.0).abs() < 1e-12);
    // Answers, and queries of 140 B on the wire.
    assert!((tree.offered_bps.unwrap() - 20.0 * 40.0 * 15_140.0 * 8.0 / 0.05).abs() < 1.0);
    let deadline = tree.deadline.unwrap();
    let quantiles = [
        deadline.p1_ns,
        deadline.p25_ns,
        deadline.p50_ns,
        deadline.p75_ns,
        deadline.p99_ns,
    ];
    assert_eq!(
        quantiles,
        [20_100_000, 22_500_000, 25_000_000, 27_500_000, 29_900_000]
    );
    assert_eq!(
        (workloads[1].expected_flows, workloads[1].offered_load),
        (None, None)
    );
}

#[test]
fn plain_workloads_have_count_and_load() {
    let deadline = Deadline::Exponential {
        mean: Span::from_ms(30),
        floor: Span::from_ms(5),
    };
    let size = Size::Uniform(Bytes(2_000), Bytes(50_000));
    let burst = WorkloadKind::Burst {
        senders: 10,
        receiver: Some(3),
        from: None,
        size: size.clone(),
        deadline,
        at: Span::from_ms(1_500),
        repeat: 100,
        every: Span::from_ms(100),
        jitter: Span::ZERO,
    };
    let poisson = WorkloadKind::Poisson {
        size: size.clone(),
        deadline: Deadline::None,
        intensity: Intensity::FlowsPerSecond(2_000.0),
        destination: Destination::Host(0),
    };
    let background = WorkloadKind::Background {
        count: 4,
        size: Size::Fixed(Bytes(1_460_000)),
        deadline: Deadline::None,
        every: SourceGap::Given(Gap::Exponential(Span::from_ms(300))),
        to_roots_of: None,
    };
    let long = WorkloadKind::Long {
        pairs: vec![(0, 1), (0, 2), (5, 2)],
        at: Span::ZERO,
        jitter: Span::from_ms(10),
    };
    let flow = |ms, bytes| TraceFlow {
        start: Span::from_ms(ms),
        source: 1,
        destination: 2,
        size: Bytes(bytes),
        deadline: Some(Span::from_us(bytes)),
    };
    let trace = WorkloadKind::Trace {
        flows: vec![flow(0, 1_000), flow(5, 2_000), flow(2_000, 9_000)],
    };
    let description = described(
        Topology::Star {
            hosts: 11,
            link: link(1),
        },
        vec![burst, poisson, background, long, trace],
    );
    let [burst, poisson, background, long, trace] = &description.workloads[..] else {
        panic!("five workloads")
    };

    // At 1.5, 1.6, 1.7, 1.8 and 1.9 s.
    assert_eq!(
        (burst.kind, burst.expected_flows, burst.senders),
        ("burst", Some(50.0), 10)
    );
    // The median of an exponential is ln 2 times its mean; the floor determines the lower quantiles.
    let deadline = burst.deadline.unwrap();
    assert_eq!((deadline.p1_ns, deadline.p50_ns), (5_000_000, 20_794_415));
    assert_eq!(poisson.expected_flows, Some(4_000.0));
    // Mean size 26 KB and 18.3 segments: 2000 flows per second are 428 Mbps from ten hosts.
    assert_eq!(poisson.mean_size_bytes, Some(26_000.0));
    assert!((poisson.mean_wire_bytes.unwrap() - (26_000.0 + 40.0 * 18.305)).abs() < 2.0);
    assert!((poisson.offered_load.unwrap() - 0.042_77).abs() < 1e-4);
    assert!((background.expected_flows.unwrap() - 4.0 * 2.0 / 0.3).abs() < 1e-9);
    assert_eq!(background.mean_wire_bytes, Some(1_500_000.0));
    assert_eq!(
        (long.senders, long.expected_flows, long.mean_size_bytes),
        (2, Some(3.0), None)
    );
    assert_eq!((long.jitter_ns, burst.jitter_ns), (Some(10_000_000), None));
    assert_eq!(
        (trace.senders, trace.expected_flows, trace.mean_size_bytes),
        (1, Some(2.0), Some(1_500.0))
    );
    assert_eq!(trace.deadline.unwrap().p99_ns, 2_000_000);
}
