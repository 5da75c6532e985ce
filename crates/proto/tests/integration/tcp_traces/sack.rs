//! Losses detected by selective acknowledgements (RFC 2018, RFC 2883, RFC 6675, RFC 6937).

use super::burst;
use crate::common::{Fate, Pair, dropping, plain, us};
use duetime_core::Span;
use duetime_proto::Message;
use duetime_proto::tcp::{Config, Flags, Recovery, Sack, Segment, Sender};

fn sack_config(initial_window: u32) -> Config {
    Config {
        recovery: Recovery::Sack,
        initial_window,
        ..plain()
    }
}

fn retransmission(at: u64, number: u64) -> Vec<(u64, u64, bool)> {
    vec![(at, number, true)]
}

#[test]
fn two_losses_are_repaired_within_the_pipe() {
    // Ten segments; 2 and 5 are lost.
    let mut pair = dropping(sack_config(10), &[2, 5]);
    pair.send(20_000);
    pair.run();
    let expected = [
        burst(100, 1, 10),
        // 1 is acknowledged: the window is 11.
        burst(200, 11, 12),
        // 3 and 4 have arrived: each releases one segment, as the pipe is 10 (RFC 6675 §5 step 3).
        burst(200, 13, 14),
        // 6 is the third above 2, which is lost (§5 step 1). 13 are in flight, two of them by limited transmit, so
        // ssthresh and the window are 5.5 (step 4.2). 2 is sent at once (step 4.3), and the pipe is 10: 2, 5, 7..=14.
        retransmission(200, 2),
        // 7 to 10 have arrived. 8 is the third above 5, which is lost; 2 and 11..=14 remain in the pipe. 11: the pipe
        // is 4, and 5 is sent (NextSeg rule 1). 12 to 14: each releases one new segment (rule 2).
        retransmission(300, 5),
        burst(300, 15, 17),
        // 2..=4 are acknowledged: 5 and 15..=17 are the pipe.
        burst(300, 18, 18),
        // Everything to 14 is acknowledged, and the recovery is over (§5 step A) with a window of 5.5: 15..=19.
        burst(400, 19, 19),
        burst(400, 20, 20),
    ]
    .concat();
    assert_eq!(pair.transmissions(), expected);
    assert_eq!((pair.bytes, pair.messages), (20_000, 1));
    let counters = pair.sender.counters();
    assert_eq!((counters.timeouts, counters.fast_retransmits), (0, 1));
    assert_eq!(counters.retransmits, 2);
    // 15 to 20 are acknowledged: six add one segment to 5.5.
    assert_eq!(pair.sender.ssthresh_bytes(), 5_500);
    assert_eq!(pair.sender.window_bytes(), 6_500);
}

#[test]
fn hole_is_repaired_by_rule_3() {
    // Six segments; 2 and 4 are lost, and only two have arrived above 4.
    let mut pair = dropping(sack_config(6), &[2, 4]);
    pair.send(6_000);
    pair.run();
    let expected = [
        burst(100, 1, 6),
        // Five in flight: ssthresh is 2.5. The pipe is 2 and 4.
        retransmission(200, 2),
        // 2 and 3 are acknowledged: the pipe is 4 alone, nothing is lost and no new data is left (NextSeg rule 3).
        retransmission(300, 4),
    ]
    .concat();
    assert_eq!(pair.transmissions(), expected);
    assert_eq!((pair.bytes, pair.sender.counters().timeouts), (6_000, 0));
}

#[test]
fn recovery_sends_one_rescue() {
    // Six segments; 2 and the last are lost.
    let mut pair = dropping(sack_config(6), &[2, 6]);
    pair.send(6_000);
    pair.run();
    let expected = [
        burst(100, 1, 6),
        retransmission(200, 2),
        // Everything to 5 is acknowledged; nothing has arrived above 6 (NextSeg rule 4).
        retransmission(300, 6),
    ]
    .concat();
    assert_eq!(pair.transmissions(), expected);
    // Its copy is lost, too: the only rescue is used, and the timeout repairs it. The timer started at 300 us.
    let mut pair = dropping(sack_config(6), &[2, 6, 8]);
    pair.send(6_000);
    pair.run();
    let expected = [expected, retransmission(10_300, 6)].concat();
    assert_eq!(pair.transmissions(), expected);
    assert_eq!((pair.bytes, pair.sender.counters().timeouts), (6_000, 1));
}

#[test]
fn lost_copy_waits_for_the_timeout() {
    // Packet 9 is the copy of 2. RFC 6675 does not detect its loss; the timeout declares everything lost that has not
    // arrived (§5.1), which is only 2.
    let mut pair = dropping(sack_config(8), &[2, 9]);
    pair.send(8_000);
    pair.run();
    let expected = [
        burst(100, 1, 8),
        retransmission(200, 2),
        // When 7 has arrived the pipe is 2 and 8: there is room for a rescue (NextSeg rule 4), slightly too early.
        retransmission(200, 8),
        retransmission(10_200, 2),
    ]
    .concat();
    assert_eq!(pair.transmissions(), expected);
    assert_eq!(pair.sender.counters().timeouts, 1);
}

/// Returns the segments that a sender of seven 400-byte segments, all in flight, sends after a duplicate
/// acknowledgement with these blocks.
fn after_blocks(numbers: &[u64]) -> Vec<u64> {
    let config = sack_config(7);
    let mut sender = Sender::new(&config, us(0));
    for _ in 0..7 {
        let message = Message::new(400, None);
        sender.send(&config, us(0), message);
    }
    let ack = |flags| Segment {
        seq: 1,
        len: 0,
        flags: Flags::ACK | flags,
    };
    let sent = |sender: &mut Sender, at| {
        let all = std::iter::from_fn(|| sender.poll_transmit(&config, us(at)));
        all.map(|segment| segment.seq / 400 + 1).collect::<Vec<_>>()
    };
    assert_eq!(sent(&mut sender, 0), [1]);
    sender.input(&config, us(100), ack(Flags::SYN));
    assert_eq!(sent(&mut sender, 100), [1, 2, 3, 4, 5, 6, 7]);
    let mut sack = Sack::NONE;
    for number in numbers {
        assert!(sack.push(1, 400 * number - 399, 400 * number + 1));
    }
    sender.input_sack(&config, us(200), ack(Flags::NONE), &sack);
    sent(&mut sender, 200)
}

#[test]
fn three_separate_blocks_indicate_a_loss() {
    // RFC 6675 §4, IsLost: 1200 B have arrived, not more than two segments; but above 1 there are three blocks, and
    // above 3 two.
    assert_eq!(after_blocks(&[2, 4, 6]), [1]);
    assert_eq!(after_blocks(&[2, 4]), []);
    // One block and one duplicate acknowledgement.
    assert_eq!(after_blocks(&[2, 3, 4]), []);
    // At most 2000 B have arrived above each, not more than two segments of 1000 B.
    assert_eq!(after_blocks(&[3, 4, 5, 6]), []);
}

#[test]
fn acknowledgements_report_received_blocks() {
    // RFC 2018 §7 with segments of 1000 B: 2, 4 and 6 are lost.
    let mut pair = dropping(sack_config(7), &[2, 4, 6]);
    pair.send(7_000);
    pair.run_until(us(160));
    let reported: Vec<(u64, Vec<(u64, u64)>)> = (pair.acks[1..].iter())
        .map(|sent| {
            let ack = sent.segment.seq;
            (ack, sent.sack.blocks(ack).collect())
        })
        .collect();
    let [three, five, seven] = [(2_001, 3_001), (4_001, 5_001), (6_001, 7_001)];
    let expected = [
        (1_001, vec![]),
        (1_001, vec![three]),
        (1_001, vec![five, three]),
        (1_001, vec![seven, five, three]),
    ];
    assert_eq!(reported, expected);
}

#[test]
fn duplicate_data_is_reported_first() {
    // RFC 2883 §4.1.1: 3 arrives again after it was acknowledged; §4.1.2: 5 arrives again, beyond the hole at 4.
    let mut pair = Pair::new(sack_config(5)).data_fate(|packet, _, _| match packet {
        3 | 5 => Fate::Duplicate,
        4 => Fate::Drop,
        _ => Fate::Deliver,
    });
    pair.send(5_000);
    pair.run_until(us(160));
    let reported: Vec<(u64, Vec<(u64, u64)>)> = (pair.acks[3..].iter())
        .map(|sent| {
            let ack = sent.segment.seq;
            (ack, sent.sack.blocks(ack).collect())
        })
        .collect();
    let expected = [
        (3_001, vec![]),
        (3_001, vec![(2_001, 3_001)]),
        (3_001, vec![(4_001, 5_001)]),
        (3_001, vec![(4_001, 5_001), (4_001, 5_001)]),
    ];
    assert_eq!(reported, expected);
}

#[test]
fn newreno_receivers_send_no_blocks() {
    let mut pair = dropping(
        Config {
            recovery: Recovery::NewReno,
            ..sack_config(10)
        },
        &[2, 5],
    );
    pair.send(20_000);
    pair.run();
    assert!(pair.acks.iter().all(|sent| sent.sack.is_empty()));
}

#[test]
fn reduction_is_spread_over_the_recovery() {
    // RFC 6937 §4: of twenty segments the first is lost. The others arrive 1 us apart, so that the nth duplicate
    // acknowledgement arrives at 200 us plus n.
    let trace = |rate_reduction| {
        let config = Config {
            rate_reduction,
            ..sack_config(20)
        };
        let mut pair = Pair::new(config).data_fate(|packet, _, _| match packet {
            1 => Fate::Drop,
            2..=20 => Fate::Delay(Span::from_us(packet as u64 - 1)),
            _ => Fate::Deliver,
        });
        pair.send(100_000);
        pair.run_until(us(220));
        assert_eq!(pair.sender.ssthresh_bytes(), 10_000);
        let later = pair.transmissions().into_iter().skip(20);
        later
            .map(|(at, number, _)| (at - 200, number))
            .collect::<Vec<_>>()
    };
    let start = [(1, 21), (2, 22), (3, 1)];
    // Two by limited transmit, the repair at the third. Then one per two arrivals, until ten are in flight.
    let spread = (0..7).map(|n| (5 + 2 * n, 23 + n));
    assert_eq!(
        trace(true),
        start.into_iter().chain(spread).collect::<Vec<_>>()
    );
    // Nothing is sent until the pipe, 19 with the repair, is below ten.
    let late = (0..7).map(|n| (13 + n, 23 + n));
    assert_eq!(
        trace(false),
        start.into_iter().chain(late).collect::<Vec<_>>()
    );
}
