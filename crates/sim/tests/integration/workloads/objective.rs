//! Queries as units of success: answers at the root, its budget, and what is measured.

use super::fake::{Fake, run};
use super::setup::{fixed_deadline, kilobytes, of_class, oldi, scenario};
use duetime_core::{Span, Time};
use duetime_results::record::Class;
use duetime_scenario::model::*;
use duetime_sim::workload::Message;

/// Returns two aggregators of three leaves each, with a query every 50 ms, 30 ms for the root and 15 ms for the leaves.
fn two_layers() -> Oldi {
    Oldi {
        applications: 1,
        fan_in: vec![2, 3],
        layer_share: vec![1.0, 0.5],
        arrival: QueryArrival::Every(Gap::Fixed(Span::from_ms(50))),
        objective: Objective {
            within: vec![Span::from_ms(30)],
            answers: 1.0,
            share: None,
        },
        ..oldi()
    }
}

#[test]
fn queries_meet_their_budget_to_the_microsecond() {
    // One layer down and up takes 200 us; a leaf's answer also takes its computation.
    for (compute_us, within_us, in_time) in [(1_000, 1_200, true), (1_000, 1_199, false)] {
        let tree = Oldi {
            applications: 1,
            compute: Gap::Fixed(Span::from_us(compute_us)),
            objective: Objective {
                within: vec![Span::from_us(within_us)],
                answers: 1.0,
                share: None,
            },
            ..oldi()
        };
        for query in run(&scenario(5, vec![WorkloadKind::Oldi(tree.clone())])).queries {
            assert_eq!(query.met(), Some(in_time));
            assert_eq!(query.enough, Some(query.start + Span::from_us(1_200)));
            assert_eq!(query.leaves_in_time, if in_time { 4 } else { 0 });
            assert_eq!((query.asked, query.leaves, query.needed), (4, 4, 4));
        }
    }
}

#[test]
fn answers_without_leaves_do_not_count() {
    // Leaves compute longer than aggregators wait, so aggregators answer in time without leaves.
    let tree = Oldi {
        compute: Gap::Fixed(Span::from_ms(300)),
        ..two_layers()
    };
    let outcome = run(&scenario(9, vec![WorkloadKind::Oldi(tree)]));
    assert!(!outcome.queries.is_empty());
    for query in &outcome.queries {
        assert_eq!((query.answered, query.in_time, query.gave_up), (2, 2, 2));
        assert_eq!((query.leaves, query.leaves_answered), (6, 0));
        assert_eq!((query.enough, query.met()), (None, Some(false)));
        assert_eq!(query.asked, 8);
    }
    let empty = of_class(&outcome.messages, Class::Response).filter(|answer| answer.leaves == 0);
    assert_eq!(empty.count(), 2 * outcome.queries.len());
}

#[test]
fn aggregators_forward_received_leaves() {
    let scenario = scenario(9, vec![WorkloadKind::Oldi(two_layers())]);
    // Node 3 of the tree is the first leaf below node 1.
    let lost = |message: &Message| message.class == Class::Response && message.tag == 3;
    let outcome = Fake {
        lost: &lost,
        ..Fake::new(&scenario)
    }
    .run();
    for query in &outcome.queries {
        assert_eq!((query.leaves_answered, query.leaves_in_time), (5, 5));
        assert_eq!((query.met(), query.gave_up), (Some(false), 1));
    }
    for answer in of_class(&outcome.messages, Class::Response) {
        let expected = match answer.tag {
            1 => 2,
            2 => 3,
            _ => 1,
        };
        assert_eq!(answer.leaves, expected);
    }
}

#[test]
fn aggregators_give_up_when_configured() {
    let waits_and_give_ups = |give_up, deadline_from| {
        let tree = Oldi {
            give_up,
            deadline_from,
            ..two_layers()
        };
        let scenario = scenario(9, vec![WorkloadKind::Oldi(tree)]);
        let lost = |message: &Message| message.class == Class::Response && message.tag == 3;
        let outcome = Fake {
            lost: &lost,
            ..Fake::new(&scenario)
        }
        .run();
        let query = &outcome.queries[0];
        let answers = of_class(&outcome.messages, Class::Response)
            .filter(|answer| answer.tag == 1 && answer.query == Some(query.query));
        let waits: Vec<Span> = answers
            .map(|answer| answer.submitted.since(query.start))
            .collect();
        (waits, query.gave_up)
    };
    for from in [DeadlineFrom::Query, DeadlineFrom::Response] {
        let us = |us| (vec![Span::from_us(us)], 1);
        // The aggregator received the query 100 us after the root.
        assert_eq!(waits_and_give_ups(GiveUp::Children, from), us(15_100));
        assert_eq!(waits_and_give_ups(GiveUp::Own, from), us(30_000));
        assert_eq!(
            waits_and_give_ups(GiveUp::After(Span::from_ms(7)), from),
            us(7_100)
        );
        assert_eq!(waits_and_give_ups(GiveUp::Never, from), (vec![], 0));
    }
}

#[test]
fn leaf_deadlines_apply_without_a_budget() {
    let tree = Oldi {
        objective: Objective {
            within: vec![],
            answers: 0.5,
            share: None,
        },
        deadline: vec![fixed_deadline(30)],
        ..two_layers()
    };
    let judge = |lost: &dyn Fn(&Message) -> bool| {
        let scenario = scenario(9, vec![WorkloadKind::Oldi(tree.clone())]);
        let outcome = Fake {
            lost,
            ..Fake::new(&scenario)
        }
        .run();
        let query = outcome.queries[0].clone();
        (query.needed, query.leaves_in_time, query.met())
    };
    assert_eq!(judge(&|_| false), (3, 6, Some(true)));
    let lost_leaf = |message: &Message| message.class == Class::Response && message.tag == 3;
    assert_eq!(judge(&lost_leaf), (3, 5, Some(true)));
    let lost_both =
        |message: &Message| message.class == Class::Response && [1, 6].contains(&message.tag);
    assert_eq!(judge(&lost_both), (3, 2, Some(false)));
    let unjudged = Oldi {
        deadline: vec![Deadline::None],
        ..tree
    };
    let queries = run(&scenario(9, vec![WorkloadKind::Oldi(unjudged)])).queries;
    assert!(queries.iter().all(|query| query.met().is_none()));
}

#[test]
fn answers_are_measured_with_their_query() {
    let tree = Oldi {
        applications: 1,
        compute: Gap::Fixed(Span::from_ms(8)),
        response: vec![kilobytes(2)],
        ..oldi()
    };
    let mut scenario = scenario(5, vec![WorkloadKind::Oldi(tree)]);
    scenario.warm_up = Span::from_ms(15);
    scenario.duration = Span::from_ms(45);
    let outcome = run(&scenario);
    let end = Time::ZERO + scenario.duration;
    let measured = outcome.queries.iter().filter(|query| query.measured);
    let asked: u32 = measured.map(|query| query.asked).sum();
    let answers = of_class(&outcome.messages, Class::Response).filter(|answer| answer.measured);
    assert_eq!(answers.clone().count() as u32, asked);
    // The last answers are submitted after the measurement window, and some answers within it belong to earlier
    // queries.
    assert!(answers.clone().any(|answer| answer.submitted >= end));
    for answer in of_class(&outcome.messages, Class::Response) {
        let query = outcome
            .queries
            .iter()
            .find(|query| Some(query.query) == answer.query);
        assert_eq!(Some(answer.measured), query.map(|query| query.measured));
    }
}
