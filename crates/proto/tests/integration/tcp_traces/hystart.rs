//! Slow start with `HyStart++` (RFC 9406).

use crate::common::{Fate, Pair, plain, us};
use duetime_core::Span;
use duetime_proto::Length;
use duetime_proto::tcp::{Config, Recovery};
use duetime_proto::window::{CongestionControl, Cubic};

#[test]
fn slow_start_becomes_conservative() {
    // Ten segments take 100 us; all later ones take 4 ms more, the threshold of RFC 9406 §4.3 (MIN_RTT_THRESH).
    let control = Cubic {
        hystart: true,
        ..Cubic::default()
    };
    let config = Config {
        congestion_control: CongestionControl::Cubic(control),
        recovery: Recovery::Sack,
        initial_window: 10,
        ..plain()
    };
    let mut pair = Pair::new(config).data_fate(|packet, _, _| {
        if packet > 10 {
            Fate::Delay(Span::from_ms(4))
        } else {
            Fate::Deliver
        }
    });
    pair.send(Length::Endless);
    // Window after the acknowledgements of each round trip, the first at 200 us.
    let windows: Vec<u64> = (0..5)
        .map(|round| {
            pair.run_until(us(200 + 4_100 * round));
            pair.sender.window_bytes()
        })
        .collect();
    assert_eq!(windows[0], 20_000);
    // Twenty acknowledgements: seven open the window by a segment each. The eighth is the eighth sample (N_RTT_SAMPLE),
    // and from there on each opens it by a quarter (CSS_GROWTH_DIVISOR).
    assert_eq!(windows[1], 20_000 + 7_000 + 13 * 250);
    // A quarter of a segment for each in flight: 30, 37, 47.
    assert_eq!(windows[2..], [37_750, 47_000, 58_750]);
    assert_eq!(pair.sender.ssthresh_bytes(), u64::MAX);
    // Rounds end when the data sent by the end of the last round is acknowledged: 28, 56, 91, 135 and 190. The fifth
    // round, which includes the first partial one, ends conservative slow start (CSS_ROUNDS): 45 acknowledgements after
    // 145, a quarter each.
    pair.run_until(us(200 + 4_100 * 5));
    assert_eq!(pair.sender.ssthresh_bytes(), 58_750 + 45 * 250);
}

#[test]
fn shorter_round_trip_resumes_slow_start() {
    // As above, but only the first ten of the second round are slow: the later acknowledgements are early, and slow
    // start resumes (RFC 9406 §4.2).
    let control = Cubic {
        hystart: true,
        ..Cubic::default()
    };
    let config = Config {
        congestion_control: CongestionControl::Cubic(control),
        recovery: Recovery::Sack,
        initial_window: 10,
        ..plain()
    };
    let mut pair = Pair::new(config).data_fate(|packet, _, _| {
        if (11..=30).contains(&packet) {
            Fate::Delay(Span::from_ms(4))
        } else {
            Fate::Deliver
        }
    });
    pair.send(Length::Endless);
    pair.run_until(us(4_300));
    assert_eq!(pair.sender.window_bytes(), 30_250);
    // 30 segments at 100 us. Two of the slow ones were in their round, so the sixth is the eighth sample and resumes
    // slow start.
    pair.run_until(us(4_400));
    let grown = 5 * 250 + 25 * 1_000;
    assert_eq!(pair.sender.window_bytes(), 30_250 + grown);
}
