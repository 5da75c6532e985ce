//! Exact completion times of a lone Homa message over a line of store-and-forward links, and messages under loss.

use super::line::{Line, chains};
use crate::common::{
    assert_conserved, assert_same_when_split, chain, finish, flows, gigabit, lossy, mixture, run,
    scenario, whole,
};
use duetime_core::Span;
use duetime_proto::homa::{Config, HEADER_BYTES};
use duetime_scenario::model::*;

const HEADER: u64 = HEADER_BYTES as u64;
const PAYLOAD: u64 = 1_440;
const SIZES: [u64; 8] = [1, 40, 1_440, 1_441, 2_881, 10_000, 65_536, 1_000_000];

/// Returns the time at which the only message of a run is delivered.
fn simulated(
    links: &[Link],
    overhead: u32,
    config: Config,
    classes: u8,
    at: u64,
    bytes: u64,
) -> u64 {
    let kind = flows(&[(Span::from_ps(at), 0, 1, bytes, None)]);
    let mut scenario = scenario(chain(links), Protocol::Homa(config), vec![kind]);
    scenario.transports[0].priorities = classes;
    scenario.host.frame_overhead = overhead;
    let records = run(&scenario).records;
    assert_eq!(
        (records.flows[0].retransmits, records.flows[0].timeouts),
        (0, 0)
    );
    assert_eq!(records.flows[0].delivered_bytes, bytes);
    finish(&records, 0).as_ps()
}

/// Returns the delivery time of a message with a window of packets: each packet after the first window waits for a grant,
/// which is a header sent back when the packet a window before arrives.
fn delivery(links: &[Link], overhead: u64, window: usize, at: u64, bytes: u64) -> u64 {
    let [mut forward, mut back] = Line::both(links, overhead);
    let mut arrivals: Vec<u64> = Vec::new();
    for number in 0..bytes.div_ceil(PAYLOAD) as usize {
        let ready = match number.checked_sub(window) {
            Some(before) => back.carry(arrivals[before], HEADER),
            None => at,
        };
        let payload = PAYLOAD.min(bytes - number as u64 * PAYLOAD);
        arrivals.push(forward.carry(ready, HEADER + payload));
    }
    arrivals[arrivals.len() - 1]
}

#[test]
fn one_packet_by_hand() {
    // 1 Gbps, 20 us, one switch, no handshake. 1000 B of data over two links: 2 × (1060 B × 8 ns + 20 us) = 56.96 us.
    let links = [gigabit(); 2];
    let expected = 1_000_000 + 56_960_000;
    assert_eq!(
        simulated(&links, 0, Config::default(), 8, 1_000_000, 1_000),
        expected
    );
    assert_eq!(delivery(&links, 0, 1, 1_000_000, 1_000), expected);
}

#[test]
fn window_of_one_packet_by_hand() {
    // RTTbytes of one packet: each of three full packets takes 2 × (1500 B × 8 ns + 20 us) = 64 us, and the grants of two
    // take 2 × (60 B × 8 ns + 20 us) = 40.96 us.
    let links = [gigabit(); 2];
    let config = Config {
        rtt_bytes: Some(1_500),
        ..Config::default()
    };
    let expected = 3 * 64_000_000 + 2 * 40_960_000;
    assert_eq!(simulated(&links, 0, config, 8, 0, 3 * PAYLOAD), expected);
    assert_eq!(delivery(&links, 0, 1, 0, 3 * PAYLOAD), expected);
}

#[test]
fn default_window_fills_the_link() {
    // The idle round trip is 80 us. With five packets of 12 us, RTTbytes are 17,500 B, 12 packets. A packet and its grant
    // take 64 + 40.96 us, less than 12 packets of 12 us, so 100 packets are sent without a gap. The
    // last one takes 12 us on the second link and 40 us of latency.
    let expected = 100 * 12_000_000 + 12_000_000 + 40_000_000;
    let links = [gigabit(); 2];
    assert_eq!(
        simulated(&links, 0, Config::default(), 8, 0, 100 * PAYLOAD),
        expected
    );
    assert_eq!(delivery(&links, 0, 12, 0, 100 * PAYLOAD), expected);
}

#[test]
fn every_size_over_every_chain() {
    for links in chains() {
        for (window, overhead) in [(1, 0), (4, 38), (30, 0)] {
            for bytes in SIZES {
                let config = Config {
                    rtt_bytes: Some(window * u64::from(1_500 + overhead)),
                    // No queue of a lone message is that long.
                    resend_interval: Some(Span::from_secs(2)),
                    ..Config::default()
                };
                let at = 123_457;
                // One class, so that packets stay in order where a link is slower than the one before.
                let found = simulated(&links, overhead, config, 1, at, bytes);
                let expected = delivery(&links, overhead.into(), window as usize, at, bytes);
                assert_eq!(
                    found, expected,
                    "{window} packets, {bytes} B over {links:?}"
                );
            }
        }
    }
}

/// Messages that fit `RTTbytes` need no grant, so their priorities and windows have no effect.
#[test]
fn short_message_needs_no_grant() {
    let links = &chains()[5];
    let at_once = delivery(links, 0, 1_000, 0, 300_001);
    for classes in [1, 2, 8] {
        let config = Config {
            rtt_bytes: Some(1_000_000),
            overcommitment: Some(classes),
            resend_interval: Some(Span::from_secs(2)),
            ..Config::default()
        };
        assert_eq!(simulated(links, 0, config, classes, 0, 300_001), at_once);
    }
}

fn homa(priorities: u8) -> Transport {
    Transport {
        name: "homa".to_owned(),
        protocol: Protocol::Homa(Config::default()),
        priorities,
    }
}

/// One packet in 100 is lost on each link: every message ends, and all bytes are accounted for.
#[test]
fn every_message_ends_under_loss() {
    for classes in [1, 8] {
        let mut scenario = mixture(homa(classes));
        scenario.topology = lossy(scenario.topology, 0.01);
        let records = whole(run(&scenario));
        assert!(records.flows.len() > 300, "{} flows", records.flows.len());
        let open = records.flows.iter().find(|flow| flow.finish.is_none());
        assert_eq!(open, None);
        let resent: u64 = records
            .flows
            .iter()
            .map(|flow| u64::from(flow.retransmits))
            .sum();
        assert!(resent > 50, "{resent} retransmissions");
        assert_conserved(&records, "homa under loss");
    }
}

#[test]
fn threads_do_not_change_results() {
    let scenario = mixture(homa(8));
    assert_conserved(&whole(run(&scenario)), "homa");
    let alone = run(&scenario).records;
    assert_same_when_split(&scenario, &alone, &[(2, 1), (3, 2)]);
}
