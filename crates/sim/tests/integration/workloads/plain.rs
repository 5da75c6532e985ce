//! Workloads of all kinds but trees and traces.

use super::fake::{Fake, run};
use super::setup::{burst, fixed_deadline, flows_per_second, kilobytes, near, oldi, scenario};
use duetime_core::{Span, Time};
use duetime_results::record::Class;
use duetime_scenario::model::*;
use duetime_sim::workload::{Message, draw};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn poisson(intensity: Intensity, destination: Destination) -> WorkloadKind {
    WorkloadKind::Poisson {
        size: web_search(),
        deadline: Deadline::None,
        intensity,
        destination,
    }
}

/// Returns the web-search distribution in bytes.
fn web_search() -> Size {
    let points = [
        (0.0, 0.0),
        (10e3, 0.15),
        (20e3, 0.2),
        (30e3, 0.3),
        (50e3, 0.4),
        (80e3, 0.53),
        (200e3, 0.6),
        (1e6, 0.7),
        (2e6, 0.8),
        (5e6, 0.9),
        (10e6, 0.97),
        (30e6, 1.0),
    ];
    Size::Cdf {
        name: "web-search".into(),
        points: points.into(),
    }
}

fn background(count: u32, every: Gap) -> WorkloadKind {
    WorkloadKind::Background {
        count,
        size: kilobytes(1_000),
        deadline: fixed_deadline(5),
        every: SourceGap::Given(every),
        to_roots_of: None,
    }
}

fn permutation() -> WorkloadKind {
    WorkloadKind::Permutation {
        size: kilobytes(5),
        deadline: Deadline::None,
        at: Span::from_ms(2),
    }
}

#[test]
fn background_flows_visit_roots_in_turn() {
    let trees = Oldi {
        applications: 1,
        trees: 3,
        fan_in: vec![2],
        layer_share: vec![1.0],
        ..oldi()
    };
    let mut kind = background(6, Gap::Fixed(Span::from_ms(20)));
    if let WorkloadKind::Background { to_roots_of, .. } = &mut kind {
        *to_roots_of = Some(0);
    }
    let mut scenario = scenario(9, vec![WorkloadKind::Oldi(trees), kind]);
    scenario.duration = Span::from_ms(200);
    let outcome = run(&scenario);
    let roots: BTreeSet<u32> = outcome.queries.iter().map(|query| query.root).collect();
    let destinations: Vec<u32> = (outcome.messages.iter())
        .filter(|message| message.workload == 1)
        .map(|message| message.destination)
        .collect();
    // Six sources start a flow every 20 ms for 200 ms; each root gets the flows of two sources.
    assert_eq!((roots.len(), destinations.len()), (3, 60));
    for root in roots {
        assert_eq!(
            destinations.iter().filter(|&&host| host == root).count(),
            20
        );
    }
}

#[test]
fn bursts_start_all_senders_at_once() {
    let mut kind = burst(5, Some(2));
    if let WorkloadKind::Burst { repeat, every, .. } = &mut kind {
        (*repeat, *every) = (4, Span::from_ms(300));
    }
    let messages = run(&scenario(8, vec![kind])).messages;
    // Bursts start at 1, 301, 601 and 901 ms.
    for round in 0..4 {
        let at = Time::ZERO + Span::from_ms(1 + 300 * round);
        let sources: Vec<u32> = messages
            .iter()
            .filter(|message| message.submitted == at)
            .map(|message| message.source)
            .collect();
        assert_eq!(sources.len(), 5);
        assert!(sources.windows(2).all(|pair| pair[0] < pair[1]) && !sources.contains(&2));
    }
    assert!(messages.iter().all(|message| message.destination == 2
        && message.bytes == 10_000
        && message.class == Class::Flow));
    assert_eq!(messages.len(), 20);
}

#[test]
fn large_bursts_share_hosts_evenly() {
    let messages = run(&scenario(4, vec![burst(40, None)])).messages;
    let receiver = messages[0].destination;
    for host in (0..4).filter(|&host| host != receiver) {
        let count = messages
            .iter()
            .filter(|message| message.source == host)
            .count();
        assert!(count == 13 || count == 14, "{count}");
    }
    assert_eq!(messages.len(), 40);
}

#[test]
fn bursts_use_the_given_hosts_in_turn() {
    let mut kind = burst(5, Some(0));
    if let WorkloadKind::Burst { from, .. } = &mut kind {
        *from = Some(vec![3, 1]);
    }
    let messages = run(&scenario(8, vec![kind])).messages;
    let mut sources: Vec<u32> = messages.iter().map(|message| message.source).collect();
    sources.sort_unstable();
    assert_eq!(sources, [1, 1, 3, 3, 3]);
    assert!(messages.iter().all(|message| message.destination == 0));
}

#[test]
fn flows_start_and_count_within_the_window() {
    let mut kind = burst(3, None);
    if let WorkloadKind::Burst { repeat, every, .. } = &mut kind {
        (*repeat, *every) = (1_000, Span::from_ms(100));
    }
    let mut scenario = scenario(4, vec![kind, background(2, Gap::Fixed(Span::from_ms(7)))]);
    scenario.warm_up = Span::from_ms(200);
    let messages = run(&scenario).messages;
    assert_eq!(
        messages
            .iter()
            .filter(|message| message.workload == 0)
            .count(),
        30
    );
    let (from, to) = (
        Time::ZERO + scenario.warm_up,
        Time::ZERO + scenario.duration,
    );
    for message in messages {
        assert!(message.submitted < to);
        assert_eq!(message.measured, message.submitted >= from);
    }
}

#[test]
fn start_jitter_stays_within_one_packet_time() {
    let mut scenario = scenario(40, vec![burst(39, Some(0)), permutation()]);
    scenario.host.start_jitter = true;
    let messages = run(&scenario).messages;
    let delays: Vec<u64> = messages
        .iter()
        .map(|message| {
            message
                .submitted
                .since(Time::ZERO + Span::from_ms(1 + u64::from(message.workload)))
                .as_ns()
        })
        .collect();
    // The time of one packet is 12 us: 1500 B at 1 Gbps.
    assert!(delays.iter().all(|&ns| ns <= 12_000));
    assert!(delays.iter().any(|&ns| ns < 3_000) && delays.iter().any(|&ns| ns > 9_000));
}

#[test]
fn jitter_spreads_bursts_and_long_flows() {
    let long = WorkloadKind::Long {
        pairs: (1..40).map(|host| (host, 0)).collect(),
        at: Span::from_ms(1),
        jitter: Span::from_ms(10),
    };
    let mut kind = burst(39, Some(0));
    if let WorkloadKind::Burst {
        repeat,
        every,
        jitter,
        ..
    } = &mut kind
    {
        (*repeat, *every, *jitter) = (3, Span::from_ms(10), Span::from_ms(10));
    }
    let starts = |seed| {
        let mut scenario = scenario(40, vec![kind.clone(), long.clone()]);
        scenario.host.start_jitter = true;
        scenario.seed = seed;
        let messages = run(&scenario).messages;
        let mut starts: Vec<(u16, u32, u64)> = messages
            .iter()
            .map(|message| (message.workload, message.source, message.submitted.as_ns()))
            .collect();
        starts.sort_unstable();
        starts
    };
    let found = starts(1);
    assert_eq!(found.len(), 39 * 4);
    let starts_of = |workload: u16, round: usize| -> Vec<u64> {
        let rounds = if workload == 0 { 3 } else { 1 };
        let all = found.iter().filter(|start| start.0 == workload);
        // Starts are sorted by host; each host has one for each round.
        all.skip(round)
            .step_by(rounds)
            .map(|start| start.2)
            .collect()
    };
    let mut delays: Vec<Vec<u64>> = Vec::new();
    for (workload, round) in [(0, 0), (0, 1), (0, 2), (1, 0)] {
        let from = 1_000_000 + 10_000_000 * round as u64;
        let delays_of_round: Vec<u64> = starts_of(workload, round)
            .iter()
            .map(|at| at - from)
            .collect();
        // The jitter is 10 ms, plus one packet's time of 12 us (1500 B at 1 Gbps).
        assert!(
            delays_of_round.iter().all(|&ns| ns <= 10_012_000),
            "{delays_of_round:?}"
        );
        // Each fifth of the jitter has some of the 39 starts, and their mean is near the middle.
        for fifth in 0..5 {
            let within = delays_of_round
                .iter()
                .filter(|&ns| ns / 2_000_000 == fifth)
                .count();
            assert!((1..=20).contains(&within), "{delays_of_round:?}");
        }
        near(delays_of_round.iter().sum::<u64>() as f64 / 39.0, 5e6, 0.3);
        delays.push(delays_of_round);
    }
    for (index, one) in delays.iter().enumerate() {
        assert!(delays[..index].iter().all(|other| other != one));
    }
    assert_eq!(starts(1), found);
    assert_ne!(starts(2), found);
}

#[test]
fn jitter_past_the_duration_drops_starts() {
    let long = WorkloadKind::Long {
        pairs: (1..1_000).map(|host| (host, 0)).collect(),
        at: Span::from_ms(900),
        jitter: Span::from_ms(400),
    };
    let scenario = scenario(1_000, vec![long]);
    let messages = run(&scenario).messages;
    let end = Time::ZERO + scenario.duration;
    assert!(messages.iter().all(|message| message.submitted < end));
    near(messages.len() as f64, 999.0 / 4.0, 0.2);
}

#[test]
fn jitter_only_affects_its_own_workload() {
    let starts = |jitter| {
        let mut kind = burst(5, Some(2));
        if let WorkloadKind::Burst { jitter: field, .. } = &mut kind {
            *field = jitter;
        }
        let mut scenario = scenario(8, vec![kind, permutation()]);
        scenario.host.start_jitter = true;
        run(&scenario).messages
    };
    let (none, some) = (starts(Span::ZERO), starts(Span::from_ms(1)));
    // The other workload stays the same, and so does the burst but for its starts.
    let others = |messages: &[Message]| -> Vec<Message> {
        let other = |message: &&Message| message.workload == 1;
        messages.iter().filter(other).cloned().collect()
    };
    let flows = |messages: &[Message]| -> Vec<(u32, u64)> {
        messages
            .iter()
            .map(|message| (message.source, message.bytes))
            .collect()
    };
    assert_eq!(others(&none), others(&some));
    assert_eq!(flows(&none), flows(&some));
    assert_ne!(none, some);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn permutations_have_no_fixed_point(hosts in 2_u32..60, seed: u64) {
        let mut scenario = scenario(hosts, vec![permutation()]);
        scenario.seed = seed;
        let messages = run(&scenario).messages;
        let sources: Vec<u32> = messages.iter().map(|message| message.source).collect();
        prop_assert_eq!(sources, (0..hosts).collect::<Vec<_>>());
        let mut destinations: Vec<u32> = messages.iter().map(|message| message.destination).collect();
        destinations.sort_unstable();
        prop_assert_eq!(destinations, (0..hosts).collect::<Vec<_>>());
    }

    #[test]
    fn splitting_hosts_keeps_the_same_run(parts in 2_u32..7, seed: u64, start_jitter: bool) {
        let kinds = vec![
            WorkloadKind::Oldi(Oldi { share_hosts: true, fan_in: vec![3, 2], layer_share: vec![1.0, 0.5], ..oldi() }),
            WorkloadKind::Oldi(Oldi { arrival: QueryArrival::BackToBack, ..oldi() }),
            burst(20, None),
            poisson(Intensity::FlowsPerSecond(300.0), Destination::Uniform),
            background(5, Gap::Exponential(Span::from_ms(20))),
            permutation(),
            WorkloadKind::Long { pairs: vec![(0, 1), (5, 7)], at: Span::ZERO, jitter: Span::from_ms(20) },
        ];
        let mut scenario = scenario(12, kinds);
        scenario.duration = Span::from_ms(100);
        scenario.seed = seed;
        scenario.host.start_jitter = start_jitter;
        let whole = run(&scenario);
        prop_assert!(whole.messages.len() > 400);
        let split = Fake { parts, ..Fake::new(&scenario) }.run();
        prop_assert_eq!(whole, split);
    }
}

#[test]
fn poisson_arrivals_offer_the_given_load() {
    let mut scenario = scenario(
        20,
        vec![poisson(Intensity::Load(0.4), Destination::Uniform)],
    );
    scenario.duration = Span::from_secs(60);
    let messages = run(&scenario).messages;
    // 20 × 0.4 Gbps with a mean flow size of 1.711 MB make about 570 flows per second.
    near(draw::mean_size(&web_search()), 1.711e6, 0.001);
    let flows = flows_per_second(20.0 * 0.4e9, &web_search());
    near(messages.len() as f64, flows * 60.0, 0.02);
    let wire: f64 = messages
        .iter()
        .map(|message| (message.bytes + 40 * message.bytes.div_ceil(1460)) as f64)
        .sum();
    near(wire * 8.0 / 60.0, 20.0 * 0.4e9, 0.03);
    // Destinations are uniform over the other hosts.
    let mut counts = [0_u32; 20];
    for message in &messages {
        counts[message.destination as usize] += 1;
    }
    assert!(
        counts.iter().all(|&count| (1_500..2_000).contains(&count)),
        "{counts:?}"
    );
    // Gaps at one host are exponential, so their standard deviation equals the mean.
    let starts: Vec<f64> = messages
        .iter()
        .filter(|message| message.source == 3)
        .map(|message| message.submitted.as_secs_f64())
        .collect();
    let gaps: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    near(variance.sqrt(), mean, 0.07);
}

#[test]
fn poisson_senders_share_the_total_rate() {
    let mut scenario = scenario(
        5,
        vec![poisson(
            Intensity::FlowsPerSecond(2_000.0),
            Destination::Host(1),
        )],
    );
    scenario.duration = Span::from_secs(10);
    let messages = run(&scenario).messages;
    near(messages.len() as f64, 20_000.0, 0.025);
    assert!(messages.iter().all(|message| message.destination == 1));
    for host in [0, 2, 3, 4] {
        near(
            messages
                .iter()
                .filter(|message| message.source == host)
                .count() as f64,
            5_000.0,
            0.05,
        );
    }
}

#[test]
fn background_gaps_run_from_start_to_start() {
    let every = Gap::Fixed(Span::from_ms(80));
    let messages = run(&scenario(16, vec![background(2, every)])).messages;
    let mut sources: Vec<u32> = messages.iter().map(|message| message.source).collect();
    sources.dedup();
    assert_eq!(sources.len(), 2);
    for source in sources {
        let starts: Vec<Time> = messages
            .iter()
            .filter(|message| message.source == source)
            .map(|message| message.submitted)
            .collect();
        assert!(starts[0] < Time::ZERO + Span::from_ms(80));
        assert!(
            starts
                .windows(2)
                .all(|pair| pair[1].since(pair[0]) == Span::from_ms(80))
        );
        assert!(starts.len() == 12 || starts.len() == 13);
    }
    let mut scenario = scenario(
        16,
        vec![background(40, Gap::Exponential(Span::from_ms(300)))],
    );
    scenario.duration = Span::from_secs(100);
    near(
        run(&scenario).messages.len() as f64,
        40.0 * 100.0 / 0.3,
        0.02,
    );
}

#[test]
fn long_flows_have_no_end() {
    let kind = WorkloadKind::Long {
        pairs: vec![(0, 1), (0, 2), (3, 1)],
        at: Span::from_ms(5),
        jitter: Span::ZERO,
    };
    let messages = run(&scenario(4, vec![kind])).messages;
    let ends: Vec<(u32, u32)> = messages
        .iter()
        .map(|message| (message.source, message.destination))
        .collect();
    assert_eq!(ends, [(0, 1), (0, 2), (3, 1)]);
    let is_long = |message: &Message| {
        message.bytes == u64::MAX && message.class == Class::Long && message.deadline.is_none()
    };
    assert!(messages.iter().all(is_long));
}

#[test]
fn deadlines_fill_their_ranges() {
    let ms = Span::from_ms;
    let cases = [
        (
            Deadline::Added {
                base: ms(20),
                added: 0.5,
            },
            20.0,
            30.0,
            25.0,
        ),
        (
            Deadline::Around {
                base: ms(20),
                variation: 0.25,
            },
            15.0,
            25.0,
            20.0,
        ),
        (
            Deadline::AddedExponential {
                base: ms(3),
                mean: ms(30),
            },
            3.0,
            f64::INFINITY,
            33.0,
        ),
        // E[max(5, X)] = 5 + 30 e^(−1/6)
        (
            Deadline::Exponential {
                mean: ms(30),
                floor: ms(5),
            },
            5.0,
            f64::INFINITY,
            30.394,
        ),
    ];
    for (deadline, low, high, mean) in cases {
        let mut kind = burst(2_000, None);
        if let WorkloadKind::Burst {
            deadline: field,
            repeat,
            every,
            ..
        } = &mut kind
        {
            (*field, *repeat, *every) = (deadline, 10, ms(10));
        }
        let messages = run(&scenario(4, vec![kind])).messages;
        let drawn: Vec<f64> = messages
            .iter()
            .map(|message| {
                message
                    .deadline
                    .unwrap()
                    .since(message.submitted)
                    .as_secs_f64()
                    * 1e3
            })
            .collect();
        let smallest = drawn.iter().copied().fold(f64::MAX, f64::min);
        let largest = drawn.iter().copied().fold(0.0, f64::max);
        assert!(
            smallest >= low && smallest < low * 1.01 && largest <= high,
            "{smallest} {largest}"
        );
        assert!(high.is_infinite() || largest > high * 0.99);
        near(drawn.iter().sum::<f64>() / drawn.len() as f64, mean, 0.02);
    }
}
