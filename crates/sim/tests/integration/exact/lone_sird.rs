//! Exact completion times of a lone SIRD flow: at once up to a bandwidth-delay product (BDP), otherwise after a request
//! and one paced credit for each packet.

use super::line::{Line, chains};
use crate::common::{chain, finish, flows, gigabit, run, scenario};
use duetime_core::Span;
use duetime_proto::sird::Config;
use duetime_scenario::model::*;

const HEADERS: u64 = 56;
const PAYLOAD: u64 = 1_444;
/// Delay in hosts that the BDP covers.
const HOST_DELAY: u64 = 20_000_000;

fn simulated(links: &[Link], start: u64, bytes: u64) -> u64 {
    let kind = flows(&[(Span::from_ps(start), 0, 1, bytes, None)]);
    let scenario = scenario(chain(links), Protocol::Sird(Config::default()), vec![kind]);
    let records = run(&scenario).records;
    let flow = &records.flows[0];
    assert_eq!((flow.retransmits, flow.timeouts), (0, 0));
    finish(&records, 0).as_ps()
}

/// Returns the transmission time of `bytes` in picoseconds.
fn transmission(link: &Link, bytes: u64) -> u64 {
    (u128::from(bytes) * 8_000_000_000_000).div_ceil(link.rate.as_bps().into()) as u64
}

/// Returns the BDP of the host at this link: the round trip is the longest latency of each link in both directions, four
/// full packets and the delay in hosts.
fn bdp(links: &[Link], host: &Link) -> u64 {
    let latency = links.iter().map(|link| link.latency.as_ps()).max().unwrap();
    let round_trip = latency * 2 * links.len() as u64 + 4 * transmission(host, 1_500) + HOST_DELAY;
    (u128::from(round_trip) * u128::from(host.rate.as_bps()) / 8_000_000_000_000) as u64
}

/// Returns the delivery time of `bytes` submitted at `start`.
fn delivery(links: &[Link], start: u64, bytes: u64) -> u64 {
    let [mut forward, mut back] = Line::both(links, 0);
    let packets = bytes.div_ceil(PAYLOAD);
    let size = |number: u64| (bytes - number * PAYLOAD).min(PAYLOAD) + HEADERS;
    if bytes + packets * HEADERS <= bdp(links, &links[0]) {
        let all = (0..packets).map(|number| forward.carry(start, size(number)));
        return all.last().unwrap();
    }
    // The outstanding packets of a sender have at most a BDP.
    let last = &links[links.len() - 1];
    let window = (bdp(links, last) / 1_500) as usize;
    let mut free = forward.carry(start, HEADERS);
    let mut arrivals: Vec<u64> = Vec::new();
    for number in 0..packets {
        let room = (arrivals.len().checked_sub(window)).map_or(0, |number| arrivals[number]);
        let issued = free.max(room);
        free = issued + transmission(last, size(number)) * 50 / 49;
        let credited = back.carry(issued, HEADERS);
        arrivals.push(forward.carry(credited, size(number)));
    }
    arrivals[arrivals.len() - 1]
}

#[test]
fn one_packet_by_hand() {
    // 1 Gbps, 20 us, one switch: 2 × (1,056 × 8 ns + 20 us).
    assert_eq!(simulated(&[gigabit(); 2], 0, 1_000), 56_896_000);
    assert_eq!(delivery(&[gigabit(); 2], 0, 1_000), 56_896_000);
}

#[test]
fn bdp_without_credit_by_hand() {
    // The BDP is 1 Gbps × (4 × 20 us + 4 × 12 us + 20 us) = 18,500 B: 12 full packets and one with 444 B of payload. All
    // leave the switch in a row from the arrival of the first one on: 12 us + 20 us + 148 us + 20 us.
    let bytes = 12 * PAYLOAD + 444;
    assert_eq!(simulated(&[gigabit(); 2], 0, bytes), 200_000_000);
    assert_eq!(delivery(&[gigabit(); 2], 0, bytes), 200_000_000);
}

#[test]
fn more_than_a_bdp_waits_for_credit_by_hand() {
    // The request arrives after 2 × (56 × 8 ns + 20 us) = 40.896 us. Credits follow every 12 us × 50 / 49 = 12.244897 us.
    // Credit 12 arrives at 40.896 + 11 × 12.244897 + 40.896 = 216.485867 us. Its packet leaves the switch at 216.485867 +
    // 12 + 20 + 12 us. The last packet, 501 B, has reached the switch and follows in 4.008 us + 20 us.
    let expected = 216_485_867 + 44_000_000 + 24_008_000;
    let bytes = 12 * PAYLOAD + 445;
    assert_eq!(simulated(&[gigabit(); 2], 0, bytes), expected);
    assert_eq!(delivery(&[gigabit(); 2], 0, bytes), expected);
}

#[test]
fn every_size_over_every_chain() {
    for links in chains() {
        for bytes in [1, 1_444, 1_445, 5_000, 30_000, 100_000, 300_001, 1_000_000] {
            let got = simulated(&links, 77_777, bytes);
            let expected = delivery(&links, 77_777, bytes);
            assert_eq!(got, expected, "{bytes} B over {links:?}");
        }
    }
}
