//! Exact completion times of a lone PDQ flow: a round trip for the SYN, then packets at the rate of the slowest link.

use super::line::{Line, chains};
use crate::common::{chain, finish, flows, gigabit, pdq, run, scenario};
use duetime_core::Span;
use duetime_scenario::model::Link;

const HEADER: u64 = 56;
const PAYLOAD: u64 = 1_500 - HEADER;
const SIZES: [u64; 8] = [1, 1_443, 1_444, 1_445, 5_000, 30_000, 100_000, 300_001];

/// Returns the delivery time of `bytes` submitted at `start`.
fn delivery(links: &[Link], start: u64, bytes: u64) -> u64 {
    let slowest = links.iter().map(|link| link.rate.as_bps()).min().unwrap();
    let [mut forward, mut back] = Line::both(links, 0);
    // The SYN's answer grants the rate of the slowest link, and nothing changes it.
    let mut release = back.carry(forward.carry(start, HEADER), HEADER);
    let (mut left, mut delivered) = (bytes, 0);
    while left > 0 {
        let packet = left.min(PAYLOAD) + HEADER;
        let at = release.max(forward.free());
        delivered = forward.carry(at, packet);
        release =
            at + (u128::from(packet) * 8_000_000_000_000).div_ceil(u128::from(slowest)) as u64;
        left -= packet - HEADER;
    }
    delivered
}

fn simulated(links: &[Link], start: u64, bytes: u64, deadline: Option<Span>) -> u64 {
    let kind = flows(&[(Span::from_ps(start), 0, 1, bytes, deadline)]);
    let records = run(&scenario(chain(links), pdq(), vec![kind])).records;
    assert_eq!(
        (records.flows[0].retransmits, records.flows[0].timeouts),
        (0, 0)
    );
    finish(&records, 0).as_ps()
}

#[test]
fn three_packets_by_hand() {
    // 1 Gbps, 20 us, one switch. SYN and its answer have 56 B each: 4 × (56 × 8 ns + 20 us) = 81.792 us. 3000 B are two
    // packets of 1500 B and one of 112 + 56 = 168 B. The first link sends them in 12 + 12 + 1.344 us, and the switch
    // sends the last one at once, because the second has left by then: its last bit arrives at the switch 13.344 us after
    // that of the first, and the second leaves 24 us after. So the last leaves 12 us + 24 us + 1.344 us after the start,
    // and 2 × 20 us are propagation.
    let expected = 81_792_000 + (12_000 + 24_000 + 1_344 + 40_000) * 1_000;
    assert_eq!(simulated(&[gigabit(); 2], 0, 3_000, None), expected);
    assert_eq!(delivery(&[gigabit(); 2], 0, 3_000), expected);
}

#[test]
fn every_size_over_every_chain() {
    for links in chains() {
        for bytes in SIZES {
            for deadline in [None, Some(Span::from_ms(50_000))] {
                let got = simulated(&links, 77_777, bytes, deadline);
                let expected = delivery(&links, 77_777, bytes);
                assert_eq!(got, expected, "{bytes} B over {links:?}");
            }
        }
    }
}
