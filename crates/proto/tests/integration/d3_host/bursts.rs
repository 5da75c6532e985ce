//! Grants sent as bursts: the carried budget, and the position of the FIN.

use super::host::{Host, RTT, bursts, sizes, us};
use duetime_proto::d3::{EncodedRate, Flags, Rounding};

#[test]
fn bursts_alternate_between_one_and_two_packets() {
    let config = bursts().with(|c| c.wire.rounding = Rounding::Exact);
    let mut host = Host::new(config, 1 << 40, None);
    assert_eq!(
        sizes(&host.burst()),
        [(62, true)],
        "the SYN carries no data"
    );
    let mut sent = 0;
    for slot in 0..100 {
        host.now += RTT;
        let acked = sent;
        let answer = host.answer(acked, EncodedRate(7 * 256 + 128)); // 7.5 B/us
        host.sender.input(&config, host.now, &answer);
        let burst = host.burst();
        sent += burst
            .iter()
            .map(|packet| u64::from(packet.len))
            .sum::<u64>();
        let expected: &[_] = if slot % 2 == 0 {
            &[(1500, true)]
        } else {
            &[(1500, true), (1500, false)]
        };
        assert_eq!(sizes(&burst), expected, "2250 B leave 750, then 3000");
    }
}

#[test]
fn paused_flow_accumulates_no_budget() {
    let mut host = Host::new(bursts(), 1 << 40, None);
    host.burst();
    for _ in 0..10 {
        assert_eq!(sizes(&host.grant(RTT, 0, 0)), [(62, true)]);
    }
    assert_eq!(
        sizes(&host.grant(RTT, 0, 10)),
        [(1500, true), (1500, false)],
        "3000 B, no carried budget"
    );
}

#[test]
fn last_burst_ends_with_the_fin() {
    let mut host = Host::new(bursts(), 4_000, None);
    host.burst();
    let burst = host.grant(RTT, 0, 50);
    assert_eq!(
        sizes(&burst),
        [(1500, false), (1500, false), (4_000 - 2 * 1460 + 62, true)]
    );
    let fin = &burst[2];
    assert!(fin.flags.contains(Flags::FIN));
    let request = fin.request.unwrap();
    assert_eq!(request.desired, EncodedRate::ZERO);
    assert_eq!(
        request.previous_allocations[..2],
        [EncodedRate::from_byte(50); 2],
        "returns the grant"
    );
    assert!(host.grant(RTT, 4_001, 0).is_empty());
    assert!(host.sender.is_closed());
    assert_eq!(host.sender.acked(), 4_000);
}

#[test]
fn fin_is_separate_if_it_does_not_fit() {
    let mut host = Host::new(bursts(), 1_450, None);
    host.burst();
    let burst = host.grant(RTT, 0, 50);
    assert_eq!(sizes(&burst), [(1490, false), (62, true)]);
    assert!(burst[1].flags.contains(Flags::FIN));
}

#[test]
fn empty_flow_opens_and_closes() {
    let mut host = Host::new(bursts(), 0, Some(us(5_000)));
    host.burst();
    let burst = host.grant(RTT, 0, 0);
    assert!(burst.len() == 1 && burst[0].flags.contains(Flags::FIN));
    host.grant(RTT, 1, 0);
    assert!(host.sender.is_closed());
}
