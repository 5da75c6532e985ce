//! Worked examples on the state machines. A full packet carries 1,460 B.

use super::{ack, link, numbers, transmit, us};
use duetime_core::{Span, Time};
use duetime_proto::pfabric::{Ack, Body, Config, Link, MessageId, Receiver, Sender};

const CONFIG: Config = Config {
    mtu: 1_500,
    window: None,
    rto: None,
    probe_after: 5,
    queue: None,
};
const MB: u64 = 1_000_000;

fn sender() -> Sender<u64> {
    Sender::new(&CONFIG, &link())
}

#[test]
fn defaults_are_those_of_the_paper() {
    assert_eq!(Config::default(), CONFIG);
    let mut sender = sender();
    sender.send(&CONFIG, Time::ZERO, 1, MB, 0);
    // 15 us × 10 Gbps = 18,750 B: 12 packets (§4.3). Twice that is 25 packets; the paper has 24 (§5).
    assert_eq!(
        numbers(&transmit(&mut sender, Time::ZERO)),
        (0..12).collect::<Vec<_>>()
    );
    assert_eq!(link().timeout(&CONFIG), Span::from_us(45));
    assert_eq!(sender.next_timeout(), us(45));
    assert_eq!(CONFIG.queue_bytes(&link()), 37_500);
}

#[test]
fn options_replace_the_defaults() {
    let config = Config {
        window: Some(3),
        rto: Some(Span::from_us(200)),
        queue: Some(9_000),
        ..CONFIG
    };
    let mut sender = Sender::new(&config, &link());
    sender.send(&config, Time::ZERO, 1, MB, 0);
    assert_eq!(transmit(&mut sender, Time::ZERO).len(), 3);
    assert_eq!(sender.next_timeout(), us(200));
    assert_eq!(config.queue_bytes(&link()), 9_000);
    let slow = Link {
        host_delay: Span::from_us(10),
        ..link()
    };
    assert_eq!(slow.timeout(&CONFIG), Span::from_us(55));
}

#[test]
fn packets_carry_the_bytes_not_acknowledged() {
    let mut sender = sender();
    sender.send(&CONFIG, Time::ZERO, 1, 30_000, 0);
    let sent = transmit(&mut sender, Time::ZERO);
    assert!(sent.iter().all(|data| data.remaining == 30_000));
    // Packet 3 arrived before packets 0 to 2: acknowledgements are selective.
    assert_eq!(sender.input(&CONFIG, us(15), 1, ack(3, 0)), None);
    let sent = transmit(&mut sender, us(15));
    assert_eq!((numbers(&sent), sent[0].remaining), (vec![12], 28_540));
    sender.input(&CONFIG, us(16), 1, ack(2, 4));
    let sent = transmit(&mut sender, us(16));
    assert_eq!(
        (numbers(&sent), sent[0].remaining),
        (vec![13, 14, 15], 24_160)
    );
}

#[test]
fn host_sends_the_shortest_message_first() {
    let mut sender = sender();
    sender.send(&CONFIG, Time::ZERO, 1, MB, 0);
    let first = sender
        .poll_transmit(&CONFIG, Time::ZERO)
        .expect("a packet")
        .0;
    assert_eq!(first.message, 1);
    sender.send(&CONFIG, us(1), 2, 4_000, 0);
    sender.send(&CONFIG, us(1), 3, 1_000, 0);
    let order: Vec<u64> = transmit(&mut sender, us(1))
        .iter()
        .map(|data| data.message)
        .collect();
    assert_eq!(order[..5], [3, 2, 2, 2, 1]);
}

#[test]
fn last_packet_is_short_and_completes_the_message() {
    let mut sender = sender();
    sender.send(&CONFIG, Time::ZERO, 1, 1_461, 7);
    sender.send(&CONFIG, Time::ZERO, 2, 0, 8);
    let sent = transmit(&mut sender, Time::ZERO);
    let is_last = |body| matches!(body, Body::Payload { is_last: true, .. });
    let shape: Vec<_> = sent
        .iter()
        .map(|data| (data.message, data.len, is_last(data.body)))
        .collect();
    assert_eq!(shape, [(2, 0, true), (1, 1_460, false), (1, 1, true)]);
    assert_eq!(sender.input(&CONFIG, us(15), 1, ack(1, 0)), None);
    let done = sender.input(&CONFIG, us(15), 1, ack(0, 2));
    assert_eq!(
        done.map(|(tag, counters)| (tag, counters.retransmissions)),
        Some((7, 0))
    );
}

#[test]
fn window_grows_by_a_packet_per_round_trip() {
    let mut sender = sender();
    sender.send(&CONFIG, Time::ZERO, 1, 100 * MB, 0);
    let mut sent = transmit(&mut sender, Time::ZERO).len() as u64;
    let (mut acknowledged, mut windows) = (0, Vec::new());
    for round in 1..5 {
        let mut new = 0;
        for number in acknowledged..sent {
            sender.input(&CONFIG, us(15 * round), 1, ack(number, number + 1));
            new += transmit(&mut sender, us(15 * round)).len() as u64;
        }
        acknowledged = sent;
        sent += new;
        windows.push(sent - acknowledged);
    }
    assert_eq!(windows, [13, 14, 15, 16]);
}

#[test]
fn gaps_cause_no_fast_retransmission() {
    let mut sender = sender();
    sender.send(&CONFIG, Time::ZERO, 1, MB, 0);
    transmit(&mut sender, Time::ZERO);
    // Packet 0 is lost; all others arrive and let new packets leave.
    for number in 1..12 {
        sender.input(&CONFIG, us(15), 1, ack(number, 0));
    }
    let sent = numbers(&transmit(&mut sender, us(15)));
    assert_eq!(sent, (12..23).collect::<Vec<_>>());
    assert!(sender.timeout(&CONFIG, us(44)).is_empty());
    // After 45 us, slow start begins with packet 0: a window of one packet.
    assert_eq!(sender.timeout(&CONFIG, us(45)), [0]);
    let sent = transmit(&mut sender, us(45));
    assert_eq!(numbers(&sent), [0]);
    assert!(matches!(
        sent[0].body,
        Body::Payload {
            is_retransmission: true,
            ..
        }
    ));
    // A late acknowledgement of packet 12 counts, and the window grows to two packets.
    sender.input(&CONFIG, us(46), 1, ack(12, 0));
    assert_eq!(numbers(&transmit(&mut sender, us(46))), [13]);
}

#[test]
fn slow_start_ends_at_half_the_window() {
    let mut sender = sender();
    sender.send(&CONFIG, Time::ZERO, 1, MB, 0);
    transmit(&mut sender, Time::ZERO);
    sender.timeout(&CONFIG, us(45));
    let (mut acknowledged, mut windows) = (0, Vec::new());
    let mut sent = transmit(&mut sender, us(45)).len() as u64;
    for round in 1..7 {
        windows.push(sent - acknowledged);
        let now = us(45 + 15 * round);
        let mut new = 0;
        for number in acknowledged..sent {
            sender.input(&CONFIG, now, 1, ack(number, number + 1));
            new += transmit(&mut sender, now).len() as u64;
        }
        acknowledged = sent;
        sent += new;
    }
    // 1, 2, 4, then the threshold of 12 / 2 = 6, then one more per round trip.
    assert_eq!(windows, [1, 2, 4, 6, 7, 8]);
}

/// Expires `count` timeouts. Returns what was sent after each.
fn expire(sender: &mut Sender<u64>, count: u32) -> Vec<(u64, Option<u64>)> {
    let mut sent = Vec::new();
    for _ in 0..count {
        let due = sender.next_timeout();
        sender.timeout(&CONFIG, due);
        for data in transmit(sender, due) {
            let number = numbers(&[data]).first().copied();
            sent.push((due.since(Time::ZERO).as_ps() / 1_000_000, number));
        }
    }
    sent
}

#[test]
fn five_timeouts_lead_to_probes() {
    let mut sender = sender();
    sender.send(&CONFIG, Time::ZERO, 1, MB, 0);
    transmit(&mut sender, Time::ZERO);
    // Four retransmissions of packet 0, then a probe without payload every 45 us.
    let sent = expire(&mut sender, 8);
    let expected = [
        (45, Some(0)),
        (90, Some(0)),
        (135, Some(0)),
        (180, Some(0)),
        (225, None),
        (270, None),
        (315, None),
        (360, None),
    ];
    assert_eq!(sent, expected);
    // The acknowledgement of a probe restarts slow start.
    let probe = Ack {
        number: None,
        up_to: 0,
        is_complete: false,
    };
    sender.input(&CONFIG, us(375), 1, probe);
    assert_eq!(numbers(&transmit(&mut sender, us(375))), [0]);
    assert_eq!(sender.next_timeout().max(us(420)), us(420));
    // Four further timeouts do not lead to probes, because the count restarted.
    assert!(
        expire(&mut sender, 5)
            .iter()
            .all(|(_, number)| number.is_some())
    );
}

#[test]
fn probes_have_the_priority_of_their_message() {
    let mut sender = sender();
    sender.send(&CONFIG, Time::ZERO, 1, MB, 0);
    transmit(&mut sender, Time::ZERO);
    expire(&mut sender, 5);
    let due = sender.next_timeout();
    sender.timeout(&CONFIG, due);
    let sent = transmit(&mut sender, due);
    assert_eq!(
        (sent[0].body, sent[0].remaining, sent[0].len),
        (Body::Probe, MB, 0)
    );
}

#[test]
fn work_for_a_silent_receiver_is_bounded() {
    let mut sender = sender();
    sender.send(&CONFIG, Time::ZERO, 1, MB, 0);
    let mut sent = transmit(&mut sender, Time::ZERO).len();
    while sender.next_timeout() < Time::ZERO + Span::from_secs(10) {
        let due = sender.next_timeout();
        sender.timeout(&CONFIG, due);
        sent += transmit(&mut sender, due).len();
    }
    // 64 probes at 45 us, then intervals that double up to 256 × 45 us = 11.52 ms.
    assert!((900..1_000).contains(&sent), "{sent}");
}

#[test]
fn message_that_the_receiver_forgot_is_sent_again() {
    let mut sender = sender();
    sender.send(&CONFIG, Time::ZERO, 1, 5_000, 9);
    transmit(&mut sender, Time::ZERO);
    for number in [1, 2, 3] {
        sender.input(&CONFIG, us(15), 1, ack(number, 0));
    }
    // Longer than 1,024 timeouts of 45 us without an acknowledgement.
    while sender.next_timeout() < us(1_100 * 45) {
        let due = sender.next_timeout();
        sender.timeout(&CONFIG, due);
        transmit(&mut sender, due);
    }
    let mut receiver = Receiver::new(&CONFIG, &link());
    let id = MessageId {
        source: 0,
        number: 1,
    };
    let mut now = sender.next_timeout();
    sender.timeout(&CONFIG, now);
    let (mut completed, mut done) = (0, None);
    for _ in 0..20 {
        for data in transmit(&mut sender, now) {
            completed += u32::from(receiver.input(now, id, data.body, 9));
        }
        now += Span::from_us(15);
        while let Some((_, ack)) = receiver.poll_transmit() {
            done = done.or(sender.input(&CONFIG, now, 1, ack));
        }
    }
    assert_eq!((completed, done.map(|(tag, _)| tag)), (1, Some(9)));
}

#[test]
fn receiver_acknowledges_each_packet() {
    let mut receiver = Receiver::new(&CONFIG, &link());
    let id = MessageId {
        source: 4,
        number: 1,
    };
    let payload = |number, is_last| Body::Payload {
        number,
        is_retransmission: false,
        is_last,
    };
    let mut input = |body| {
        let is_complete = receiver.input(us(1), id, body, 0);
        let acks: Vec<Ack> = std::iter::from_fn(|| Some(receiver.poll_transmit()?.1)).collect();
        (is_complete, acks, receiver.take_delivered().is_some())
    };
    let acked = |number, up_to, is_complete| {
        vec![Ack {
            number,
            up_to,
            is_complete,
        }]
    };
    assert_eq!(
        input(payload(0, false)),
        (false, acked(Some(0), 1, false), false)
    );
    assert_eq!(
        input(payload(2, true)),
        (false, acked(Some(2), 1, false), false)
    );
    assert_eq!(input(Body::Probe), (false, acked(None, 1, false), false));
    assert_eq!(
        input(payload(0, false)),
        (false, acked(Some(0), 1, false), false)
    );
    assert_eq!(
        input(payload(1, false)),
        (true, acked(Some(1), 3, true), true)
    );
    // Late packets of a finished message are acknowledged and deliver nothing.
    assert_eq!(
        input(payload(1, false)),
        (false, acked(Some(1), 0, true), false)
    );
    assert_eq!(input(Body::Probe), (false, acked(None, 0, true), false));
}

#[test]
fn abort_ends_the_message_at_both_ends() {
    let mut sender = sender();
    sender.send(&CONFIG, Time::ZERO, 1, MB, 5);
    transmit(&mut sender, Time::ZERO);
    let mut abort = |tag| sender.abort(|other| *other == tag).map(|(tag, ..)| tag);
    assert_eq!(abort(6), None);
    assert_eq!(abort(5), Some(5));
    assert_eq!(sender.next_timeout(), Time::MAX);
    let sent = transmit(&mut sender, us(1));
    assert_eq!(
        (sent.len(), sent[0].body, sent[0].remaining),
        (1, Body::Abort, 0)
    );
    assert_eq!(sender.input(&CONFIG, us(15), 1, ack(0, 1)), None);

    let mut receiver = Receiver::new(&CONFIG, &link());
    let id = MessageId {
        source: 0,
        number: 1,
    };
    let first = Body::Payload {
        number: 0,
        is_retransmission: false,
        is_last: true,
    };
    assert!(!receiver.input(us(1), id, Body::Abort, 0));
    assert!(!receiver.input(us(2), id, first, 0) && receiver.take_delivered().is_none());

    // A message of which nothing was sent needs no notice, and a message that was sent whole is not aborted.
    sender.send(&CONFIG, us(20), 2, MB, 5);
    assert!(sender.abort(|_| true).is_some());
    assert!(!sender.can_transmit());
    sender.send(&CONFIG, us(20), 3, 100, 5);
    transmit(&mut sender, us(20));
    assert_eq!(sender.abort(|_| true), None);
}
