//! Lost requests, lost data, and peers that do not answer.

use crate::host::{Host, RTT, bursts, sizes, us};
use duetime_core::{Span, Time};
use duetime_proto::d3::{Config, EncodedRate, Flags};

#[test]
fn an_unanswered_request_is_asked_again_with_what_is_confirmed() {
    let mut host = Host::new(bursts(), 1 << 40, None);
    host.burst();
    let first = host.grant(RTT, 0, 10);
    let lost = host.answer(2_898, EncodedRate::from_byte(99));
    // One more round trip at the old rate comes with the second request, nothing with the third.
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
    // The late answer to the first is ignored: its allocation has been replaced.
    host.sender.input(&host.config, host.now, &lost);
    assert_eq!(host.sender.rate(), EncodedRate::from_byte(10));
    assert!(!host.sender.can_transmit(&host.config));
    assert_eq!(host.sender.counters().lost_requests, 2);
    host.grant(RTT, 2_898, 20);
    assert_eq!(host.sender.rate(), EncodedRate::from_byte(20));
}

#[test]
fn three_arrivals_beyond_a_gap_resend_the_first_hole_and_then_the_next() {
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
    // A partial acknowledgement shows the next hole.
    host.ack(third + 1460, false);
    let burst = host.grant(RTT, third + 1460, 10);
    assert_eq!(burst[0].seq, third + 1460);
    assert!(burst[0].flags.contains(Flags::RETRANSMIT));
}

#[test]
fn a_timeout_resends_everything_unacknowledged_from_the_allocation() {
    let mut host = Host::new(bursts(), 1 << 40, None);
    host.burst();
    host.grant(RTT, 0, 50);
    // The answer comes without any acknowledgement, and then nothing more.
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
    assert!(host.now >= us(10_000), "RTOmin is 10 ms");
    let burst = host.grant(RTT, 0, 10);
    assert_eq!((burst[0].seq, burst[1].seq), (0, u64::from(burst[0].len)));
    assert!(
        burst
            .iter()
            .all(|packet| packet.flags.contains(Flags::RETRANSMIT))
    );
}

#[test]
fn an_unanswered_fin_is_repeated_eight_times() {
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
fn a_syn_nobody_answers_is_given_up() {
    let mut host = Host::new(Config::default(), 1_000, None);
    host.burst();
    let mut tries = 1;
    while !host.sender.is_closed() {
        tries += host.wait().len();
    }
    assert_eq!(tries, 33);
    assert!(host.now < Time::ZERO + Span::from_secs(30));
}
