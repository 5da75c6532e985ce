//! Losses detected by duplicate acknowledgements.

use super::burst;
use crate::common::{Pair, plain, us};
use duetime_core::{Span, Time};
use duetime_proto::Message;
use duetime_proto::tcp::{Coalescing, Config, Flags, Segment, Sender};

/// Checks that 20 KB in one message were delivered, with two segments retransmitted in one fast recovery.
fn assert_one_recovery(pair: &Pair) {
    assert_eq!((pair.bytes, pair.messages), (20_000, 1));
    let counters = pair.sender.counters();
    let recoveries = (counters.timeouts, counters.fast_retransmits);
    assert_eq!((recoveries, counters.retransmits), ((0, 1), 2));
}

#[test]
fn two_losses_take_two_round_trips() {
    // Ten segments; 2 and 5 are lost (the SYN is packet 0).
    let mut pair = Pair::new(Config {
        initial_window: 10,
        ..plain()
    })
    .losing(|packet| packet == 2 || packet == 5);
    pair.send(20_000);
    pair.run();
    let expected = [
        burst(100, 1, 10),
        // Segment 1 is acknowledged: the window is 11, 2..=12.
        burst(200, 11, 12),
        // 3 and 4 are duplicates: each releases one segment beyond the window.
        burst(200, 13, 14),
        // 6 is the third duplicate: 11 were in flight without these two, so ssthresh is 5.5, the window is 8.5, and 2
        // is retransmitted. 7 to 10 inflate it to 12.5.
        vec![(200, 2, true)],
        // 11 to 14 inflate it to 16.5.
        burst(300, 15, 17),
        // 2..=4 are acknowledged, partially: 5 is retransmitted; the window is 16.5 - 3 + 1 = 14.5, 5..=18.
        vec![(300, 5, true)],
        burst(300, 18, 18),
        // 15 to 17 inflate it to 17.5.
        burst(400, 19, 20),
    ]
    .concat();
    assert_eq!(pair.transmissions(), expected);
    assert_one_recovery(&pair);
    // Everything to 17 is acknowledged: three are in flight, so the window is min(5.5, 4). 18 and 19 open it by slow
    // start to 6, above ssthresh.
    assert_eq!(pair.sender.ssthresh_bytes(), 5_500);
    assert_eq!(pair.sender.window_bytes(), 6_000);
}

#[test]
fn limited_transmit_repairs_small_windows() {
    let trace = |limited_transmit, bytes| {
        let mut pair = Pair::new(Config {
            limited_transmit,
            ..plain()
        })
        .losing(|packet| packet == 1);
        pair.send(bytes);
        pair.run();
        assert_eq!(pair.bytes, bytes);
        (pair.transmissions(), pair.sender.counters().timeouts)
    };
    // Each duplicate releases one new segment, one per round trip, and the third repairs the loss. ssthresh is two
    // segments, not half of four, and the window is 5: 1..=5.
    let with = [
        burst(100, 1, 2),
        burst(200, 3, 3),
        burst(300, 4, 4),
        vec![(400, 1, true)],
        burst(400, 5, 5),
        // Everything to 4 is acknowledged: one is in flight, so the window is 2.
        burst(500, 6, 6),
    ]
    .concat();
    assert_eq!(trace(true, 6_000), (with, 0));
    // Without limited transmit, or without data to send, the timeout repairs the loss.
    let mut without = burst(100, 1, 2);
    without.push((10_100, 1, true));
    without.extend(burst(10_200, 3, 4));
    assert_eq!(trace(false, 4_000), (without, 1));
    assert_eq!(trace(true, 2_000).1, 1);
}

#[test]
fn limited_transmit_sends_at_most_two_segments() {
    // Segments 1 to 3 are late by two duplicates: no loss, and limited transmit leaves no trace in the window.
    let config = Config {
        initial_window: 4,
        ..plain()
    };
    let mut sender = Sender::new(&config, us(0));
    let message = Message::new(100_000, None);
    sender.send(&config, us(0), message);
    let ack = |sender: &mut Sender, at, seq, flags| {
        let segment = Segment {
            seq,
            len: 0,
            flags: Flags::ACK | flags,
        };
        sender.input(&config, us(at), segment);
        std::iter::from_fn(|| sender.poll_transmit(&config, us(at))).count()
    };
    assert!(sender.poll_transmit(&config, us(0)).is_some());
    assert_eq!(ack(&mut sender, 100, 1, Flags::SYN), 4);
    assert_eq!(ack(&mut sender, 200, 1, Flags::NONE), 1);
    assert_eq!(ack(&mut sender, 201, 1, Flags::NONE), 1);
    assert_eq!(sender.window_bytes(), 4_000);
    assert_eq!(sender.in_flight(), 6_000);
    // Segments 1 to 3 were only late: the window is 5, and 4..=6 are in flight, so two more may be sent.
    assert_eq!(ack(&mut sender, 202, 3_001, Flags::NONE), 2);
    assert_eq!(sender.window_bytes(), 5_000);
    // Two more duplicates, again one segment each; the third finds five in flight without these two.
    assert_eq!(ack(&mut sender, 203, 3_001, Flags::NONE), 1);
    assert_eq!(ack(&mut sender, 204, 3_001, Flags::NONE), 1);
    assert_eq!(sender.in_flight(), 7_000);
    ack(&mut sender, 205, 3_001, Flags::NONE);
    assert_eq!(sender.ssthresh_bytes(), 2_500);
    assert_eq!(sender.window_bytes(), 5_500);
}

#[test]
fn limited_transmit_respects_the_receive_window() {
    let mut pair = Pair::new(Config {
        initial_window: 4,
        receive_window: 4_500,
        ..plain()
    })
    .losing(|packet| packet == 1);
    pair.send(20_000);
    pair.run_until(us(210));
    // Three duplicates, but the receive window admits no fifth segment: only the repair is sent.
    let expected = [burst(100, 1, 4), vec![(200, 1, true)]].concat();
    assert_eq!(pair.transmissions(), expected);
}

#[test]
fn two_losses_without_limited_transmit() {
    // Ten segments; 2 and 5 are lost (the SYN is packet 0).
    let mut pair = Pair::new(Config {
        initial_window: 10,
        limited_transmit: false,
        ..plain()
    })
    .losing(|packet| packet == 2 || packet == 5);
    pair.send(20_000);
    pair.run();
    let expected = [
        burst(100, 1, 10),
        // Segment 1 is acknowledged: the window is 11, 2..=12.
        burst(200, 11, 12),
        // 3, 4 and 6 are duplicates: ssthresh is 5.5, the window is 8.5, and 2 is retransmitted. 7 to 10 inflate it to
        // 12.5.
        vec![(200, 2, true)],
        burst(200, 13, 13),
        // 11 and 12 inflate it to 14.5.
        burst(300, 14, 15),
        // 2..=4 are acknowledged, partially: 5 is retransmitted; the window is 14.5 - 3 + 1 = 12.5, 5..=16.
        vec![(300, 5, true)],
        burst(300, 16, 16),
        // 13 inflates it to 13.5.
        burst(300, 17, 17),
        // 14 and 15 to 15.5.
        burst(400, 18, 19),
        // Everything to 15 is acknowledged: four are in flight, so the window is min(5.5, 5), 16..=20.
        burst(400, 20, 20),
    ]
    .concat();
    assert_eq!(pair.transmissions(), expected);
    assert_one_recovery(&pair);
    // 16 and then 17 to 20 are acknowledged: one step of slow start to 6, above ssthresh.
    assert_eq!(pair.sender.ssthresh_bytes(), 5_500);
    assert_eq!(pair.sender.window_bytes(), 6_000);
}

#[test]
fn receive_offload_hides_no_duplicates() {
    let mut pair = Pair::new(Config {
        initial_window: 8,
        ack_coalescing: Some(Coalescing {
            segments: 10,
            within: Span::from_us(50),
        }),
        ..plain()
    })
    .losing(|packet| packet == 2);
    pair.send(40_000);
    pair.run();
    let counters = pair.sender.counters();
    assert_eq!((counters.timeouts, counters.fast_retransmits), (0, 1));
    // 3 is out of order: the delayed acknowledgement of 1 is sent before the six duplicates.
    let answers = pair.acks[1..].iter().take_while(|sent| sent.at == us(150));
    assert_eq!(
        answers.map(|sent| sent.segment.seq).collect::<Vec<_>>(),
        [1_001; 7]
    );
}

#[test]
fn out_of_order_data_is_acknowledged_at_once() {
    let mut pair = Pair::new(Config {
        delayed_ack: 4,
        initial_window: 8,
        ..plain()
    })
    .losing(|packet| packet == 2);
    pair.send(8_000);
    pair.run();
    // The SYN's answer; 1 is delayed; 3 to 8 are out of order, each repeats 1001; 2 fills the hole.
    let acks: Vec<u64> = pair.acks.iter().map(|sent| sent.segment.seq).collect();
    assert_eq!(acks, [1, 1_001, 1_001, 1_001, 1_001, 1_001, 1_001, 8_001]);
}

#[test]
fn first_partial_ack_restarts_the_timer() {
    // RFC 6582, the impatient variant: three losses, repaired at 200, 300 and 400 us.
    let mut pair = Pair::new(Config {
        initial_window: 12,
        ..plain()
    })
    .losing(|packet| [2, 5, 8].contains(&packet));
    pair.send(12_000);
    let timers: Vec<Time> = [us(250), us(350), us(450)]
        .into_iter()
        .map(|at| {
            pair.run_until(at);
            pair.sender.next_timeout()
        })
        .collect();
    assert_eq!(timers, [us(10_200), us(10_300), us(10_300)]);
    pair.run();
    assert_eq!(
        (pair.bytes, pair.sender.counters().retransmits),
        (12_000, 3)
    );
}
