//! Hedges and retries over real transports: losing answers are aborted in flight, bytes are conserved, and results do
//! not depend on threads.

use crate::common::*;
use duetime_core::{Bytes, Span, Time};
use duetime_results::{Class, FlowRecord, RunRecords};
use duetime_scenario::model::*;

/// Returns the mixture with hedges and retries of its leaves.
fn with_retries(transport: Transport, cancel: bool) -> Scenario {
    let mut scenario = mixture(transport);
    if let WorkloadKind::Oldi(oldi) = &mut scenario.workloads[0].kind {
        oldi.fan_in = vec![3, 3];
        oldi.layer_share = vec![1.0, 0.5];
        oldi.compute = Gap::LogNormal {
            median: Span::from_us(100),
            sigma: 1.0,
        };
        oldi.aggregate_compute = Gap::Fixed(Span::from_us(20));
        oldi.hedge = Some(Hedge {
            after: HedgeAfter::Time(Span::from_us(700)),
            cancel,
            samples: 10,
            window: 50,
        });
        oldi.retry = Some(Retry {
            timeout: Span::from_us(1_400),
            times: 3,
            at: RetryAt::Other,
            cancel,
        });
    }
    scenario
}

#[test]
fn retries_do_not_depend_on_threads() {
    let selected = |transport: &Transport| ["dctcp", "d3"].contains(&transport.name.as_str());
    for transport in transports().into_iter().filter(selected) {
        for cancel in [true, false] {
            let scenario = with_retries(transport.clone(), cancel);
            let alone = run(&scenario);
            let sum = |pick: fn(&duetime_results::QueryRecord) -> u32| -> u32 {
                alone.records.queries.iter().map(pick).sum()
            };
            assert!(sum(|query| query.hedges.0) > 10 && sum(|query| query.hedges_won.0) > 2);
            assert!(sum(|query| query.retries.0) > 2, "{}", transport.name);
            assert_same_when_split(&scenario, &alone.records, &[(2, 1), (1, 3)]);
        }
    }
}

/// Creates a query to one leaf whose answer takes 32 ms on its link, hedged after 5 ms.
fn large(transport: Transport, cancel: bool, connection: Connection) -> Scenario {
    let mut scenario = mixture(transport);
    scenario.workloads.truncate(1);
    scenario.workloads[0].connection = connection;
    if let WorkloadKind::Oldi(oldi) = &mut scenario.workloads[0].kind {
        oldi.applications = 1;
        oldi.fan_in = vec![1];
        oldi.response = vec![Size::Fixed(Bytes(4_000_000))];
        oldi.deadline = vec![Deadline::None];
        oldi.compute = Gap::ZERO;
        oldi.jitter = Gap::ZERO;
        oldi.arrival = QueryArrival::Every(Gap::Fixed(Span::from_ms(200)));
        oldi.hedge = Some(Hedge {
            after: HedgeAfter::Time(Span::from_ms(5)),
            cancel,
            samples: 10,
            window: 50,
        });
        oldi.share_hosts = false;
    }
    scenario.warm_up = Span::ZERO;
    scenario.duration = Span::from_ms(700);
    scenario.drain = Span::from_secs(5);
    scenario.switch.buffer = Buffer::Static(Amount::Packets(100));
    scenario.record.every = None;
    scenario.record.links.clear();
    scenario
}

fn spare_flows(records: &RunRecords) -> Vec<&FlowRecord> {
    let flows = records.flows.iter();
    flows.filter(|flow| flow.spare.0).collect()
}

#[test]
fn cancelled_answers_are_aborted() {
    for transport in transports() {
        let name = transport.name.clone();
        let records =
            |cancel, connection| run(&large(transport.clone(), cancel, connection)).records;
        let bytes = |records: &RunRecords| -> u64 {
            spare_flows(records)
                .iter()
                .map(|flow| flow.delivered_bytes)
                .sum()
        };
        let aborted = records(true, Connection::PerFlow);
        let queries = aborted.queries.len();
        assert!(queries >= 3, "{name}");
        for query in &aborted.queries {
            assert_eq!(
                (query.hedges.0, query.answered),
                (1, 1),
                "{name}: {query:?}"
            );
        }
        let losers = spare_flows(&aborted);
        assert_eq!(losers.len(), queries, "{name}");
        for flow in &losers {
            assert_eq!(flow.class, Class::Response);
            assert!(
                flow.finish.is_none() && flow.delivered_bytes < 4_000_000,
                "{name}: {flow:?}"
            );
        }
        // Nothing waits for aborted answers, so the run ends long before the end of its drain.
        let late = Time::ZERO + Span::from_secs(1);
        assert!(
            aborted.totals.end < late,
            "{name}: {:?}",
            aborted.totals.end
        );
        // Without cancellation, the answer is sent to its end, as on a connection on which bytes of other answers
        // follow.
        let kept = records(false, Connection::PerFlow);
        assert!(
            spare_flows(&kept).iter().all(|flow| flow.finish.is_some()),
            "{name}"
        );
        assert!(bytes(&aborted) < bytes(&kept), "{name}");
        assert_eq!(bytes(&kept), 4_000_000 * queries as u64, "{name}");
        if aborted.flows.iter().all(|flow| flow.requests == 0) {
            let persistent = records(true, Connection::Persistent);
            assert!(
                spare_flows(&persistent)
                    .iter()
                    .all(|flow| flow.finish.is_some()),
                "{name}"
            );
        }
    }
}
