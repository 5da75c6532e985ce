//! Paced grants: the send times of packets and of the next request.

use super::host::{Host, RTT, us};
use duetime_core::{Span, Time};
use duetime_proto::d3::{Config, EncodedRate, Flags, Rounding};

fn exact() -> Config {
    Config::default().with(|c| c.wire.rounding = Rounding::Exact)
}

/// Returns an endless flow after its SYN was sent.
fn open(config: Config) -> Host {
    let mut host = Host::new(config, 1 << 40, None);
    host.burst();
    host.now += RTT;
    host
}

/// Delivers a grant now and the next one after `rtt`. Returns the packets sent in between, all of which are then
/// acknowledged.
fn slot(host: &mut Host, rtt: Span, rate: EncodedRate, sent: &mut u64) -> Vec<(Time, u32, bool)> {
    let answer = host.answer(*sent, rate);
    host.sender.input(&host.config, host.now, &answer);
    let (first, start) = (host.burst(), host.now);
    let departures = host.departures(&first, start + rtt);
    let payload =
        |departure: &(Time, u32, bool)| u64::from(departure.1) - if departure.2 { 62 } else { 40 };
    *sent += departures.iter().map(payload).sum::<u64>();
    host.now = start + rtt;
    departures
}

#[test]
fn packets_are_spread_over_the_slot() {
    let mut host = open(Config::default());
    // 20 B/us for 300 us are four packets, one every 75 us: the first at once, the last before the next grant.
    let sent = slot(&mut host, RTT, EncodedRate::from_byte(20), &mut 0);
    let times: Vec<_> = sent.iter().map(|departure| departure.0).collect();
    assert_eq!(times, [us(300), us(375), us(450), us(525)]);
    let requests: Vec<_> = sent.iter().map(|departure| departure.2).collect();
    assert_eq!(requests, [true, false, false, false]);
}

#[test]
fn mean_rate_is_exact() {
    let mut host = open(exact());
    let (mut bytes, mut acked) = (0, 0);
    for index in 0..100 {
        let start = host.now;
        let sent = slot(&mut host, RTT, EncodedRate(7 * 256 + 128), &mut acked); // 7.5 B/us
        // 2250 B leave 750; then 3000 B are two packets, 150 us apart.
        let expected = if index % 2 == 0 {
            vec![start]
        } else {
            vec![start, start + Span::from_us(150)]
        };
        let times: Vec<_> = sent.iter().map(|departure| departure.0).collect();
        assert_eq!(times, expected);
        bytes += sent.iter().map(|departure| departure.1).sum::<u32>();
    }
    assert_eq!(bytes, 225_000, "7.5 B/us for 30 ms");
}

#[test]
fn early_grants_do_not_raise_the_rate() {
    let mut host = open(Config::default());
    let (rate, mut acked) = (EncodedRate::from_byte(20), 0);
    slot(&mut host, RTT, rate, &mut acked);
    // The queue drains: round trips are 225 us, while the smoothed round-trip time follows slowly.
    let (mut bytes, start) = (0, host.now);
    for _ in 0..40 {
        let sent = slot(&mut host, Span::from_us(225), rate, &mut acked);
        bytes += sent
            .iter()
            .map(|departure| u64::from(departure.1))
            .sum::<u64>();
    }
    let granted = 20 * host.now.since(start).as_ps() / 1_000_000;
    assert!(
        bytes <= granted + 2 * 1_500,
        "{bytes} B of {granted} B granted"
    );
    assert!(bytes + 6_000 >= granted, "{bytes} B of {granted} B granted");
}

#[test]
fn late_timers_are_compensated_within_the_slot() {
    let batch = Span::from_us(50);
    let mut host = open(Config::default().with(|c| c.host.pacing_batch = batch));
    // 100 B/us: a packet every 15 us, 20 per slot. Each timer is 40 us late.
    let mut sent = host.grant(Span::ZERO, 0, 100).len();
    assert_eq!(sent, 4, "packets of the first 50 us");
    let end = host.now + RTT;
    let mut timers = 0;
    while host.sender.next_timeout() < end {
        host.now = host.sender.next_timeout() + Span::from_us(40);
        host.sender.timeout(&host.config, host.now);
        sent += host.burst().len();
        timers += 1;
    }
    assert_eq!(sent, 20);
    assert!(
        timers <= 6,
        "{timers} timers, expected at most one per batch"
    );
}

/// A sender that has sent everything does not wait for the time of its next packet, which then passes unnoticed.
#[test]
fn repair_after_the_pace_is_sent_at_once() {
    let mut host = Host::new(Config::default(), 7_278, None);
    host.burst();
    // 20 B/us for 300 us are four of five packets.
    host.grant(RTT, 0, 20);
    while host.sender.next_timeout() < us(600) {
        host.wait();
    }
    // No answer: the next slot has budget for four more packets, but only one is left.
    let last = host.wait();
    assert_eq!(last.len(), 2, "a request and the last packet");
    host.now += RTT;
    for _ in 0..3 {
        host.ack(0, true);
    }
    assert!(host.sender.next_timeout() >= host.now);
    let repaired = host.burst();
    assert!(!repaired.is_empty() && repaired[0].flags.contains(Flags::RETRANSMIT));
}

#[test]
fn request_interval_bounds_requests() {
    let rtt = Span::from_us(20);
    let mut host = Host::new(Config::default(), 1 << 40, None);
    host.burst();
    // The first grant is followed by a request at once, as after a pause (D3 §4.5).
    host.grant(rtt, 0, 1);
    let mut requests = Vec::new();
    for _ in 0..4 {
        requests.push(host.now);
        let sent = host.grant(rtt, 0, 1);
        assert!(
            sent.is_empty(),
            "20 B per round trip are less than a packet"
        );
        let sent = host.wait();
        assert!(sent.iter().any(|packet| packet.request.is_some()));
    }
    // Sixteen packets of 1500 B at 1 Gbps.
    let gaps = requests.windows(2).map(|pair| pair[1].since(pair[0]));
    assert!(gaps.into_iter().all(|gap| gap == Span::from_us(192)));

    let every_round_trip = Config::default().with(|c| c.host.request_packets = 0);
    let mut host = Host::new(every_round_trip, 1 << 40, None);
    host.burst();
    for _ in 0..4 {
        assert_eq!(host.grant(rtt, 0, 0).len(), 1, "one per round trip");
    }
}
