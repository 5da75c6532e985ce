//! Flows that share a port under pFabric (Alizadeh et al., SIGCOMM 2013).

use crate::common::{
    assert_conserved, dctcp, finish, flows, gigabit, link, run, scenario, whole, workload,
};
use duetime_core::{Rate, Span};
use duetime_proto::pfabric::Config;
use duetime_results::RunRecords;
use duetime_scenario::model::*;

/// Flow of a test: start in microseconds, source, bytes. All go to host 0.
type Flow = (u64, u32, u64);

fn star(config: Config, list: &[Flow]) -> Scenario {
    let flow = |&(start, from, bytes): &Flow| (Span::from_us(start), from, 0, bytes, None);
    let list: Vec<_> = list.iter().map(flow).collect();
    let topology = Topology::Star {
        hosts: 12,
        link: gigabit(),
    };
    scenario(topology, Protocol::PFabric(config), vec![flows(&list)])
}

fn records(config: Config, list: &[Flow]) -> RunRecords {
    let records = whole(run(&star(config, list)));
    assert_conserved(&records, "pfabric");
    records
}

/// Returns the finish time in microseconds.
fn end(records: &RunRecords, flow: usize) -> f64 {
    finish(records, flow).as_ps() as f64 / 1e6
}

#[test]
fn shorter_flow_preempts_a_longer_one() {
    let alone = records(Config::default(), &[(2_000, 2, 30_000)]);
    let both = records(Config::default(), &[(0, 1, 1_000_000), (2_000, 2, 30_000)]);
    // The shorter flow waits for the packet in service only: 12 us.
    let wait = end(&both, 1) - end(&alone, 0);
    assert!((0.0..=12.0).contains(&wait), "{wait} us");
    assert_eq!(both.flows[1].timeouts, 0);
}

#[test]
fn flows_end_in_the_order_of_their_sizes() {
    let list: Vec<Flow> = (1..12)
        .map(|host| (0, host, u64::from(12 - host) * 20_000))
        .collect();
    let records = records(Config::default(), &list);
    let mut flows: Vec<_> = records.flows.iter().collect();
    flows.sort_by_key(|flow| flow.size_bytes);
    assert!(flows.windows(2).all(|pair| pair[0].finish < pair[1].finish));
    // The shortest flow is as fast as alone, up to the packet in service.
    let first = flows[0].finish.expect("finished").as_ps() as f64 / 1e6;
    let alone = 14.0 * 12.0 + 52.0 + 12.0;
    assert!(first < alone, "{first} us");
}

#[test]
fn starved_flow_probes_and_recovers() {
    // Two packets of memory: the shorter flow's packets push out all packets of the longer one.
    let config = Config {
        queue: Some(3_100),
        ..Config::default()
    };
    let list = [(0, 1, 1_000_000), (100, 2, 600_000), (100, 3, 400_000)];
    let records = records(config, &list);
    let ends: Vec<f64> = (0..3).map(|flow| end(&records, flow)).collect();
    assert!(ends[2] < ends[1] && ends[1] < ends[0], "{ends:?}");
    // The shortest starts after 100 us and takes its transmission time, 274 × 12 us, the path, and a packet in service.
    assert!(ends[2] < 100.0 + 274.0 * 12.0 + 52.0 + 12.0, "{ends:?}");
    // Starved for 8 ms with timeouts of 420 us, of which five lead to the probe mode.
    let timeouts: Vec<u32> = records.flows.iter().map(|flow| flow.timeouts).collect();
    assert!(timeouts[0] > 10 && timeouts[0] < 40, "{timeouts:?}");
    // All 2 MB take 16.4 ms; waits for timeouts and slow starts add little.
    assert!(ends[0] < 16_400.0 + 3_000.0, "{ends:?}");
    let drops: u64 = records.ports.iter().map(|port| port.drops).sum();
    assert!(drops > 10, "{drops}");
}

#[test]
fn small_queues_bound_the_occupancy() {
    let list: Vec<Flow> = (1..12).map(|host| (0, host, 100_000)).collect();
    let records = records(Config::default(), &list);
    // Propagation of 80 us and five packet times of 12 us: twice 140 us × 1 Gbps = 35 KB.
    let port = records
        .ports
        .iter()
        .find(|port| port.link == "switch->host0")
        .expect("a port");
    assert!(
        port.queue_max_bytes <= 35_000 && port.queue_max_bytes > 33_000,
        "{port:?}"
    );
    assert!(port.drops > 0 && port.marks == 0, "{port:?}");
    assert!(records.flows.iter().all(|flow| flow.finish.is_some()));
}

#[test]
fn host_sends_its_shortest_message_first() {
    // Fast switch links: only the interface of host 1 is shared.
    let topology = Topology::Star {
        hosts: 4,
        link: link(Rate::from_gbps(1), Span::from_us(20)),
    };
    let list = [
        (Span::ZERO, 1, 0, 1_000_000, None),
        (Span::from_us(500), 1, 2, 14_600, None),
    ];
    let scenario = scenario(
        topology,
        Protocol::PFabric(Config::default()),
        vec![flows(&list)],
    );
    let records = run(&scenario).records;
    // Ten packets of 12 us, the second link, 40 us of propagation, and at most one packet in service.
    let time = end(&records, 1) - 500.0;
    assert!((172.0..=184.0).contains(&time), "{time} us");
}

#[test]
fn other_transports_have_the_lowest_priority() {
    let mut scenario = star(Config::default(), &[(1_000, 2, 300_000)]);
    let mut other = workload(flows(&[(Span::ZERO, 1, 0, 2_000_000, None)]));
    other.transport = Some(Transport {
        name: "dctcp".into(),
        protocol: dctcp(),
        priorities: 1,
    });
    scenario.workloads.push(other);
    let records = whole(run(&scenario));
    assert_conserved(&records, "pfabric with dctcp");
    let of = |bytes| {
        records
            .flows
            .iter()
            .find(|flow| flow.size_bytes == bytes)
            .expect("a flow")
    };
    let ends =
        [300_000, 2_000_000].map(|bytes| of(bytes).finish.expect("finished").as_ps() as f64 / 1e6);
    // 206 packets of 12 us and the path: as fast as alone, up to a packet in service.
    assert!(ends[0] < 1_000.0 + 206.0 * 12.0 + 52.0 + 12.0, "{ends:?}");
    assert!(ends[1] > ends[0]);
}

#[test]
fn lossy_links_delay_but_end_every_message() {
    let list: Vec<Flow> = (1..12)
        .map(|host| (u64::from(host) * 50, host, 70_000))
        .collect();
    let mut scenario = star(Config::default(), &list);
    if let Topology::Star { link, .. } = &mut scenario.topology {
        link.loss = 0.01;
    }
    let records = whole(run(&scenario));
    assert_conserved(&records, "pfabric with loss");
    assert!(records.ports.iter().map(|port| port.losses).sum::<u64>() > 5);
    for flow in &records.flows {
        assert!(
            flow.finish.is_some() && flow.delivered_bytes == flow.size_bytes,
            "{flow:?}"
        );
    }
}
