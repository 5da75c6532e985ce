//! Small networks and scenarios, and checks for every run.

use crate::bare;
use duetime_core::{Bytes, Rate, Span, Time};
use duetime_proto::window::{Completion, CongestionControl, Cubic, D2tcp, Dctcp};
use duetime_proto::{d3, pdq, pfabric, tcp};
use duetime_results::{RunRecords, digest};
use duetime_scenario::model::*;
use duetime_sim::{Options, RunOutput};
use std::collections::BTreeMap;

/// Creates a link without loss.
pub fn link(rate: Rate, latency: Span) -> Link {
    Link {
        rate,
        latency,
        loss: 0.0,
    }
}

/// Creates a link with 1 Gbps and 20 us.
pub fn gigabit() -> Link {
    link(Rate::from_gbps(1), Span::from_us(20))
}

/// Creates a chain of links with `host0` and `host1` at the ends and switches between.
pub fn chain(links: &[Link]) -> Topology {
    let mut nodes: Vec<Node> = (0..2).map(|i| node(format!("host{i}"), true)).collect();
    nodes.extend((1..links.len()).map(|i| node(format!("s{i}"), false)));
    // Nodes along the line: host0, the switches, host1.
    let along: Vec<usize> = std::iter::once(0)
        .chain(2..=links.len())
        .chain([1])
        .collect();
    let edges = links
        .iter()
        .enumerate()
        .map(|(i, &link)| Edge {
            a: along[i],
            b: along[i + 1],
            link,
        })
        .collect();
    Topology::Graph { nodes, edges }
}

pub fn node(name: impl Into<String>, host: bool) -> Node {
    Node {
        name: name.into(),
        host,
    }
}

/// Creates racks of 1 Gbps hosts with a latency of 10 us, and spines with 2 Gbps and 50 us.
pub fn leaf_spine(racks: u32, hosts_per_rack: u32, spines: u32) -> Topology {
    Topology::LeafSpine {
        racks,
        hosts_per_rack,
        spines,
        host_link: link(Rate::from_gbps(1), Span::from_us(10)),
        uplink: link(Rate::from_gbps(2), Span::from_us(50)),
    }
}

/// Sets this loss on every link of the topology.
pub fn lossy(mut topology: Topology, loss: f64) -> Topology {
    match &mut topology {
        Topology::Dumbbell {
            link, bottleneck, ..
        } => (link.loss, bottleneck.loss) = (loss, loss),
        Topology::LeafSpine {
            host_link, uplink, ..
        } => (host_link.loss, uplink.loss) = (loss, loss),
        Topology::Graph { edges, .. } => edges.iter_mut().for_each(|edge| edge.link.loss = loss),
        Topology::Star { link, .. }
        | Topology::D3Testbed { link }
        | Topology::FatTree { link, .. } => link.loss = loss,
    }
    topology
}

const ESTIMATOR: Dctcp = Dctcp {
    gain_shift: 4,
    initial_alpha: 0.0,
};

/// Returns TCP that acknowledges every segment.
pub fn tcp(congestion_control: CongestionControl) -> Protocol {
    Protocol::Tcp(tcp::Config {
        congestion_control,
        delayed_ack: 1,
        ..tcp::Config::default()
    })
}

pub fn newreno() -> Protocol {
    tcp(CongestionControl::NewReno)
}

pub fn dctcp() -> Protocol {
    tcp(CongestionControl::Dctcp(ESTIMATOR))
}

/// Returns D2TCP with d clamped to these limits.
pub fn d2tcp(d_min: f64, d_max: f64) -> Protocol {
    let knobs = D2tcp {
        d_min,
        d_max,
        d_expired: 0.5,
        completion: Completion::Approximate,
    };
    tcp(CongestionControl::D2tcp(ESTIMATOR, knobs))
}

/// Returns CUBIC as in Linux, except for its timeouts.
pub fn linux() -> Protocol {
    Protocol::Tcp(tcp::Config {
        congestion_control: CongestionControl::Cubic(Cubic {
            hystart: true,
            tick: Span::from_ms(4),
            alpha_one: false,
        }),
        initial_window: 10,
        recovery: tcp::Recovery::Sack,
        rack: true,
        tail_loss_probe: true,
        rate_reduction: true,
        quick_ack: 16,
        ..tcp::Config::default()
    })
}

pub fn d3() -> Protocol {
    Protocol::D3(d3::Config::default())
}

pub fn d3_edge() -> Protocol {
    Protocol::D3(d3::Config::default().with(|c| c.router.allocation = d3::Allocation::Edge))
}

pub fn rcpdc() -> Protocol {
    Protocol::D3(d3::Config::default().with(|c| c.host.ignore_deadlines = true))
}

pub fn pdq() -> Protocol {
    Protocol::Pdq(pdq::Config::default())
}

/// Returns TCP, DCTCP, D2TCP, CUBIC as in Linux, RCPdc, D3, D3 with edge allocation, PDQ, and TCP and RCPdc with
/// priorities.
pub fn transports() -> Vec<Transport> {
    let transport = |name: &str, protocol, priorities| Transport {
        name: name.into(),
        protocol,
        priorities,
    };
    vec![
        transport("tcp", newreno(), 1),
        transport("dctcp", dctcp(), 1),
        transport("d2tcp", d2tcp(0.5, 2.0), 1),
        transport("linux", linux(), 1),
        transport("rcpdc", rcpdc(), 1),
        transport("d3", d3(), 1),
        transport("d3-edge", d3_edge(), 1),
        transport("pdq", pdq(), 1),
        transport("tcp-prio", newreno(), 3),
        transport("rcpdc-prio", rcpdc(), 2),
    ]
}

/// Returns [`transports`], and those with neither handshakes nor classes: pFabric.
pub fn all_transports() -> Vec<Transport> {
    let pfabric = Transport {
        name: "pfabric".into(),
        protocol: Protocol::PFabric(pfabric::Config::default()),
        priorities: 1,
    };
    transports().into_iter().chain([pfabric]).collect()
}

/// Returns a switch with 100 packets per port that marks from 20 packets on.
pub fn shallow() -> Switch {
    Switch {
        buffer: Buffer::Static(Amount::Packets(100)),
        ecn_threshold: vec![(Rate::from_gbps(1), Amount::Packets(20))],
        load_balancing: LoadBalancing::Flows,
    }
}

/// Creates a scenario of one second with unlimited buffers, without marks, jitter and series, and with one connection
/// per flow.
pub fn scenario(topology: Topology, protocol: Protocol, kinds: Vec<WorkloadKind>) -> Scenario {
    Scenario {
        transports: vec![Transport {
            name: "test".into(),
            protocol,
            priorities: 1,
        }],
        ..bare::scenario(topology, kinds.into_iter().map(workload).collect())
    }
}

pub fn workload(kind: WorkloadKind) -> Workload {
    bare::workload("test", kind)
}

/// Creates flows from a list of (start, from, to, bytes, deadline).
pub fn flows(list: &[(Span, u32, u32, u64, Option<Span>)]) -> WorkloadKind {
    let mut flows: Vec<TraceFlow> = list
        .iter()
        .map(|&(start, source, destination, bytes, deadline)| TraceFlow {
            start,
            source,
            destination,
            size: Bytes(bytes),
            deadline,
        })
        .collect();
    flows.sort_by_key(|flow| flow.start);
    WorkloadKind::Trace { flows }
}

/// Creates bursts from `senders` hosts to host 0, from 100 us on: flows of 5 to 60 KB, due after 2 to 6 ms.
pub fn burst(senders: u32, repeat: u32) -> WorkloadKind {
    WorkloadKind::Burst {
        senders,
        receiver: Some(0),
        from: None,
        size: Size::Uniform(Bytes(5_000), Bytes(60_000)),
        deadline: Deadline::Added {
            base: Span::from_ms(2),
            added: 2.0,
        },
        at: Span::from_us(100),
        repeat,
        every: Span::from_ms(4),
        jitter: Span::ZERO,
    }
}

/// Creates partition-aggregate trees of fan-in 6 with deadlines and Poisson flows without deadlines: 20 hosts in four
/// racks for 12 ms, with small buffers, ECN and start jitter.
pub fn mixture(transport: Transport) -> Scenario {
    let oldi = Oldi {
        applications: 2,
        trees: 1,
        fan_in: vec![6],
        query: Bytes(200),
        response: vec![Size::Uniform(Bytes(2_000), Bytes(40_000))],
        deadline: vec![Deadline::Exponential {
            mean: Span::from_ms(3),
            floor: Span::from_ms(1),
        }],
        layer_share: vec![1.0],
        deadline_from: DeadlineFrom::Query,
        query_deadline: Deadline::None,
        arrival: QueryArrival::Load {
            load: 0.4,
            poisson: true,
            each_tree: true,
        },
        compute: Gap::Exponential(Span::from_us(100)),
        jitter: Gap::Uniform(Span::ZERO, Span::from_us(20)),
        complete_at: 1.0,
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
        share_hosts: true,
    };
    let poisson = WorkloadKind::Poisson {
        size: Size::Uniform(Bytes(500), Bytes(80_000)),
        deadline: Deadline::None,
        intensity: Intensity::Load(0.35),
        destination: Destination::Uniform,
    };
    let kinds = vec![WorkloadKind::Oldi(oldi), poisson];
    let mut scenario = scenario(leaf_spine(4, 5, 2), transport.protocol.clone(), kinds);
    scenario.transports = vec![transport];
    scenario.switch = shallow();
    scenario.switch.buffer = Buffer::Static(Amount::Packets(30));
    scenario.host.start_jitter = true;
    scenario.host.send_jitter = Span::from_ns(1);
    scenario.duration = Span::from_ms(12);
    scenario.drain = Span::from_secs(20);
    scenario.record.every = Some(Span::from_us(500));
    scenario.record.links = vec!["rack0->host0".into(), "spine1->rack2".into()];
    scenario
}

pub fn run(scenario: &Scenario) -> RunOutput {
    run_on(scenario, 1)
}

pub fn run_on(scenario: &Scenario, threads: usize) -> RunOutput {
    let options = Options {
        threads,
        ..Options::default()
    };
    duetime_sim::run(scenario, 0, 0, &options).expect("a valid scenario")
}

/// Asserts that a run of `scenario` gives the records of `alone` for each number of threads and of sub-partitions per
/// thread.
pub fn assert_same_when_split(scenario: &Scenario, alone: &RunRecords, splits: &[(usize, usize)]) {
    for &(threads, subpartitions) in splits {
        let options = Options {
            threads,
            subpartitions,
            ..Options::default()
        };
        let split = duetime_sim::run(scenario, 0, 0, &options).expect("a valid scenario");
        let transport = &scenario.transports[0].name;
        let case = format!("{transport}, {threads} threads, {subpartitions} parts");
        assert_same(alone, &split.records, &case);
    }
}

/// Asserts that two runs have equal records. Shows the first record that differs.
pub fn assert_same(one: &RunRecords, other: &RunRecords, case: &str) {
    for (one, other) in one.flows.iter().zip(&other.flows) {
        assert_eq!(one, other, "{case}");
    }
    assert_eq!(one.servers, other.servers, "{case}");
    for (one, other) in one.ports.iter().zip(&other.ports) {
        assert_eq!(one, other, "{case}");
    }
    assert_eq!(one.totals, other.totals, "{case}");
    assert_eq!(digest(one), digest(other), "{case}");
}

/// Returns the records with the ports' counters over the whole run instead of the measurement window.
pub fn whole(output: RunOutput) -> RunRecords {
    RunRecords {
        ports: output.whole_ports,
        ..output.records
    }
}

pub fn digest_of(scenario: &Scenario) -> String {
    digest(&run(scenario).records).to_string()
}

/// Returns a fixed size.
pub fn bytes(bytes: u64) -> Size {
    Size::Fixed(Bytes(bytes))
}

/// Returns the finish time of the flow at this index in the records.
pub fn finish(records: &RunRecords, flow: usize) -> Time {
    records.flows[flow].finish.expect("a finished flow")
}

/// Asserts that all bytes that entered have left or are still present, for the network and, up to the bytes in flight,
/// for every switch.
pub fn assert_conserved(records: &RunRecords, case: &str) {
    let totals = records.totals;
    let gone = totals.arrived_bytes + totals.dropped_bytes + totals.in_flight_bytes;
    assert_eq!(totals.injected_bytes, gone, "{case}: {totals:?}");
    let (mut at_node, mut dropped) = (BTreeMap::<&str, i128>::new(), 0);
    let (mut left_hosts, mut reached_hosts) = (0, 0);
    for port in &records.ports {
        let (from, to) = port.link.split_once("->").expect("a link's name");
        let passed = port.bytes - port.loss_bytes;
        *at_node.entry(to).or_default() += i128::from(passed);
        *at_node.entry(from).or_default() -= i128::from(port.bytes + port.drop_bytes);
        dropped += port.drop_bytes + port.loss_bytes;
        if from.starts_with("host") {
            left_hosts += port.bytes;
        }
        if to.starts_with("host") {
            reached_hosts += passed;
        }
        assert!(port.losses <= port.packets, "{case}: {port:?}");
    }
    assert_eq!(dropped, totals.dropped_bytes, "{case}: by port");
    let in_flight = totals.in_flight_bytes;
    assert!(left_hosts <= totals.injected_bytes && left_hosts + in_flight >= totals.injected_bytes);
    assert!(
        reached_hosts >= totals.arrived_bytes && reached_hosts <= totals.arrived_bytes + in_flight
    );
    for (node, balance) in at_node {
        if !node.starts_with("host") {
            let max = i128::from(in_flight);
            assert!(
                (0..=max).contains(&balance),
                "{case}: {balance} B at {node}, {max} in flight"
            );
        }
    }
}
