use duetime_results::Class;

use super::super::spread::Spread;
use super::super::sums::{GroupSums, QuerySums};
use super::*;

/// Returns one seed with ten deadline flows, `met` of which met their deadline.
fn seed(met: u64) -> Sums {
    let group = GroupSums {
        workload: 0,
        class: Class::Flow,
        finite: 10,
        finished: 10,
        deadline_flows: 10,
        met,
        late: 10 - met,
        overshoot: 0.25 * (10 - met) as f64,
        timeouts: 1,
        slow: 0,
        requests: (20, 8, 2),
        inverted: 3,
        completion_mean_s: Some(0.01),
        goodput_mean: Some(1e6),
        completion_s: Spread::of([0.01; 10]),
        allowed: Spread::of((0..10).map(|i| if i < met { 0.5 } else { 1.25 })),
    };
    Sums {
        groups: vec![group],
        ..Sums::default()
    }
}

#[test]
fn names_round_trip() {
    for (name, metric) in Metric::all() {
        assert_eq!(Metric::named(&name), Some(metric), "{name}");
        assert_eq!(Metric::named(&metric.name()), Some(metric), "{name}");
    }
    assert_eq!(Metric::named("throughputs"), None);
}

#[test]
fn shares_are_pooled_over_seeds() {
    let (a, b) = (seed(10), seed(5));
    let seeds = [&a, &b];
    let at = |metric: Metric| metric.at(&seeds, None);
    assert_eq!(at(Metric::ApplicationThroughput), Some(75.0));
    assert_eq!(at(Metric::Missed), Some(25.0));
    assert_eq!(at(Metric::Overshoot(Rank::Mean)), Some(25.0));
    assert_eq!(at(Metric::DeniedInversions), Some(25.0));
    assert_eq!(at(Metric::InvertedFlows), Some(30.0));
    assert_eq!(at(Metric::Timeouts), Some(10.0));
    assert_eq!(at(Metric::Goodput), None);
    assert_eq!(Metric::Goodput.at(&seeds, Some(0)), Some(8.0));
    assert_eq!(Metric::Missed.at(&seeds, Some(1)), None);
    let p95 = at(Metric::Overshoot(Rank::Percent(95))).unwrap();
    assert!((p95 - 25.0).abs() < 0.5, "{p95}");
}

#[test]
fn capacity_ends_at_first_failure() {
    let (good, bad) = (seed(10), seed(5));
    let points = |seeds: [&'static str; 4]| -> Vec<bool> {
        seeds.iter().map(|seed| *seed == "good").collect()
    };
    let along = |metric: Metric, seeds: [&'static str; 4]| {
        let points: Vec<(f64, Vec<&Sums>)> = points(seeds)
            .into_iter()
            .zip([5.0, 10.0, 15.0, 20.0])
            .map(|(ok, place)| (place, vec![if ok { &good } else { &bad }]))
            .collect();
        metric.along(&points, None)
    };
    let n99 = Metric::Capacity(99);
    assert_eq!(along(n99, ["good", "good", "bad", "good"]), Some(10.0));
    assert_eq!(along(n99, ["bad", "good", "good", "good"]), Some(0.0));
    let tightest = Metric::Tightest;
    assert_eq!(along(tightest, ["bad", "good", "bad", "good"]), Some(20.0));
    assert_eq!(along(tightest, ["good", "good", "good", "bad"]), None);
}

/// Returns one seed with two workloads' queries, and the largest queue.
fn queries(judged: [u64; 2], met: [u64; 2], queue_max_bytes: Option<u64>) -> Sums {
    Sums {
        queries: [0, 1]
            .map(|workload| QuerySums {
                workload,
                judged: judged[usize::from(workload)],
                met: met[usize::from(workload)],
                ..QuerySums::default()
            })
            .into(),
        queue_max_bytes,
        ..Sums::default()
    }
}

#[test]
fn late_queries_are_pooled() {
    let (a, b) = (
        queries([10, 6], [9, 6], None),
        queries([30, 0], [26, 0], None),
    );
    let missed = |workload| Metric::QueriesMissed.at(&[&a, &b], workload);
    assert_eq!(missed(Some(0)), Some(12.5));
    assert_eq!(missed(Some(1)), Some(0.0));
    assert_eq!(missed(None), Some(100.0 * 5.0 / 46.0));
    assert_eq!(missed(Some(2)), None);
}

#[test]
fn largest_queue_is_of_any_seed() {
    let [small, large, unknown] =
        [Some(3_000), Some(7_500), None].map(|bytes| queries([1, 1], [1, 1], bytes));
    assert_eq!(Metric::QueueMax.at(&[&small, &large], None), Some(7.5));
    assert_eq!(Metric::QueueMax.at(&[&unknown], None), None);
}
