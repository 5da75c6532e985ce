//! Congestion-window validation as in Linux.

use crate::common::{Pair, plain};
use duetime_core::Span;
use duetime_proto::tcp::{Config, Recovery};
use std::ops::RangeInclusive;

fn validation_config() -> Config {
    Config {
        recovery: Recovery::Sack,
        window_validation: true,
        initial_window: 10,
        slow_start_limit: 1_000,
        ..plain()
    }
}

/// Sends `messages` of `bytes` in sequence, each after the previous one is acknowledged and `idle` has passed.
fn send_in_turn(pair: &mut Pair, messages: u32, bytes: u64, idle: Span) {
    for _ in 0..messages {
        pair.send(bytes);
        pair.run();
        let next = pair.now + idle;
        pair.run_until(next);
    }
}

/// Returns the number of segments of a message of `bytes` that are sent at once.
fn burst_of(pair: &mut Pair, bytes: u64) -> usize {
    let at = pair.now;
    pair.send(bytes);
    pair.run();
    pair.data.iter().filter(|sent| sent.at == at).count()
}

#[test]
fn small_messages_do_not_open_the_window() {
    let mut pair = Pair::new(validation_config());
    send_in_turn(&mut pair, 1_000, 1_000, Span::ZERO);
    assert_eq!(burst_of(&mut pair, 1_000_000), 10);
    let mut pair = Pair::new(Config {
        window_validation: false,
        ..validation_config()
    });
    send_in_turn(&mut pair, 1_000, 1_000, Span::ZERO);
    assert_eq!(burst_of(&mut pair, 1_000_000), 1_000);
}

#[test]
fn slow_start_opens_to_twice_the_usage() {
    // Eight segments at a time, with a window of 10.
    let mut pair = Pair::new(validation_config());
    send_in_turn(&mut pair, 20, 8_000, Span::ZERO);
    assert_eq!(pair.sender.window_bytes(), 16_000);
}

#[test]
fn limiting_window_grows_freely() {
    let transmissions = |window_validation| {
        let mut pair = Pair::new(Config {
            window_validation,
            ..validation_config()
        });
        pair.send(5_000_000);
        pair.run();
        pair.transmissions()
    };
    assert_eq!(transmissions(true), transmissions(false));
}

#[test]
fn idle_time_halves_the_window_per_timeout() {
    // A window of 160 after 150 segments, and a timeout of 10 ms. Measured on Linux 6.18 with an RTO of 204 ms: 1806
    // segments become 903 after 300 ms, 1557 become 389 after 500 ms, 1862 become 116 after 900 ms and 2000 become 10
    // after 2 s.
    let after = |idle_us: u64, slow_start_restart| {
        let mut pair = Pair::new(Config {
            slow_start_restart,
            ..validation_config()
        });
        send_in_turn(&mut pair, 1, 150_000, Span::from_us(idle_us));
        assert_eq!(pair.sender.window_bytes(), 160_000);
        pair.send(1_000);
        let window = pair.sender.window_bytes() / 1_000;
        assert_eq!(pair.sender.ssthresh_bytes(), u64::MAX);
        pair.run();
        window
    };
    assert_eq!(after(5_000, true), 160);
    assert_eq!(after(15_000, true), 80);
    assert_eq!(after(25_000, true), 40);
    assert_eq!(after(500_000, true), 10);
    assert_eq!(after(500_000, false), 160);
}

#[test]
fn acknowledged_small_messages_keep_the_window() {
    // Measured on Linux 6.18: one small message per 20 ms does not change the window, although the RTO is 204 ms.
    let mut pair = Pair::new(validation_config());
    send_in_turn(&mut pair, 1, 150_000, Span::ZERO);
    send_in_turn(&mut pair, 50, 1_000, Span::from_ms(1));
    assert_eq!(pair.sender.window_bytes(), 160_000);
}

#[test]
fn loss_reduces_the_validated_window() {
    // Measured on Linux 6.18 with Reno: the window was 73 segments when the first of the last 25 segments of a message was
    // found lost, and 36 afterwards (`tcp_probe`). Here the window is 160 segments after the first message, and 20 are in
    // flight when one of them is lost.
    let after = |window_validation, lost: RangeInclusive<usize>| {
        let mut pair = Pair::new(Config {
            window_validation,
            rate_reduction: true,
            ..validation_config()
        })
        .losing(move |packet| lost.contains(&packet)); // the SYN is packet 0
        send_in_turn(&mut pair, 1, 150_000, Span::ZERO);
        assert_eq!(pair.sender.window_bytes(), 160_000);
        pair.send(20_000);
        pair.run();
        pair.sender.ssthresh_bytes()
    };
    assert_eq!(after(true, 151..=151), 80_000);
    assert_eq!(after(false, 151..=151), 10_000);
    // All twenty are lost: the timer expires.
    assert_eq!(after(true, 151..=170), 80_000);
    assert_eq!(after(false, 151..=170), 10_000);
}
