//! Lost requests, lost data, and silent peers.

use super::host::{Host, RTT, bursts, sizes, us};
use duetime_core::{Span, Time};
use duetime_proto::d3::{Config, EncodedRate, Flags};

#[test]
fn lost_request_is_repeated_with_confirmed_state() {
    let mut host = Host::new(bursts(), 1 << 40, None);
    host.burst();
    let first = host.grant(RTT, 0, 10);
    let lost = host.answer(2_898, EncodedRate::from_byte(99));
    // The second request adds one more round trip at the old rate, the third nothing.
    let second = host.wait();
    assert_eq!(host.now, us(300) + Span::from_ms(1));
    assert_eq!(sizes(&second), [(62, true), (1500, false), (1500, false)]);
    assert_eq!(
        second[0].request.unwrap().previous_allocations[0],
        EncodedRate::from_byte(10)
    );
    assert_ne!(second[0].tag.number, first[0].tag.number);
    host.ack(2_898, false);
    assert_eq!(sizes(&host.wait()), [(62, true)]);
    assert_eq!(host.now, us(300) + Span::from_ms(3), "the wait doubles");
    // The late answer to the first request is ignored: its allocation has been replaced.
    host.sender.input(&host.config, host.now, &lost);
    assert_eq!(host.sender.rate(), EncodedRate::from_byte(10));
    assert!(!host.sender.can_transmit(&host.config));
    assert_eq!(host.sender.counters().lost_requests, 2);
    host.grant(RTT, 2_898, 20);
    assert_eq!(host.sender.rate(), EncodedRate::from_byte(20));
}

#[test]
fn three_gap_arrivals_repair_hole_by_hole() {
    let mut host = Host::new(bursts(), 1 << 40, None);
    host.burst();
    let burst = host.grant(RTT, 0, 50); // ten packets
    assert_eq!(burst.len(), 10);
    let (second, third) = (burst[1].seq, burst[2].seq);
    host.ack(second, false);
    host.ack(second, true);
    host.ack(second, true);
    assert!(!host.sender.can_transmit(&host.config));
    host.ack(second, true);
    assert!(
        !host.sender.can_transmit(&host.config),
        "the allocation is spent"
    );
    let burst = host.grant(RTT, second, 5);
    assert_eq!(
        (burst[0].seq, burst[0].flags.contains(Flags::RETRANSMIT)),
        (second, true)
    );
    assert_eq!(host.sender.counters().fast_retransmits, 1);
    // A partial acknowledgement reveals the next hole.
    host.ack(third + 1460, false);
    let burst = host.grant(RTT, third + 1460, 10);
    assert_eq!(burst[0].seq, third + 1460);
    assert!(burst[0].flags.contains(Flags::RETRANSMIT));
}

#[test]
fn timeout_retransmits_within_the_allocation() {
    let mut host = Host::new(bursts(), 1 << 40, None);
    host.burst();
    host.grant(RTT, 0, 50);
    // The answer arrives without an acknowledgement of data, and no data is acknowledged later.
    host.grant(RTT, 0, 0);
    let mut pauses = 0;
    while host.sender.counters().timeouts == 0 {
        host.grant(RTT, 0, 0);
        if host.sender.next_timeout() <= host.now + RTT {
            host.wait();
        }
        pauses += 1;
        assert!(pauses < 50);
    }
    assert!(host.now >= us(10_000), "the minimum RTO is 10 ms");
    let burst = host.grant(RTT, 0, 10);
    assert_eq!((burst[0].seq, burst[1].seq), (0, u64::from(burst[0].len)));
    assert!(
        burst
            .iter()
            .all(|packet| packet.flags.contains(Flags::RETRANSMIT))
    );
}

#[test]
fn unanswered_fin_is_repeated_eight_times() {
    let mut host = Host::new(Config::default(), 1_000, None);
    host.burst();
    assert_eq!(host.grant(RTT, 0, 50).len(), 1);
    host.ack(1_000, false);
    let mut repeated = 0;
    while !host.sender.is_closed() {
        let burst = host.wait();
        repeated += burst.len();
        assert!(
            burst
                .iter()
                .all(|packet| packet.flags.contains(Flags::FIN | Flags::RETRANSMIT))
        );
    }
    assert_eq!(repeated, 8);
    assert_eq!(host.sender.next_timeout(), Time::MAX);
}

#[test]
fn unanswered_syn_is_abandoned() {
    let mut host = Host::new(Config::default(), 1_000, None);
    host.burst();
    let mut attempts = 1;
    while !host.sender.is_closed() {
        attempts += host.wait().len();
    }
    assert_eq!(attempts, 33);
    assert!(host.now < Time::ZERO + Span::from_secs(30));
}
