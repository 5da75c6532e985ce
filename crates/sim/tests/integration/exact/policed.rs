//! D3 routers with a policer: granted traffic passes, other traffic is dropped.

use crate::common::*;
use duetime_core::random::{Purpose, Streams};
use duetime_core::{Rate, Span};
use duetime_proto::d3::Config;
use duetime_scenario::model::*;
use duetime_sim::RunOutput;

fn policing(allowance: Rate) -> Protocol {
    Protocol::D3(Config::default().with(|c| c.router.police = Some(allowance)))
}

/// Creates flows with feasible deadlines across all racks.
fn random_flows(hosts: u32) -> WorkloadKind {
    let mut stream = Streams::new(3, 0).stream(0, Purpose::Fault);
    let list: Vec<_> = (0..40)
        .map(|number| {
            let source = stream.below(u64::from(hosts)) as u32;
            let destination = (source + 1 + stream.below(u64::from(hosts) - 1) as u32) % hosts;
            let bytes = stream.between(1, 100_000);
            (
                Span::from_us(500 * number),
                source,
                destination,
                bytes,
                Some(Span::from_ms(20)),
            )
        })
        .collect();
    flows(&list)
}

fn policed(output: &RunOutput) -> u64 {
    output.allocators.iter().map(|router| router.policed).sum()
}

#[test]
fn granted_traffic_passes() {
    let topologies = [
        (leaf_spine(3, 4, 2), 12),
        (Topology::D3Testbed { link: gigabit() }, 14),
    ];
    for (topology, hosts) in topologies {
        let with = |protocol, threads| {
            let scenario = scenario(topology.clone(), protocol, vec![random_flows(hosts)]);
            run_on(&scenario, threads)
        };
        let (free, policing_run) = (with(d3(), 1), with(policing(Rate::from_mbps(20)), 1));
        assert_eq!(policed(&policing_run), 0);
        assert_eq!(free.records.flows, policing_run.records.flows);
        let two = with(policing(Rate::from_mbps(20)), 2);
        assert_same(&two.records, &policing_run.records, "two threads");
    }
}

#[test]
fn unrequested_traffic_gets_the_allowance() {
    let star = Topology::Star {
        hosts: 3,
        link: gigabit(),
    };
    let long = |source| WorkloadKind::Long {
        pairs: vec![(source, 0)],
        at: Span::ZERO,
        jitter: Span::ZERO,
    };
    let mut scenario = scenario(star, policing(Rate::from_mbps(50)), vec![long(1), long(2)]);
    scenario.workloads[1].transport = Some(Transport {
        name: "tcp".into(),
        protocol: newreno(),
        priorities: 1,
    });
    (scenario.duration, scenario.drain) = (Span::from_ms(500), Span::ZERO);
    for threads in [1, 2] {
        let output = run_on(&scenario, threads);
        let mbps = |flow: usize| output.records.flows[flow].delivered_bytes as f64 * 8e-6 / 0.5;
        // Out of 1 Gbps. TCP without a queue does not use its full allowance.
        assert!((5.0..51.0).contains(&mbps(1)), "{}", mbps(1));
        assert!(mbps(0) > 850.0, "{}", mbps(0));
        assert!(policed(&output) > 0);
        let down = output.records.ports.iter();
        let down = down.filter(|port| port.link == "switch->host0");
        assert_eq!(down.map(|port| port.drops).sum::<u64>(), policed(&output));
        assert_conserved(&output.records, "policed");
    }
}
