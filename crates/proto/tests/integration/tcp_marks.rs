//! DCTCP's echo and estimator, and the reductions of the congestion controllers: hand-worked, and as properties over
//! random marks.

use crate::common::{Fate, Pair, d2tcp, dctcp, plain, us};
use duetime_core::fixed::Fraction;
use duetime_core::{Span, Time};
use duetime_proto::Length;
use duetime_proto::tcp::{Coalescing, Config, Flags, Receiver, Segment};
use duetime_proto::window::CongestionControl;
use proptest::prelude::*;

/// Creates a pair whose network marks the data packets in the range (the SYN is 0).
fn mark_packets(config: Config, packets: std::ops::RangeInclusive<usize>) -> Pair {
    Pair::new(config).data_fate(move |packet, _, _| {
        if packets.contains(&packet) {
            Fate::Mark
        } else {
            Fate::Deliver
        }
    })
}

/// Creates a pair in slow start (2, 4, 8, …), with the window of eight, packets 7 to 14, marked.
fn eight_marked(congestion_control: CongestionControl) -> Pair {
    let mut pair = mark_packets(
        Config {
            congestion_control,
            ..plain()
        },
        7..=14,
    );
    pair.send(Length::Endless);
    pair
}

#[test]
fn packets_are_ecn_capable_except_newreno() {
    for (congestion_control, capable) in [
        (CongestionControl::NewReno, false),
        (dctcp(0.0), true),
        (d2tcp(0.0, 0.5, 2.0), true),
    ] {
        let mut pair = Pair::new(Config {
            congestion_control,
            ..plain()
        })
        .losing(|packet| packet == 3);
        pair.send(9_000);
        pair.sender.close();
        pair.run();
        assert!(pair.sender.counters().retransmits > 0);
        for sent in pair.data.iter().chain(&pair.acks) {
            assert_eq!(sent.segment.flags.contains(Flags::ECT), capable, "{sent:?}");
        }
    }
}

#[test]
fn newreno_ignores_marks() {
    let mut pair = eight_marked(CongestionControl::NewReno);
    pair.run_until(us(450));
    assert_eq!(pair.rounds(), [(100, 2), (200, 4), (300, 8), (400, 16)]);
}

#[test]
fn first_echo_ends_slow_start() {
    // α(0) = 0: the echoes arrive at 400 us, when the window is 8 and α is still 0. The estimator's window is 5..=8
    // (each window ends when the data sent by the end of the last is acknowledged), half of it marked: α = 1/32.
    let mut pair = eight_marked(dctcp(0.0));
    pair.run_until(us(399));
    assert_eq!(pair.sender.window_bytes(), 8_000);
    pair.run_until(us(400));
    assert_eq!(
        (pair.sender.window_bytes(), pair.sender.ssthresh_bytes()),
        (8_000, 8_000)
    );
    assert_eq!(pair.sender.alpha(), Fraction::from_f64(1.0 / 32.0));
    // The other acknowledgements of the eight, after the reduction, add nothing; those of the eight sent after it add
    // one segment.
    pair.run_until(us(500));
    assert_eq!(pair.sender.window_bytes(), 9_000);
    // α(0) = 1 after three windows without marks: (15/16)³ at the reduction.
    let mut pair = eight_marked(dctcp(1.0));
    pair.run_until(us(400));
    let alpha = libm::pow(15.0 / 16.0, 3.0);
    let expected = (8_000.0 * (1.0 - alpha / 2.0)) as u64;
    assert!(
        pair.sender.window_bytes().abs_diff(expected) <= 1,
        "{} {expected}",
        pair.sender.window_bytes()
    );
}

#[test]
fn reduces_once_per_window() {
    // Everything is marked and α stays at 1, so the window halves once per round trip, down to two segments.
    let config = Config {
        congestion_control: dctcp(1.0),
        initial_window: 32,
        ..plain()
    };
    let mut pair = mark_packets(config, 1..=usize::MAX);
    pair.send(Length::Endless);
    let windows: Vec<u64> = (2..=6)
        .map(|round| {
            pair.run_until(us(100 * round));
            pair.sender.window_bytes()
        })
        .collect();
    assert_eq!(windows, [16_000, 8_000, 4_000, 2_000, 2_000]);
}

#[test]
fn reductions_respect_the_minimum_window() {
    for (min_window, floor) in [(0, 1_000), (1, 1_000), (2, 2_000), (5, 5_000)] {
        let config = Config {
            congestion_control: dctcp(1.0),
            min_window,
            initial_window: 8,
            ..plain()
        };
        let mut pair = mark_packets(config, 1..=usize::MAX);
        pair.send(Length::Endless);
        pair.run_until(us(2_000));
        assert_eq!(pair.sender.window_bytes(), floor);
    }
}

#[test]
fn loss_halves_for_any_alpha_and_deadline() {
    for congestion_control in [
        CongestionControl::NewReno,
        dctcp(0.0),
        dctcp(0.01),
        d2tcp(0.01, 0.5, 2.0),
    ] {
        let mut pair = Pair::new(Config {
            congestion_control,
            initial_window: 16,
            ..plain()
        })
        .losing(|packet| packet == 2);
        pair.send_by(100_000, Some(us(500)));
        pair.run_until(us(300));
        // 17 in flight.
        assert_eq!(
            (
                pair.sender.ssthresh_bytes(),
                pair.sender.counters().fast_retransmits
            ),
            (8_500, 1)
        );
    }
}

#[test]
fn nearer_deadline_reduces_less() {
    let window = |congestion_control, deadline: Option<Span>| {
        let mut pair = mark_packets(
            Config {
                congestion_control,
                initial_window: 16,
                ..plain()
            },
            7..=22,
        );
        pair.send_by(1_000_000, deadline.map(|deadline| Time::ZERO + deadline));
        pair.run_until(us(200));
        pair.sender.window_bytes()
    };
    let congestion_control = d2tcp(0.25, 0.5, 2.0);
    // α = 15/64 (the first acknowledgement ended a window without marks), W = 22: W (1 - α^d / 2).
    let expected_window = |d: f64| (22_000.0 * (1.0 - libm::pow(15.0 / 64.0, d) / 2.0)) as u64;
    let near = window(congestion_control, Some(Span::from_ms(1)));
    let far = window(congestion_control, Some(Span::from_ms(100)));
    let none = window(congestion_control, None);
    let late = window(congestion_control, Some(Span::from_us(1)));
    assert!(
        near.abs_diff(expected_window(2.0)) <= 1 && far.abs_diff(expected_window(0.5)) <= 1,
        "{near} {far}"
    );
    assert!(none.abs_diff(expected_window(1.0)) <= 1);
    assert_eq!(late, far, "an expired flow has the largest reduction");
    assert_eq!(none, window(dctcp(0.25), Some(Span::from_ms(1))));
    // The sender has 994 KB left, a round trip of 100 us and a window of 22 KB: Tc = 6.024 ms.
    let mid = window(
        congestion_control,
        Some(Span::from_us(200) + Span::from_us(4_820)),
    );
    assert!(mid.abs_diff(expected_window(6.024 / 4.820)) <= 2, "{mid}");
}

#[test]
fn imminence_follows_the_current_message() {
    // A message without a deadline is followed by an urgent one, which keeps its window when it is marked.
    let window = |deadline| {
        let config = Config {
            congestion_control: d2tcp(0.25, 0.5, 2.0),
            initial_window: 16,
            ..plain()
        };
        let mut pair = mark_packets(config, 20..=26);
        pair.send_by(16_000, None);
        pair.send_by(500_000, deadline);
        pair.run_until(us(300));
        pair.sender.window_bytes()
    };
    assert!(window(Some(us(600))) > window(None));
}

#[test]
fn echo_follows_changes_of_marks() {
    // m = 2, marks 0 0 0 1 1 0. The third is delayed and acknowledged without echo when the mark changes; the fourth is
    // acknowledged at once with echo. The fifth is delayed and acknowledged with echo at the next change; the sixth at
    // once without.
    let config = Config {
        congestion_control: dctcp(0.0),
        delayed_ack: 2,
        ..plain()
    };
    let mut receiver = Receiver::new(&config);
    receiver.input(
        &config,
        us(0),
        Segment {
            seq: 0,
            len: 0,
            flags: Flags::SYN,
        },
    );
    for (number, marked) in [
        (0, false),
        (1, false),
        (2, false),
        (3, true),
        (4, true),
        (5, false),
    ] {
        let flags = Flags::ECT | if marked { Flags::CE } else { Flags::NONE };
        receiver.input(
            &config,
            us(number),
            Segment {
                seq: 1 + 1_000 * number,
                len: 1_000,
                flags,
            },
        );
    }
    let mut acks = Vec::new();
    while let Some(ack) = receiver.poll_transmit() {
        acks.push((ack.seq, ack.flags.contains(Flags::ECE)));
    }
    assert_eq!(
        acks,
        [
            (1, false),
            (2_001, false),
            (3_001, false),
            (4_001, true),
            (5_001, true),
            (6_001, false)
        ]
    );
    assert_eq!(receiver.next_timeout(), Time::MAX);
}

proptest! {
    /// Echoes report exactly the bytes that the network has marked, for any delay of acknowledgements.
    #[test]
    fn marked_bytes_are_counted_exactly(
        delayed_ack in 1_u32..=4,
        marks in prop::collection::vec(any::<bool>(), 1..300),
        sizes in prop::collection::vec(1_u64..20_000, 1..12),
        mss in 100_u32..2_000,
        deadline in prop::option::of(1_u64..50_000),
        coalescing in prop::option::of((1_u32..=20, 0_u64..200)),
    ) {
        let ack_coalescing = coalescing.map(|(segments, within)| Coalescing { segments, within: Span::from_us(within) });
        let congestion_control = if deadline.is_some() { d2tcp(0.0, 0.5, 2.0) } else { dctcp(0.0) };
        let mut pair = Pair::new(Config { congestion_control, delayed_ack, ack_coalescing, mss, ..plain() })
            .data_fate(move |packet, _, _| if marks[packet % marks.len()] { Fate::Mark } else { Fate::Deliver });
        for bytes in &sizes {
            pair.send_by(*bytes, deadline.map(us));
        }
        pair.run();
        let sent: u64 = pair.data.iter().filter(|sent| sent.fate == Fate::Mark).map(|sent| u64::from(sent.segment.len)).sum();
        let mut una = 1;
        let mut echoed = 0;
        for ack in pair.acks.iter().map(|sent| sent.segment) {
            echoed += if ack.flags.contains(Flags::ECE) { ack.seq - una } else { 0 };
            una = ack.seq;
        }
        prop_assert_eq!(echoed, sent);
        prop_assert_eq!(pair.bytes, sizes.iter().sum::<u64>());
        prop_assert_eq!(pair.sender.counters().retransmits, 0);
    }

    /// D2TCP with d in [1, 1], and D2TCP without deadlines, send the same packets at the same times as DCTCP.
    #[test]
    fn d2tcp_with_d_of_one_is_dctcp(
        fates in prop::collection::vec(0_u8..10, 1..200),
        sizes in prop::collection::vec(1_u64..60_000, 1..8),
        alpha in 0.0_f64..=1.0,
        deadline in 1_u64..20_000,
        delayed_ack in 1_u32..=3,
    ) {
        let trace = |congestion_control, deadline: Option<Time>| {
            let fates = fates.clone();
            let mut pair = Pair::new(Config { congestion_control, delayed_ack, ..plain() }).data_fate(move |packet, _, _| {
                match fates[packet % fates.len()] {
                    0 if packet < 500 => Fate::Drop,
                    1..=4 => Fate::Mark,
                    _ => Fate::Deliver,
                }
            });
            for bytes in &sizes {
                pair.send_by(*bytes, deadline);
            }
            pair.sender.close();
            pair.run();
            (pair.data, pair.acks, pair.sender.alpha(), pair.sender.window_bytes())
        };
        let plain = trace(dctcp(alpha), Some(us(deadline)));
        prop_assert!(plain == trace(d2tcp(alpha, 1.0, 1.0), Some(us(deadline))));
        prop_assert!(plain == trace(d2tcp(alpha, 0.5, 2.0), None));
    }
}
