//! Losses that time tells of: RACK and tail loss probes (RFC 8985).

use crate::burst;
use crate::common::{Fate, Pair, dropping, plain, us};
use duetime_core::Span;
use duetime_proto::tcp::{Config, Recovery};

/// RACK alone.
fn racking(initial_window: u32) -> Config {
    Config {
        recovery: Recovery::Sack,
        rack: true,
        initial_window,
        ..plain()
    }
}

/// RACK with tail loss probes; a lone segment's waits for 1 ms longer.
fn probing(initial_window: u32) -> Config {
    Config {
        tail_loss_probe: true,
        max_ack_delay: Span::from_ms(1),
        ..racking(initial_window)
    }
}

fn again(at: u64, number: u64) -> Vec<(u64, u64, bool)> {
    vec![(at, number, true)]
}

#[test]
fn the_rfcs_example_of_fast_recovery() {
    // RFC 8985 §3.4: of P0 to P3, segments 1 to 4 here, the last three are lost, and the first copy of P1.
    let mut pair = dropping(probing(4), &[2, 3, 4, 6]);
    pair.send(4_000);
    pair.run();
    let expected = [
        burst(100, 1, 4),
        // Two round trips after the acknowledgement of P0: the probe repeats P3.
        again(400, 4),
        // P3 has arrived, sent after P1 and P2, which are lost: 225 us after they left, a quarter of the round trip
        // included (§6.2 step 5). Of three in flight two are the window.
        again(500, 2),
        again(500, 3),
        // P2 has arrived, sent after the copy of P1. There is no reordering window in a recovery (step 4).
        again(600, 2),
    ]
    .concat();
    assert_eq!(pair.transmissions(), expected);
    let counters = pair.sender.counters();
    assert_eq!((counters.timeouts, counters.fast_retransmits), (0, 1));
    assert_eq!((pair.bytes, pair.messages), (4_000, 1));
}

#[test]
fn a_lost_probe_leaves_it_to_the_timeout() {
    // As above, but the probe is lost. §7.3: the retransmission timer starts anew with it, at 400 us; its 10 ms later all
    // three are lost (§6.3).
    let mut pair = dropping(probing(4), &[2, 3, 4, 5]);
    pair.send(4_000);
    pair.run();
    let expected = [
        burst(100, 1, 4),
        again(400, 4),
        again(10_400, 2),
        // Slow start: two.
        again(10_500, 3),
        again(10_500, 4),
    ]
    .concat();
    assert_eq!(pair.transmissions(), expected);
    assert_eq!(pair.sender.counters().timeouts, 1);
}

#[test]
fn the_reordering_window_is_a_quarter_of_the_shortest_round_trip() {
    // Of three segments the second is late. The third is acknowledged at 200 us; the second is waited for until 100 us and
    // a quarter of that after it left, 225 us.
    let trace = |late| {
        let mut pair = Pair::new(racking(3)).data_fate(move |packet, _, _| match packet {
            2 => Fate::Late(Span::from_us(late)),
            _ => Fate::Deliver,
        });
        pair.send(3_000);
        pair.run_until(us(200));
        assert_eq!(pair.sender.next_timeout(), us(225));
        pair.run_until(us(1_000));
        pair
    };
    let pair = trace(24);
    assert_eq!(pair.transmissions(), burst(100, 1, 3));
    assert_eq!(pair.sender.counters().fast_retransmits, 0);
    let pair = trace(40);
    let expected = [burst(100, 1, 3), again(225, 2)].concat();
    assert_eq!(pair.transmissions(), expected);
    assert_eq!(pair.sender.counters().fast_retransmits, 1);
}

#[test]
fn three_arrivals_close_the_window_until_reordering_was_seen() {
    // The second of six is lost. The third to arrive above it makes it lost at once (step 4), at 200 us.
    let mut pair = dropping(racking(6), &[2]);
    pair.send(40_000);
    pair.run_until(us(210));
    let expected = [
        burst(100, 1, 6),
        // 1 is acknowledged: the window is 7. 3 and 4 let one out each.
        burst(200, 7, 8),
        burst(200, 9, 10),
        again(200, 2),
    ]
    .concat();
    assert_eq!(pair.transmissions(), expected);
    // Where a segment was late before, three do not: it is lost when the window has passed.
    let mut pair = Pair::new(racking(3)).data_fate(|packet, _, _| match packet {
        2 => Fate::Late(Span::from_us(10)),
        5 => Fate::Drop,
        _ => Fate::Deliver,
    });
    pair.send(3_000);
    pair.run_until(us(1_000));
    assert_eq!(pair.sender.counters().fast_retransmits, 0);
    pair.send(5_000);
    pair.run_until(us(1_500));
    let expected = [burst(100, 1, 3), burst(1_000, 4, 8), again(1_125, 5)].concat();
    assert_eq!(pair.transmissions(), expected);
}

#[test]
fn data_that_came_twice_widens_the_window() {
    // The second segment is 40 us late, beyond the window of 25 us, and is sent again; its receiver tells that it came
    // twice (RFC 2883). The window is 50 us then (step 4), and the fourth may be 40 us late.
    let mut pair = Pair::new(racking(3)).data_fate(|packet, _, _| match packet {
        2 | 5 => Fate::Late(Span::from_us(40)),
        _ => Fate::Deliver,
    });
    pair.send(3_000);
    pair.run_until(us(400));
    assert_eq!(pair.sender.counters().retransmits, 1);
    pair.send(2_000);
    pair.run_until(us(500));
    assert_eq!(pair.sender.next_timeout(), us(550));
    pair.run();
    let expected = [burst(100, 1, 3), again(225, 2), burst(400, 4, 5)].concat();
    assert_eq!(pair.transmissions(), expected);
}

#[test]
fn a_lost_copy_is_found_by_what_was_sent_after_it() {
    // 2 and its copy are lost. RFC 6675 would wait for the timeout; here the segments that left after the copy tell.
    let mut pair = dropping(racking(8), &[2, 13]);
    pair.send(40_000);
    pair.run_until(us(700));
    let copies: Vec<u64> = (pair.transmissions().iter())
        .filter(|sent| sent.1 == 2)
        .map(|sent| sent.0)
        .collect();
    // The copy leaves when the third above it has arrived, in the same instant as the new segments 9 to 12; of two segments
    // of one instant the higher is taken for the later (RACK_sent_after). 9 has arrived at 300 us.
    assert_eq!(copies, [100, 200, 300]);
    assert_eq!(pair.sender.counters().timeouts, 0);
    assert_eq!(pair.sender.counters().fast_retransmits, 1);
}

#[test]
fn a_repair_may_take_longer_than_the_timeout() {
    // 2 and four copies of it are lost, one in each round trip, while other segments arrive. The timeout is 300 us at
    // first, and starts anew with each copy of the first segment (RFC 6675 §6): it never expires.
    let config = Config {
        rto_min: Span::from_us(150),
        ..racking(16)
    };
    let mut lost = 0;
    let mut pair = Pair::new(config).data_fate(move |_, segment, _| {
        if segment.seq == 1_001 && lost < 5 {
            lost += 1;
            return Fate::Drop;
        }
        Fate::Deliver
    });
    pair.send(60_000);
    pair.run();
    let copies: Vec<u64> = (pair.transmissions().iter())
        .filter(|sent| sent.1 == 2)
        .map(|sent| sent.0)
        .collect();
    assert_eq!(copies, [100, 200, 300, 400, 500, 600]);
    assert_eq!((pair.bytes, pair.sender.counters().timeouts), (60_000, 0));
}

#[test]
fn a_lone_segments_probe_waits_for_a_delayed_acknowledgement() {
    // §7.2: two round trips and the longest delay.
    let mut pair = dropping(probing(2), &[1]);
    pair.send(1_000);
    pair.run();
    assert_eq!(pair.transmissions(), [(100, 1, false), (1_300, 1, true)]);
    // What comes next tells that the probe has repaired a loss, which the window answers once (§7.4.2).
    assert_eq!(pair.sender.ssthresh_bytes(), u64::MAX);
    pair.send(1_000);
    pair.run();
    assert_eq!(pair.sender.ssthresh_bytes(), 2_000);
    let counters = pair.sender.counters();
    assert_eq!((counters.timeouts, counters.retransmits), (0, 1));
}

#[test]
fn a_probe_never_comes_after_the_timeout() {
    // The timeout is 300 us: a round trip of 100 us and four times its half. The probe leaves then, and the timer starts
    // anew.
    let config = Config {
        rto_min: Span::from_us(150),
        ..probing(2)
    };
    let mut pair = dropping(config, &[1]);
    pair.send(1_000);
    pair.run();
    assert_eq!(pair.transmissions(), [(100, 1, false), (400, 1, true)]);
    assert_eq!(pair.sender.counters().timeouts, 0);
}

#[test]
fn new_data_probes_first() {
    // Both segments of the window are lost, and a third waits: it is the probe (§7.3).
    let mut pair = dropping(probing(2), &[1, 2]);
    pair.send(3_000);
    pair.run();
    let expected = [
        burst(100, 1, 2),
        burst(300, 3, 3),
        again(400, 1),
        again(400, 2),
    ]
    .concat();
    assert_eq!(pair.transmissions(), expected);
    assert_eq!(pair.sender.counters().timeouts, 0);
}

#[test]
fn a_needless_probe_changes_nothing() {
    // The acknowledgement is late, and the probe comes twice: its receiver says so (§7.4.2, case 1).
    let mut pair = Pair::new(probing(2)).ack_fate(|packet, _| match packet {
        1 => Fate::Late(Span::from_us(1_500)),
        _ => Fate::Deliver,
    });
    pair.send(1_000);
    pair.run();
    assert_eq!(pair.transmissions(), [(100, 1, false), (1_300, 1, true)]);
    pair.send(1_000);
    pair.run();
    assert_eq!(pair.sender.ssthresh_bytes(), u64::MAX);
}

#[test]
fn one_probe_at_a_time_and_none_without_a_measured_round_trip() {
    // The segment, its probe and all else is lost: one probe, then timeouts of 10 and 20 ms.
    let mut pair = dropping(probing(2), &[1, 2, 3]);
    pair.send(1_000);
    pair.run();
    let expected = [
        burst(100, 1, 1),
        again(1_300, 1),
        again(11_300, 1),
        again(31_300, 1),
    ]
    .concat();
    assert_eq!(pair.transmissions(), expected);
    assert_eq!(pair.sender.counters().timeouts, 2);
}

#[test]
fn nothing_probes_while_data_has_arrived_out_of_order() {
    // 1 is lost of three: 2 and 3 have arrived. RACK waits for 25 us, and no probe is armed beside it.
    let mut pair = dropping(probing(3), &[1]);
    pair.send(3_000);
    pair.run();
    let expected = [burst(100, 1, 3), again(225, 1)].concat();
    assert_eq!(pair.transmissions(), expected);
}
