//! Exact completion times of a lone D3 flow: a round trip for the SYN, another for the initial pause of a flow without
//! a deadline, then bursts of the size granted for each round trip.

use super::line::{Line, chains};
use crate::common::{chain, finish, flows, gigabit, run, scenario};
use duetime_core::Span;
use duetime_proto::d3;
use duetime_scenario::model::*;

const SIZES: [u64; 10] = [
    1, 1_438, 1_439, 1_460, 1_461, 5_000, 30_000, 100_000, 300_001, 1_000_000,
];

/// Bytes of a request, and of a FIN's congestion header.
const CONGESTION_HEADER: u64 = 22;

/// Returns options with rates rounded down and a constant capacity, so that grants can be computed in advance.
fn plain() -> d3::Config {
    d3::Config::default().with(|c| {
        c.wire.rounding = d3::Rounding::FloorFloor;
        c.router.update_interval = Some(Span::from_secs(20));
        c.host.rto_min = Span::from_secs(2);
        c.host.request_packets = 0;
        c.host.pacing = false;
    })
}

/// Sending host as described by the paper (D3 §4.1, §5), for a flow without competition.
struct Sender {
    /// Bytes of a packet without congestion header and payload.
    header: u64,
    /// Bytes per microsecond of one encoded unit, as a power of two.
    scale: i32,
    /// Rate of the whole path, in units.
    full: u64,
    left: u64,
    budget: u64,
    rtt: u64,
    forward: Line,
    back: Line,
    /// Request in flight: (sent, arrival of the answer).
    request: Option<(u64, u64)>,
    delivered: u64,
}

impl Sender {
    /// Returns the bytes that `units` send in one round trip.
    fn slot(&self, units: u64) -> u64 {
        let bytes = u128::from(units) * u128::from(self.rtt);
        let scaled = if self.scale < 0 {
            bytes >> -self.scale
        } else {
            bytes << self.scale
        };
        (scaled / 1_000_000) as u64
    }

    /// Adds the grant of a round trip; the unused remainder is carried over, up to a packet or the grant.
    fn grant(&mut self, units: u64) {
        let slot = self.slot(units);
        self.budget = self.budget.min(slot.max(1_500)) + slot;
    }

    /// Sends `len` bytes. With a request or the FIN, the packet and its answer have the congestion header.
    fn send(&mut self, at: u64, len: u64, request: bool, fin: bool) {
        let header = self.header(request || fin);
        let arrived = self.forward.carry(at, header + len);
        let answered = self.back.carry(arrived, header);
        if request {
            self.request = Some((at, answered));
        }
        if len > 0 {
            self.left -= len;
            self.budget -= header + len;
            self.delivered = arrived;
        }
    }

    fn header(&self, is_long: bool) -> u64 {
        self.header + if is_long { CONGESTION_HEADER } else { 0 }
    }

    /// Returns the maximum payload of a packet.
    fn payload(&self, is_long: bool) -> u64 {
        1_500 - self.header(is_long)
    }

    /// Returns the bytes on the wire of all remaining data as one burst, with the FIN on the last packet if it fits.
    fn burst(&self) -> u64 {
        let payload = self.payload(false);
        let last = (self.left - 1) % payload + 1;
        let fin = if last <= self.payload(true) {
            CONGESTION_HEADER
        } else {
            0
        };
        self.left + self.left.div_ceil(payload) * self.header + fin
    }

    /// Sends the next packet at `at`. Returns false if no packet may leave.
    fn step(&mut self, at: u64, due: &mut bool) -> bool {
        if std::mem::take(due) && self.burst() > self.budget {
            // More than this round trip can send: the first packet carries the request for the next.
            let len = self.left.min(self.payload(true));
            let fits = self.budget >= self.header(true) + len;
            self.send(at, if fits { len } else { 0 }, true, false);
            return true;
        }
        let len = self.left.min(self.payload(false));
        let fin = self.request.is_none() && len == self.left && len <= self.payload(true);
        if self.budget < len + self.header(fin) {
            return false;
        }
        self.send(at, len, false, fin);
        true
    }
}

/// Returns the delivery time of `bytes` submitted at `start`. The SYN requests and gets `first` units.
fn delivery(links: &[Link], start: u64, bytes: u64, first: u64) -> u64 {
    delivery_with(40, links, start, bytes, first)
}

/// Same as [`delivery`] for packets with `header` bytes instead of 40.
fn delivery_with(header: u64, links: &[Link], start: u64, bytes: u64, first: u64) -> u64 {
    let slowest = links.iter().map(|link| link.rate.as_bps()).min().unwrap() as f64 / 8e6;
    let scale = (slowest / 64.0).log2().floor() as i32;
    let [forward, back] = Line::both(links, 0);
    let full = (slowest / f64::from(scale).exp2()).floor() as u64;
    let mut sender = Sender {
        header,
        scale,
        full,
        left: bytes,
        budget: 0,
        rtt: 0,
        forward,
        back,
        request: None,
        delivered: 0,
    };
    let syn = sender.header(true);
    let mut feedback_at = sender.back.carry(sender.forward.carry(start, syn), syn);
    sender.rtt = feedback_at - start;
    sender.grant(first);
    let mut due = true;
    while sender.left > 0 {
        // The NIC takes the next packet when it is free; feedback may arrive before.
        let at = feedback_at.max(sender.forward.free());
        let feedback = sender.request.filter(|&(_, answered)| answered < at);
        if feedback.is_none() && sender.step(at, &mut due) {
            continue;
        }
        let (sent, answered) = feedback.or(sender.request).expect("a request in flight");
        sender.request = None;
        sender.rtt = sender.rtt - sender.rtt / 8 + (answered - sent) / 8;
        sender.grant(sender.full);
        (feedback_at, due) = (answered, true);
    }
    sender.delivered
}

fn simulated(links: &[Link], start: u64, bytes: u64, deadline: Option<Span>) -> u64 {
    simulated_with(plain(), links, start, bytes, deadline)
}

fn simulated_with(
    config: d3::Config,
    links: &[Link],
    start: u64,
    bytes: u64,
    deadline: Option<Span>,
) -> u64 {
    let kind = flows(&[(Span::from_ps(start), 0, 1, bytes, deadline)]);
    let records = run(&scenario(chain(links), Protocol::D3(config), vec![kind])).records;
    assert_eq!(
        (records.flows[0].retransmits, records.flows[0].timeouts),
        (0, 0)
    );
    finish(&records, 0).as_ps()
}

#[test]
fn one_packet_with_deadline_by_hand() {
    // 1 Gbps, 20 us, one switch. SYN and its answer have 62 B each: 4 × (62 × 8 ns + 20 us) = 81.984 us. 5000 B in 0.25
    // ms are 20 B/us, which is 1639 B in that time: a flow of only 1000 B can send its packet with the FIN, 1062 B, at
    // once. 1000 B in 50 us are 20 B/us as well. 2 × (1062 × 8 ns + 20 us) = 56.992 us.
    let expected = 81_984_000 + 56_992_000;
    assert_eq!(
        simulated(&[gigabit(); 2], 0, 1_000, Some(Span::from_us(50))),
        expected
    );
    assert_eq!(delivery(&[gigabit(); 2], 0, 1_000, 20), expected);
}

#[test]
fn one_packet_without_deadline_pauses_first_by_hand() {
    // As above, after an additional round trip with a header-only request.
    let expected = 2 * 81_984_000 + 56_992_000;
    assert_eq!(simulated(&[gigabit(); 2], 0, 1_000, None), expected);
}

#[test]
fn every_size_over_every_chain_without_deadline() {
    for links in chains() {
        for bytes in SIZES {
            let got = simulated(&links, 77_777, bytes, None);
            assert_eq!(
                got,
                delivery(&links, 77_777, bytes, 0),
                "{bytes} B over {links:?}"
            );
        }
    }
}

/// Over UDP, packets have longer headers (`duetime lab compare`).
#[test]
fn every_size_with_headers_of_udp() {
    let header = 72;
    let config = plain().with(|c| c.wire.header_bytes = header);
    for bytes in SIZES {
        let links = [gigabit(); 2];
        let got = simulated_with(config, &links, 0, bytes, None);
        let expected = delivery_with(header.into(), &links, 0, bytes, 0);
        assert_eq!(got, expected, "{bytes} B");
    }
}

#[test]
fn every_size_over_every_chain_with_a_deadline() {
    for links in chains() {
        let slowest = links.iter().map(|link| link.rate.as_bps()).min().unwrap();
        for bytes in SIZES {
            // Slightly more than a third of the slowest link.
            let deadline = Span::from_ps(bytes * 8_000_000_000_000 / slowest * 3 + 1_000);
            let scale = (slowest as f64 / 8e6 / 64.0).log2().floor();
            let requested = bytes as f64 * 1e6 / deadline.as_ps() as f64 / scale.exp2();
            let got = simulated(&links, 77_777, bytes, Some(deadline));
            assert_eq!(
                got,
                delivery(&links, 77_777, bytes, requested as u64),
                "{bytes} B over {links:?}"
            );
        }
    }
}
