//! Examples of PDQ's paper as scenarios, losses and Early Termination.

use crate::common::*;
use duetime_core::{Span, Time};
use duetime_proto::pdq::Config;
use duetime_scenario::model::*;

/// Bytes that take 9.996 ms at 1 Gbps: 833 packets of 1500 B.
const UNIT: u64 = 833 * 1_444;

/// Returns flows of 3, 2 and 1 units to host 0, in this order.
fn figure_one(has_deadlines: bool, allowance: Span) -> WorkloadKind {
    let flow = |start: u64, source: u32, units: u64, due: u64| {
        let deadline = has_deadlines.then(|| Span::from_ms(due * 10) + allowance);
        (Span::from_us(start), source, 0, units * UNIT, deadline)
    };
    flows(&[flow(0, 1, 3, 6), flow(1, 2, 2, 4), flow(2, 3, 1, 1)])
}

fn star(hosts: u32) -> Topology {
    Topology::Star {
        hosts,
        link: gigabit(),
    }
}

/// Figure 1 of the paper: sizes 1, 2, 3 and deadlines 1, 4, 6 complete at 1, 3 and 6 by EDF and by SJF. A unit is 10 ms
/// and the round trip 82 us.
#[test]
fn figure_one_completes_at_1_3_6() {
    for has_deadlines in [true, false] {
        let kind = figure_one(has_deadlines, Span::from_us(800));
        let records = run(&scenario(star(4), pdq(), vec![kind])).records;
        for (flow, units) in [(2, 1), (1, 3), (0, 6)] {
            let record = records
                .flows
                .iter()
                .find(|record| record.source == flow + 1);
            let finished = record.expect("a flow").finish.expect("finished");
            let ideal = Time::ZERO + Span::from_ms(units * 10);
            let late = finished.since(ideal);
            assert!(
                finished + Span::from_us(100) > ideal,
                "{flow}: {finished:?}"
            );
            assert!(late < Span::from_us(1_500), "{flow}: {finished:?}");
        }
    }
}

/// Without the option, the flow that is late is delivered nevertheless.
#[test]
fn infeasible_flow_is_terminated() {
    for early_termination in [true, false] {
        let config = Config::default().with(|c| c.early_termination = early_termination);
        let list = [(0, 1, 3 * UNIT, 40), (0, 2, UNIT, 35), (0, 3, UNIT, 20)];
        let flow = |&(start, source, bytes, due): &(u64, u32, u64, u64)| {
            (
                Span::from_us(start),
                source,
                0,
                bytes,
                Some(Span::from_ms(due)),
            )
        };
        let kind = flows(&list.iter().map(flow).collect::<Vec<_>>());
        let records = run(&scenario(star(4), Protocol::Pdq(config), vec![kind])).records;
        let met = records.flows.iter().filter(|flow| {
            (flow.finish.zip(flow.deadline)).is_some_and(|(finish, deadline)| finish <= deadline)
        });
        assert_eq!(met.count(), 2);
        let late = &records.flows[0];
        assert_eq!((late.source, late.quenched), (1, early_termination));
        assert_eq!(late.finish.is_none(), early_termination);
    }
}

/// With 1 % loss on every link, each message ends and no byte disappears.
#[test]
fn losses_are_repaired() {
    let mut scenario = scenario(lossy(star(9), 0.01), pdq(), vec![burst(8, 20)]);
    scenario.drain = Span::from_secs(10);
    scenario.transports[0].protocol =
        Protocol::Pdq(Config::default().with(|c| c.early_termination = false));
    let output = run(&scenario);
    let records = whole(output);
    assert!(records.flows.iter().all(|flow| flow.finish.is_some()));
    assert!(records.flows.iter().any(|flow| flow.retransmits > 0));
    assert_conserved(&records, "1 % loss");
    // With Early Termination, every message is delivered or terminated.
    scenario.transports[0].protocol = pdq();
    let records = whole(run(&scenario));
    let ended = |flow: &duetime_results::FlowRecord| flow.finish.is_some() || flow.quenched;
    assert!(records.flows.iter().all(ended));
    assert_conserved(&records, "1 % loss, Early Termination");
}

/// Flows of one link are served one after another, so their mean completion time is below that of fair sharing: a unit
/// per flow, n flows: (n + 1) / 2 units instead of n.
#[test]
fn equal_flows_are_served_in_turn() {
    let list: Vec<_> = (1..=8)
        .map(|source| (Span::ZERO, source, 0, UNIT / 4, None))
        .collect();
    let records = run(&scenario(star(9), pdq(), vec![flows(&list)])).records;
    let times = records
        .flows
        .iter()
        .map(|flow| flow.finish.expect("finished").as_ps());
    let mean = Span::from_ps(times.sum::<u64>() / 8);
    // 4.5 × 2.5 ms, with two to three round trips per change of flows. Fair sharing: 20 ms.
    assert!(mean < Span::from_us(13_000), "{mean}");
}
