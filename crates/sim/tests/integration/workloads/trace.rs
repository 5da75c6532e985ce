//! Recorded traces of flows.

use super::fake::run;
use super::setup::scenario;
use duetime_core::random::Streams;
use duetime_core::{Bytes, Span, Time};
use duetime_scenario::model::*;
use duetime_sim::topology::Network;
use duetime_sim::workload::{Actions, Workloads};

#[test]
fn trace_flows_start_exactly_on_time() {
    let flow = |us, source, destination, size, deadline: Option<u64>| TraceFlow {
        start: Span::from_us(us),
        source,
        destination,
        size: Bytes(size),
        deadline: deadline.map(Span::from_us),
    };
    // Sources are out of order, two flows start at once at host 1, and one starts at the very end, which is too late.
    let flows = vec![
        flow(10, 1, 0, 5, None),
        flow(10, 0, 1, 7, Some(300)),
        flow(10, 1, 2, 6, Some(90)),
        flow(5, 1, 3, 0, None),
        flow(20, 1, 0, 8, None),
        flow(1_000_000, 2, 0, 9, None),
    ];
    let mut scenario = scenario(4, vec![WorkloadKind::Trace { flows }]);
    scenario.host.start_jitter = true;
    let messages = run(&scenario).messages;
    let summary: Vec<_> = messages
        .iter()
        .map(|message| {
            (
                message.source,
                message.submitted.as_ns() / 1_000,
                message.destination,
                message.bytes,
                message.deadline.map(Time::as_ns),
            )
        })
        .collect();
    assert_eq!(
        summary,
        [
            (0, 10, 1, 7, Some(310_000)),
            (1, 5, 3, 1, None),
            (1, 10, 0, 5, None),
            (1, 10, 2, 6, Some(100_000)),
            (1, 20, 0, 8, None),
        ]
    );
}

#[test]
fn long_traces_request_one_wake_at_a_time() {
    let flow = |number: u64| TraceFlow {
        start: Span::from_us(number * 7 % 900_000),
        source: (number % 3) as u32,
        destination: 3,
        size: Bytes(1),
        deadline: None,
    };
    let scenario = scenario(
        4,
        vec![WorkloadKind::Trace {
            flows: (0..300_000).map(flow).collect(),
        }],
    );
    let network = Network::build(&scenario.topology).unwrap();
    let mut workloads = Workloads::new(&scenario, &network, &Streams::new(1, 0)).unwrap();
    let mut actions = Actions::default();
    workloads.start(&|_| true, &mut actions);
    assert_eq!(actions.wakes.len(), 3);
    let mut sent = 0;
    while let Some(wake) = actions.wakes.pop() {
        let waiting = actions.wakes.len();
        workloads.wake(wake.at, wake.host, wake.workload, wake.token, &mut actions);
        assert!(actions.wakes.len() <= waiting + 1);
        sent += actions.sends.len();
        actions.sends.clear();
    }
    assert_eq!(sent, 300_000);
}
