//! TCP against traces worked by hand, packet by packet: 1000-byte segments, a round trip of 100 us, no queues.

mod common;

use common::{Fate, Pair, plain, us};
use duetime_core::{Span, Time};
use duetime_proto::Message;
use duetime_proto::tcp::{Coalescing, Config, Flags, Growth, Segment, Sender};

/// Segments `first..=last`, new, all at `at`.
fn burst(at: u64, first: u64, last: u64) -> Vec<(u64, u64, bool)> {
    (first..=last).map(|number| (at, number, false)).collect()
}

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
fn delayed_acknowledgements_slow_the_start_down() {
    // Every second segment is acknowledged, each acknowledgement opens the window by one: it frees two and sends
    // three. The fifth segment waits for the sixth.
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
    // The last one is odd, and acknowledged after 1 ms.
    let last = pair.acks.last().map(|sent| (sent.at, sent.segment.seq));
    assert_eq!(last, Some((us(550) + Span::from_ms(1), 23_001)));
}

#[test]
fn congestion_avoidance_adds_a_segment_per_window() {
    let mut pair = Pair::new(Config {
        initial_window: 4,
        initial_ssthresh: Some(4),
        ..plain()
    });
    pair.send(1_000_000);
    pair.run_until(us(650));
    assert_eq!(
        pair.rounds(),
        [(100, 4), (200, 5), (300, 6), (400, 7), (500, 8), (600, 9)]
    );
}

#[test]
fn two_losses_of_one_window_are_repaired_in_two_round_trips() {
    // Ten segments; 2 and 5 are lost (the SYN is packet 0).
    let mut pair = Pair::new(Config {
        initial_window: 10,
        ..plain()
    })
    .data_fate(|packet, _, _| {
        if packet == 2 || packet == 5 {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    pair.send(20_000);
    pair.run();
    let expected = [
        burst(100, 1, 10),
        // Segment 1 is acknowledged: the window is 11, 2..=12.
        burst(200, 11, 12),
        // 3 and 4 are duplicates: each lets one segment out, beyond the window.
        burst(200, 13, 14),
        // 6 is the third: 11 were in flight but for these two, so ssthresh is 5.5, the window 8.5, and 2 goes again.
        // 7 to 10 inflate it to 12.5.
        vec![(200, 2, true)],
        // 11 to 14 inflate it to 16.5.
        burst(300, 15, 17),
        // 2..=4 are acknowledged, partially: 5 goes again, the window is 16.5 - 3 + 1 = 14.5, 5..=18.
        vec![(300, 5, true)],
        burst(300, 18, 18),
        // 15 to 17 inflate it to 17.5.
        burst(400, 19, 20),
    ]
    .concat();
    assert_eq!(pair.transmissions(), expected);
    assert_eq!((pair.bytes, pair.messages), (20_000, 1));
    let counters = pair.sender.counters();
    assert_eq!(
        (
            counters.timeouts,
            counters.fast_retransmits,
            counters.retransmits
        ),
        (0, 1, 2)
    );
    // Everything to 17 is acknowledged: three are in flight, so the window is min(5.5, 4). 18 and 19 open it by slow
    // start to 6, above ssthresh.
    assert_eq!(pair.sender.ssthresh_bytes(), 5_500);
    assert_eq!(pair.sender.window_bytes(), 6_000);
}

#[test]
fn limited_transmit_repairs_a_loss_in_a_window_of_two() {
    let trace = |limited_transmit, bytes| {
        let mut pair = Pair::new(Config {
            limited_transmit,
            ..plain()
        })
        .data_fate(|packet, _, _| {
            if packet == 1 {
                Fate::Drop
            } else {
                Fate::Deliver
            }
        });
        pair.send(bytes);
        pair.run();
        assert_eq!(pair.bytes, bytes);
        (pair.transmissions(), pair.sender.counters().timeouts)
    };
    // Each duplicate lets one new segment out, one per round trip, and the third repairs the loss. ssthresh is two
    // segments, not half of four, and the window 5: 1..=5.
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
    // Without it, or without data to send, the timeout repairs it.
    let mut without = burst(100, 1, 2);
    without.push((10_100, 1, true));
    without.extend(burst(10_200, 3, 4));
    assert_eq!(trace(false, 4_000), (without, 1));
    assert_eq!(trace(true, 2_000).1, 1);
}

#[test]
fn limited_transmit_sends_two_segments_at_most_and_leaves_the_window_alone() {
    // Segment 2 is late by as much as two duplicates take: no loss, and nothing beyond the window is left of it.
    let config = Config {
        initial_window: 4,
        ..plain()
    };
    let mut sender = Sender::new(&config, us(0));
    let message = Message {
        bytes: 100_000,
        deadline: None,
    };
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
    // Segments 1 to 3 were late only: the window is 5, and 4..=6 are in flight, so two more may leave.
    assert_eq!(ack(&mut sender, 202, 3_001, Flags::NONE), 2);
    assert_eq!(sender.window_bytes(), 5_000);
    // Two more duplicates, again one segment each; the third finds five in flight but for these two.
    assert_eq!(ack(&mut sender, 203, 3_001, Flags::NONE), 1);
    assert_eq!(ack(&mut sender, 204, 3_001, Flags::NONE), 1);
    assert_eq!(sender.in_flight(), 7_000);
    ack(&mut sender, 205, 3_001, Flags::NONE);
    assert_eq!(sender.ssthresh_bytes(), 2_500);
    assert_eq!(sender.window_bytes(), 5_500);
}

#[test]
fn limited_transmit_respects_the_receivers_window() {
    let mut pair = Pair::new(Config {
        initial_window: 4,
        receive_window: 4_500,
        ..plain()
    })
    .data_fate(|packet, _, _| {
        if packet == 1 {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    pair.send(20_000);
    pair.run_until(us(210));
    // Three duplicates, and no room for a fifth segment: only the repair leaves.
    let expected = [burst(100, 1, 4), vec![(200, 1, true)]].concat();
    assert_eq!(pair.transmissions(), expected);
}

#[test]
fn two_losses_are_repaired_alike_without_limited_transmit() {
    // Ten segments; 2 and 5 are lost (the SYN is packet 0).
    let mut pair = Pair::new(Config {
        initial_window: 10,
        limited_transmit: false,
        ..plain()
    })
    .data_fate(|packet, _, _| {
        if packet == 2 || packet == 5 {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    pair.send(20_000);
    pair.run();
    let expected = [
        burst(100, 1, 10),
        // Segment 1 is acknowledged: the window is 11, 2..=12.
        burst(200, 11, 12),
        // 3, 4 and 6 are duplicates: ssthresh is 5.5, the window 8.5, 2 goes again. 7 to 10 inflate it to 12.5.
        vec![(200, 2, true)],
        burst(200, 13, 13),
        // 11 and 12 inflate it to 14.5.
        burst(300, 14, 15),
        // 2..=4 are acknowledged, partially: 5 goes again, the window is 14.5 - 3 + 1 = 12.5, 5..=16.
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
    assert_eq!((pair.bytes, pair.messages), (20_000, 1));
    let counters = pair.sender.counters();
    assert_eq!(
        (
            counters.timeouts,
            counters.fast_retransmits,
            counters.retransmits
        ),
        (0, 1, 2)
    );
    // 16 and then 17 to 20 are acknowledged: one step of slow start to 6, above ssthresh.
    assert_eq!(pair.sender.ssthresh_bytes(), 5_500);
    assert_eq!(pair.sender.window_bytes(), 6_000);
}

#[test]
fn a_lost_tail_waits_for_the_timeout() {
    // Two duplicates are no loss.
    let mut pair = Pair::new(Config {
        initial_window: 4,
        ..plain()
    })
    .data_fate(|packet, _, _| {
        if packet == 2 {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    pair.send(4_000);
    pair.run();
    // The timer started again when segment 1 was acknowledged, at 200 us.
    assert_eq!(pair.transmissions()[4..], [(10_200, 2, true)]);
    assert_eq!((pair.bytes, pair.sender.counters().timeouts), (4_000, 1));
}

#[test]
fn timeouts_back_off_and_a_fresh_sample_ends_the_backoff() {
    let mut pair = Pair::new(plain()).data_fate(|packet, _, _| {
        if (1..=3).contains(&packet) {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
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
    // Karn: what was sent twice gives no sample, so 80 ms still hold for the next segment.
    pair.send(3_000);
    pair.run_until(pair.now + Span::from_us(20));
    assert_eq!(pair.sender.next_timeout(), us(70_200) + Span::from_ms(80));
    pair.run_until(pair.now + Span::from_us(100));
    assert_eq!(pair.sender.next_timeout(), us(70_300) + Span::from_ms(10));
}

#[test]
fn after_a_timeout_the_lost_window_is_sent_again_by_slow_start() {
    let mut pair = Pair::new(Config {
        initial_window: 8,
        ..plain()
    })
    .data_fate(|packet, _, _| {
        if (1..=8).contains(&packet) {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    pair.send(10_000);
    pair.run();
    let again = |at, first, last| (first..=last).map(move |number| (at, number, true));
    let mut expected = burst(100, 1, 8);
    expected.extend(again(10_100, 1, 1));
    expected.extend(again(10_200, 2, 3));
    expected.extend(again(10_300, 4, 7));
    // The window has reached ssthresh = 4: of four acknowledgements, the last opens it to 5.
    expected.extend(again(10_400, 8, 8));
    expected.extend(burst(10_400, 9, 10));
    assert_eq!(pair.transmissions(), expected);
    assert_eq!(pair.sender.counters().retransmits, 8);
}

#[test]
fn data_that_survived_a_timeout_is_not_sent_again() {
    // Of four segments only the first is lost, and so are the acknowledgements of the others (the first is of SYN).
    let mut pair = Pair::new(Config {
        initial_window: 4,
        ..plain()
    })
    .data_fate(|packet, _, _| {
        if packet == 1 {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    })
    .ack_fate(|packet, _| {
        if (1..=3).contains(&packet) {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
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
fn a_long_flow_saws_between_half_and_whole() {
    // The path holds sixteen packets: the seventeenth of a window is lost.
    let mut pair = Pair::new(Config {
        initial_ssthresh: Some(8),
        ..plain()
    })
    .data_fate(|_, _, flying| {
        if flying >= 16 {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    pair.send(u64::MAX / 2);
    let mut windows = Vec::new();
    for round in 1..400 {
        pair.run_until(us(100 * round + 1));
        windows.push(pair.sender.window_bytes());
    }
    let counters = pair.sender.counters();
    assert_eq!(counters.timeouts, 0);
    // The last of a window of 17 is lost. That is seen a round trip later, when the window is 18 and, with one lost,
    // the last of 17 is lost again: ssthresh is 9. Repairing both takes two round trips; the 16 duplicates inflate
    // 9 to 25, which sends 7 more; the first repair acknowledges 17 segments, and the 7 are duplicates: 25 - 17 + 1 + 7.
    let tooth = [9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 25, 16].map(|segments| segments * 1_000);
    let start = windows[50..]
        .iter()
        .position(|window| *window == 9_000)
        .map_or(0, |at| at + 50);
    for (at, window) in windows[start..].iter().enumerate() {
        assert_eq!(*window, tooth[at % tooth.len()], "{windows:?}");
    }
    assert!(
        counters.retransmits.abs_diff(2 * counters.fast_retransmits) <= 2,
        "{counters:?}"
    );
}

#[test]
fn growth_by_acknowledgements_slows_with_what_each_answers() {
    // Ten segments each round trip, five to an acknowledgement: two acknowledgements of ten that a segment takes.
    let windows = |growth| {
        let mut pair = Pair::new(Config {
            initial_window: 10,
            initial_ssthresh: Some(10),
            delayed_ack: 5,
            growth,
            ..plain()
        });
        pair.send(1_000_000);
        [250, 550, 650].map(|at| {
            pair.run_until(us(at));
            pair.sender.window_bytes()
        })
    };
    assert_eq!(windows(Growth::Acknowledgements), [10_000, 10_000, 11_000]);
    assert_eq!(windows(Growth::Bytes)[0], 11_000);
}

#[test]
fn slow_start_counts_what_each_acknowledgement_answers_up_to_a_limit() {
    // Four segments to an acknowledgement: 4, then one more, two or four for it.
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
fn receive_offload_answers_several_segments_at_once() {
    // A window of six, acknowledged four together or 20 us after the first; the message's end at once.
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
    // 1 to 4 at 150 us, when 5 and 6 wait for 20 us. The first answer opens the window to 7 and sends five, 7..=11;
    // the second, at 220 us, opens it to 8 and sends the last two.
    assert_eq!(
        acks,
        [(150, 4_001), (170, 6_001), (250, 10_001), (270, 13_001)]
    );
    assert_eq!((pair.bytes, pair.messages), (13_000, 1));
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
    .data_fate(|packet, _, _| {
        if packet == 2 {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    pair.send(40_000);
    pair.run();
    let counters = pair.sender.counters();
    assert_eq!((counters.timeouts, counters.fast_retransmits), (0, 1));
    // 3 is out of order: the answer to 1, which was held, leaves before the six duplicates.
    let answers = pair.acks[1..].iter().take_while(|sent| sent.at == us(150));
    assert_eq!(
        answers.map(|sent| sent.segment.seq).collect::<Vec<_>>(),
        [1_001; 7]
    );
}

#[test]
fn idle_above_the_timeout_restarts_from_the_initial_window() {
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
fn messages_queue_and_no_segment_spans_two() {
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
fn lost_messages_are_sent_again_with_their_ends() {
    let mut pair = Pair::new(Config {
        initial_window: 10,
        ..plain()
    })
    .data_fate(|packet, _, _| {
        if (3..=8).contains(&packet) {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    for bytes in [2_500, 300, 1, 4_000] {
        pair.send(bytes);
    }
    pair.sender.close();
    pair.run();
    assert_eq!((pair.messages, pair.bytes), (4, 6_801));
    assert!(pair.sender.is_closed() && pair.receiver.is_closed());
}

#[test]
fn a_lost_syn_or_answer_is_repaired_and_starts_with_one_segment() {
    let lost_syn = Pair::new(plain()).data_fate(|packet, _, _| {
        if packet == 0 {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    let lost_answer = Pair::new(plain()).ack_fate(|packet, _| {
        if packet == 0 {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    for mut pair in [lost_syn, lost_answer] {
        pair.send(3_000);
        pair.run();
        assert_eq!(pair.data[1].at, us(10_000));
        assert_eq!(pair.rounds(), [(10_100, 1), (10_200, 2)]);
        assert_eq!(pair.bytes, 3_000);
    }
}

#[test]
fn fin_rides_on_the_last_segment() {
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
fn fin_goes_alone_when_the_data_is_gone_and_is_repaired() {
    let mut pair = Pair::new(plain())
        .data_fate(|packet, _, _| {
            if packet == 2 {
                Fate::Drop
            } else {
                Fate::Deliver
            }
        })
        .ack_fate(|packet, _| {
            if packet == 2 {
                Fate::Drop
            } else {
                Fate::Deliver
            }
        });
    pair.send(1_000);
    pair.run();
    pair.sender.close();
    pair.run();
    // Lost; sent again and its acknowledgement lost; sent again.
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
fn a_fin_that_nobody_answers_is_given_up() {
    let mut pair = Pair::new(plain()).data_fate(|packet, _, _| {
        if packet >= 2 {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    pair.send(1_000);
    pair.run();
    pair.sender.close();
    pair.run();
    assert_eq!(pair.data.len(), 2 + 8);
    assert!(pair.sender.is_closed());
    assert_eq!(pair.sender.next_timeout(), Time::MAX);
}

#[test]
fn a_connection_without_messages_closes_silently() {
    let mut pair = Pair::new(plain());
    pair.sender.close();
    pair.send(1_000);
    pair.run();
    assert!(pair.sender.is_closed() && pair.data.is_empty());
}

#[test]
fn the_receive_window_bounds_the_flight() {
    let mut pair = Pair::new(Config {
        receive_window: 3_500,
        initial_window: 10,
        ..plain()
    });
    pair.send(9_000);
    pair.run();
    assert_eq!(pair.rounds(), [(100, 3), (200, 3), (300, 3)]);
}

#[test]
fn early_and_repeated_data_is_acknowledged_at_once() {
    let mut pair = Pair::new(Config {
        delayed_ack: 4,
        initial_window: 8,
        ..plain()
    })
    .data_fate(|packet, _, _| {
        if packet == 2 {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    pair.send(8_000);
    pair.run();
    // SYN's answer; 1 waits, 3 to 8 are early, each repeats 1001; 2 fills the hole.
    let acks: Vec<u64> = pair.acks.iter().map(|sent| sent.segment.seq).collect();
    assert_eq!(acks, [1, 1_001, 1_001, 1_001, 1_001, 1_001, 1_001, 8_001]);
}

#[test]
fn duplicates_of_a_needless_timeout_are_no_loss() {
    // The first window arrives 20 us after the timeout; what was sent again meanwhile comes back as duplicates.
    let mut pair = Pair::new(Config {
        initial_window: 12,
        ..plain()
    })
    .data_fate(|packet, _, _| {
        if (1..=12).contains(&packet) {
            Fate::Late(Span::from_us(9_970))
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
fn ssthresh_is_held_when_the_same_segment_times_out_again() {
    let mut pair = Pair::new(Config {
        initial_window: 8,
        ..plain()
    })
    .data_fate(|packet, _, _| {
        if (1..=9).contains(&packet) {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    pair.send(8_000);
    pair.run_until(us(30_100));
    assert_eq!(pair.sender.counters().timeouts, 2);
    assert_eq!(
        (pair.sender.ssthresh_bytes(), pair.sender.window_bytes()),
        (4_000, 1_000)
    );
}

#[test]
fn growth_carries_what_a_window_leaves_over() {
    let config = Config {
        initial_window: 4,
        initial_ssthresh: Some(4),
        ..plain()
    };
    let mut sender = Sender::new(&config, us(0));
    sender.send(
        &config,
        us(0),
        Message {
            bytes: 100_000,
            deadline: None,
        },
    );
    let ack = |seq, flags| Segment {
        seq,
        len: 0,
        flags: Flags::ACK | flags,
    };
    while sender.poll_transmit(&config, us(0)).is_some() {}
    sender.input(&config, us(100), ack(1, Flags::SYN));
    // Three segments at a time: 3 < 4; 6 = 4 + 2; 2 + 3 = 5.
    for (acked, window) in [
        (3_001, 4_000),
        (6_001, 5_000),
        (9_001, 6_000),
        (12_001, 6_000),
        (15_001, 7_000),
    ] {
        while sender.poll_transmit(&config, us(100)).is_some() {}
        sender.input(&config, us(200), ack(acked, Flags::NONE));
        assert_eq!(sender.window_bytes(), window, "{acked}");
    }
}

#[test]
fn only_the_first_partial_acknowledgement_restarts_the_timer() {
    // RFC 6582, the impatient variant: three losses, repaired at 200, 300 and 400 us.
    let mut pair = Pair::new(Config {
        initial_window: 12,
        ..plain()
    })
    .data_fate(|packet, _, _| {
        if [2, 5, 8].contains(&packet) {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
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

#[test]
fn a_segment_sent_twice_gives_no_sample() {
    // The timed segment is lost; its second copy is acknowledged 200 us after the first was sent.
    let mut pair = Pair::new(Config {
        initial_window: 10,
        ..plain()
    })
    .data_fate(|packet, _, _| {
        if packet == 1 {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    pair.send(30_000);
    pair.run();
    assert_eq!(pair.sender.counters().fast_retransmits, 1);
    assert_eq!(pair.sender.srtt(), Some(Span::from_us(100)));
}
