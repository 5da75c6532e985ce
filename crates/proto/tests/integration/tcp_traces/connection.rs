//! Messages, and the opening and closing of connections.

use crate::common::{Pair, plain, us};
use duetime_core::Time;
use duetime_proto::tcp::{Config, Flags};

#[test]
fn segments_never_span_messages() {
    let mut pair = Pair::new(Config {
        initial_window: 10,
        ..plain()
    });
    for bytes in [2_500, 300, 1, 4_000] {
        pair.send(bytes);
    }
    pair.run();
    let lengths: Vec<u32> = pair.data[1..].iter().map(|sent| sent.segment.len).collect();
    assert_eq!(
        lengths,
        [1_000, 1_000, 500, 300, 1, 1_000, 1_000, 1_000, 1_000]
    );
    let pushes = pair
        .data
        .iter()
        .filter(|sent| sent.segment.flags.contains(Flags::PUSH))
        .count();
    assert_eq!((pushes, pair.messages, pair.bytes), (4, 4, 6_801));
}

#[test]
fn lost_messages_are_retransmitted_with_ends() {
    let mut pair = Pair::new(Config {
        initial_window: 10,
        ..plain()
    })
    .losing(|packet| (3..=8).contains(&packet));
    for bytes in [2_500, 300, 1, 4_000] {
        pair.send(bytes);
    }
    pair.sender.close();
    pair.run();
    assert_eq!((pair.messages, pair.bytes), (4, 6_801));
    assert!(pair.sender.is_closed() && pair.receiver.is_closed());
}

#[test]
fn lost_syn_or_answer_starts_with_one_segment() {
    let lost_syn = Pair::new(plain()).losing(|packet| packet == 0);
    let lost_answer = Pair::new(plain()).losing_acks(|packet| packet == 0);
    for mut pair in [lost_syn, lost_answer] {
        pair.send(3_000);
        pair.run();
        assert_eq!(pair.data[1].at, us(10_000));
        assert_eq!(pair.rounds(), [(10_100, 1), (10_200, 2)]);
        assert_eq!(pair.bytes, 3_000);
    }
}

#[test]
fn fin_is_sent_with_the_last_segment() {
    let mut pair = Pair::new(plain());
    pair.send(1_500);
    pair.sender.close();
    pair.run();
    let last = pair.data[2].segment;
    assert!(last.flags.contains(Flags::FIN | Flags::PUSH) && last.len == 500);
    assert_eq!((pair.data.len(), pair.bytes), (3, 1_500));
    assert!(pair.sender.is_closed() && pair.sender.is_idle() && pair.receiver.is_closed());
    assert_eq!(pair.now, us(200), "the FIN is acknowledged at once");
}

#[test]
fn fin_after_data_is_retransmitted() {
    let mut pair = Pair::new(plain())
        .losing(|packet| packet == 2)
        .losing_acks(|packet| packet == 2);
    pair.send(1_000);
    pair.run();
    pair.sender.close();
    pair.run();
    // Lost; retransmitted and its acknowledgement lost; retransmitted.
    let fins: Vec<u64> = pair.data[2..]
        .iter()
        .map(|sent| sent.at.as_ns() / 1_000)
        .collect();
    assert_eq!(fins, [200, 10_200, 30_200]);
    assert!(
        pair.data[2..]
            .iter()
            .all(|sent| sent.segment.len == 0 && sent.segment.flags.contains(Flags::FIN))
    );
    assert!(pair.sender.is_closed() && pair.receiver.is_closed());
    assert_eq!((pair.bytes, pair.messages), (1_000, 1));
}

#[test]
fn unanswered_fin_is_abandoned() {
    let mut pair = Pair::new(plain()).losing(|packet| packet >= 2);
    pair.send(1_000);
    pair.run();
    pair.sender.close();
    pair.run();
    assert_eq!(pair.data.len(), 2 + 8);
    assert!(pair.sender.is_closed());
    assert_eq!(pair.sender.next_timeout(), Time::MAX);
}

#[test]
fn connection_without_messages_closes_silently() {
    let mut pair = Pair::new(plain());
    pair.sender.close();
    pair.send(1_000);
    pair.run();
    assert!(pair.sender.is_closed() && pair.data.is_empty());
}
