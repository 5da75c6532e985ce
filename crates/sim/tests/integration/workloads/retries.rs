//! Hedges and retries of leaves, with each attempt computed by hand.

use super::fake::{Fake, Outcome};
use super::setup::{of_class, oldi, scenario};
use duetime_core::{Bytes, Span};
use duetime_results::record::Class;
use duetime_scenario::Scenario;
use duetime_scenario::model::*;
use duetime_sim::workload::Message;
use std::collections::BTreeSet;

const MS: fn(u64) -> Span = Span::from_ms;
/// Delay of a message in the fake network.
const DELAY: Span = Span::from_us(100);

/// Returns one tree with one leaf and a query every 100 ms.
fn one_leaf(compute: Gap) -> Oldi {
    Oldi {
        applications: 1,
        fan_in: vec![1],
        deadline: vec![Deadline::None],
        arrival: QueryArrival::Every(Gap::Fixed(MS(100))),
        compute,
        ..oldi()
    }
}

fn hedge(after: HedgeAfter, cancel: bool) -> Hedge {
    Hedge {
        after,
        cancel,
        samples: 10,
        window: 100,
    }
}

fn retry(timeout: Span, times: u32, at: RetryAt, cancel: bool) -> Retry {
    Retry {
        timeout,
        times,
        at,
        cancel,
    }
}

fn run_tree(tree: Oldi, lost: &dyn Fn(&Message) -> bool) -> Outcome {
    let scenario = scenario(10, vec![WorkloadKind::Oldi(tree)]);
    Fake {
        lost,
        ..Fake::new(&scenario)
    }
    .run()
}

/// Returns the messages of the first query's leaf: class, time after the query's arrival, and leaf host.
fn timeline(outcome: &Outcome) -> Vec<(Class, Span, u32)> {
    let query = &outcome.queries[0];
    let mut messages: Vec<&Message> = (outcome.messages.iter())
        .filter(|message| message.query == Some(query.query))
        .collect();
    messages.sort_by_key(|message| (message.submitted, message.flow));
    let entry = |message: &&Message| {
        let leaf = if message.source == query.root {
            message.destination
        } else {
            message.source
        };
        (message.class, message.submitted.since(query.start), leaf)
    };
    messages.iter().map(entry).collect()
}

#[test]
fn slow_leaves_are_hedged_and_the_first_counts() {
    // Both computations take 10 ms: the first attempt wins, and the hedge's host is cancelled.
    let tree = Oldi {
        hedge: Some(hedge(HedgeAfter::Time(MS(2)), true)),
        ..one_leaf(Gap::Fixed(MS(10)))
    };
    let outcome = run_tree(tree.clone(), &|_| false);
    let timeline = timeline(&outcome);
    let (leaf, other) = (timeline[0].2, timeline[1].2);
    assert_ne!(leaf, other);
    assert_eq!(
        timeline,
        [
            (Class::Query, Span::ZERO, leaf),
            (Class::Query, MS(2), other),
            (Class::Response, MS(10) + DELAY, leaf),
            (Class::Cancel, MS(10) + DELAY * 2, other),
        ]
    );
    let query = &outcome.queries[0];
    assert_eq!(
        (query.hedges.0, query.hedges_won.0, query.extra_computes.0),
        (1, 0, 1)
    );
    assert_eq!((query.answered, query.leaves_answered), (1, 1));
    assert_eq!(query.complete, Some(query.start + MS(10) + DELAY * 2));
    // The cancelled host was still computing, so no answer is aborted or spare.
    assert!(outcome.aborted.is_empty() && outcome.spare.is_empty());

    // Without a cancellation the second answer is spare.
    let tree = Oldi {
        hedge: Some(hedge(HedgeAfter::Time(MS(2)), false)),
        ..tree
    };
    let outcome = run_tree(tree, &|_| false);
    assert_eq!(of_class(&outcome.messages, Class::Cancel).count(), 0);
    let answers: Vec<u64> = of_class(&outcome.messages, Class::Response)
        .filter(|answer| answer.source == other)
        .map(|answer| answer.flow)
        .collect();
    assert!(answers.iter().any(|flow| outcome.spare.contains(flow)));
    assert_eq!(outcome.spare.len(), outcome.queries.len());
    assert!(outcome.queries.iter().all(|query| query.answered == 1));
}

#[test]
fn fast_leaves_are_neither_hedged_nor_retried() {
    let tree = Oldi {
        hedge: Some(hedge(HedgeAfter::Time(MS(20)), true)),
        retry: Some(retry(MS(30), 3, RetryAt::Other, true)),
        ..one_leaf(Gap::Fixed(MS(10)))
    };
    let hedged = run_tree(tree.clone(), &|_| false);
    let plain = Oldi {
        hedge: None,
        retry: None,
        ..tree
    };
    assert_eq!(hedged, run_tree(plain, &|_| false));
}

#[test]
fn hedges_win_when_the_first_request_is_lost() {
    let tree = Oldi {
        hedge: Some(hedge(HedgeAfter::Time(MS(2)), true)),
        ..one_leaf(Gap::Fixed(MS(10)))
    };
    let first =
        |message: &Message| message.class == Class::Query && message.submitted == message.asked;
    let outcome = run_tree(tree, &first);
    for query in &outcome.queries {
        assert_eq!((query.hedges.0, query.hedges_won.0), (1, 1));
        assert_eq!(query.complete, Some(query.start + MS(12) + DELAY * 2));
    }
    // The first request was lost, but its host is cancelled all the same.
    let cancels = of_class(&outcome.messages, Class::Cancel).count();
    assert_eq!(cancels, outcome.queries.len());
}

#[test]
fn cancellations_abort_answers_in_flight() {
    // The fake network loses the hedge's answer; the first attempt's arrives and cancels it.
    let tree = Oldi {
        hedge: Some(hedge(HedgeAfter::Time(Span::from_us(50)), true)),
        ..one_leaf(Gap::Fixed(MS(1)))
    };
    let outcome = run_tree(tree, &|message| {
        message.class == Class::Response && message.record().attempt.0 == 1
    });
    let hedged: BTreeSet<u64> = of_class(&outcome.messages, Class::Response)
        .filter(|answer| answer.record().attempt.0 == 1)
        .map(|answer| answer.flow)
        .collect();
    assert_eq!(hedged.len(), outcome.queries.len());
    assert_eq!(outcome.aborted, hedged);
}

#[test]
fn retries_repeat_up_to_their_limit() {
    let lost = |message: &Message| message.class == Class::Query;
    for (at, cancel) in [
        (RetryAt::Other, true),
        (RetryAt::Other, false),
        (RetryAt::Same, true),
        (RetryAt::Same, false),
    ] {
        let tree = Oldi {
            retry: Some(retry(MS(5), 3, at, cancel)),
            ..one_leaf(Gap::ZERO)
        };
        let outcome = run_tree(tree, &lost);
        let timeline = timeline(&outcome);
        let requests: Vec<(Span, u32)> = (timeline.iter())
            .filter(|entry| entry.0 == Class::Query)
            .map(|entry| (entry.1, entry.2))
            .collect();
        let times: Vec<Span> = requests.iter().map(|request| request.0).collect();
        assert_eq!(times, [Span::ZERO, MS(5), MS(10), MS(15)]);
        let hosts: BTreeSet<u32> = requests.iter().map(|request| request.1).collect();
        let expected = if at == RetryAt::Same { 1 } else { 4 };
        assert_eq!(hosts.len(), expected, "{requests:?}");
        // Each retry cancels the attempt before it.
        let cancelled: Vec<(Span, u32)> = (timeline.iter())
            .filter(|entry| entry.0 == Class::Cancel)
            .map(|entry| (entry.1, entry.2))
            .collect();
        let expected: Vec<(Span, u32)> = (requests.windows(2))
            .filter(|_| cancel)
            .map(|pair| (pair[1].0, pair[0].1))
            .collect();
        assert_eq!(cancelled, expected);
        assert!(
            outcome
                .queries
                .iter()
                .all(|query| (query.retries.0, query.answered) == (3, 0))
        );
    }
}

#[test]
fn late_answers_count_unless_cancelled() {
    // Every computation takes 7 ms. The first answer arrives at 7.2 ms, the retry's at 12.2 ms.
    for (cancel, complete) in [(false, 7), (true, 12)] {
        let tree = Oldi {
            retry: Some(retry(MS(5), 1, RetryAt::Other, cancel)),
            ..one_leaf(Gap::Fixed(MS(7)))
        };
        // Cancellations are lost.
        let outcome = run_tree(tree, &|message| message.class == Class::Cancel);
        for query in &outcome.queries {
            assert_eq!(query.complete, Some(query.start + MS(complete) + DELAY * 2));
            let won = u32::from(cancel);
            assert_eq!((query.retries.0, query.retries_won.0), (1, won));
            assert_eq!(query.answered, 1);
        }
        assert_eq!(outcome.spare.len(), outcome.queries.len());
    }
}

/// Runs a tree of one leaf on ten hosts for a minute, hedged at the median.
fn hedged_at_the_median(compute: Gap) -> Outcome {
    let tree = Oldi {
        hedge: Some(hedge(HedgeAfter::Percentile(0.5), false)),
        // Without a transport, each packet counts as one byte plus headers, so the answer is small.
        response: vec![Size::Fixed(Bytes(100))],
        ..one_leaf(compute)
    };
    let mut scenario = scenario(10, vec![WorkloadKind::Oldi(tree)]);
    scenario.duration = Span::from_secs(60);
    Fake::new(&scenario).run()
}

/// Returns the submission times of a query's requests, after the query's arrival.
fn request_times(outcome: &Outcome, number: usize) -> Vec<Span> {
    let query = &outcome.queries[number];
    of_class(&outcome.messages, Class::Query)
        .filter(|request| request.query == Some(query.query))
        .map(|request| request.submitted.since(query.start))
        .collect()
}

#[test]
fn percentiles_come_from_earlier_answers() {
    // Ten samples suffice, so the eleventh query uses the median of ten answers.
    let outcome = hedged_at_the_median(Gap::Uniform(MS(1), MS(3)));
    let completion = |number: usize| {
        let query = &outcome.queries[number];
        query.complete.unwrap().since(query.start)
    };
    let mut earlier: Vec<Span> = (0..10).map(completion).collect();
    earlier.sort_unstable();
    if completion(10) > earlier[4] {
        assert_eq!(request_times(&outcome, 10), [Span::ZERO, earlier[4]]);
    } else {
        assert_eq!(request_times(&outcome, 10), [Span::ZERO]);
    }
    // Half of all later leaves are hedged, so the hedges do not bias the percentile.
    let later = &outcome.queries[100..];
    let hedged = later.iter().filter(|query| query.hedges.0 > 0).count();
    let share = hedged as f64 / later.len() as f64;
    assert!((share - 0.5).abs() < 0.07, "{share} of {}", later.len());
}

#[test]
fn first_query_is_hedged_at_the_declared_median() {
    // The declared median is 2 ms, and the messages take less than 0.5 ms in an idle network.
    let outcome = hedged_at_the_median(Gap::Uniform(MS(1), MS(3)));
    let hedges: Vec<Span> = (0..10)
        .filter_map(|number| request_times(&outcome, number).get(1).copied())
        .collect();
    assert!(hedges.len() > 1, "{hedges:?}");
    let first = hedges[0];
    assert!(
        first >= MS(2) && first < MS(2) + Span::from_us(500),
        "{first}"
    );
}

#[test]
fn first_queries_need_a_compute_time_to_hedge() {
    // Without a computation, nothing declares the time of an answer.
    let outcome = hedged_at_the_median(Gap::ZERO);
    assert!(
        outcome.queries[..10]
            .iter()
            .all(|query| query.hedges.0 == 0)
    );
}

#[test]
fn replicas_avoid_hosts_of_the_tree() {
    let outcome_on = |hosts: u32| {
        let tree = Oldi {
            fan_in: vec![4],
            hedge: Some(hedge(HedgeAfter::Time(MS(1)), false)),
            retry: Some(retry(MS(2), 2, RetryAt::Other, false)),
            ..one_leaf(Gap::Fixed(MS(30)))
        };
        let scenario = scenario(hosts, vec![WorkloadKind::Oldi(tree)]);
        Fake::new(&scenario).run()
    };
    let request_hosts = |outcome: &Outcome, first: bool| -> BTreeSet<u32> {
        let requests = of_class(&outcome.messages, Class::Query);
        let requests = requests.filter(|request| (request.submitted == request.asked) == first);
        requests.map(|request| request.destination).collect()
    };
    let roomy = outcome_on(20);
    let (tree, replicas) = (request_hosts(&roomy, true), request_hosts(&roomy, false));
    assert_eq!(tree.len(), 4);
    assert!(tree.is_disjoint(&replicas));
    assert!(!replicas.contains(&roomy.queries[0].root) && replicas.len() == 15);
    // With only five hosts, replicas are the hosts of other leaves, never of the parent.
    let tight = outcome_on(5);
    let replicas = request_hosts(&tight, false);
    assert_eq!(replicas, request_hosts(&tight, true));
    assert!(!replicas.contains(&tight.queries[0].root));
    assert!(tight.queries.iter().all(|query| query.answered == 4));
}

#[test]
fn two_layers_hedge_leaves_only() {
    let tree = Oldi {
        fan_in: vec![2, 3],
        layer_share: vec![1.0, 0.5],
        layer_response: vec![Size::Fixed(Bytes(7_000)), Size::Fixed(Bytes(100))],
        response: Vec::new(),
        aggregate_compute: Gap::Fixed(MS(3)),
        hedge: Some(hedge(HedgeAfter::Time(MS(2)), true)),
        ..one_leaf(Gap::Fixed(MS(10)))
    };
    let outcome = outcome_of(&scenario(30, vec![WorkloadKind::Oldi(tree)]), 1);
    for query in &outcome.queries {
        assert_eq!(
            (query.hedges.0, query.leaves, query.leaves_answered),
            (6, 6, 6)
        );
        // Two layers down and up, the leaf's computation and the aggregator's.
        assert_eq!(query.complete, Some(query.start + MS(13) + DELAY * 4));
    }
    for answer in of_class(&outcome.messages, Class::Response) {
        let is_root = outcome.queries[0].root == answer.destination;
        assert_eq!(answer.bytes, if is_root { 7_000 } else { 100 });
    }
}

fn outcome_of(scenario: &Scenario, parts: u32) -> Outcome {
    Fake {
        parts,
        ..Fake::new(scenario)
    }
    .run()
}

#[test]
fn splitting_hosts_keeps_the_same_requests() {
    let lognormal = Gap::LogNormal {
        median: MS(2),
        sigma: 1.0,
    };
    let tree = Oldi {
        fan_in: vec![3, 4],
        layer_share: vec![1.0, 0.5],
        hedge: Some(hedge(HedgeAfter::Percentile(0.8), true)),
        retry: Some(retry(MS(9), 2, RetryAt::Other, true)),
        aggregate_compute: lognormal.clone(),
        arrival: QueryArrival::Every(Gap::Exponential(MS(5))),
        ..one_leaf(lognormal)
    };
    let scenario = scenario(40, vec![WorkloadKind::Oldi(tree)]);
    let one = outcome_of(&scenario, 1);
    let sum = |pick: fn(&duetime_results::QueryRecord) -> u32| -> u32 {
        one.queries.iter().map(pick).sum()
    };
    assert!(sum(|query| query.hedges_won.0) > 50 && sum(|query| query.retries_won.0) > 5);
    for parts in [2, 3, 7] {
        assert_eq!(outcome_of(&scenario, parts), one, "{parts} parts");
    }
}
