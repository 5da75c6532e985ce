//! A small run for tests, with results that can be checked by hand.

#![expect(
    clippy::cast_possible_truncation,
    reason = "the numbers of a test are small"
)]

use duetime_core::{Span, Time};
use duetime_results::{
    Class, FlowRecord, PortRecord, QueryRecord, RunRecords, SeriesSample, Totals,
};

/// Returns a flow of workload 0.
pub(crate) fn flow(
    number: u64,
    start_ms: u64,
    finish_ms: Option<u64>,
    deadline_ms: Option<u64>,
) -> FlowRecord {
    let at = |ms: u64| Time::ZERO + Span::from_ms(ms);
    FlowRecord {
        flow: number,
        class: Class::Response,
        query: Some(number / 2),
        source: number as u32,
        destination: 9,
        size_bytes: 10_000,
        delivered_bytes: if finish_ms.is_some() { 10_000 } else { 4_000 },
        start: at(start_ms),
        finish: finish_ms.map(at),
        deadline: deadline_ms.map(at),
        measured: true,
        timeouts: 1,
        retransmits: 2,
        marks: 3,
        denials: 4,
        inversions: 1,
        requests: 5,
        leaves: 1,
        ..FlowRecord::default()
    }
}

/// Returns four measured answers (one late by 5 ms, one unfinished), one unmeasured answer, a long flow, two queries
/// and a port.
pub(crate) fn records() -> RunRecords {
    let mut unmeasured = flow(4, 0, Some(1), Some(30));
    unmeasured.measured = false;
    let mut long = flow(5, 0, None, None);
    long.workload = 1;
    long.class = Class::Long;
    long.query = None;
    long.size_bytes = u64::MAX;
    long.delivered_bytes = 5_000_000;
    let at_ms = |ms: u64| Time::ZERO + Span::from_ms(ms);
    let query = |number: u64, in_time: u32| QueryRecord {
        query: number,
        root: 9,
        complete: (in_time == 2).then(|| Time::ZERO + Span::from_ms(20)),
        children: 2,
        answered: 2.min(in_time + 1),
        in_time,
        measured: true,
        asked: 2,
        leaves: 2,
        needed: 2,
        judged: true,
        due: Some(at_ms(30)),
        enough: (in_time == 2).then(|| at_ms(20)),
        leaves_answered: 2.min(in_time + 1),
        leaves_in_time: in_time,
        ..QueryRecord::default()
    };
    RunRecords {
        flows: vec![
            flow(0, 0, Some(10), Some(30)),
            flow(1, 0, Some(20), Some(30)),
            flow(2, 0, Some(35), Some(30)),
            flow(3, 0, None, Some(30)),
            unmeasured,
            long,
        ],
        queries: vec![query(0, 2), query(1, 0)],
        ports: vec![PortRecord {
            link: "s->h9".into(),
            packets: 40,
            bytes: 60_000,
            drops: 2,
            drop_bytes: 3_000,
            losses: 1,
            loss_bytes: 1_500,
            marks: 12,
            queue_max_bytes: 30_000,
            queue_mean_bytes: 1_234.5,
            utilisation: 0.25,
        }],
        servers: Vec::new(),
        sampled_links: vec!["s->h9".into()],
        series: (0..4)
            .map(|i| SeriesSample {
                link: 0,
                at: Time::ZERO + Span::from_ms(i),
                queue_bytes: 1_500 * i,
                queue_packets: i as u32,
                sent_bytes: 3_000,
            })
            .collect(),
        totals: Totals {
            end: Time::ZERO + Span::from_ms(50),
            packet_hops: 80,
            events: 100,
            injected_bytes: 64_500,
            arrived_bytes: 60_000,
            dropped_bytes: 4_500,
            in_flight_bytes: 0,
        },
    }
}
