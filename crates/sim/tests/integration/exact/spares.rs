//! Spare answers, which a query does not need: cancelled spares use no more of the link, and bytes are conserved.

use crate::common::*;
use duetime_core::{Bytes, Span, Time};
use duetime_results::{Class, RunRecords};
use duetime_scenario::model::*;

/// Creates reads that need four of six answers; each answer has 1 MB and takes 8 ms on the root's link.
fn reads(transport: Transport, cancel_spares: bool) -> Scenario {
    let mut scenario = mixture(transport);
    scenario.workloads.truncate(1);
    if let WorkloadKind::Oldi(oldi) = &mut scenario.workloads[0].kind {
        oldi.applications = 1;
        oldi.trees = 1;
        oldi.fan_in = vec![6];
        oldi.layer_share = vec![1.0];
        oldi.response = vec![Size::Fixed(Bytes(1_000_000))];
        oldi.deadline = vec![Deadline::None];
        oldi.compute = Gap::Exponential(Span::from_ms(2));
        oldi.jitter = Gap::ZERO;
        oldi.arrival = QueryArrival::Every(Gap::Fixed(Span::from_ms(150)));
        oldi.objective.answers = 4.0 / 6.0;
        oldi.cancel_spares = cancel_spares;
        oldi.share_hosts = false;
    }
    scenario.switch.buffer = Buffer::Unlimited;
    scenario.warm_up = Span::ZERO;
    scenario.duration = Span::from_secs(1);
    scenario.drain = Span::from_secs(5);
    scenario.record.every = None;
    scenario.record.links.clear();
    scenario
}

fn delivered_bytes(records: &RunRecords) -> u64 {
    let answers = records.flows.iter();
    let answers = answers.filter(|flow| flow.class == Class::Response);
    answers.map(|flow| flow.delivered_bytes).sum()
}

#[test]
fn cancelled_spares_leave_the_link() {
    for transport in transports() {
        let name = transport.name.clone();
        let [kept, cancelled] =
            [false, true].map(|cancel| run(&reads(transport.clone(), cancel)).records);
        assert_eq!(kept.queries.len(), cancelled.queries.len(), "{name}");
        assert!(kept.queries.len() >= 6, "{name}");
        for (all, some) in kept.queries.iter().zip(&cancelled.queries) {
            assert_eq!(all.leaves_answered, 6, "{name}: {all:?}");
            assert_eq!(some.leaves_answered, 4, "{name}: {some:?}");
        }
        // Up to enough answers, both runs are equal.
        let first = [&kept, &cancelled].map(|records| records.queries[0].enough);
        assert_eq!(first[0], first[1], "{name}");
        let spare = cancelled.flows.iter().filter(|flow| flow.spare.0).count();
        assert_eq!(spare, 2 * cancelled.queries.len(), "{name}: two per query");
        let [kept, cancelled] = [&kept, &cancelled].map(delivered_bytes);
        assert!(
            cancelled < kept && cancelled >= kept / 6 * 4,
            "{name}: {cancelled} of {kept} B"
        );
    }
}

#[test]
fn cancelled_spares_do_not_depend_on_threads() {
    let selected = |transport: &Transport| ["dctcp", "d3"].contains(&transport.name.as_str());
    for transport in transports().into_iter().filter(selected) {
        let mut scenario = mixture(transport);
        if let WorkloadKind::Oldi(oldi) = &mut scenario.workloads[0].kind {
            oldi.objective.answers = 0.5;
            oldi.complete_at = 0.5;
            oldi.cancel_spares = true;
        }
        let alone = run(&scenario);
        let spare = alone.records.flows.iter().filter(|flow| flow.spare.0);
        assert!(spare.count() > 2);
        let at_the_end = Time::ZERO + scenario.duration;
        let complete = alone.records.queries.iter();
        let complete = complete.filter(|query| query.complete.is_some_and(|at| at < at_the_end));
        assert!(complete.count() > 2);
        assert_same_when_split(&scenario, &alone.records, &[(2, 1), (1, 3)]);
    }
}
