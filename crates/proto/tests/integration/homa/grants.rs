//! Grants, overcommitment and shortest remaining first, worked by hand.

use super::network::Network;
use super::{PACKET_TIME, PAYLOAD, at_us, config, plan};
use duetime_core::{Span, Time};
use duetime_proto::homa::{Body, Config, Control, MessageId, Receiver, Sender};

type Host = Receiver<u64>;

/// Passes packet `number` of a message to the receiver. The source has the number of the message.
fn arrive(host: &mut Host, now: Time, message: u64, packets: u64, number: u64) -> bool {
    let id = MessageId {
        source: message as u32,
        number: message,
    };
    let body = Body::Payload {
        number,
        is_retransmission: false,
    };
    host.input(now, id, packets * PAYLOAD, body, || message)
}

/// Returns the grants so far: message, packets and class.
fn grants(host: &mut Host) -> Vec<(u64, u64, u8)> {
    let mut grants = Vec::new();
    while let Some((message, control)) = host.poll_transmit() {
        if let Control::Grant { up_to, class, .. } = control {
            grants.push((message, up_to, class));
        }
    }
    grants
}

/// Options with four unscheduled and four scheduled levels; messages up to 1, 2 and 3 packets use the first three.
fn four_levels() -> Config {
    let cutoffs = [1, 2, 3].map(|packets| packets * PAYLOAD);
    Config {
        cutoffs: Some(duetime_proto::homa::Cutoffs::new(&cutoffs)),
        ..config()
    }
}

fn host(config: &Config) -> Host {
    Receiver::new(config, plan(config, &[]))
}

/// `RTTbytes` are ten packets: the first ten need no grant, and each packet is replaced by one. A single message uses the
/// lowest level until its last ten ungranted packets, which use level 3 and, for the last three, 2 to 0.
#[test]
fn one_grant_per_packet_keeps_rtt_bytes_in_flight() {
    let config = four_levels();
    let mut host = host(&config);
    for number in 0..30u64 {
        let now = at_us(12 * number);
        assert_eq!(arrive(&mut host, now, 1, 30, number), number == 29);
        let ungranted = 30u64.saturating_sub(10 + number);
        let class = match ungranted {
            11.. => 7,
            4.. => 3,
            left => left.saturating_sub(1) as u8,
        };
        let expected = (ungranted > 0).then_some((1, 11 + number, class));
        assert_eq!(
            grants(&mut host),
            Vec::from_iter(expected),
            "packet {number}"
        );
    }
    assert_eq!(host.take_delivered(), Some(1));
}

/// A message of 1,000 packets behind a link of 1 Gbps, with a round trip of less than ten packets: the last packet arrives
/// after the transmission of all, a second transmission of one packet and the latency of two links.
#[test]
fn lone_message_runs_at_link_rate() {
    let config = config();
    let mut network = Network::new(&config, plan(&config, &[]), 1);
    network.submit(Time::ZERO, 0, 1, 1_000 * PAYLOAD);
    network.run(at_us(100_000));
    let expected = Time::ZERO + PACKET_TIME * 1_001 + network.latency * 2;
    assert_eq!(network.delivered[&1], expected);
    assert_eq!(network.max_in_flight[&1], 10);
}

/// Six senders with long messages and four scheduled levels: the four with the fewest ungranted bytes are granted, each at
/// its level, the shortest at the highest.
#[test]
fn overcommitment_limits_granted_messages() {
    let config = four_levels();
    let mut host = host(&config);
    for message in 1..=6 {
        arrive(&mut host, at_us(0), message, 100 + message, 0);
    }
    grants(&mut host);
    // All wait for the packets that replace those in flight.
    let mut found = Vec::new();
    for message in (1..=6).rev() {
        arrive(&mut host, at_us(100), message, 100 + message, 1);
        found.extend(grants(&mut host));
    }
    let place = |message: u64| (message, 12, 3 + message as u8);
    assert_eq!(found, [4, 3, 2, 1].map(place));
}

/// Message 2 of 40 packets arrives while message 1 of 100 is granted at the lowest level. It uses the next higher level,
/// and message 1 stays.
#[test]
fn shorter_message_preempts_at_a_higher_level() {
    let config = Config {
        overcommitment: Some(1),
        ..four_levels()
    };
    let mut host = host(&config);
    arrive(&mut host, at_us(0), 1, 100, 0);
    assert_eq!(grants(&mut host), [(1, 11, 7)]);
    arrive(&mut host, at_us(12), 2, 40, 0);
    assert_eq!(grants(&mut host), [(2, 11, 7)]);
    arrive(&mut host, at_us(24), 1, 100, 1);
    assert_eq!(grants(&mut host), [], "message 2 has fewer ungranted bytes");

    let mut host = Receiver::new(&four_levels(), plan(&four_levels(), &[]));
    arrive(&mut host, at_us(0), 1, 100, 0);
    assert_eq!(grants(&mut host), [(1, 11, 7)]);
    arrive(&mut host, at_us(12), 2, 40, 0);
    assert_eq!(grants(&mut host), [(2, 11, 6)]);
    arrive(&mut host, at_us(24), 1, 100, 1);
    assert_eq!(grants(&mut host), [(1, 12, 7)]);
}

/// Two messages of one sender: only the shorter is granted, although four levels exist.
#[test]
fn one_message_of_each_sender_is_granted() {
    let config = four_levels();
    let mut host = host(&config);
    for (number, packets) in [(1, 100), (2, 50)] {
        let id = MessageId { source: 9, number };
        let body = Body::Payload {
            number: 0,
            is_retransmission: false,
        };
        host.input(at_us(number), id, packets * PAYLOAD, body, || number);
    }
    assert_eq!(grants(&mut host), [(1, 11, 7), (2, 11, 7)]);
    let id = MessageId {
        source: 9,
        number: 1,
    };
    let body = Body::Payload {
        number: 1,
        is_retransmission: false,
    };
    host.input(at_us(24), id, 100 * PAYLOAD, body, || 1);
    assert_eq!(grants(&mut host), []);
}

/// Message 1 had to wait, so nothing of it is in flight. When message 2 is granted in full, message 1 gains one packet per
/// packet time until `RTTbytes` are in flight.
#[test]
fn waiting_message_starts_at_the_rate_of_the_link() {
    let config = Config {
        overcommitment: Some(1),
        ..four_levels()
    };
    let mut host = host(&config);
    arrive(&mut host, at_us(0), 2, 11, 0);
    assert_eq!(grants(&mut host), [(2, 11, 0)]);
    for number in 0..10 {
        // Batches of ten packets at once.
        arrive(&mut host, at_us(1), 3, 12, number);
    }
    grants(&mut host);
    for number in 0..10 {
        arrive(&mut host, at_us(1), 1, 100, number);
    }
    let mut found = grants(&mut host);
    let mut times = Vec::new();
    while found.last().is_none_or(|&(_, up_to, _)| up_to < 20) {
        let now = host.next_timeout();
        host.timeout(now);
        let more = grants(&mut host);
        times.extend(more.iter().map(|_| now));
        found.extend(more);
    }
    assert_eq!(
        found.iter().map(|&(_, up_to, _)| up_to).collect::<Vec<_>>(),
        (11..=20).collect::<Vec<_>>()
    );
    assert!(
        times
            .windows(2)
            .all(|pair| pair[1].since(pair[0]) == PACKET_TIME),
        "{times:?}"
    );
}

/// The sender sends the message with the fewest remaining bytes, whatever its age.
#[test]
fn sender_sends_shortest_remaining_first() {
    let config = config();
    let mut sender = Sender::new(&config, plan(&config, &[]));
    sender.send(at_us(0), 1, 3 * PAYLOAD, 1u64);
    let mut order = Vec::new();
    let mut poll = |sender: &mut Sender<u64>, packets: usize| {
        for _ in 0..packets {
            let (data, _) = sender.poll_transmit(at_us(0)).expect("a packet");
            assert!(matches!(data.body, Body::Payload { .. }));
            order.push(data.message);
        }
    };
    poll(&mut sender, 1);
    // Two packets of message 1 are left: message 2 is shorter, message 3 is longer.
    sender.send(at_us(0), 2, 2 * PAYLOAD - 1, 2);
    sender.send(at_us(0), 3, 2 * PAYLOAD + 1, 3);
    poll(&mut sender, 7);
    assert_eq!(order, [1, 2, 2, 1, 1, 3, 3, 3]);
    assert!(!sender.can_transmit());
}

/// Answers to more than eight requests send one packet without a grant, at both ends (Homa §3.6).
#[test]
fn answers_of_an_incast_wait_for_grants() {
    let config = config();
    for (answers, unscheduled) in [(0, 3), (8, 3), (9, 1)] {
        let outline = config.outline(3 * PAYLOAD, answers);
        let mut sender = Sender::new(&config, plan(&config, &[]));
        sender.send(at_us(0), 1, outline, ());
        let mut host = host(&config);
        let mut sent = 0;
        while let Some((data, ())) = sender.poll_transmit(at_us(0)) {
            assert_eq!(data.outline, outline);
            let id = MessageId {
                source: 1,
                number: 1,
            };
            host.input(at_us(sent), id, data.outline, data.body, || 1);
            sent += 1;
        }
        assert_eq!(sent, unscheduled);
        let granted = grants(&mut host).last().map(|&(_, up_to, _)| up_to);
        assert_eq!(granted.is_some(), answers == 9);
        if let Some(up_to) = granted {
            let grant = Control::Grant {
                up_to,
                arrived: 1,
                class: 7,
            };
            sender.input(at_us(sent), 1, grant, || ());
            assert!(sender.can_transmit());
        }
    }
}

/// Unscheduled packets use the class of the message's size, granted packets that of the grant.
#[test]
fn classes_of_sent_packets() {
    let config = Config {
        unscheduled_bytes: Some(3_000),
        ..four_levels()
    };
    let mut sender = Sender::new(&config, plan(&config, &[]));
    sender.send(at_us(0), 1, 5 * PAYLOAD, ());
    let grant = |up_to, class| Control::Grant {
        up_to,
        arrived: 0,
        class,
    };
    sender.input(at_us(1), 1, grant(4, 5), || ());
    // An older grant arrives late.
    sender.input(at_us(2), 1, grant(3, 7), || ());
    let classes: Vec<u8> = std::iter::from_fn(|| sender.poll_transmit(at_us(3)))
        .map(|(data, ())| data.class)
        .collect();
    assert_eq!(classes, [3, 3, 5, 5]);
    assert_eq!(sender.next_timeout(), at_us(0) + Span::from_ms(1));
}
