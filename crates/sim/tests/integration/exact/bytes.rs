//! Conservation of bytes, and the minimum time over a flow's links.

use crate::common::*;
use duetime_core::{Rate, Span};
use duetime_results::{FlowRecord, RunRecords};
use duetime_scenario::model::*;

#[test]
fn every_byte_is_accounted_for() {
    for transport in all_transports() {
        for loss in [0.0, 0.02] {
            let mut scenario = mixture(transport.clone());
            scenario.topology = lossy(scenario.topology, loss);
            let records = whole(run(&scenario));
            let case = format!("{} with loss {loss}", transport.name);
            assert_conserved(&records, &case);
            assert!(
                records.totals.arrived_bytes > 5_000_000,
                "{case}: the network is busy"
            );
            assert_eq!(
                records.ports.iter().any(|port| port.losses > 0),
                loss > 0.0,
                "{case}"
            );
            assert!(
                records
                    .flows
                    .iter()
                    .all(|flow| !flow.measured || flow.finish.is_some() || flow.quenched),
                "{case}: all measured flows end"
            );
            // At most the last acknowledgements are still in flight, so the balances of the switches are nearly exact.
            let in_flight = records.totals.in_flight_bytes;
            assert!(in_flight < 2_000, "{case}: {in_flight} B in flight");
        }
    }
}

#[test]
fn bytes_in_flight_are_accounted_for() {
    for transport in all_transports() {
        let mut scenario = mixture(transport.clone());
        (scenario.duration, scenario.drain) = (Span::from_us(4_321), Span::ZERO);
        scenario.topology = lossy(scenario.topology, 0.01);
        for threads in [1, 3] {
            let records = whole(run_on(&scenario, threads));
            let case = format!("{} on {threads} threads", transport.name);
            assert_conserved(&records, &case);
            assert!(
                records.totals.in_flight_bytes > 10_000,
                "{case}: {:?}",
                records.totals
            );
        }
    }
}

#[test]
fn shared_memory_and_parallel_links() {
    // Two links between two switches, and traffic between all hosts.
    let names = ["host0", "host1", "host2", "host3", "left", "right"];
    let nodes = names
        .iter()
        .map(|name| node(*name, name.starts_with("host")))
        .collect();
    let ends = [(0, 4), (1, 4), (2, 5), (3, 5), (4, 5), (4, 5)];
    let edges = ends
        .iter()
        .map(|&(a, b)| Edge {
            a,
            b,
            link: gigabit(),
        })
        .collect();
    let poisson = WorkloadKind::Poisson {
        size: bytes(30_000),
        deadline: Deadline::None,
        intensity: Intensity::Load(0.7),
        destination: Destination::Uniform,
    };
    let mut scenario = scenario(Topology::Graph { nodes, edges }, newreno(), vec![poisson]);
    scenario.duration = Span::from_ms(20);
    scenario.switch.buffer = Buffer::Dynamic {
        pool: duetime_core::Bytes(40_000),
        alpha: 1.0,
    };
    let records = whole(run(&scenario));
    assert_conserved(&records, "parallel links");
    assert!(records.totals.dropped_bytes > 0);
    let parallel = records
        .ports
        .iter()
        .filter(|port| port.link == "left->right");
    assert_eq!(
        parallel.filter(|port| port.bytes > 0).count(),
        2,
        "both links are used and recorded separately"
    );
}

/// Returns the minimum time of any transport with a handshake in the network of [`mixture`]: a small packet in each
/// direction, then all packets over the first link and the last packet over the others.
fn physical_minimum(flow: &FlowRecord) -> Span {
    let (near, far) = (Span::from_us(10), Span::from_us(50));
    let (slow, fast) = (Rate::from_gbps(1), Rate::from_gbps(2));
    let rack = |host| host / 5;
    let between = if rack(flow.source) == rack(flow.destination) {
        0
    } else {
        2
    };
    let small = |bytes| slow.transmit(bytes) + fast.transmit(bytes) * between;
    let latency = near * 2 + far * between;
    let one_way = latency + slow.transmit(40) + small(40);
    let headers = flow.size_bytes.div_ceil(1_460) * 40;
    one_way * 2 + slow.transmit(flow.size_bytes + headers) + latency + small(41)
}

fn assert_physical(records: &RunRecords, case: &str) {
    for flow in &records.flows {
        if let Some(completion) = flow.completion() {
            let min = physical_minimum(flow);
            assert!(
                completion >= min,
                "{case}: {completion}, but at least {min} is required: {flow:?}"
            );
        }
    }
    let closest = records.flows.iter().filter_map(|flow| {
        Some(flow.completion()?.as_secs_f64() / physical_minimum(flow).as_secs_f64())
    });
    assert!(
        closest.fold(f64::MAX, f64::min) < 2.5,
        "{case}: some flow comes close to the bound"
    );
}

#[test]
fn no_flow_is_faster_than_its_links() {
    for transport in transports() {
        for loss in [0.0, 0.05] {
            let mut scenario = mixture(transport.clone());
            scenario.topology = lossy(scenario.topology, loss);
            assert_physical(
                &run(&scenario).records,
                &format!("{}, loss {loss}", transport.name),
            );
        }
    }
}
