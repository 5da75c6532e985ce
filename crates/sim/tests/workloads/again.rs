//! Leaves that are asked again: hedges and retries, each question by hand.

use crate::fake::{Fake, Outcome};
use crate::setup::{of_class, oldi, scenario};
use duetime_core::{Bytes, Span};
use duetime_results::record::Class;
use duetime_scenario::Scenario;
use duetime_scenario::model::*;
use duetime_sim::workload::Message;
use std::collections::BTreeSet;

const MS: fn(u64) -> Span = Span::from_ms;
/// How long a message takes in the fake network.
const WAY: Span = Span::from_us(100);

/// One tree of one leaf, a query every 100 ms.
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

fn outcome(tree: Oldi, lost: &dyn Fn(&Message) -> bool) -> Outcome {
    let scenario = scenario(10, vec![WorkloadKind::Oldi(tree)]);
    Fake {
        lost,
        ..Fake::new(&scenario)
    }
    .run()
}

/// What happened to the first query's leaf: when each message was submitted after the query's arrival, and where it went.
fn story(of: &Outcome) -> Vec<(Class, Span, u32)> {
    let query = &of.queries[0];
    let mut messages: Vec<&Message> = (of.messages.iter())
        .filter(|it| it.query == Some(query.query))
        .collect();
    messages.sort_by_key(|it| (it.submitted, it.flow));
    let told = |it: &&Message| {
        let away = if it.source == query.root {
            it.destination
        } else {
            it.source
        };
        (it.class, it.submitted.since(query.start), away)
    };
    messages.iter().map(told).collect()
}

#[test]
fn a_leaf_that_is_slow_is_asked_again_elsewhere_and_the_first_answer_counts() {
    // Both computations take 10 ms: the first question wins, and the host of the hedge is told to stop.
    let tree = Oldi {
        hedge: Some(hedge(HedgeAfter::Time(MS(2)), true)),
        ..one_leaf(Gap::Fixed(MS(10)))
    };
    let of = outcome(tree.clone(), &|_| false);
    let story = story(&of);
    let (leaf, other) = (story[0].2, story[1].2);
    assert_ne!(leaf, other);
    assert_eq!(
        story,
        [
            (Class::Query, Span::ZERO, leaf),
            (Class::Query, MS(2), other),
            (Class::Response, MS(10) + WAY, leaf),
            (Class::Cancel, MS(10) + WAY * 2, other),
        ]
    );
    let query = &of.queries[0];
    assert_eq!(
        (query.hedges.0, query.hedges_won.0, query.extra_computes.0),
        (1, 0, 1)
    );
    assert_eq!((query.answered, query.leaves_answered), (1, 1));
    assert_eq!(query.complete, Some(query.start + MS(10) + WAY * 2));
    // It was still computing: there is no answer to abort, and none comes for nothing.
    assert!(of.aborted.is_empty() && of.spare.is_empty());

    // Without a cancellation the second answer comes for nothing.
    let tree = Oldi {
        hedge: Some(hedge(HedgeAfter::Time(MS(2)), false)),
        ..tree
    };
    let of = outcome(tree, &|_| false);
    assert_eq!(of_class(&of.messages, Class::Cancel).count(), 0);
    let answers: Vec<u64> = of_class(&of.messages, Class::Response)
        .filter(|it| it.source == other)
        .map(|it| it.flow)
        .collect();
    assert!(answers.iter().any(|flow| of.spare.contains(flow)));
    assert_eq!(of.spare.len(), of.queries.len());
    assert!(of.queries.iter().all(|query| query.answered == 1));
}

#[test]
fn a_leaf_that_answers_in_time_is_not_asked_again() {
    let tree = Oldi {
        hedge: Some(hedge(HedgeAfter::Time(MS(20)), true)),
        retry: Some(retry(MS(30), 3, RetryAt::Other, true)),
        ..one_leaf(Gap::Fixed(MS(10)))
    };
    let of = outcome(tree.clone(), &|_| false);
    let plain = Oldi {
        hedge: None,
        retry: None,
        ..tree
    };
    assert_eq!(of, outcome(plain, &|_| false));
}

#[test]
fn a_hedge_wins_where_the_first_question_is_lost() {
    let tree = Oldi {
        hedge: Some(hedge(HedgeAfter::Time(MS(2)), true)),
        ..one_leaf(Gap::Fixed(MS(10)))
    };
    let first = |it: &Message| it.class == Class::Query && it.submitted == it.asked;
    let of = outcome(tree, &first);
    for query in &of.queries {
        assert_eq!((query.hedges.0, query.hedges_won.0), (1, 1));
        assert_eq!(query.complete, Some(query.start + MS(12) + WAY * 2));
    }
    // The host of the first question has nothing to stop: it is told all the same.
    let cancels = of_class(&of.messages, Class::Cancel).count();
    assert_eq!(cancels, of.queries.len());
}

#[test]
fn an_answer_on_its_way_is_aborted_by_the_cancellation() {
    // The answer of the hedge is lost in the fake network; that of the first question comes, and cancels it.
    let tree = Oldi {
        hedge: Some(hedge(HedgeAfter::Time(Span::from_us(50)), true)),
        ..one_leaf(Gap::Fixed(MS(1)))
    };
    let of = outcome(tree, &|it| {
        it.class == Class::Response && it.record().attempt.0 == 1
    });
    let hedged: BTreeSet<u64> = of_class(&of.messages, Class::Response)
        .filter(|it| it.record().attempt.0 == 1)
        .map(|it| it.flow)
        .collect();
    assert_eq!(hedged.len(), of.queries.len());
    assert_eq!(of.aborted, hedged);
}

#[test]
fn retries_follow_one_another_until_there_are_no_more() {
    let lost = |it: &Message| it.class == Class::Query;
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
        let of = outcome(tree, &lost);
        let story = story(&of);
        let asked: Vec<(Span, u32)> = (story.iter())
            .filter(|it| it.0 == Class::Query)
            .map(|it| (it.1, it.2))
            .collect();
        let times: Vec<Span> = asked.iter().map(|it| it.0).collect();
        assert_eq!(times, [Span::ZERO, MS(5), MS(10), MS(15)]);
        let hosts: BTreeSet<u32> = asked.iter().map(|it| it.1).collect();
        let expected = if at == RetryAt::Same { 1 } else { 4 };
        assert_eq!(hosts.len(), expected, "{asked:?}");
        // Each retry cancels the question before it.
        let cancelled: Vec<(Span, u32)> = (story.iter())
            .filter(|it| it.0 == Class::Cancel)
            .map(|it| (it.1, it.2))
            .collect();
        let expected: Vec<(Span, u32)> = (asked.windows(2))
            .filter(|_| cancel)
            .map(|pair| (pair[1].0, pair[0].1))
            .collect();
        assert_eq!(cancelled, expected);
        assert!(
            of.queries
                .iter()
                .all(|query| (query.retries.0, query.answered) == (3, 0))
        );
    }
}

#[test]
fn an_answer_after_the_timeout_counts_unless_its_question_was_cancelled() {
    // Every computation takes 7 ms. The first answer comes at 7.2 ms, the retry's at 12.2 ms.
    for (cancel, complete) in [(false, 7), (true, 12)] {
        let tree = Oldi {
            retry: Some(retry(MS(5), 1, RetryAt::Other, cancel)),
            ..one_leaf(Gap::Fixed(MS(7)))
        };
        // A cancellation that comes too late, or never.
        let of = outcome(tree, &|it| it.class == Class::Cancel);
        for query in &of.queries {
            assert_eq!(query.complete, Some(query.start + MS(complete) + WAY * 2));
            let won = u32::from(cancel);
            assert_eq!((query.retries.0, query.retries_won.0), (1, won));
            assert_eq!(query.answered, 1);
        }
        assert_eq!(of.spare.len(), of.queries.len());
    }
}

/// Ten hosts and one leaf, hedged at the median, for a minute.
fn hedged_at_the_median(compute: Gap) -> Outcome {
    let tree = Oldi {
        hedge: Some(hedge(HedgeAfter::Percentile(0.5), false)),
        // Without a transport, a packet counts as one byte and its headers.
        response: vec![Size::Fixed(Bytes(100))],
        ..one_leaf(compute)
    };
    let mut scenario = scenario(10, vec![WorkloadKind::Oldi(tree)]);
    scenario.duration = Span::from_secs(60);
    Fake::new(&scenario).run()
}

/// When a query's leaf was asked, after the query's arrival.
fn asked(of: &Outcome, number: usize) -> Vec<Span> {
    let query = &of.queries[number];
    of_class(&of.messages, Class::Query)
        .filter(|it| it.query == Some(query.query))
        .map(|it| it.submitted.since(query.start))
        .collect()
}

#[test]
fn a_percentile_is_of_the_answers_seen() {
    // Ten samples are enough for the median of ten answers to be known.
    let of = hedged_at_the_median(Gap::Uniform(MS(1), MS(3)));
    let took = |number: usize| {
        let query = &of.queries[number];
        query.complete.unwrap().since(query.start)
    };
    let mut first: Vec<Span> = (0..10).map(took).collect();
    first.sort_unstable();
    if took(10) > first[4] {
        assert_eq!(asked(&of, 10), [Span::ZERO, first[4]]);
    } else {
        assert_eq!(asked(&of, 10), [Span::ZERO]);
    }
    // Half of all later leaves are asked again: the second question hides nothing from the percentile.
    let later = &of.queries[100..];
    let hedged = later.iter().filter(|query| query.hedges.0 > 0).count();
    let share = hedged as f64 / later.len() as f64;
    assert!((share - 0.5).abs() < 0.07, "{share} of {}", later.len());
}

#[test]
fn the_first_query_is_hedged_as_declared() {
    // The declared median is 2 ms, and the messages take less than half a millisecond of an idle network.
    let of = hedged_at_the_median(Gap::Uniform(MS(1), MS(3)));
    let hedges: Vec<Span> = (0..10)
        .filter_map(|at| asked(&of, at).get(1).copied())
        .collect();
    assert!(hedges.len() > 1, "{hedges:?}");
    let first = hedges[0];
    assert!(
        first >= MS(2) && first < MS(2) + Span::from_us(500),
        "{first}"
    );
}

#[test]
fn without_a_computation_the_first_are_not_hedged() {
    // Answers take as long as the network does: nothing declared says how long.
    let of = hedged_at_the_median(Gap::ZERO);
    assert!(of.queries[..10].iter().all(|query| query.hedges.0 == 0));
}

#[test]
fn replicas_are_no_hosts_of_the_tree_where_there_are_others() {
    let of = |hosts: u32| {
        let tree = Oldi {
            fan_in: vec![4],
            hedge: Some(hedge(HedgeAfter::Time(MS(1)), false)),
            retry: Some(retry(MS(2), 2, RetryAt::Other, false)),
            ..one_leaf(Gap::Fixed(MS(30)))
        };
        let scenario = scenario(hosts, vec![WorkloadKind::Oldi(tree)]);
        Fake::new(&scenario).run()
    };
    let questions = |of: &Outcome, first: bool| -> BTreeSet<u32> {
        let of_kind = of_class(&of.messages, Class::Query);
        let of_kind = of_kind.filter(|it| (it.submitted == it.asked) == first);
        of_kind.map(|it| it.destination).collect()
    };
    let roomy = of(20);
    let (tree, replicas) = (questions(&roomy, true), questions(&roomy, false));
    assert_eq!(tree.len(), 4);
    assert!(tree.is_disjoint(&replicas));
    assert!(!replicas.contains(&roomy.queries[0].root) && replicas.len() == 15);
    // Of five hosts all are in the tree: another leaf's, never the parent's.
    let tight = of(5);
    let replicas = questions(&tight, false);
    assert_eq!(replicas, questions(&tight, true));
    assert!(!replicas.contains(&tight.queries[0].root));
    assert!(tight.queries.iter().all(|query| query.answered == 4));
}

#[test]
fn two_layers_ask_their_leaves_again_and_no_aggregator() {
    let tree = Oldi {
        fan_in: vec![2, 3],
        layer_share: vec![1.0, 0.5],
        layer_response: vec![Size::Fixed(Bytes(7_000)), Size::Fixed(Bytes(100))],
        response: Vec::new(),
        aggregate_compute: Gap::Fixed(MS(3)),
        hedge: Some(hedge(HedgeAfter::Time(MS(2)), true)),
        ..one_leaf(Gap::Fixed(MS(10)))
    };
    let of = outcome_of(&scenario(30, vec![WorkloadKind::Oldi(tree)]), 1);
    for query in &of.queries {
        assert_eq!(
            (query.hedges.0, query.leaves, query.leaves_answered),
            (6, 6, 6)
        );
        // Down and up two layers, the leaf's computation and the aggregator's.
        assert_eq!(query.complete, Some(query.start + MS(13) + WAY * 4));
    }
    for answer in of_class(&of.messages, Class::Response) {
        let is_root = of.queries[0].root == answer.destination;
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
fn any_split_of_the_hosts_asks_the_same_questions() {
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
    assert!(sum(|of| of.hedges_won.0) > 50 && sum(|of| of.retries_won.0) > 5);
    for parts in [2, 3, 7] {
        assert_eq!(outcome_of(&scenario, parts), one, "{parts} parts");
    }
}
