//! Exact completion times of a lone message under pFabric: no handshake, a window of the bandwidth-delay product, and a
//! line of store-and-forward links.

use super::line::{Line, chains};
use crate::common::{chain, finish, flows, gigabit, run, scenario};
use duetime_core::Span;
use duetime_proto::pfabric::Config;
use duetime_scenario::model::*;

const SIZES: [u64; 8] = [1, 1_460, 1_461, 2_921, 10_000, 65_536, 300_001, 1_000_000];

fn simulated(links: &[Link], overhead: u32, config: Config, start: Span, bytes: u64) -> u64 {
    let list = [(start, 0, 1, bytes, None)];
    let mut scenario = scenario(chain(links), Protocol::PFabric(config), vec![flows(&list)]);
    scenario.host.frame_overhead = overhead;
    let records = run(&scenario).records;
    assert_eq!(
        (records.flows[0].retransmits, records.flows[0].timeouts),
        (0, 0)
    );
    assert_eq!(records.flows[0].delivered_bytes, bytes);
    finish(&records, 0).as_ps()
}

#[test]
fn one_packet_by_hand() {
    // 1 Gbps, 20 us, one switch, from 1 us on: 2 × (1040 B × 8 ns + 20 us) = 56.64 us.
    let links = [gigabit(); 2];
    let start = Span::from_us(1);
    assert_eq!(
        simulated(&links, 0, Config::default(), start, 1_000),
        57_640_000
    );
}

#[test]
fn window_of_two_packets_by_hand() {
    // Two full packets fit the window; a third with 80 B of data waits for an acknowledgement. The first packet arrives
    // after 2 × (1500 B × 8 ns + 20 us) = 64 us, its acknowledgement 2 × (40 B × 8 ns + 20 us) = 40.64 us later, and
    // the third packet takes 2 × (120 B × 8 ns + 20 us) = 41.92 us.
    let config = Config {
        window: Some(2),
        ..Config::default()
    };
    let expected = 64_000_000 + 40_640_000 + 41_920_000;
    assert_eq!(
        simulated(&[gigabit(); 2], 0, config, Span::ZERO, 3_000),
        expected
    );
}

/// The window covers the round trip of a path whose first link is as slow as any other, so the sender sends without a
/// gap.
#[test]
fn lone_message_is_sent_at_line_rate() {
    let [even_2, even_3, even_4, .., unequal] = &chains()[..6] else {
        unreachable!("six chains")
    };
    for links in [even_2, even_3, even_4, unequal] {
        for overhead in [0, 38] {
            for bytes in SIZES {
                let mut line = Line::new(links.iter(), u64::from(overhead));
                let packets = bytes.div_ceil(1_460);
                let arrivals = (0..packets).map(|number| {
                    let len = (bytes - number * 1_460).min(1_460);
                    line.carry(0, 40 + len)
                });
                let expected = arrivals.last().expect("a packet");
                let found = simulated(links, overhead, Config::default(), Span::ZERO, bytes);
                assert_eq!(found, expected, "{bytes} B over {links:?}");
            }
        }
    }
}
