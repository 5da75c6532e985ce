//! Window growth.

use super::burst;
use crate::common::{Fate, Pair, plain, us};
use duetime_core::Span;
use duetime_proto::tcp::{Coalescing, Config, Flags, Growth, Segment, Sender};
use duetime_proto::{Length, Message};

#[test]
fn slow_start_doubles_each_round_trip() {
    let mut pair = Pair::new(plain());
    pair.send(30_000);
    pair.run();
    assert_eq!(pair.data[0].segment.flags, Flags::SYN);
    let expected = [
        burst(100, 1, 2),
        burst(200, 3, 6),
        burst(300, 7, 14),
        burst(400, 15, 30),
    ]
    .concat();
    assert_eq!(pair.transmissions(), expected);
    assert_eq!((pair.bytes, pair.messages), (30_000, 1));
    assert!(pair.sender.is_idle());
    assert_eq!(pair.sender.srtt(), Some(Span::from_us(100)));
    assert_eq!(pair.sender.window_bytes(), 32_000);
}

#[test]
fn delayed_acknowledgements_slow_growth() {
    // Every second segment is acknowledged, and each acknowledgement grows the window by one: it acknowledges two and
    // releases three. The fifth segment waits for the sixth.
    let mut pair = Pair::new(Config {
        delayed_ack: 2,
        ..plain()
    });
    pair.send(23_000);
    pair.run();
    assert_eq!(
        pair.rounds(),
        [(100, 2), (200, 3), (300, 3), (400, 6), (500, 9)]
    );
    // The last segment is odd and acknowledged after 1 ms.
    let last = pair.acks.last().map(|sent| (sent.at, sent.segment.seq));
    assert_eq!(last, Some((us(550) + Span::from_ms(1), 23_001)));
}

#[test]
fn congestion_avoidance_adds_a_segment_per_window() {
    // The first of eight segments is lost: the window is halved, inflated by the seven duplicates to 11, and four when
    // the repair is acknowledged.
    let mut pair = Pair::new(Config {
        initial_window: 8,
        limited_transmit: false,
        ..plain()
    })
    .losing(|packet| packet == 1);
    pair.send(1_000_000);
    pair.run_until(us(650));
    assert_eq!(
        pair.rounds(),
        [(100, 8), (200, 4), (300, 4), (400, 5), (500, 6), (600, 7)]
    );
}

/// Returns a sender in congestion avoidance, with a window of `segments` of 1000 B of which all but one are in flight.
/// Twice as many are acknowledged: the first was lost.
fn avoiding(config: &Config, segments: u32) -> Sender {
    let config = Config {
        initial_window: 2 * segments,
        limited_transmit: false,
        ..*config
    };
    let mut sender = Sender::new(&config, us(0));
    let message = Message::new(1_000_000, None);
    sender.send(&config, us(0), message);
    let sent = u64::from(2 * segments);
    let duplicates = (1..sent).map(|_| (200, 1, Flags::NONE));
    let acks = std::iter::once((100, 1, Flags::SYN))
        .chain(duplicates)
        .chain([(300, sent * 1_000 + 1, Flags::NONE)]);
    let mut now = us(0);
    for (at, seq, flags) in acks {
        while sender.poll_transmit(&config, now).is_some() {}
        now = us(at);
        sender.input(&config, now, ack(seq, flags));
    }
    assert_eq!(sender.window_bytes(), u64::from(segments) * 1_000);
    sender
}

fn ack(seq: u64, flags: Flags) -> Segment {
    Segment {
        seq,
        len: 0,
        flags: Flags::ACK | flags,
    }
}

#[test]
fn long_flow_follows_a_sawtooth() {
    // The path holds sixteen packets: the seventeenth of a window is lost.
    let mut pair = Pair::new(plain()).data_fate(|_, _, in_flight| {
        if in_flight >= 16 {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    pair.send(Length::Endless);
    // Repairing the losses of slow start takes a round trip each.
    pair.run_until(us(10_001));
    let before = pair.sender.counters();
    let mut windows = Vec::new();
    for round in 101..400 {
        pair.run_until(us(100 * round + 1));
        windows.push(pair.sender.window_bytes());
    }
    let counters = pair.sender.counters();
    assert_eq!(counters.timeouts, 0);
    // The last segment of a window of 17 is lost. This is detected a round trip later, when the window is 18; with one
    // lost, the last of 17 is lost again, and ssthresh is 9. Repairing both takes two round trips. The 16 duplicates
    // inflate 9 to 25, which releases 7 more; the first repair acknowledges 17 segments, and the 7 are duplicates: 25 -
    // 17 + 1 + 7.
    let tooth = [9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 25, 16].map(|segments| segments * 1_000);
    let start = windows
        .iter()
        .position(|window| *window == 9_000)
        .unwrap_or_default();
    for (at, window) in windows[start..].iter().enumerate() {
        assert_eq!(*window, tooth[at % tooth.len()], "{windows:?}");
    }
    let retransmits = counters.retransmits - before.retransmits;
    let recoveries = counters.fast_retransmits - before.fast_retransmits;
    assert!(
        retransmits.abs_diff(2 * recoveries) <= 2,
        "{before:?} {counters:?}"
    );
}

#[test]
fn growth_by_acknowledgements_counts_each_once() {
    // A window of ten segments, five per acknowledgement: ten acknowledgements, or two windows of five segments.
    for (growth, needed) in [(Growth::Acknowledgements, 10), (Growth::Bytes, 2)] {
        let config = Config { growth, ..plain() };
        let mut sender = avoiding(&config, 10);
        for number in 1..=needed {
            assert_eq!(sender.window_bytes(), 10_000, "{growth:?}");
            while sender.poll_transmit(&config, us(300)).is_some() {}
            let acked = 20_001 + 5_000 * number;
            sender.input(&config, us(400), ack(acked, Flags::NONE));
        }
        assert_eq!(sender.window_bytes(), 11_000, "{growth:?}");
    }
}

#[test]
fn slow_start_growth_is_limited_per_ack() {
    // Four segments per acknowledgement: 4, plus one, two or four.
    for (slow_start_limit, second) in [(1, 5), (2, 6), (9, 8)] {
        let mut pair = Pair::new(Config {
            initial_window: 4,
            delayed_ack: 4,
            slow_start_limit,
            ..plain()
        });
        pair.send(100_000);
        pair.run_until(us(210));
        assert_eq!(pair.rounds(), [(100, 4), (200, second)]);
    }
}

#[test]
fn receive_offload_coalesces_acknowledgements() {
    // A window of six, acknowledged by four or 20 us after the first; the end of the message at once.
    let mut pair = Pair::new(Config {
        initial_window: 6,
        ack_coalescing: Some(Coalescing {
            segments: 4,
            within: Span::from_us(20),
        }),
        ..plain()
    });
    pair.send(13_000);
    pair.run();
    let acks: Vec<(u64, u64)> = pair.acks[1..]
        .iter()
        .map(|sent| (sent.at.as_ns() / 1_000, sent.segment.seq))
        .collect();
    // 1 to 4 at 150 us, when 5 and 6 are delayed by 20 us. The first acknowledgement opens the window to 7 and releases
    // 7..=11; the second, at 220 us, opens it to 8 and releases the last two.
    assert_eq!(
        acks,
        [(150, 4_001), (170, 6_001), (250, 10_001), (270, 13_001)]
    );
    assert_eq!((pair.bytes, pair.messages), (13_000, 1));
}

#[test]
fn idle_time_restarts_the_window() {
    let second_burst = |idle: Span, restart: bool| {
        let mut pair = Pair::new(Config {
            slow_start_restart: restart,
            ..plain()
        });
        pair.send(30_000);
        pair.run();
        pair.run_until(us(400) + idle);
        pair.send(20_000);
        let at = pair.now;
        pair.run();
        assert_eq!((pair.bytes, pair.messages), (50_000, 2));
        pair.data.iter().filter(|sent| sent.at == at).count()
    };
    assert_eq!(second_burst(Span::from_us(10_001), true), 2);
    assert_eq!(
        second_burst(Span::from_us(10_000), true),
        20,
        "not above the timeout"
    );
    assert_eq!(second_burst(Span::from_ms(50), false), 20);
}

#[test]
fn growth_carries_the_remainder() {
    let config = plain();
    let mut sender = avoiding(&config, 4);
    // Three segments at a time: 3 < 4; 6 = 4 + 2; 2 + 3 = 5.
    for (acked, window) in [
        (11_001, 4_000),
        (14_001, 5_000),
        (17_001, 6_000),
        (20_001, 6_000),
        (23_001, 7_000),
    ] {
        while sender.poll_transmit(&config, us(300)).is_some() {}
        sender.input(&config, us(400), ack(acked, Flags::NONE));
        assert_eq!(sender.window_bytes(), window, "{acked}");
    }
}

#[test]
fn receive_window_limits_data_in_flight() {
    let mut pair = Pair::new(Config {
        receive_window: 3_500,
        initial_window: 10,
        ..plain()
    });
    pair.send(9_000);
    pair.run();
    assert_eq!(pair.rounds(), [(100, 3), (200, 3), (300, 3)]);
}
