use super::*;
use crate::sample;
use duetime_core::Span;
use duetime_core::random::{Purpose, Stream, Streams};
use duetime_results::QueryRecord;

const FROM_MS: u64 = 100;
const UNTIL_MS: u64 = 1_100;

fn at(seconds: f64) -> Time {
    Time::ZERO + Span::from_ps((seconds * 1e12) as u64)
}

/// Simulates a link that serves flows one after another. Queries of `answers` flows arrive at random, `queries` on
/// average in the measurement window of 1 s, after a warm-up of 100 ms. They offer `load`, and the deadline of each
/// flow is `allowed` times the time that a query takes alone.
fn link(seed: u64, queries: f64, answers: u32, load: f64, allowed: f64) -> Course {
    let mut stream = Streams::new(seed, 0).stream(0, Purpose::Arrival);
    let exponential = |stream: &mut Stream| -(1.0 - stream.unit()).ln();
    let per_flow = load / queries / f64::from(answers);
    let (mut now, mut free) = (0.0f64, 0.0f64);
    let mut records = RunRecords::default();
    let mut query = 0;
    loop {
        now += exponential(&mut stream) / queries;
        if now >= UNTIL_MS as f64 * 1e-3 {
            break;
        }
        for _ in 0..answers {
            let size = exponential(&mut stream);
            free = free.max(now) + per_flow * size;
            let mut flow = sample::flow(records.flows.len() as u64, 0, None, None);
            flow.query = (answers > 1).then_some(query);
            flow.size_bytes = (size * 1e4) as u64 + 1;
            flow.start = at(now);
            flow.finish = Some(at(free));
            flow.deadline = Some(at(now + allowed * per_flow * f64::from(answers)));
            flow.measured = now >= FROM_MS as f64 * 1e-3;
            records.flows.push(flow);
        }
        query += 1;
    }
    let ms = |ms: u64| Time::ZERO + Span::from_ms(ms);
    Course::of(&records, ms(FROM_MS), ms(UNTIL_MS))
}

fn flagged(runs: u64, seeds: std::ops::Range<u64>, of: impl Fn(u64) -> Course) -> (u64, u64) {
    let (mut backlog, mut share) = (0, 0);
    for seed in seeds {
        let courses: Vec<Course> = (0..runs).map(|run| of(1_000 * seed + run)).collect();
        let found = drifts(&courses);
        let is_backlog = |drift: &NonStationarity| matches!(drift, NonStationarity::Backlog { .. });
        backlog += u64::from(found.iter().any(is_backlog));
        share += u64::from(found.iter().any(|drift| !is_backlog(drift)));
    }
    (backlog, share)
}

#[test]
fn stable_link_is_rarely_flagged() {
    // Few and many queries, few and many answers, light and heavy load, one run and five runs.
    for (queries, answers, load, allowed) in [
        (12.0, 1, 0.3, 1.0),
        (20.0, 10, 0.5, 1.5),
        (40.0, 1, 0.6, 2.0),
        (100.0, 20, 0.5, 2.0),
        (200.0, 4, 0.7, 3.0),
        (1_000.0, 1, 0.7, 3.0),
    ] {
        for runs in [1, 5] {
            let (backlog, share) = flagged(runs, 0..200, |seed| {
                link(seed, queries, answers, load, allowed)
            });
            let case = format!("{queries} queries of {answers} at {load}, {runs} runs");
            assert!(
                backlog <= 2 && share <= 2,
                "{case}: {backlog}, {share} of 200"
            );
        }
    }
}

#[test]
fn overloaded_link_is_flagged() {
    for (queries, answers, load) in [(2_000.0, 1, 1.3), (3_000.0, 1, 1.2), (500.0, 20, 1.4)] {
        for runs in [1, 5] {
            let (backlog, _) = flagged(runs, 0..100, |seed| {
                link(seed, queries, answers, load, 20.0)
            });
            let case = format!("{queries} queries of {answers} at {load}, {runs} runs");
            assert!(backlog >= 95, "{case}: {backlog} of 100");
        }
    }
}

#[test]
fn change_of_late_share_is_flagged() {
    // Every third flow of the second half is late, without a backlog.
    let records = |late_from: u64| {
        let mut records = RunRecords::default();
        for number in 0..1_000 {
            let late = number >= late_from && number % 3 == 0;
            let (start, took) = (number, if late { 3 } else { 1 });
            let mut flow = sample::flow(number, start, Some(start + took), Some(start + 2));
            flow.query = None;
            records.flows.push(flow);
        }
        records
    };
    let end = Time::ZERO + Span::from_ms(1_000);
    let of = |late_from| drifts(&[Course::of(&records(late_from), Time::ZERO, end)]);
    assert_eq!(of(0), []);
    assert_eq!(of(1_000), []);
    let found = of(500);
    let [NonStationarity::Share { first, second, .. }] = &found[..] else {
        panic!("{found:?}");
    };
    assert!(*first == 0.0 && (*second - 1.0 / 3.0).abs() < 0.01);
}

#[test]
fn queries_count_instead_of_their_answers() {
    // Every answer is late, but every query has enough answers in time.
    let mut records = RunRecords::default();
    let query = sample::records().queries[0].clone();
    for number in 0..1_000u64 {
        let start = Time::ZERO + Span::from_ms(number);
        let late = number >= 500;
        records.queries.push(QueryRecord {
            query: number,
            start,
            due: Some(start + Span::from_ms(5)),
            enough: Some(start + Span::from_ms(2)),
            ..query.clone()
        });
        let took = if late { 9 } else { 1 };
        records.flows.push(sample::flow(
            number,
            number,
            Some(number + took),
            Some(number + 5),
        ));
    }
    let end = Time::ZERO + Span::from_ms(1_000);
    let course = Course::of(&records, Time::ZERO, end);
    assert!(
        drifts(&[course])
            .iter()
            .all(|drift| matches!(drift, NonStationarity::Backlog { .. }))
    );
}

#[test]
fn backlog_is_averaged_by_quarter() {
    // 10 KB from 100 to 350 ms, which is the first quarter, and 10 KB from 600 ms on that never finish.
    let records = RunRecords {
        flows: vec![
            sample::flow(0, 100, Some(350), None),
            sample::flow(2, 600, None, None),
        ],
        ..RunRecords::default()
    };
    let ms = |ms: u64| Time::ZERO + Span::from_ms(ms);
    let course = Course::of(&records, ms(100), ms(1_100));
    let expected = [10_000.0, 0.0, 10_000.0, 10_000.0];
    for (found, expected) in course.backlog.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-6, "{course:?}");
    }
    assert!((course.squares[3] - 1e8).abs() < 1e-3, "{course:?}");
    assert!((course.started - 20_000.0).abs() < 1e-9);
    // Long flows never end and do not count.
    let long = sample::records();
    assert!(Course::of(&long, ms(0), ms(50)).started < 1e6);
}

#[test]
fn quantiles_match_tables() {
    for (freedom, expected) in [(5.0, 6.869), (9.0, 4.781), (49.0, 3.500)] {
        assert!((student(freedom) / expected - 1.0).abs() < 0.1);
    }
}
