//! Strict-priority class of a workload, to the picosecond: the waits of the lower class, under any transport.
//!
//! Two hosts on the left are connected to a switch with 10 Gbps and 10 us; a link with 1 Gbps and 10 us leads to
//! another switch with two hosts. Each flow has ten full segments, which are sent at once.

use crate::common::*;
use duetime_core::{Rate, Span, Time};
use duetime_proto::tcp;
use duetime_scenario::model::{Protocol, Scenario, Topology, Transport, WorkloadKind};
use duetime_sim::{Options, SetupError};

const SEGMENTS: u64 = 10;
const BYTES: u64 = SEGMENTS * 1_460;
/// Transmission times of a full segment at 10 Gbps and 1 Gbps, and of an acknowledgement, in picoseconds.
const FAST: u64 = 1_200_000;
const SLOW: u64 = 12_000_000;
const FAST_ACK: u64 = 32_000;
const SLOW_ACK: u64 = 320_000;
const LATENCY: u64 = 10_000_000;
/// Duration of the handshake: an acknowledgement in each direction.
const HANDSHAKE: u64 = 2 * (2 * FAST_ACK + SLOW_ACK + 3 * LATENCY);
/// Time from the departure at the left switch to the arrival at a host on the right.
const REST: u64 = LATENCY + FAST + LATENCY;
/// Start of the second flow after the first.
const LATER: u64 = 500_000;

/// Returns TCP that sends ten segments at once.
fn at_once() -> Protocol {
    Protocol::Tcp(tcp::Config {
        initial_window: SEGMENTS as u32,
        rto_min: Span::from_secs(1),
        ..*newreno().window_options().expect("TCP")
    })
}

/// Creates one workload for each kind, in these classes.
fn classed<const N: usize>(kinds: [WorkloadKind; N], classes: [Option<u8>; N]) -> Scenario {
    let dumbbell = Topology::Dumbbell {
        left: 2,
        right: 2,
        link: link(Rate::from_gbps(10), Span::from_us(10)),
        bottleneck: link(Rate::from_gbps(1), Span::from_us(10)),
    };
    let mut scenario = scenario(dumbbell, at_once(), kinds.into());
    for (workload, class) in scenario.workloads.iter_mut().zip(classes) {
        workload.priority = class;
    }
    scenario
}

/// Creates a flow from each host on the left to a different host on the right.
fn two(classes: [Option<u8>; 2]) -> Scenario {
    let flow = |start, from| flows(&[(Span::from_ps(start), from, from + 2, BYTES, None)]);
    classed([flow(0, 0), flow(LATER, 1)], classes)
}

/// Returns the finish time of each workload's flow.
fn finishes(scenario: &Scenario) -> [u64; 2] {
    let records = run(scenario).records;
    [0, 1].map(|workload| {
        let flow = records.flows.iter().find(|flow| flow.workload == workload);
        let finish: Option<Time> = flow.and_then(|flow| flow.finish);
        finish.expect("the flow finishes").as_ps()
    })
}

#[test]
fn lower_class_waits_for_the_higher() {
    // The first segment of the first flow reaches the bottleneck while it is empty.
    let begin = HANDSHAKE + FAST + LATENCY;
    let after = |segments: u64| begin + segments * SLOW + REST;
    // Equal classes are served in order of arrival.
    for classes in [[None, None], [Some(0), None], [Some(1); 2], [Some(3); 2]] {
        let expected = [after(2 * SEGMENTS - 1), after(2 * SEGMENTS)];
        assert_eq!(finishes(&two(classes)), expected, "{classes:?}");
    }
    for (high, low) in [(0, 1), (0, 3), (1, 2), (2, 3)] {
        // The first flow has the higher class and passes without waiting.
        let found = finishes(&two([Some(high), Some(low)]));
        assert_eq!(found, [after(SEGMENTS), after(2 * SEGMENTS)]);
        // The first flow has the lower class: its first segment is in transmission, and the other nine wait.
        let found = finishes(&two([Some(low), Some(high)]));
        assert_eq!(found, [after(2 * SEGMENTS), after(1 + SEGMENTS)]);
    }
    // A workload without a class has the highest, because its transport has no classes.
    let found = finishes(&two([Some(1), None]));
    assert_eq!(found, [after(2 * SEGMENTS), after(1 + SEGMENTS)]);
}

#[test]
fn acknowledgements_use_the_class_of_their_data() {
    // Two segments from right to left, one at a time: the acknowledgement of the first meets the other flow's data.
    let finish = |classes| {
        let [one, other] =
            [(0, 2, 0, 2 * 1_460), (LATER, 1, 3, BYTES)].map(|(start, from, to, bytes)| {
                flows(&[(Span::from_ps(start), from, to, bytes, None)])
            });
        let mut scenario = classed([one, other], classes);
        let Protocol::Tcp(config) = &mut scenario.transports[0].protocol else {
            unreachable!("TCP");
        };
        config.initial_window = 1;
        let one_by_one = scenario.transports[0].clone();
        scenario.transports[0].protocol = at_once();
        scenario.workloads[0].transport = Some(one_by_one);
        finishes(&scenario)
    };
    let begin = LATER + HANDSHAKE + FAST + LATENCY;
    let across = FAST + LATENCY + SLOW + LATENCY + FAST + LATENCY;
    // Arrival of the acknowledgement at the left switch.
    let acknowledgement = HANDSHAKE + across + FAST_ACK + LATENCY;
    assert!(acknowledgement > begin + SEGMENTS * FAST && acknowledgement < begin + SEGMENTS * SLOW);
    let from = |departure: u64| departure + SLOW_ACK + LATENCY + FAST_ACK + LATENCY + across;
    let other = begin + SEGMENTS * SLOW + REST;
    let last = [from(begin + SEGMENTS * SLOW), other];
    assert_eq!(finish([Some(1), Some(0)]), last);
    assert_eq!(finish([None, None]), last);
    let in_service = (acknowledgement - begin).div_ceil(SLOW);
    let next = [from(begin + in_service * SLOW), other + SLOW_ACK];
    assert_eq!(finish([Some(0), Some(1)]), next);
}

#[test]
fn class_applies_under_every_transport() {
    for transport in transports() {
        let name = transport.name.clone();
        // One packet, whose handshake starts when TCP's ten segments have reached the bottleneck.
        let start = Span::from_us(75);
        let [first, second] = [(Span::ZERO, 0, 2, BYTES), (start, 1, 3, 1_000)]
            .map(|(start, from, to, bytes)| flows(&[(start, from, to, bytes, None)]));
        let mut scenario = classed([first, second], [Some(1), Some(2)]);
        scenario.workloads[1].transport = Some(transport);
        let [segments, low] = finishes(&scenario);
        assert!(low > segments, "{name}: {low} {segments}");
        scenario.workloads[1].priority = Some(0);
        let [_, high] = finishes(&scenario);
        // The handshake leaves after the second segment instead of the tenth; the data may find one more segment in
        // service.
        let sooner = (SEGMENTS - 2) * SLOW;
        assert!(high <= low - sooner + SLOW, "{name}: {high} {low}");
    }
}

#[test]
fn mixed_with_classes_by_deadline() {
    // Flows without deadlines have the lowest of a transport's two classes.
    let by_deadline = |classes| {
        let mut scenario = two(classes);
        scenario.transports[0].priorities = 2;
        finishes(&scenario)
    };
    assert_eq!(
        by_deadline([None, Some(0)]),
        finishes(&two([Some(1), Some(0)]))
    );
    assert_eq!(
        by_deadline([None, Some(2)]),
        finishes(&two([Some(0), Some(1)]))
    );
    // A transport's own classes do not apply to a workload without them.
    let mut scenario = two([None, None]);
    scenario.workloads[1].transport = Some(Transport {
        name: "prio".into(),
        protocol: at_once(),
        priorities: 2,
    });
    assert_eq!(finishes(&scenario), finishes(&two([Some(0), Some(1)])));
}

#[test]
fn class_out_of_range_is_rejected() {
    match duetime_sim::run(&two([None, Some(4)]), 0, 0, &Options::default()) {
        Err(SetupError::Workload { what, .. }) => {
            assert_eq!(what, "`priority` is 4; allowed: 0 to 3");
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("accepted"),
    }
}
