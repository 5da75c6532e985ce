//! Traces: hop times are consistent, and explanations sum exactly.

use crate::common::*;
use duetime_analysis::explain::{Cause, Stage, explain_flow};
use duetime_core::{Span, Time};
use duetime_results::{FlowEvent, FlowEventKind, FlowRecord, Timer};
use duetime_scenario::model::*;
use duetime_sim::topology::Network;
use duetime_sim::{Options, RunOutput, Watch};
use std::collections::BTreeMap;

fn watched(scenario: &Scenario, watch: Watch) -> RunOutput {
    let options = Options {
        watch,
        ..Options::default()
    };
    duetime_sim::run(scenario, 0, 0, &options).unwrap()
}

/// Returns the events of one flow.
fn traced(scenario: &Scenario, flow: u64) -> Vec<FlowEvent> {
    let mut traces = watched(scenario, Watch::flow(flow)).traces;
    assert_eq!(traces.len(), 1, "only this flow is traced");
    let trace = traces.pop().unwrap();
    assert_eq!(trace.flow, flow);
    trace.events
}

/// Asserts that every packet reaches a port when it was sent or when it had crossed the previous link.
fn assert_hops_fit(network: &Network, events: &[FlowEvent], case: &str) {
    let mut hops = Vec::new();
    let mut sent = Vec::new();
    for event in events {
        match event.what {
            FlowEventKind::Departed {
                link,
                seq,
                len,
                waited,
                sending,
                ..
            } => {
                let arrived = event.at - sending - waited;
                hops.push((link, seq as u32, len, arrived, event.at));
            }
            FlowEventKind::Sent { seq, len, .. } => sent.push((seq as u32, len, event.at)),
            _ => {}
        }
    }
    for &(link, seq, len, arrived, _) in &hops {
        let from = network.links[link as usize].from;
        let fits = if network.nodes[from as usize].host.is_some() {
            len == 0 || sent.contains(&(seq, len, arrived))
        } else {
            hops.iter().any(|&(before, its_seq, its_len, _, left)| {
                let before = &network.links[before as usize];
                (before.to, its_seq, its_len, left + before.latency) == (from, seq, len, arrived)
            })
        };
        assert!(
            fits,
            "{case}: packet {seq}+{len} reached link {link} at {arrived} without being sent there"
        );
    }
}

fn assert_explained(flow: &FlowRecord, events: &[FlowEvent], case: &str) {
    let explanation = explain_flow(flow, events);
    let took = flow.completion().expect("the flow finished");
    assert_eq!(explanation.total, took, "{case}");
    let mut at = flow.start;
    for step in &explanation.steps {
        assert_eq!(step.from, at, "{case}: gap");
        at = step.to;
    }
    assert_eq!(
        Some(at),
        flow.finish,
        "{case}: the steps must reach the end"
    );
    let sum = |parts: BTreeMap<_, Span>| parts.values().map(|part| part.as_ps()).sum::<u64>();
    assert_eq!(sum(explanation.parts()), took.as_ps(), "{case}");
    let untraced = explanation
        .by_cause()
        .get(&Cause::Untraced)
        .copied()
        .unwrap_or_default();
    assert_eq!(untraced, Span::ZERO, "{case}: every hop is known");
    let propagation = explanation
        .by_cause()
        .get(&Cause::Propagation)
        .copied()
        .unwrap_or_default();
    assert!(
        propagation >= Span::from_us(20),
        "{case}: {:?}",
        explanation.parts()
    );
}

/// Selects the first flow, the largest, and those with the most retransmissions, timeouts, and marks and denials.
fn interesting(flows: &[FlowRecord]) -> Vec<&FlowRecord> {
    let with_most =
        |key: fn(&FlowRecord) -> u64| flows.iter().max_by_key(|flow| key(flow)).unwrap();
    let mut picked = vec![
        &flows[0],
        with_most(|flow| flow.size_bytes),
        with_most(|flow| u64::from(flow.retransmits)),
        with_most(|flow| u64::from(flow.timeouts)),
        with_most(|flow| u64::from(flow.marks + flow.denials)),
    ];
    picked.dedup_by_key(|flow| flow.flow);
    picked
}

#[test]
fn traces_are_consistent_and_explain_the_time() {
    let mut troubled = [0, 0, 0];
    for transport in transports() {
        for loss in [0.0, 0.02] {
            let mut scenario = mixture(transport.clone());
            scenario.topology = lossy(scenario.topology, loss);
            let network = Network::build(&scenario.topology).unwrap();
            let mut flows = run(&scenario).records.flows;
            // PDQ ends flows that cannot be in time.
            flows.retain(|flow| !flow.quenched);
            for flow in interesting(&flows) {
                let case = format!("flow {} of {}, loss {loss}", flow.flow, transport.name);
                let trace = traced(&scenario, flow.flow);
                assert_hops_fit(&network, &trace, &case);
                assert_explained(flow, &trace, &case);
                let count = |wanted: fn(FlowEventKind) -> bool| {
                    trace.iter().filter(|event| wanted(event.what)).count()
                };
                assert_eq!(count(|kind| kind == FlowEventKind::Submitted), 1, "{case}");
                assert_eq!(count(|kind| kind == FlowEventKind::Finished), 1, "{case}");
                assert_eq!(
                    count(|kind| kind == FlowEventKind::Established),
                    1,
                    "{case}"
                );
                let delivered: u64 = trace
                    .iter()
                    .filter_map(|event| match event.what {
                        FlowEventKind::Delivered { len, .. } => Some(u64::from(len)),
                        _ => None,
                    })
                    .sum();
                assert_eq!(delivered, flow.size_bytes, "{case}");
                let timeouts = count(|kind| {
                    matches!(
                        kind,
                        FlowEventKind::Timer(Timer::Handshake | Timer::Retransmission)
                    )
                });
                assert_eq!(timeouts as u32, flow.timeouts, "{case}");
                let retransmits = count(|kind| {
                    matches!(
                        kind,
                        FlowEventKind::Sent {
                            retransmit: true,
                            len: 1..,
                            ..
                        }
                    )
                });
                assert!(retransmits as u32 <= flow.retransmits, "{case}");
                let happened = [flow.retransmits, flow.timeouts, flow.denials];
                troubled
                    .iter_mut()
                    .zip(happened)
                    .for_each(|(sum, count)| *sum += count);
            }
        }
    }
    assert!(
        troubled.iter().all(|&sum| sum > 3),
        "retransmissions, timeouts, denials: {troubled:?}"
    );
}

#[test]
fn lone_flow_by_hand() {
    // The arithmetic of `lone_tcp::one_segment_by_hand`, part by part.
    let scenario = scenario(
        chain(&[gigabit(); 2]),
        newreno(),
        vec![flows(&[(Span::ZERO, 0, 1, 1_000, None)])],
    );
    let output = watched(&scenario, Watch::flow(0));
    let explanation = explain_flow(&output.records.flows[0], &output.traces[0].events);
    let network = Network::build(&scenario.topology).unwrap();
    let link = |name| network.find_link(name).unwrap();
    let mut expected = BTreeMap::new();
    for name in ["host0->s1", "s1->host1", "host1->s1", "s1->host0"] {
        expected.insert(
            (Stage::Handshake, Cause::Transmission(link(name))),
            Span::from_ns(320),
        );
    }
    expected.insert((Stage::Handshake, Cause::Propagation), Span::from_us(80));
    for name in ["host0->s1", "s1->host1"] {
        expected.insert(
            (Stage::Delivery, Cause::Transmission(link(name))),
            Span::from_ns(8_320),
        );
    }
    expected.insert((Stage::Delivery, Cause::Propagation), Span::from_us(40));
    assert_eq!(explanation.parts(), expected);
    assert_eq!((explanation.round_trips, explanation.finished), (1, true));
}

#[test]
fn queueing_is_attributed_to_its_link() {
    // Two hosts start simultaneously; the second packet into host 0 waits for the first one's 1040 B.
    let list = [
        (Span::ZERO, 1, 0, 1_000, None),
        (Span::ZERO, 2, 0, 1_000, None),
    ];
    let scenario = scenario(
        Topology::Star {
            hosts: 3,
            link: gigabit(),
        },
        newreno(),
        vec![flows(&list)],
    );
    let network = Network::build(&scenario.topology).unwrap();
    let down = network.find_link("switch->host0").unwrap();
    let records = run(&scenario).records;
    let later = records.flows.iter().max_by_key(|flow| flow.finish).unwrap();
    let explanation = explain_flow(later, &traced(&scenario, later.flow));
    // The SYN waited for the other SYN (40 B), so the data arrived that much later and waited only for the remainder.
    let parts = explanation.parts();
    let waited = |stage| {
        parts
            .get(&(stage, Cause::Queue(down)))
            .copied()
            .unwrap_or_default()
    };
    assert_eq!(waited(Stage::Handshake), Span::from_ns(320));
    assert_eq!(waited(Stage::Delivery), Span::from_ns(8_320 - 320));
}

#[test]
fn later_message_of_a_connection_is_traced() {
    let list = [
        (Span::ZERO, 0, 1, 1_000, None),
        (Span::from_ms(1), 0, 1, 30_000, None),
    ];
    let mut scenario = scenario(chain(&[gigabit(); 3]), newreno(), vec![flows(&list)]);
    scenario.workloads[0].connection = Connection::Persistent;
    let records = run(&scenario).records;
    let trace = traced(&scenario, records.flows[1].flow);
    assert_hops_fit(
        &Network::build(&scenario.topology).unwrap(),
        &trace,
        "second message",
    );
    assert_explained(&records.flows[1], &trace, "second message");
    assert!(
        trace
            .iter()
            .all(|event| event.at >= Time::ZERO + Span::from_ms(1))
    );
}
