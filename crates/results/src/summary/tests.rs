use super::*;
use crate::record::sample;
use crate::{FlowRecord, QueryRecord};
use duetime_core::{Span, Time};

fn close(value: Option<f64>, wanted: f64) {
    let value = value.expect("a value");
    assert!(
        (value - wanted).abs() < 1e-12 * wanted.abs().max(1.0),
        "{value} is not {wanted}"
    );
}

fn at(estimate: Option<Estimate>) -> Option<f64> {
    estimate.map(|estimate| estimate.value)
}

/// Returns the sample records with each flow and query repeated `times` times.
fn repeated(times: u64) -> crate::RunRecords {
    let mut records = sample::records();
    let (flows, queries) = (records.flows.clone(), records.queries.clone());
    for copy in 1..times {
        let number = 100 * copy;
        records.flows.extend(flows.iter().map(|flow| FlowRecord {
            flow: number + flow.flow,
            query: flow.query.map(|query| number + query),
            ..flow.clone()
        }));
        records
            .queries
            .extend(queries.iter().map(|query| QueryRecord {
                query: number + query.query,
                ..query.clone()
            }));
    }
    records
}

#[test]
fn one_run_by_hand() {
    let summary = RunSummary::of(0, &sample::records());
    let group = summary.group((0, Class::Response)).unwrap();
    // Four flows are measured: two met their deadline, one is 5 ms late, one unfinished.
    assert_eq!(
        (group.flows, group.finished, group.deadline_flows, group.met),
        (4, 3, 4, 2)
    );
    close(group.completion_s.mean, 0.065 / 3.0);
    assert_eq!(group.completion_s.p50, None, "four are too few");
    assert_eq!(
        (group.timeouts, group.denials, group.inversions),
        (4, 16, 4)
    );
    assert_eq!(group.fairness, None);
    let long = summary.group((1, Class::Long)).unwrap();
    close(long.goodput_bytes_per_s.mean, 100e6);
    close(long.fairness, 1.0);
    assert_eq!((long.finished, long.completion_s.p50), (0, None));
}

#[test]
fn percentiles_of_one_run_by_hand() {
    let summary = RunSummary::of(0, &repeated(250));
    let group = summary.group((0, Class::Response)).unwrap();
    assert_eq!(group.flows, 1_000);
    close(group.completion_s.p50, 0.020);
    close(group.completion_s.mean, 0.065 / 3.0);
    assert_eq!(
        group.completion_s.p90, None,
        "each fourth one never finished"
    );
    close(group.slack_s.p50, 0.010);
    assert_eq!(group.slack_s.p99, None);
    // Active flows deliver 10 KB in 10, 20 and 35 ms, and 4 KB in the 50 ms until the end.
    close(group.goodput_bytes_per_s.p99, 80_000.0);
    close(group.goodput_bytes_per_s.p50, 500_000.0);
    assert_eq!(group.goodput_bytes_per_s.p999, None, "of 1,000 flows");
    let queries = &summary.queries[0];
    close(queries.completion_s.p50, 0.020);
    assert_eq!(queries.completion_s.p99, None);
}

#[test]
fn completeness_of_queries_by_hand() {
    let summary = RunSummary::of(0, &sample::records());
    let queries = &summary.queries[0];
    assert_eq!(
        (queries.queries, queries.no_answer, queries.below_95),
        (2, 1, 1)
    );
    close(Some(queries.in_time), 1.0);
    assert_eq!(summary.sampled[0].max_bytes, 4_500);
    close(summary.sampled[0].queue_bytes.mean, 2_250.0);
    assert_eq!(summary.sampled[0].queue_bytes.p50, None, "too few samples");
    assert_eq!(summary.network.queue_max_link, "s->h9");
}

#[test]
fn shares_count_required_answers() {
    // Ten queries of two answers each: four in time, one late, one without a budget, four never answered.
    let mut records = sample::records();
    let at = |ms: u64| Time::ZERO + Span::from_ms(ms);
    let one = records.queries[0].clone();
    let query = |number: u64, enough: Option<u64>, leaves: u32| QueryRecord {
        query: number,
        due: Some(at(30)),
        enough: enough.map(at),
        leaves_answered: leaves,
        leaves_in_time: if enough == Some(31) { 1 } else { leaves },
        ..one.clone()
    };
    records.queries = (0..4).map(|number| query(number, Some(30), 2)).collect();
    records.queries.push(query(4, Some(31), 2));
    records.queries.push(QueryRecord {
        judged: false,
        ..query(5, Some(5), 2)
    });
    records
        .queries
        .extend((6..10).map(|number| query(number, None, 0)));
    // Six of twenty required answers were sent: three in time (one of them empty), one late, two lost.
    records.flows = vec![
        sample::flow(0, 0, Some(30), Some(30)),
        sample::flow(1, 0, Some(10), Some(30)),
        sample::flow(2, 0, Some(10), Some(30)),
        sample::flow(3, 0, Some(31), Some(30)),
        sample::flow(4, 0, None, Some(30)),
        sample::flow(5, 0, None, Some(30)),
    ];
    records.flows[2].leaves = 0;
    let run = RunSummary::of(0, &records);
    assert_eq!(run.queries_in_time(), (4, 9));
    let queries = &run.queries[0];
    assert_eq!((queries.asked, queries.answers_in_time), (20, 2));
    assert_eq!((queries.leaves, queries.leaves_in_time), (20, 11));
    let summary = Summary::of("tcp", &[run.clone(), run]);
    // Twelve of twenty queries completed.
    close(self::at(summary.queries[0].completion_s.p50), 0.030);
    let all = summary.objective.expect("judged");
    assert_eq!((all.met, all.queries), (8, 18));
    close(Some(all.in_time.value), 4.0 / 9.0);
    close(self::at(summary.queries[0].answers_in_time), 0.1);
    close(self::at(summary.queries[0].leaf_coverage), 0.55);
}

#[test]
fn exactly_95_percent_is_not_below_95() {
    let mut records = sample::records();
    for (query, in_time) in records.queries.iter_mut().zip([37, 38]) {
        (query.children, query.in_time) = (40, in_time);
    }
    assert_eq!(RunSummary::of(0, &records).queries[0].below_95, 1);
}

/// Returns runs of ten deadline flows, of which `met[i]` meet their deadline in run `i`.
fn runs(met: &[u64]) -> Vec<RunSummary> {
    let run = |(i, &met): (usize, &u64)| {
        let mut records = sample::records();
        let finish = |flow: u64| if flow < met { 20 } else { 40 };
        records.flows = (0..10)
            .map(|flow| sample::flow(flow, 0, Some(finish(flow)), Some(30)))
            .collect();
        RunSummary::of(i as u64, &records)
    };
    met.iter().enumerate().map(run).collect()
}

#[test]
fn shares_are_pooled() {
    let summary = Summary::of("tcp", &runs(&[10, 8, 9, 7, 10]));
    let deadlines = summary.deadlines.unwrap();
    assert_eq!((deadlines.flows, deadlines.met), (50, 44));
    close(Some(deadlines.application_throughput.value), 0.88);
    close(Some(deadlines.missed.value), 0.12);
    let interval = deadlines.missed.interval.unwrap();
    assert!(
        0.0 < interval.low && interval.low < 0.12 && 0.12 < interval.high && interval.high < 0.3
    );
    let group = summary.group(0, Class::Response).unwrap();
    close(at(group.completion_s.p50), 0.020);
    close(at(group.timeouts_per_flow), 1.0);
    close(at(group.denied_requests), 0.8);
    close(at(group.inverted_denials), 0.25);
    close(at(summary.queries[0].no_answer), 0.5);
    close(at(summary.network.drops), 2.0);
    assert_eq!(at(summary.queries[0].completion_s.p99), None);
}

#[test]
fn runs_that_count_no_packets_have_no_packet_statistics() {
    let mut uncounted = runs(&[10, 8]);
    for run in &mut uncounted {
        run.network.packet_hops = 0;
    }
    let summary = Summary::of("tcp", &uncounted);
    let group = summary.group(0, Class::Response).unwrap();
    assert!(group.completion_s.p50.is_some());
    assert_eq!(group.timeouts_per_flow, None);
    assert_eq!(group.retransmits_per_flow, None);
    assert_eq!(group.marks_per_flow, None);
    assert_eq!(summary.network.drops, None);
}

#[test]
fn differences_are_paired_by_run() {
    let ours = runs(&[9, 7, 8, 6, 9]);
    let mut baseline = runs(&[10, 8, 9, 7, 10]);
    baseline.reverse();
    baseline.pop();
    let compared = Comparison::of(("tcp", &ours), ("d3", &baseline));
    let missed = compared.missed.unwrap();
    close(Some(missed.value), 0.1);
    let interval = missed.interval.unwrap();
    assert!(
        interval.high - interval.low < 1e-9,
        "what the seeds share cancels"
    );
    assert_eq!(compared.groups.len(), 1);
}

#[test]
fn groups_may_be_missing_in_some_runs() {
    let mut runs = runs(&[10, 8, 9]);
    runs[1].groups.clear();
    let summary = Summary::of("tcp", &runs);
    assert_eq!(summary.groups[0].flows, 20);
    close(
        Some(
            summary.groups[0]
                .deadlines
                .unwrap()
                .application_throughput
                .value,
        ),
        0.95,
    );
}

#[test]
fn empty_summary_has_no_numbers() {
    let summary = Summary::of("tcp", &[]);
    assert_eq!(
        (summary.runs, summary.deadlines, summary.groups.len()),
        (0, None, 0)
    );
    let run = RunSummary::of(0, &crate::RunRecords::default());
    assert_eq!(Summary::of("tcp", &[run]).deadlines, None);
}

#[test]
fn run_summary_as_json() {
    let run = RunSummary::of(3, &sample::records());
    let text = serde_json::to_string(&run).unwrap();
    assert!(text.contains("\"class\":\"response\""));
    assert!(!text.contains("samples"), "{text}");
    assert!(
        serde_json::to_string(&Summary::of("tcp", &[run]))
            .unwrap()
            .contains("application_throughput")
    );
}

#[test]
fn busiest_and_most_dropping_links_are_named() {
    let named = |links: &[&str]| {
        let run = |(number, link): (usize, &&str)| {
            let mut records = sample::records();
            let quiet = records.ports[0].clone();
            records.ports.push(crate::PortRecord {
                link: (*link).to_owned(),
                drops: quiet.drops + 7,
                utilisation: 0.9,
                ..quiet
            });
            RunSummary::of(number as u64, &records)
        };
        let runs: Vec<RunSummary> = links.iter().enumerate().map(run).collect();
        Summary::of("tcp", &runs).network
    };
    let network = named(&["a->b", "c->d", "c->d"]);
    let expected = Some(NamedLink {
        link: "c->d".to_owned(),
        runs: 2,
    });
    assert_eq!(network.busiest_link, expected);
    assert_eq!(network.most_drops_link, expected);
    close(at(network.most_drops), 9.0);
    // Without drops there is no such port.
    let mut records = sample::records();
    records.ports[0].drops = 0;
    let run = RunSummary::of(0, &records);
    assert_eq!(run.network.most_drops_link, "");
    assert_eq!(Summary::of("tcp", &[run]).network.most_drops_link, None);
}
