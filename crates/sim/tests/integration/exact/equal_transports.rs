//! Transports with equal behaviour give equal bytes.

use crate::common::*;
use duetime_core::Span;
use duetime_results::{RunRecords, digest};
use duetime_scenario::model::*;

/// Creates bursts with deadlines and competing background flows, with marks, drops and losses.
fn contended(protocol: Protocol, loss: f64) -> Scenario {
    let background = WorkloadKind::Poisson {
        size: Size::Fixed(duetime_core::Bytes(40_000)),
        deadline: Deadline::Around {
            base: Span::from_ms(3),
            variation: 0.5,
        },
        intensity: Intensity::Load(0.2),
        destination: Destination::Uniform,
    };
    let topology = lossy(
        Topology::Star {
            hosts: 17,
            link: gigabit(),
        },
        loss,
    );
    let mut scenario = scenario(topology, protocol, vec![burst(16, 4), background]);
    scenario.switch = shallow();
    scenario.duration = Span::from_ms(16);
    scenario.host.start_jitter = true;
    scenario.host.send_jitter = Span::from_ns(1);
    scenario
}

/// Removes all deadlines.
fn without_deadlines(mut scenario: Scenario) -> Scenario {
    for workload in &mut scenario.workloads {
        match &mut workload.kind {
            WorkloadKind::Burst { deadline, .. } | WorkloadKind::Poisson { deadline, .. } => {
                *deadline = Deadline::None;
            }
            _ => {}
        }
    }
    scenario
}

fn marks(scenario: &Scenario) -> u64 {
    run(scenario)
        .records
        .ports
        .iter()
        .map(|port| port.marks)
        .sum()
}

/// Returns the records without the deadlines.
fn less_deadlines(mut records: RunRecords) -> RunRecords {
    records
        .flows
        .iter_mut()
        .for_each(|flow| flow.deadline = None);
    records
}

#[test]
fn d2tcp_with_d_clamped_to_one_is_dctcp() {
    for loss in [0.0, 0.01] {
        let dctcp = contended(dctcp(), loss);
        assert!(marks(&dctcp) > 500, "marks matter here: {}", marks(&dctcp));
        let expected = digest_of(&dctcp);
        assert_eq!(digest_of(&contended(d2tcp(1.0, 1.0), loss)), expected);
        assert_ne!(
            digest_of(&contended(d2tcp(0.5, 2.0), loss)),
            expected,
            "d matters here"
        );
    }
}

#[test]
fn d2tcp_without_deadlines_is_dctcp() {
    for loss in [0.0, 0.01] {
        let dctcp = without_deadlines(contended(dctcp(), loss));
        assert!(marks(&dctcp) > 500);
        let d2tcp = without_deadlines(contended(d2tcp(0.5, 2.0), loss));
        assert_eq!(digest_of(&d2tcp), digest_of(&dctcp));
    }
}

#[test]
fn d3_without_deadlines_is_rcpdc() {
    for loss in [0.0, 0.01] {
        let d3 = without_deadlines(contended(d3(), loss));
        let rcpdc = without_deadlines(contended(rcpdc(), loss));
        assert_eq!(digest_of(&d3), digest_of(&rcpdc));
    }
}

#[test]
fn rcpdc_ignores_deadlines() {
    for loss in [0.0, 0.01] {
        let d3_free = run(&without_deadlines(contended(d3(), loss))).records;
        let rcpdc_bound = less_deadlines(run(&contended(rcpdc(), loss)).records);
        assert_eq!(digest(&rcpdc_bound), digest(&d3_free));
        let d3_bound = less_deadlines(run(&contended(d3(), loss)).records);
        assert_ne!(digest(&d3_bound), digest(&d3_free), "deadlines matter here");
    }
}
