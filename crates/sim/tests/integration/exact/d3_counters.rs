//! D3's routers keep three sums and no flows. After all flows have ended, every sum must be zero.

use crate::common::*;
use duetime_core::Span;
use duetime_core::random::{Purpose, Streams};
use duetime_proto::d3::{Allocation, BaseRate, Config, Rounding};
use duetime_scenario::model::*;
use duetime_sim::AllocatorState;

/// Options without either of the two ways in which a router corrects itself.
const UNCORRECTED: fn() -> Config = || {
    Config::default().with(|c| {
        c.router.repair = false;
        c.router.reset_intervals = u32::MAX;
    })
};

/// Creates up to 60 random flows in the first 8 ms, some with deadlines, some of them infeasible.
fn random_flows(seed: u64, hosts: u32) -> WorkloadKind {
    let mut stream = Streams::new(seed, 0).stream(0, Purpose::Fault);
    let count = stream.between(1, 60);
    let list: Vec<_> = (0..count)
        .map(|_| {
            let start = Span::from_ps(stream.below(8_000_000_000));
            let source = stream.below(u64::from(hosts)) as u32;
            // Half of the flows go to host 0.
            let other = if stream.chance(0.5) {
                0
            } else {
                stream.below(u64::from(hosts)) as u32
            };
            let destination = if other == source {
                (source + 1) % hosts
            } else {
                other
            };
            let bytes = stream.between(1, 100_000);
            let deadline = stream
                .chance(0.7)
                .then(|| Span::from_ps(stream.between(100_000_000, 8_000_000_000)));
            (start, source, destination, bytes, deadline)
        })
        .collect();
    flows(&list)
}

/// Adds a TCP flow at 80 ms, which keeps the run going until all D3 flows have ended.
fn with_late_flow(topology: Topology, config: Config, kind: WorkloadKind) -> Scenario {
    let mut last = workload(flows(&[(Span::from_ms(80), 0, 1, 1_000, None)]));
    last.transport = Some(Transport {
        name: "tcp".into(),
        protocol: newreno(),
        priorities: 1,
    });
    let mut scenario = scenario(topology, Protocol::D3(config), vec![kind]);
    scenario.workloads.push(last);
    scenario
}

fn topologies() -> [(Topology, u32); 3] {
    [
        (
            Topology::Star {
                hosts: 6,
                link: gigabit(),
            },
            6,
        ),
        (leaf_spine(3, 4, 2), 12),
        (Topology::D3Testbed { link: gigabit() }, 14),
    ]
}

fn is_zero(state: &AllocatorState) -> bool {
    (state.flows, state.demand, state.allocated) == (0, 0, 0)
}

/// Asserts that every flow ends and that afterwards every router's sums are zero.
fn assert_returned(scenario: &Scenario, case: &str) {
    let output = run(scenario);
    for flow in &output.records.flows {
        assert!(flow.finish.is_some() || flow.quenched, "{case}: {flow:?}");
        assert_eq!(flow.retransmits, 0, "{case}: {flow:?}");
    }
    assert!(
        output.allocators.len() >= 4,
        "{case}: both directions, two ports each"
    );
    let left: Vec<_> = output
        .allocators
        .iter()
        .filter(|state| !is_zero(state))
        .collect();
    assert!(left.is_empty(), "{case}: {left:?}");
}

#[test]
fn every_allocation_is_returned() {
    let profiles: [(&str, Config); 8] = [
        ("carry", UNCORRECTED()),
        (
            "ceil and floor",
            UNCORRECTED().with(|c| c.wire.rounding = Rounding::CeilFloor),
        ),
        (
            "floor",
            UNCORRECTED().with(|c| c.wire.rounding = Rounding::FloorFloor),
        ),
        (
            "exact",
            UNCORRECTED().with(|c| c.wire.rounding = Rounding::Exact),
        ),
        (
            "a segment for paused flows",
            UNCORRECTED().with(|c| c.router.base_rate = BaseRate::Segment(Span::from_us(200))),
        ),
        (
            "quenched",
            UNCORRECTED().with(|c| c.host.policy.quench = true),
        ),
        (
            "edge",
            UNCORRECTED().with(|c| c.router.allocation = Allocation::Edge),
        ),
        (
            "no reverse requests",
            UNCORRECTED().with(|c| {
                c.host.reverse_request = false;
                c.router.variant.cap_to_left = true;
            }),
        ),
    ];
    for (name, config) in profiles {
        for (shape, (topology, hosts)) in topologies().into_iter().enumerate() {
            for seed in 0..4 {
                let case = format!("{name}, topology {shape}, seed {seed}");
                assert_returned(
                    &with_late_flow(topology.clone(), config, random_flows(seed, hosts)),
                    &case,
                );
            }
        }
    }
}

#[test]
fn active_flows_are_counted() {
    // Counterpart: while four flows are sending, the router counts four flows.
    let burst: Vec<_> = (1..5)
        .map(|host| (Span::ZERO, host, 0, 1_000_000, None))
        .collect();
    let mut scenario = scenario(
        Topology::Star {
            hosts: 5,
            link: gigabit(),
        },
        Protocol::D3(UNCORRECTED()),
        vec![flows(&burst)],
    );
    (scenario.duration, scenario.drain) = (Span::from_ms(5), Span::ZERO);
    let output = run(&scenario);
    let down = output
        .allocators
        .iter()
        .find(|state| state.link == "switch->host0")
        .unwrap();
    assert_eq!((down.flows, down.demand), (4, 0));
    // Grants are whole units of the 125 B/us in units of 1/256, so the sum varies between rounds of requests.
    let capacity = down.capacity as f64;
    assert!(
        (0.8..1.3).contains(&(down.allocated as f64 / capacity)),
        "{down:?}"
    );
}

#[test]
fn idle_port_clears_remainders_of_losses() {
    let mut unhealed = 0;
    for (topology, hosts) in topologies() {
        for seed in 0..3 {
            let kind = random_flows(seed, hosts);
            let topology = lossy(topology.clone(), 0.03);
            let left = run(&with_late_flow(
                topology.clone(),
                UNCORRECTED(),
                kind.clone(),
            ))
            .allocators;
            unhealed += left.iter().filter(|state| !is_zero(state)).count();
            let healed = run(&with_late_flow(topology, Config::default(), kind)).allocators;
            assert!(healed.iter().all(is_zero), "{healed:?}");
        }
    }
    assert!(unhealed > 20, "losses leave remainders at {unhealed} ports");
}

#[test]
fn busy_port_corrects_its_counters() {
    // Host 1's link loses 5 % of its packets, host 2's none. After 100 ms only the long flow of host 2 is active.
    let star = |loss: f64| {
        let names = ["host0", "host1", "host2", "switch"];
        let nodes = names
            .iter()
            .map(|name| node(*name, name.starts_with("host")))
            .collect();
        let link = |host| Link {
            loss: if host == 1 { loss } else { 0.0 },
            ..gigabit()
        };
        let edges = (0..3)
            .map(|host| Edge {
                a: host,
                b: 3,
                link: link(host),
            })
            .collect();
        Topology::Graph { nodes, edges }
    };
    let short: Vec<_> = (0..200)
        .map(|i| {
            (
                Span::from_us(500 * i),
                1,
                0,
                5_000 + 97 * i,
                Some(Span::from_ms(10)),
            )
        })
        .collect();
    let long = WorkloadKind::Long {
        pairs: vec![(2, 0)],
        at: Span::ZERO,
        jitter: Span::ZERO,
    };
    let state = |config| {
        let mut scenario = scenario(
            star(0.05),
            Protocol::D3(config),
            vec![flows(&short), long.clone()],
        );
        (scenario.duration, scenario.drain) = (Span::from_ms(300), Span::ZERO);
        let output = run(&scenario);
        output
            .allocators
            .into_iter()
            .find(|state| state.link == "switch->host0")
            .unwrap()
    };
    let (healed, broken) = (state(Config::default()), state(UNCORRECTED()));
    assert_eq!((healed.flows, healed.demand), (1, 0), "{healed:?}");
    assert!(
        healed.allocated >= 112 * 256,
        "90 % of 125 B/us: {healed:?}"
    );
    assert_ne!(
        (broken.flows, broken.demand),
        (1, 0),
        "without repair the counters stay wrong: {broken:?}"
    );
}
