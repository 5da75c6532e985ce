//! Strict-priority classes by the quantiles of the drawn deadlines.

use super::fake::run;
use super::setup::{burst, fixed_deadline, oldi, scenario};
use duetime_core::Span;
use duetime_core::random::Streams;
use duetime_results::record::Class;
use duetime_scenario::model::*;
use duetime_sim::topology::Network;
use duetime_sim::workload::{Message, Workloads};

/// Returns the share of each class among the messages that `pick` accepts.
fn shares(scenario: &Scenario, classes: u8, pick: impl Fn(&Message) -> bool) -> Vec<f64> {
    let network = Network::build(&scenario.topology).unwrap();
    let workloads = Workloads::new(scenario, &network, &Streams::new(scenario.seed, 0)).unwrap();
    let mut counts = vec![0.0; usize::from(classes)];
    let mut total = 0.0;
    for message in run(scenario)
        .messages
        .iter()
        .filter(|message| pick(message))
    {
        counts[usize::from(workloads.priority(message, classes))] += 1.0;
        total += 1.0;
    }
    counts.into_iter().map(|count| count / total).collect()
}

fn near(found: &[f64], expected: &[f64]) {
    let close = found
        .iter()
        .zip(expected)
        .all(|(found, expected)| (found - expected).abs() < 0.02);
    assert!(
        found.len() == expected.len() && close,
        "{found:?} should be {expected:?}"
    );
}

fn bursts(deadline: Deadline) -> WorkloadKind {
    let mut kind = burst(1_000, None);
    if let WorkloadKind::Burst {
        deadline: field,
        repeat,
        every,
        ..
    } = &mut kind
    {
        (*field, *repeat, *every) = (deadline, 10, Span::from_ms(10));
    }
    kind
}

#[test]
fn deadline_quantiles_set_the_class() {
    let exponential = Deadline::Exponential {
        mean: Span::from_ms(30),
        floor: Span::from_ms(5),
    };
    let scenario = scenario(8, vec![bursts(exponential), burst(10, None)]);
    let (with, without) = (
        |message: &Message| message.workload == 0,
        |message: &Message| message.workload == 1,
    );
    near(&shares(&scenario, 1, with), &[1.0]);
    near(&shares(&scenario, 2, with), &[0.5, 0.5]);
    near(&shares(&scenario, 3, with), &[0.5, 0.5, 0.0]);
    near(&shares(&scenario, 4, with), &[0.25; 4]);
    near(&shares(&scenario, 2, without), &[0.0, 1.0]);
    near(&shares(&scenario, 3, without), &[0.0, 0.0, 1.0]);
    near(&shares(&scenario, 4, without), &[0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn equal_deadlines_share_the_highest_class() {
    let scenario = scenario(8, vec![bursts(fixed_deadline(20))]);
    near(&shares(&scenario, 4, |_| true), &[1.0, 0.0, 0.0, 0.0]);
}

#[test]
fn answers_are_ranked_by_their_drawn_deadline() {
    let tree = Oldi {
        deadline: vec![
            Deadline::Added {
                base: Span::from_ms(20),
                added: 0.5,
            },
            Deadline::Added {
                base: Span::from_ms(40),
                added: 0.5,
            },
        ],
        arrival: QueryArrival::Every(Gap::Fixed(Span::from_ms(1))),
        // Computations take different shares of each budget, which must not matter.
        compute: Gap::Uniform(Span::ZERO, Span::from_ms(15)),
        ..oldi()
    };
    let scenario = scenario(10, vec![WorkloadKind::Oldi(tree)]);
    let answers = |message: &Message| message.class == Class::Response;
    near(&shares(&scenario, 2, answers), &[0.5, 0.5]);
    near(&shares(&scenario, 4, answers), &[0.25; 4]);
    // All deadlines of one application are below those of the other.
    let network = Network::build(&scenario.topology).unwrap();
    let workloads = Workloads::new(&scenario, &network, &Streams::new(scenario.seed, 0)).unwrap();
    for message in run(&scenario)
        .messages
        .iter()
        .filter(|message| answers(message))
    {
        let tree = message.query.unwrap() >> 32;
        assert_eq!(u64::from(workloads.priority(message, 2)), tree);
    }
    near(
        &shares(&scenario, 2, |message| message.class == Class::Query),
        &[1.0, 0.0],
    );
}

#[test]
fn traces_are_ranked_by_their_own_deadlines() {
    let flow = |number: u64| TraceFlow {
        start: Span::from_us(number),
        source: 0,
        destination: 1,
        size: duetime_core::Bytes(1),
        deadline: (number < 8).then(|| Span::from_ms(number + 1)),
    };
    let scenario = scenario(
        2,
        vec![WorkloadKind::Trace {
            flows: (0..10).map(flow).collect(),
        }],
    );
    near(&shares(&scenario, 4, |_| true), &[0.2, 0.2, 0.2, 0.4]);
}
