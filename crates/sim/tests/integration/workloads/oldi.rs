//! Trees of queries, from the root to the leaves and back.

use super::fake::{Fake, run};
use super::setup::{fixed_deadline, flows_per_second, kilobytes, of_class, oldi, place, scenario};
use duetime_core::{Bytes, Span, Time};
use duetime_results::record::{Class, QueryRecord};
use duetime_scenario::model::*;
use duetime_sim::workload::Message;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Returns the time from the query's arrival to its last required answer.
fn completion(query: &QueryRecord) -> Span {
    query.complete.unwrap().since(query.start)
}

#[test]
fn queries_go_down_and_answers_come_up() {
    let scenario = scenario(10, vec![WorkloadKind::Oldi(oldi())]);
    let outcome = run(&scenario);
    // Two trees with a query every 10 ms, for a second.
    assert_eq!(outcome.queries.len(), 200);
    for query in &outcome.queries {
        assert_eq!(
            (
                query.children,
                query.answered,
                query.in_time,
                query.measured
            ),
            (4, 4, 4, true)
        );
        // 100 us each down and up, without computation.
        assert_eq!(completion(query), Span::from_us(200));
        let messages: Vec<&Message> = outcome
            .messages
            .iter()
            .filter(|message| message.query == Some(query.query))
            .collect();
        assert_eq!(messages.len(), 8);
        for message in messages {
            if message.class == Class::Query {
                assert_eq!(
                    (message.source, message.bytes, message.deadline),
                    (query.root, 100, None)
                );
                assert_eq!(message.submitted, query.start);
            } else {
                assert_eq!((message.destination, message.bytes), (query.root, 10_000));
                assert_eq!(message.submitted, query.start + Span::from_us(100));
                assert_eq!(message.deadline, Some(query.start + Span::from_ms(30)));
            }
        }
    }
    let applications: BTreeSet<u16> = outcome
        .queries
        .iter()
        .map(|query| query.application)
        .collect();
    assert_eq!(applications.len(), 2);
}

#[test]
fn deadlines_start_at_query_or_response() {
    let at_response = Oldi {
        deadline_from: DeadlineFrom::Response,
        compute: Gap::Fixed(Span::from_ms(4)),
        jitter: Gap::Uniform(Span::from_ms(1), Span::from_ms(2)),
        query_deadline: fixed_deadline(7),
        ..oldi()
    };
    let at_query = Oldi {
        deadline_from: DeadlineFrom::Query,
        ..at_response.clone()
    };
    for (tree, start_jitter) in [
        (at_response.clone(), false),
        (at_response, true),
        (at_query.clone(), false),
        (at_query, true),
    ] {
        let from = tree.deadline_from;
        let mut scenario = scenario(10, vec![WorkloadKind::Oldi(tree)]);
        scenario.host.start_jitter = start_jitter;
        let outcome = run(&scenario);
        let start = |message: &Message| {
            let query = outcome
                .queries
                .iter()
                .find(|query| Some(query.query) == message.query);
            query.unwrap().start
        };
        let packet_time = Span::from_us(12);
        for query in of_class(&outcome.messages, Class::Query) {
            assert!(query.submitted.since(start(query)) <= packet_time);
            assert_eq!(query.deadline, Some(query.submitted + Span::from_ms(7)));
        }
        for answer in of_class(&outcome.messages, Class::Response) {
            let deadline_start = if from == DeadlineFrom::Query {
                start(answer)
            } else {
                answer.submitted
            };
            assert_eq!(answer.deadline, Some(deadline_start + Span::from_ms(30)));
            let waited = answer.submitted.since(start(answer));
            assert!(
                waited >= Span::from_us(5_100) && waited <= Span::from_us(6_100) + packet_time * 2,
                "{waited}"
            );
        }
    }
}

#[test]
fn queries_complete_at_k_of_n_answers() {
    let tree = Oldi {
        fan_in: vec![20],
        complete_at: 0.95,
        compute: Gap::Uniform(Span::ZERO, Span::from_ms(40)),
        applications: 1,
        ..oldi()
    };
    let scenario = scenario(21, vec![WorkloadKind::Oldi(tree)]);
    let outcome = run(&scenario);
    for query in &outcome.queries {
        let mut arrivals: Vec<(Time, bool)> = of_class(&outcome.messages, Class::Response)
            .filter(|answer| answer.query == Some(query.query))
            .map(|answer| {
                (
                    answer.submitted + Span::from_us(100),
                    answer.submitted + Span::from_us(100) <= answer.deadline.unwrap(),
                )
            })
            .collect();
        arrivals.sort_unstable();
        // 0.95 × 20 = 19 exactly.
        assert_eq!(query.complete, Some(arrivals[18].0));
        assert_eq!(query.answered, 20);
        assert_eq!(
            query.in_time as usize,
            arrivals.iter().filter(|arrival| arrival.1).count()
        );
    }
    assert!(outcome.queries.iter().any(|query| query.in_time < 19));
}

#[test]
fn layers_pass_queries_down_and_answers_up() {
    let tree = Oldi {
        applications: 1,
        fan_in: vec![3, 2, 2],
        layer_share: vec![1.0, 0.6, 0.3],
        compute: Gap::Fixed(Span::from_ms(1)),
        ..oldi()
    };
    // 1 + 3 + 6 + 12 nodes.
    let scenario = scenario(22, vec![WorkloadKind::Oldi(tree)]);
    let outcome = run(&scenario);
    assert_eq!(
        of_class(&outcome.messages, Class::Query).count(),
        outcome.queries.len() * 21
    );
    assert_eq!(
        of_class(&outcome.messages, Class::Response).count(),
        outcome.queries.len() * 21
    );
    for query in &outcome.queries {
        // Six times 100 us, and 1 ms at the leaves only.
        assert_eq!(completion(query), Span::from_us(1_600));
        assert_eq!((query.children, query.in_time), (3, 3));
        for answer in of_class(&outcome.messages, Class::Response)
            .filter(|answer| answer.query == Some(query.query))
        {
            // The answer's time shows its layer; a layer's deadline counts from the arrival of the query at its parent.
            let (down, budget_ms) = match answer.submitted.since(query.start).as_ns() / 1_000 {
                1_300 => (200, 9),
                1_400 => (100, 18),
                _ => (0, 30),
            };
            assert_eq!(
                answer.deadline,
                Some(query.start + Span::from_us(down) + Span::from_ms(budget_ms))
            );
        }
    }
}

#[test]
fn aggregators_answer_without_late_children() {
    let tree = Oldi {
        applications: 1,
        fan_in: vec![2, 3],
        layer_share: vec![1.0, 0.5],
        arrival: QueryArrival::Every(Gap::Fixed(Span::from_ms(50))),
        ..oldi()
    };
    for deadline_from in [DeadlineFrom::Query, DeadlineFrom::Response] {
        let tree = Oldi {
            deadline_from,
            ..tree.clone()
        };
        let scenario = scenario(9, vec![WorkloadKind::Oldi(tree)]);
        // The answers of one leaf are lost: node 3 of the tree, the first child of node 1.
        let lost = |message: &Message| message.class == Class::Response && message.tag == 3;
        let outcome = Fake {
            lost: &lost,
            ..Fake::new(&scenario)
        }
        .run();
        for query in &outcome.queries {
            // One layer down, 15 ms of waiting, one layer up.
            assert_eq!(completion(query), Span::from_us(15_200));
            assert_eq!((query.answered, query.in_time), (2, 2));
        }
    }
}

#[test]
fn back_to_back_queries_follow_answer_or_deadline() {
    let tree = Oldi {
        applications: 1,
        arrival: QueryArrival::BackToBack,
        ..oldi()
    };
    let scenario = scenario(5, vec![WorkloadKind::Oldi(tree)]);
    let queries = run(&scenario).queries;
    assert_eq!(queries.len(), 5_000);
    assert!(
        queries
            .windows(2)
            .all(|pair| pair[0].complete == Some(pair[1].start))
    );

    let lost = |message: &Message| {
        message.class == Class::Response && message.query.unwrap() as u32 % 2 == 1
    };
    let queries = Fake {
        lost: &lost,
        ..Fake::new(&scenario)
    }
    .run()
    .queries;
    for pair in queries.windows(2) {
        let gap = pair[1].start.since(pair[0].start);
        let lost = pair[0].query as u32 % 2 == 1;
        assert_eq!(
            (gap, pair[0].complete.is_none()),
            (
                if lost {
                    Span::from_ms(30)
                } else {
                    Span::from_us(200)
                },
                lost
            )
        );
    }
}

#[test]
fn queries_arrive_at_the_given_load() {
    let sizes = [20, 60, 100, 140, 180].map(kilobytes);
    // Each application has 5 trees, and a query has 40 answers.
    let queries = |size: &Size| 5.0 * flows_per_second(0.15 * 1e9, size) / 40.0 * 20.0;
    let queries: f64 = sizes.iter().map(queries).sum();
    for poisson in [false, true] {
        let tree = Oldi {
            applications: 5,
            trees: 5,
            fan_in: vec![40],
            response: sizes.clone().into(),
            arrival: QueryArrival::Load {
                load: 0.15,
                poisson,
                each_tree: true,
            },
            share_hosts: true,
            ..oldi()
        };
        let mut scenario = scenario(100, vec![WorkloadKind::Oldi(tree)]);
        scenario.duration = Span::from_secs(20);
        let outcome = run(&scenario);
        let share = if poisson { 0.05 } else { 0.01 };
        let close = |found: f64, expected: f64| (found / expected - 1.0).abs() < share;
        assert!(close(outcome.queries.len() as f64, queries));
        assert!(close(outcome.messages.len() as f64, queries * 2.0 * 40.0));
        let wire = of_class(&outcome.messages, Class::Response)
            .map(|answer| answer.bytes + 40 * answer.bytes.div_ceil(1460));
        // 25 roots of 1 Gbps over 20 s.
        assert!(close(
            wire.sum::<u64>() as f64 * 8.0,
            0.15 * 25.0 * 20.0 * 1e9
        ));
        // Periodic queries of different trees have different phases.
        let starts: BTreeSet<Time> = outcome.queries.iter().map(|query| query.start).collect();
        assert_eq!(starts.len(), outcome.queries.len());
    }
}

#[test]
fn trees_sharing_a_load_query_equally_often() {
    let count = |each_tree| {
        let tree = Oldi {
            applications: 2,
            trees: 1,
            fan_in: vec![4],
            response: [20, 180].map(kilobytes).into(),
            arrival: QueryArrival::Load {
                load: 0.15,
                poisson: false,
                each_tree,
            },
            ..oldi()
        };
        let mut scenario = scenario(10, vec![WorkloadKind::Oldi(tree)]);
        scenario.duration = Span::from_secs(20);
        let queries = run(&scenario).queries;
        [0, 1].map(|application| {
            let of_application = queries
                .iter()
                .filter(|query| query.application == application);
            of_application.count() as f64
        })
    };
    let [small, large] = count(true);
    assert!((small / large / 9.0 - 1.0).abs() < 0.02, "{small} {large}");
    let [small, large] = count(false);
    assert!((small - large).abs() <= 1.0, "{small} {large}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn unshared_hosts_have_at_most_one_role(
        fan_in in proptest::collection::vec(1_u32..4, 1..3),
        trees in 1_u32..4,
        spare in 0_u32..5,
        seed: u64,
    ) {
        let nodes = 1 + fan_in[0] + fan_in.get(1).map_or(0, |second| fan_in[0] * second);
        let hosts = 2 * trees * nodes + spare;
        let tree = Oldi { trees, fan_in, ..oldi() };
        let mut scenario = scenario(hosts, vec![WorkloadKind::Oldi(tree)]);
        scenario.seed = seed;
        let outcome = run(&scenario);
        let mut roles: BTreeSet<(u32, u64)> = BTreeSet::new();
        for message in &outcome.messages {
            let tree = message.query.unwrap() >> 32;
            roles.extend([(message.source, tree), (message.destination, tree)]);
        }
        // There are as many hosts as roles, each in only one tree.
        prop_assert_eq!(roles.len() as u32, 2 * trees * nodes);
        let hosts: BTreeSet<u32> = roles.iter().map(|role| role.0).collect();
        prop_assert_eq!(hosts.len(), roles.len());
        prop_assert!(outcome.queries.iter().all(|query| query.answered == query.children));
    }

    #[test]
    fn shared_hosts_carry_any_tree(
        hosts in 2_u32..9,
        fan_in in proptest::collection::vec(1_u32..6, 1..4),
        seed: u64,
        start_jitter: bool,
    ) {
        let tree = Oldi {
            layer_share: vec![1.0; fan_in.len()],
            fan_in,
            share_hosts: true,
            response: vec![Size::Uniform(Bytes(2_000), Bytes(50_000))],
            ..oldi()
        };
        let mut scenario = scenario(hosts, vec![WorkloadKind::Oldi(tree)]);
        scenario.seed = seed;
        scenario.duration = Span::from_ms(50);
        scenario.host.start_jitter = start_jitter;
        // The fake network itself asserts that no host sends to itself.
        let outcome = run(&scenario);
        prop_assert!(outcome.queries.iter().all(|query| query.in_time == query.children && query.complete.is_some()));
        let sizes = of_class(&outcome.messages, Class::Response).map(|answer| answer.bytes);
        prop_assert!(sizes.into_iter().all(|bytes| (2_000..=50_000).contains(&bytes)));
    }
}

#[test]
fn placement_is_random_over_all_hosts() {
    let mut count = vec![0_u32; 50];
    for seed in 0..400 {
        let mut scenario = scenario(50, vec![WorkloadKind::Oldi(oldi())]);
        scenario.seed = seed;
        let workloads = place(&scenario).expect("a valid scenario");
        for root in workloads.trees(0).expect("trees").roots() {
            count[root as usize] += 1;
        }
    }
    // Each host is a root 16 times on average, with a standard deviation of 4.
    assert!(
        count.iter().all(|count| (3..=32).contains(count)),
        "{count:?}"
    );
}
