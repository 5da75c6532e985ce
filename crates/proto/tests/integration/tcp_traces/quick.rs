//! Quick acknowledgements, when a sender waits for them.

use crate::common::{Fate, Pair, plain, us};
use duetime_core::Span;
use duetime_proto::tcp::Config;

fn quick_config() -> Config {
    Config {
        quick_ack: 3,
        delayed_ack: 2,
        delayed_ack_timeout: Span::from_ms(1),
        initial_window: 8,
        slow_start_restart: false,
        ..plain()
    }
}

/// Returns the acknowledgements of data, as (microsecond, segments acknowledged).
fn answers(pair: &Pair) -> Vec<(u64, u64)> {
    let data = pair.acks.iter().filter(|sent| sent.segment.seq > 1);
    data.map(|sent| (sent.at.as_ns() / 1_000, (sent.segment.seq - 1) / 1_000))
        .collect()
}

#[test]
fn first_segments_are_acknowledged_individually() {
    let mut pair = Pair::new(quick_config());
    pair.send(8_000);
    pair.run();
    let expected = [(150, 1), (150, 2), (150, 3), (150, 5), (150, 7), (1_150, 8)];
    assert_eq!(answers(&pair), expected);
}

#[test]
fn idle_time_restarts_quick_acks() {
    let second = |idle_us: u64| {
        let mut pair = Pair::new(quick_config());
        pair.send(8_000);
        pair.run();
        // The last data arrived at 150 us.
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
fn duplicate_data_restarts_quick_acks() {
    // 4 arrives twice: its copy is acknowledged at once, and so are 5 and 6.
    let mut pair = Pair::new(quick_config()).data_fate(|packet, _, _| match packet {
        4 => Fate::Duplicate,
        _ => Fate::Deliver,
    });
    pair.send(8_000);
    pair.run();
    let numbers: Vec<u64> = answers(&pair).iter().map(|answer| answer.1).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 8]);
}
