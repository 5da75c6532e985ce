//! Acknowledgements one by one where a sender waits for them.

use crate::common::{Fate, Pair, plain, us};
use duetime_core::Span;
use duetime_proto::tcp::Config;

fn quick() -> Config {
    Config {
        quick_ack: 3,
        delayed_ack: 2,
        delayed_ack_timeout: Span::from_ms(1),
        initial_window: 8,
        slow_start_restart: false,
        ..plain()
    }
}

/// The acknowledgements of data, as (microsecond, segments acknowledged).
fn answers(pair: &Pair) -> Vec<(u64, u64)> {
    let data = pair.acks.iter().filter(|sent| sent.segment.seq > 1);
    data.map(|sent| (sent.at.as_ns() / 1_000, (sent.segment.seq - 1) / 1_000))
        .collect()
}

#[test]
fn the_first_segments_are_acknowledged_one_by_one() {
    let mut pair = Pair::new(quick());
    pair.send(8_000);
    pair.run();
    let expected = [(150, 1), (150, 2), (150, 3), (150, 5), (150, 7), (1_150, 8)];
    assert_eq!(answers(&pair), expected);
}

#[test]
fn an_idle_time_above_the_timeout_starts_anew() {
    let second = |idle_us: u64| {
        let mut pair = Pair::new(quick());
        pair.send(8_000);
        pair.run();
        // The last data came at 150 us.
        pair.run_until(us(100 + idle_us));
        pair.send(4_000);
        pair.run();
        answers(&pair)[6..]
            .iter()
            .map(|answer| answer.1)
            .collect::<Vec<_>>()
    };
    assert_eq!(second(10_001), [9, 10, 11, 12]);
    assert_eq!(second(10_000), [10, 12]);
}

#[test]
fn data_that_came_before_starts_anew() {
    // 4 comes twice: its copy is answered, and so are 5 and 6 alone.
    let mut pair = Pair::new(quick()).data_fate(|packet, _, _| match packet {
        4 => Fate::Twice,
        _ => Fate::Deliver,
    });
    pair.send(8_000);
    pair.run();
    let numbers: Vec<u64> = answers(&pair).iter().map(|answer| answer.1).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 8]);
}
