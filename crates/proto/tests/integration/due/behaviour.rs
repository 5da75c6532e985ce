//! Order, overload, silence and aborts.

use super::network::{Faults, LATENCY, Network, RATE, at_us, plain};
use duetime_core::{Span, Time};
use duetime_proto::due::{Announcement, Body, Config, Control, Sender};

/// A lone message needs its transmission time, one round trip for the first grant and the latency of its path.
#[test]
fn lone_message_fills_the_link() {
    let mut network = Network::new(1, Faults::default());
    network.submit(Time::ZERO, 0, 1, plain(1_440_000, None));
    network.run(at_us(100_000));
    let ideal = RATE.transmit(1_000 * 1_500) + LATENCY * 3;
    let took = network.delivered[&1].since(Time::ZERO);
    assert!(
        took >= ideal && took < ideal + LATENCY,
        "{took} instead of {ideal}"
    );
}

/// With many granted packets at the source, its next message would otherwise be granted after a gap.
#[test]
fn packet_0_precedes_granted_packets_without_a_deadline() {
    let config = Config::default();
    let mut sender = Network::new(1, Faults::default()).senders.remove(0);
    let grant = Control::Grant {
        up_to: 100,
        arrived: 1,
        class: 0,
        is_background: false,
    };
    let mut sent = Vec::new();
    let mut transmit = |sender: &mut Sender<u64>, packets| {
        for _ in 0..packets {
            let data = sender.poll_transmit().expect("a packet").0;
            let Body::Payload { number, .. } = data.body else {
                panic!("{data:?}");
            };
            sent.push((data.message, number));
        }
    };
    let deadline = Some(at_us(1_000));
    for (number, deadline) in [(1, None), (2, None), (3, deadline), (4, None)] {
        sender.send(&config, Time::ZERO, number, plain(144_000, deadline), 0);
        transmit(&mut sender, 1);
        sender.input(Time::ZERO, number, grant);
        transmit(&mut sender, 1);
    }
    assert_eq!(
        sent,
        [
            (1, 0),
            (1, 1),
            (2, 0),
            (1, 2),
            (3, 0),
            (3, 1),
            (3, 2),
            (3, 3)
        ]
    );
}

#[test]
fn earlier_deadlines_are_delivered_first() {
    let mut network = Network::new(20, Faults::default());
    for source in 0..20 {
        let deadline = at_us(40_000 - 1_000 * u64::from(source));
        network.submit(
            Time::ZERO,
            source,
            u64::from(source),
            plain(100_000, Some(deadline)),
        );
    }
    network.run(at_us(100_000));
    let arrivals: Vec<Time> = network.delivered.values().copied().collect();
    assert_eq!(arrivals.len(), 20);
    assert!(
        arrivals.windows(2).all(|pair| pair[0] > pair[1]),
        "{arrivals:?}"
    );
}

/// 20 answers of 100 KB need 16.7 ms; 12 ms permit 14 of them.
#[test]
fn overload_delays_the_fewest_messages() {
    let mut network = Network::new(20, Faults::default());
    for source in 0..20 {
        network.submit(
            Time::ZERO,
            source,
            u64::from(source),
            plain(100_000, Some(at_us(12_000))),
        );
    }
    network.run(at_us(100_000));
    let in_time = network
        .delivered
        .values()
        .filter(|&&at| at <= at_us(12_000))
        .count();
    assert!((13..=14).contains(&in_time), "{in_time} in time");
    assert_eq!(network.delivered.len(), 20);
}

/// Two queries of ten answers each, of which one can be in time: all its answers are, and none is split.
#[test]
fn overload_concentrates_late_answers_in_one_query() {
    let mut network = Network::new(20, Faults::default());
    for source in 0..20 {
        let announcement = Announcement {
            query: Some(u64::from(source % 2)),
            ..plain(100_000, Some(at_us(10_000)))
        };
        network.submit(Time::ZERO, source, u64::from(source), announcement);
    }
    network.run(at_us(100_000));
    let in_time = |query: u64| {
        let answers = network
            .delivered
            .iter()
            .filter(|(message, _)| **message % 2 == query);
        answers.filter(|(_, at)| **at <= at_us(10_000)).count()
    };
    assert_eq!(in_time(0).max(in_time(1)), 10);
}

/// Messages without deadlines receive at least 5 % of the grants while urgent ones use the link.
#[test]
fn background_receives_its_share() {
    let mut network = Network::new(2, Faults::default());
    network.submit(Time::ZERO, 0, 0, plain(20_000_000, Some(at_us(500_000))));
    network.submit(Time::ZERO, 1, 1, plain(800_000, None));
    network.run(at_us(400_000));
    // 800 KB at 5 % of 1 Gbps take 130 ms, the urgent message alone 167 ms.
    network.assert_delivered_before(1, at_us(160_000));
    assert!(network.delivered[&0] > network.delivered[&1]);
}

#[test]
fn silent_sources_are_passed_over() {
    let mut network = Network::new(6, Faults::default());
    for source in 0..5 {
        network.submit(
            Time::ZERO,
            source,
            u64::from(source),
            plain(1_000_000, Some(at_us(1_000))),
        );
    }
    network.submit(at_us(2_000), 5, 5, plain(1_000_000, Some(at_us(100_000))));
    network.run(at_us(400));
    for source in 0..5 {
        network.kill(source);
    }
    network.run(at_us(50_000));
    let ideal = RATE.transmit(700 * 1_500);
    network.assert_delivered_before(5, at_us(3_000) + ideal);
}

/// Sources that die one after another are granted more than four times the limit in all. Their packets must not block
/// others until the receiver forgets them.
#[test]
fn packets_of_dead_sources_stop_counting() {
    let mut network = Network::new(31, Faults::default());
    for source in 0..30 {
        let at = Time::ZERO + Span::from_ms(2) * u64::from(source);
        let due = at + Span::from_ms(20);
        network.submit(at, source, source.into(), plain(1_000_000, Some(due)));
        network.run(at + Span::from_us(400));
        network.kill(source);
    }
    network.submit(at_us(60_000), 30, 30, plain(1_000_000, None));
    network.run(at_us(200_000));
    let ideal = RATE.transmit(700 * 1_500);
    network.assert_delivered_before(30, at_us(61_000) + ideal);
}

#[test]
fn aborted_message_frees_the_link() {
    let mut network = Network::new(2, Faults::default());
    network.submit(Time::ZERO, 0, 0, plain(10_000_000, Some(at_us(200_000))));
    network.submit(at_us(100), 1, 1, plain(100_000, Some(at_us(300_000))));
    network.run(at_us(1_000));
    assert_eq!(network.senders[0].abort(|&message| message == 0), Some(0));
    network.run(at_us(10_000));
    assert_eq!(network.delivered.keys().collect::<Vec<_>>(), [&1]);
    network.assert_delivered_before(1, at_us(3_000));
    assert_eq!(network.senders[0].open().count(), 0);
}

/// Returns the completion time of a lone message of 1.44 MB whose source announces a part of the size.
fn completion(announced_permille: u32) -> Span {
    let config = Config {
        announced_permille,
        ..Config::default()
    };
    let mut network = Network::with_config(config, 2, Faults::default());
    network.submit(Time::ZERO, 0, 1, plain(1_440_000, Some(at_us(50_000))));
    network.submit(at_us(30_000), 1, 2, plain(144_000, Some(at_us(50_000))));
    network.run(at_us(100_000));
    assert!(
        network.delivered[&2] < at_us(33_000),
        "{:?}",
        network.delivered
    );
    network.delivered[&1].since(Time::ZERO)
}

/// An estimate that is too small costs at most a round trip each time it doubles; one that is too large costs nothing once
/// the last packet has arrived.
#[test]
fn wrong_sizes_cost_a_few_round_trips() {
    let right = completion(1_000);
    assert_eq!(completion(10_000), right);
    let doublings = 10;
    let round_trip = LATENCY * 2 + RATE.transmit(1_500) * 2;
    let small = completion(1);
    assert!(small > right, "{small} instead of more than {right}");
    assert!(
        small < right + round_trip * doublings,
        "{small} instead of {right}"
    );
}

#[test]
fn empty_and_late_messages_are_delivered() {
    let mut network = Network::new(2, Faults::default());
    network.submit(at_us(1_000), 0, 0, plain(0, None));
    network.submit(at_us(1_000), 1, 1, plain(100_000, Some(at_us(500))));
    network.run(at_us(10_000));
    network.assert_delivered_before(0, at_us(1_200));
    network.assert_delivered_before(1, at_us(2_500));
    assert_eq!(
        network.arrived,
        1 + 100_000_u64.div_ceil(network.config.payload())
    );
}

#[test]
fn grants_beyond_the_message_send_no_more_than_it() {
    let mut network = Network::new(1, Faults::default());
    let sender = &mut network.senders[0];
    sender.send(&network.config, Time::ZERO, 0, plain(10_000, None), 0);
    let grant = Control::Grant {
        up_to: u64::MAX,
        arrived: u64::MAX,
        class: 0,
        is_background: false,
    };
    let resend = Control::Resend {
        from: 0,
        to: u64::MAX,
    };
    assert!(sender.input(Time::ZERO, 0, grant).is_none());
    let sent = std::iter::from_fn(|| sender.poll_transmit().map(|_| ())).count();
    assert_eq!(sent as u64, network.config.packets(10_000));
    assert!(sender.input(Time::ZERO, 0, resend).is_none());
    let resent = std::iter::from_fn(|| sender.poll_transmit().map(|_| ())).count();
    assert_eq!(resent, sent);
}
