use super::*;
use crate::sample::Sample;
use duetime_core::random::{Purpose, Streams};

/// 1 Gbps: 1500 B leave in 12 µs.
fn port() -> Port<Sample> {
    Port::new(Rate::from_gbps(1), Span::from_us(5))
}

/// Returns a strict-priority port whose driver is notified of departures.
fn with_departures(port: Port<Sample>) -> Port<Sample> {
    let mut port = port.with_classes(2);
    port.notify_departures();
    port
}

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// Feeds a port until half of `end`. Returns the port and its queue summed every 1024 ps up to `end`.
fn integrated(mut port: Port<Sample>, end: Time) -> (Port<Sample>, u64) {
    let mut draws = Streams::new(0, 0).stream(0, Purpose::Arrival);
    let (mut next, mut wake) = (0, u64::MAX);
    let mut sum = 0;
    for now in 1..=end.as_ps() {
        // Occupancy just before the clock edge.
        if now % 1024 == 0 {
            port.drain(Time::from_ps(now - 1));
            sum += port.queue_bytes();
        }
        if now == wake {
            wake = port
                .departure(Time::from_ps(now))
                .and_then(|(_, wake)| wake)
                .map_or(u64::MAX, Time::as_ps);
        }
        if now >= next && now < end.as_ps() / 2 {
            next = now + draws.below(20_000);
            let frame = Sample {
                class: draws.below(2) as usize,
                ..Sample::new(draws.between(40, 1_500) as u32)
            };
            if let Offer::Queued { wake: Some(at) } = port.offer(Time::from_ps(now), frame) {
                wake = at.as_ps();
            }
        }
        if now % 100_003 == 0 || now == end.as_ps() {
            port.drain(Time::from_ps(now));
            assert_eq!(port.queue_integral(Time::from_ps(now)), sum, "at {now}");
        }
    }
    (port, sum)
}

#[test]
fn queue_integral_equals_sampled_sum() {
    // At 600 Gbps a packet takes at most 20 ns, about the mean time between arrivals.
    let fast = || Port::new(Rate::from_gbps(600), Span::from_ns(50)).with_limit(Limit::Packets(4));
    for port in [fast(), fast().with_classes(2), with_departures(fast())] {
        let (port, sum) = integrated(port, at(3));
        let counters = port.counters();
        assert!(counters.packets > 100 && counters.drops > 0, "{counters:?}");
        assert_eq!((port.queue_bytes(), counters.queue_integral), (0, sum));
    }
}

#[test]
fn queue_integral_of_a_burst() {
    // Ten packets arrive at once and take 12 µs each: 10 + 9 + … + 1 packets for 12 µs each.
    for mut port in [port(), port().with_classes(2), with_departures(port())] {
        let mut wake = None;
        for _ in 0..10 {
            if let Offer::Queued { wake: Some(at) } = port.offer(at(0), Sample::new(1_500)) {
                wake = Some(at);
            }
        }
        let half = 1_500.0 * 12e6 * (10.0 + 9.0 + 8.0 + 7.0 + 6.0);
        while let Some(now) = wake.filter(|&now| now <= at(60)) {
            wake = port.departure(now).and_then(|(_, wake)| wake);
        }
        port.drain(at(60));
        let integral = port.queue_integral(at(60)) as f64 * 1024.0;
        assert!((integral / half - 1.0).abs() < 1e-4, "{integral} {half}");
        while let Some(now) = wake {
            wake = port.departure(now).and_then(|(_, wake)| wake);
        }
        port.drain(at(120));
        let whole = 1_500.0 * 12e6 * 55.0;
        let integral = port.counters().queue_integral as f64 * 1024.0;
        assert!((integral / whole - 1.0).abs() < 1e-4, "{integral} {whole}");
    }
}

#[test]
fn queue_integral_of_a_flood_wraps_back() {
    // 60,000 packets leave in 12 minutes: the sum of their waits exceeds 64 bits.
    let mut port: Port<Sample> = Port::new(Rate::from_mbps(1), Span::ZERO);
    for _ in 0..60_000 {
        port.offer(Time::ZERO, Sample::new(1_500));
    }
    // None has left after 10 ms.
    let ticks = at(10_000).as_ps() / 1_024;
    assert_eq!(port.queue_integral(at(10_000)), 60_000 * 1_500 * ticks);
}

#[test]
fn departed_and_waiting_bytes_at_ticks() {
    let mut port = port();
    let mut tick = |now: Time, offers: &[u32]| {
        for &bytes in offers {
            port.offer(now, Sample::new(bytes));
        }
        port.drain(now);
        (
            port.departed_bytes(),
            port.queue_bytes_waiting(),
            port.queue_bytes(),
        )
    };
    // D3's u counts a packet when its last bit has left; its q excludes the packet in service.
    assert_eq!(tick(at(0), &[]), (0, 0, 0));
    assert_eq!(tick(at(0), &[1_500, 40, 1_000]), (0, 1_040, 2_540));
    assert_eq!(tick(Time::from_ps(11_999_999), &[]), (0, 1_040, 2_540));
    assert_eq!(tick(at(12), &[]), (1_500, 1_000, 1_040));
    assert_eq!(tick(Time::from_ps(12_320_000), &[]), (1_540, 0, 1_000));
    // The last bit leaves at the instant the next packet arrives.
    assert_eq!(tick(Time::from_ps(20_320_000), &[500]), (2_540, 0, 500));
    assert_eq!(tick(at(99), &[]), (3_040, 0, 0));
}

#[test]
fn departed_and_waiting_bytes_under_strict_priority() {
    departed_and_waiting(port().with_classes(2), false);
    departed_and_waiting(with_departures(port()), true);
}

fn departed_and_waiting(mut port: Port<Sample>, notified: bool) {
    for (bytes, class) in [(1_500, 1), (1_000, 1), (40, 0)] {
        port.offer(
            at(0),
            Sample {
                class,
                ..Sample::new(bytes)
            },
        );
    }
    let mut tick = |now: Time| {
        port.drain(now);
        let before = port.departed_bytes();
        let wake = (notified && now == port.busy_until())
            .then(|| port.departure(now))
            .flatten()
            .and_then(|(_, wake)| wake);
        port.drain(now);
        assert_eq!(
            port.departed_bytes(),
            before,
            "a call of `departure` does not change the departed bytes"
        );
        (
            port.departed_bytes(),
            port.queue_bytes_waiting(),
            port.queue_bytes(),
            wake,
        )
    };
    assert_eq!(tick(at(11)), (0, 1_040, 2_540, None));
    assert_eq!(
        tick(at(12)),
        (
            1_500,
            1_000,
            1_040,
            notified.then_some(Time::from_ps(12_320_000))
        )
    );
    assert_eq!(tick(Time::from_ps(12_320_000)), (1_540, 0, 1_000, None));
    assert_eq!(tick(at(99)), (2_540, 0, 0, None));
}

#[test]
fn overtaken_packets_return_to_their_classes() {
    let mut port = port().with_classes(2);
    let class_of = |class| Sample {
        class,
        ..Sample::new(1_500)
    };
    let is_sent =
        [1, 1, 1].map(|class| matches!(port.offer(at(0), class_of(class)), Offer::Sent(_)));
    assert_eq!((is_sent, port.has_waiting()), ([true; 3], false));
    // The second packet begins at 12 us, before the packet that overtakes the third.
    let overtaking = port.offer(at(13), class_of(0));
    assert_eq!(overtaking, Offer::Queued { wake: None });
    assert!(port.has_waiting());
    port.drain(at(24));
    let classes = port.sent_frames().map(|frame| frame.class);
    assert_eq!(classes.collect::<Vec<_>>(), [1, 1, 0]);
    port.drain(at(36));
    assert!(!port.has_waiting());
}

#[test]
fn forget_departed_keeps_packets_in_port() {
    for mut port in [port(), with_departures(port())] {
        for bytes in [1_500, 1_000, 500] {
            port.offer(at(0), Sample::new(bytes));
            port.forget_departed(at(0));
        }
        assert_eq!(port.queue_bytes(), 3_000);
        let in_port =
            |port: &Port<Sample>| port.frames().map(|frame| frame.bytes).collect::<Vec<_>>();
        assert_eq!(in_port(&port), [1_500, 1_000, 500]);
        port.departure(at(12));
        // Long before the first packet arrives at the far end.
        port.forget_departed(at(12));
        assert_eq!(in_port(&port), [1_000, 500]);
        assert_eq!(
            (
                port.queue_bytes(),
                port.queue_packets(),
                port.queue_bytes_waiting()
            ),
            (1_500, 2, 500)
        );
        port.departure(at(20));
        port.forget_departed(at(24));
        assert_eq!(in_port(&port), [0; 0]);
        assert!(port.last_sent().is_none());
        assert_eq!((port.departed_bytes(), port.counters().packets), (3_000, 3));
    }
}

#[test]
fn unlimited_queue_grows() {
    let mut port = port();
    for _ in 0..10_000 {
        port.offer(at(1), Sample::new(1_500));
    }
    assert_eq!(
        (port.queue_packets(), port.counters().queue_max_bytes),
        (10_000, 15_000_000)
    );
    for number in 1..=10_000 {
        port.arrive();
        assert_eq!(
            port.next_arrival(),
            (number < 10_000).then(|| at(6 + 12 * (number + 1)))
        );
        assert_eq!(
            port.queue_packets(),
            10_000 - number as u32,
            "packets that arrive have left the port"
        );
    }
    assert_eq!(port.queue_bytes(), 0);
}

#[test]
fn delay_does_not_occupy_the_link() {
    let delay = Span::from_ns(2);
    let mut port = port();
    let first = port.send_at_once(at(0), Sample::new(1_500), delay);
    assert_eq!((first.arrival, first.first), (at(17) + delay, true));
    assert_eq!(port.busy_until(), at(12), "the next packet can begin");
    let second = port.send_at_once(at(12), Sample::new(1_500), Span::ZERO);
    assert_eq!((second.arrival, second.first), (at(29), false));
    let third = port
        .offer_fifo(at(13), Sample::new(1_500))
        .expect("accepted");
    let third = port.delay_last(third, delay);
    assert_eq!(third.arrival, at(41) + delay);
    assert_eq!(port.busy_until(), at(36));
    // The delayed packet stays in the port until its last bit has left.
    port.drain(at(36));
    assert_eq!(port.queue_packets(), 1);
    port.drain(at(36) + delay);
    assert_eq!(port.queue_packets(), 0);
    // A packet's delay does not count as time in the queue.
    let stays = [at(12), at(12), at(23)].map(|stay| stay.as_ps() as f64);
    let sum = 1_500.0 * stays.iter().sum::<f64>() / 1_024.0;
    let counted = port.counters().queue_integral as f64;
    // Each stay is rounded to the clock's resolution.
    assert!((counted - sum).abs() < 3.0 * 1_500.0, "{counted}, {sum}");
    assert_eq!(port.next_arrival(), Some(first.arrival));
}

#[test]
fn delays_do_not_inflate_the_queue_integral() {
    // 62 B take 49.6 ns; 12 ns is longer than the default delay and shorter than the smallest packet's transmission.
    let delay = Span::from_ns(12);
    let mut draws = Streams::new(0, 0).stream(0, Purpose::Arrival);
    for pulls in [true, false] {
        let mut port = Port::new(Rate::from_gbps(10), Span::from_ns(50));
        for sent in 1..=1_000 {
            let now = port.busy_until();
            let by = Span::from_ps(draws.below(delay.as_ps()));
            if pulls {
                port.send_at_once(now, Sample::new(62), by);
            } else {
                let sent = port.offer_fifo(now, Sample::new(62)).expect("accepted");
                port.delay_last(sent, by);
            }
            // Halfway through the packet, and at its end while its delay lasts.
            for ahead in [24_800, 0] {
                let now = port.busy_until() - Span::from_ps(ahead);
                port.drain(now);
                let integral = port.queue_integral(now);
                assert_eq!(integral, 62 * (now.as_ps() >> 10), "after {sent}");
            }
        }
        assert!(port.counters().queue_max_bytes <= 124);
    }
}

/// Taking all packets that arrive before a time leaves the port as taking them one by one does, for any time.
#[test]
fn arrivals_taken_together_or_one_by_one() {
    for until in 0..=60 {
        let mut ports = [port(), port()];
        for port in &mut ports {
            for number in 0..4 {
                port.offer_fifo(at(0), Sample::new(300 * (number + 1)))
                    .unwrap();
            }
        }
        let [together, single] = &mut ports;
        let (mut taken, mut expected) = (Vec::new(), Vec::new());
        let next = together.take_arriving_before(at(until), |at, frame, number| {
            taken.push((at, frame.wire_bytes(), number));
        });
        while let Some(time) = single.next_arrival().filter(|time| *time < at(until)) {
            let number = single.carried() - single.sent_packets() + 1;
            expected.push((time, single.arrive().wire_bytes(), number));
        }
        assert_eq!(taken, expected);
        assert_eq!(next, single.next_arrival());
        let state = |port: &Port<Sample>| (port.queue_packets(), port.queue_bytes());
        assert_eq!(state(together), state(single), "before {until} us");
    }
}

/// An idle port forgets its packets, so that its ring restarts; a busy port does not.
#[test]
fn idle_port_forgets_its_packets() {
    let mut port = port();
    for number in 0..3 {
        port.offer_fifo(at(0), Sample::new(1_500)).unwrap();
        port.forget_if_idle(at(0));
        assert_eq!(
            (port.sent_packets(), port.carried()),
            (number + 1, number + 1)
        );
    }
    port.forget_if_idle(port.busy_until());
    let state = (
        port.sent_packets(),
        port.queue_packets(),
        port.queue_bytes(),
    );
    assert_eq!((state, port.carried()), ((0, 0, 0), 3));
}
