//! Losses detected by time: RACK and tail loss probes (RFC 8985).

use super::burst;
use crate::common::{Fate, Pair, dropping, plain, us};
use duetime_core::Span;
use duetime_proto::tcp::{Config, Recovery};

/// RACK without probes.
fn rack_config(initial_window: u32) -> Config {
    Config {
        recovery: Recovery::Sack,
        rack: true,
        initial_window,
        ..plain()
    }
}

/// RACK with tail loss probes, which wait 1 ms longer for a single segment.
fn probe_config(initial_window: u32) -> Config {
    Config {
        tail_loss_probe: true,
        max_ack_delay: Span::from_ms(1),
        ..rack_config(initial_window)
    }
}

fn retransmission(at: u64, number: u64) -> Vec<(u64, u64, bool)> {
    vec![(at, number, true)]
}

#[test]
fn fast_recovery_example_of_the_rfc() {
    // RFC 8985 §3.4: of P0 to P3 (segments 1 to 4 here), the last three are lost, and the first copy of P1.
    let mut pair = dropping(probe_config(4), &[2, 3, 4, 6]);
    pair.send(4_000);
    pair.run();
    let expected = [
        burst(100, 1, 4),
        // Two round trips after the acknowledgement of P0, the probe repeats P3.
        retransmission(400, 4),
        // P3 has arrived and was sent after P1 and P2, which count as lost 225 us after they were sent, including a
        // quarter of the round trip (§6.2 step 5). The window is two of the three in flight.
        retransmission(500, 2),
        retransmission(500, 3),
        // P2 has arrived and was sent after the copy of P1. There is no reordering window in a recovery (step 4).
        retransmission(600, 2),
    ]
    .concat();
    assert_eq!(pair.transmissions(), expected);
    let counters = pair.sender.counters();
    assert_eq!((counters.timeouts, counters.fast_retransmits), (0, 1));
    assert_eq!((pair.bytes, pair.messages), (4_000, 1));
}

#[test]
fn lost_probe_waits_for_the_timeout() {
    // As above, but the probe is lost. §7.3: the retransmission timer restarts with it, at 400 us; 10 ms later all
    // three are lost (§6.3).
    let mut pair = dropping(probe_config(4), &[2, 3, 4, 5]);
    pair.send(4_000);
    pair.run();
    let expected = [
        burst(100, 1, 4),
        retransmission(400, 4),
        retransmission(10_400, 2),
        // Slow start: two segments.
        retransmission(10_500, 3),
        retransmission(10_500, 4),
    ]
    .concat();
    assert_eq!(pair.transmissions(), expected);
    assert_eq!(pair.sender.counters().timeouts, 1);
}

#[test]
fn reordering_window_is_a_quarter_of_min_rtt() {
    // Of three segments the second is late. The third is acknowledged at 200 us; the second counts as lost 100 us plus
    // a quarter after it was sent, at 225 us.
    let trace = |late| {
        let mut pair = Pair::new(rack_config(3)).data_fate(move |packet, _, _| match packet {
            2 => Fate::Delay(Span::from_us(late)),
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
    let expected = [burst(100, 1, 3), retransmission(225, 2)].concat();
    assert_eq!(pair.transmissions(), expected);
    assert_eq!(pair.sender.counters().fast_retransmits, 1);
}

#[test]
fn three_arrivals_close_the_window() {
    // The second of six is lost. The third arrival above it makes it lost at once (step 4), at 200 us.
    let mut pair = dropping(rack_config(6), &[2]);
    pair.send(40_000);
    pair.run_until(us(210));
    let expected = [
        burst(100, 1, 6),
        // 1 is acknowledged: the window is 7. 3 and 4 release one segment each.
        burst(200, 7, 8),
        burst(200, 9, 10),
        retransmission(200, 2),
    ]
    .concat();
    assert_eq!(pair.transmissions(), expected);
    // If a segment was late before, three arrivals are not enough: it is lost when the window has passed.
    let mut pair = Pair::new(rack_config(3)).data_fate(|packet, _, _| match packet {
        2 => Fate::Delay(Span::from_us(10)),
        5 => Fate::Drop,
        _ => Fate::Deliver,
    });
    pair.send(3_000);
    pair.run_until(us(1_000));
    assert_eq!(pair.sender.counters().fast_retransmits, 0);
    pair.send(5_000);
    pair.run_until(us(1_500));
    let expected = [
        burst(100, 1, 3),
        burst(1_000, 4, 8),
        retransmission(1_125, 5),
    ]
    .concat();
    assert_eq!(pair.transmissions(), expected);
}

#[test]
fn duplicate_data_widens_the_window() {
    // The second segment is 40 us late, beyond the window of 25 us, and is retransmitted. Its receiver reports the
    // duplicate (RFC 2883). The window is then 50 us (step 4), and the fourth may be 40 us late.
    let mut pair = Pair::new(rack_config(3)).data_fate(|packet, _, _| match packet {
        2 | 5 => Fate::Delay(Span::from_us(40)),
        _ => Fate::Deliver,
    });
    pair.send(3_000);
    pair.run_until(us(400));
    assert_eq!(pair.sender.counters().retransmits, 1);
    pair.send(2_000);
    pair.run_until(us(500));
    assert_eq!(pair.sender.next_timeout(), us(550));
    pair.run();
    let expected = [burst(100, 1, 3), retransmission(225, 2), burst(400, 4, 5)].concat();
    assert_eq!(pair.transmissions(), expected);
}

#[test]
fn lost_copy_is_detected_by_later_segments() {
    // 2 and its copy are lost. RFC 6675 would wait for the timeout; RACK uses the segments sent after the copy.
    let mut pair = dropping(rack_config(8), &[2, 13]);
    pair.send(40_000);
    pair.run_until(us(700));
    let copies: Vec<u64> = (pair.transmissions().iter())
        .filter(|sent| sent.1 == 2)
        .map(|sent| sent.0)
        .collect();
    // The copy is sent when the third segment above it has arrived, at the same time as the new segments 9 to 12. Of
    // two segments sent at the same time, the higher counts as later (RACK_sent_after). 9 has arrived at 300 us.
    assert_eq!(copies, [100, 200, 300]);
    assert_eq!(pair.sender.counters().timeouts, 0);
    assert_eq!(pair.sender.counters().fast_retransmits, 1);
}

#[test]
fn repair_may_exceed_the_timeout() {
    // 2 and four copies of it are lost, one per round trip, while other segments arrive. The timeout is initially 300
    // us and restarts with each copy of the first segment (RFC 6675 §6), so it never expires.
    let config = Config {
        rto_min: Span::from_us(150),
        ..rack_config(16)
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
fn single_segment_probe_waits_for_delayed_ack() {
    // §7.2: two round trips and the maximum delay.
    let mut pair = dropping(probe_config(2), &[1]);
    pair.send(1_000);
    pair.run();
    assert_eq!(pair.transmissions(), [(100, 1, false), (1_300, 1, true)]);
    // The next acknowledgement shows that the probe has repaired a loss, which reduces the window once (§7.4.2).
    assert_eq!(pair.sender.ssthresh_bytes(), u64::MAX);
    pair.send(1_000);
    pair.run();
    assert_eq!(pair.sender.ssthresh_bytes(), 2_000);
    let counters = pair.sender.counters();
    assert_eq!((counters.timeouts, counters.retransmits), (0, 1));
}

#[test]
fn probe_is_not_later_than_the_timeout() {
    // The timeout is 300 us: a round trip of 100 us and four times its half. The probe is sent then, and the timer
    // restarts.
    let config = Config {
        rto_min: Span::from_us(150),
        ..probe_config(2)
    };
    let mut pair = dropping(config, &[1]);
    pair.send(1_000);
    pair.run();
    assert_eq!(pair.transmissions(), [(100, 1, false), (400, 1, true)]);
    assert_eq!(pair.sender.counters().timeouts, 0);
}

#[test]
fn new_data_probes_first() {
    // Both segments of the window are lost, and a third is pending: it is the probe (§7.3).
    let mut pair = dropping(probe_config(2), &[1, 2]);
    pair.send(3_000);
    pair.run();
    let expected = [
        burst(100, 1, 2),
        burst(300, 3, 3),
        retransmission(400, 1),
        retransmission(400, 2),
    ]
    .concat();
    assert_eq!(pair.transmissions(), expected);
    assert_eq!(pair.sender.counters().timeouts, 0);
}

#[test]
fn needless_probe_has_no_effect() {
    // The acknowledgement is late, and the probe is a duplicate, which its receiver reports (§7.4.2, case 1).
    let mut pair = Pair::new(probe_config(2)).ack_fate(|packet, _| match packet {
        1 => Fate::Delay(Span::from_us(1_500)),
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
fn one_probe_per_measured_round_trip() {
    // The segment, its probe and everything else are lost: one probe, then timeouts of 10 and 20 ms.
    let mut pair = dropping(probe_config(2), &[1, 2, 3]);
    pair.send(1_000);
    pair.run();
    let expected = [
        burst(100, 1, 1),
        retransmission(1_300, 1),
        retransmission(11_300, 1),
        retransmission(31_300, 1),
    ]
    .concat();
    assert_eq!(pair.transmissions(), expected);
    assert_eq!(pair.sender.counters().timeouts, 2);
}

#[test]
fn no_probe_after_out_of_order_arrivals() {
    // 1 of three is lost: 2 and 3 have arrived. RACK waits for 25 us, and no probe is scheduled.
    let mut pair = dropping(probe_config(3), &[1]);
    pair.send(3_000);
    pair.run();
    let expected = [burst(100, 1, 3), retransmission(225, 1)].concat();
    assert_eq!(pair.transmissions(), expected);
}
