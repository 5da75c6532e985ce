//! Losses detected only by the timeout, and its round-trip samples.

use super::burst;
use crate::common::{Fate, Pair, plain, us};
use duetime_core::Span;
use duetime_proto::tcp::{Config, Recovery};
use duetime_proto::window::{CongestionControl, Cubic};

#[test]
fn lost_tail_waits_for_the_timeout() {
    // Two duplicates do not indicate a loss.
    let mut pair = Pair::new(Config {
        initial_window: 4,
        ..plain()
    })
    .losing(|packet| packet == 2);
    pair.send(4_000);
    pair.run();
    // The timer restarted when segment 1 was acknowledged, at 200 us.
    assert_eq!(pair.transmissions()[4..], [(10_200, 2, true)]);
    assert_eq!((pair.bytes, pair.sender.counters().timeouts), (4_000, 1));
}

#[test]
fn backoff_ends_with_a_new_sample() {
    let mut pair = Pair::new(plain()).losing(|packet| (1..=3).contains(&packet));
    pair.send(1_000);
    pair.run();
    // 10, 20 and 40 ms.
    let expected = [
        (100, 1, false),
        (10_100, 1, true),
        (30_100, 1, true),
        (70_100, 1, true),
    ];
    assert_eq!(pair.transmissions(), expected);
    assert_eq!(pair.sender.counters().timeouts, 3);
    // Karn's algorithm: a segment sent twice gives no sample, so 80 ms remain for the next segment.
    pair.send(3_000);
    pair.run_until(pair.now + Span::from_us(20));
    assert_eq!(pair.sender.next_timeout(), us(70_200) + Span::from_ms(80));
    pair.run_until(pair.now + Span::from_us(100));
    assert_eq!(pair.sender.next_timeout(), us(70_300) + Span::from_ms(10));
}

#[test]
fn timeout_retransmits_by_slow_start() {
    let mut pair = Pair::new(Config {
        initial_window: 8,
        ..plain()
    })
    .losing(|packet| (1..=8).contains(&packet));
    pair.send(10_000);
    pair.run();
    let retransmissions = |at, first, last| (first..=last).map(move |number| (at, number, true));
    let mut expected = burst(100, 1, 8);
    expected.extend(retransmissions(10_100, 1, 1));
    expected.extend(retransmissions(10_200, 2, 3));
    expected.extend(retransmissions(10_300, 4, 7));
    // The window has reached ssthresh = 4: of four acknowledgements, the last opens it to 5.
    expected.extend(retransmissions(10_400, 8, 8));
    expected.extend(burst(10_400, 9, 10));
    assert_eq!(pair.transmissions(), expected);
    assert_eq!(pair.sender.counters().retransmits, 8);
}

#[test]
fn timeout_does_not_resend_received_data() {
    // Of four segments only the first is lost, and so are the acknowledgements of the others (the first is for the
    // SYN).
    let mut pair = Pair::new(Config {
        initial_window: 4,
        ..plain()
    })
    .losing(|packet| packet == 1)
    .losing_acks(|packet| (1..=3).contains(&packet));
    pair.send(6_000);
    pair.run();
    let expected = [
        burst(100, 1, 4),
        vec![(10_100, 1, true)],
        burst(10_200, 5, 6),
    ]
    .concat();
    assert_eq!(pair.transmissions(), expected);
    assert_eq!((pair.bytes, pair.messages), (6_000, 1));
}

#[test]
fn needless_timeout_causes_no_fast_recovery() {
    // The first window arrives 20 us after the timeout; the segments retransmitted in between cause duplicates.
    let mut pair = Pair::new(Config {
        initial_window: 12,
        ..plain()
    })
    .data_fate(|packet, _, _| {
        if (1..=12).contains(&packet) {
            Fate::Delay(Span::from_us(9_970))
        } else {
            Fate::Deliver
        }
    });
    pair.send(60_000);
    pair.run();
    let counters = pair.sender.counters();
    assert_eq!((counters.timeouts, counters.fast_retransmits), (1, 0));
    assert!(counters.retransmits >= 4, "{counters:?}");
    assert_eq!(pair.bytes, 60_000);
}

#[test]
fn repeated_timeout_keeps_ssthresh() {
    let mut pair = Pair::new(Config {
        initial_window: 8,
        ..plain()
    })
    .losing(|packet| (1..=9).contains(&packet));
    pair.send(8_000);
    pair.run_until(us(30_100));
    assert_eq!(pair.sender.counters().timeouts, 2);
    assert_eq!(
        (pair.sender.ssthresh_bytes(), pair.sender.window_bytes()),
        (4_000, 1_000)
    );
}

#[test]
fn timeout_in_recovery_keeps_ssthresh() {
    // Segment 1 and its copy are lost, while duplicates release new data for 100 round trips.
    for recovery in [Recovery::NewReno, Recovery::Sack] {
        for congestion_control in [
            CongestionControl::NewReno,
            CongestionControl::Cubic(Cubic::default()),
        ] {
            let mut copies = 0;
            let mut pair = Pair::new(Config {
                initial_window: 8,
                recovery,
                congestion_control,
                ..plain()
            })
            .data_fate(move |_, segment, _| {
                let lost = segment.seq == 1 && copies < 2;
                copies += u32::from(lost);
                if lost { Fate::Drop } else { Fate::Deliver }
            });
            pair.send(1_000_000);
            pair.run_until(us(300));
            let in_recovery = pair.sender.ssthresh_bytes();
            assert!((4_000..=5_600).contains(&in_recovery), "{in_recovery}");
            pair.run_until(us(10_300));
            let counters = pair.sender.counters();
            assert_eq!((counters.fast_retransmits, counters.timeouts), (1, 1));
            assert_eq!(pair.sender.ssthresh_bytes(), in_recovery);
        }
    }
}

#[test]
fn retransmitted_segment_gives_no_sample() {
    // The timed segment is lost; its second copy is acknowledged 200 us after the first was sent.
    let mut pair = Pair::new(Config {
        initial_window: 10,
        ..plain()
    })
    .losing(|packet| packet == 1);
    pair.send(30_000);
    pair.run();
    assert_eq!(pair.sender.counters().fast_retransmits, 1);
    assert_eq!(pair.sender.srtt(), Some(Span::from_us(100)));
}
