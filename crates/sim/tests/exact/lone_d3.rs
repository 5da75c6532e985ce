//! A lone D3 flow takes exactly as long as the arithmetic says: a round trip for the SYN, one more for the pause of a
//! flow without deadline, then bursts of what each round trip was granted.

use crate::common::{chain, finish, flows, gigabit, run, scenario};
use crate::line::{Line, chains};
use duetime_core::Span;
use duetime_proto::d3;
use duetime_scenario::model::*;

const SIZES: [u64; 10] = [
    1, 1_438, 1_439, 1_460, 1_461, 5_000, 30_000, 100_000, 300_001, 1_000_000,
];

/// Rates rounded down, and capacity left alone, so that grants can be told in advance.
fn plain() -> d3::Config {
    d3::Config {
        rounding: d3::Rounding::FloorFloor,
        update_interval: Some(Span::from_secs(20)),
        rto_min: Span::from_secs(2),
        request_packets: 0,
        pacing: false,
        ..d3::Config::default()
    }
}

/// The sending host, as the paper describes it (D3 §4.1, §5), of a flow that meets no other.
struct Sender {
    /// Bytes per microsecond of one encoded unit, as a power of two.
    scale: i32,
    /// The whole path, in units.
    full: u64,
    left: u64,
    budget: u64,
    rtt: u64,
    there: Line,
    back: Line,
    /// The request on its way: (sent, answer arrives).
    request: Option<(u64, u64)>,
    delivered: u64,
}

impl Sender {
    /// What `units` send in `ps`.
    fn slot(&self, units: u64) -> u64 {
        let bytes = u128::from(units) * u128::from(self.rtt);
        let scaled = if self.scale < 0 {
            bytes >> -self.scale
        } else {
            bytes << self.scale
        };
        (scaled / 1_000_000) as u64
    }

    /// A round trip's grant: what the last left is carried, up to a packet or the grant.
    fn grant(&mut self, units: u64) {
        let slot = self.slot(units);
        self.budget = self.budget.min(slot.max(1_500)) + slot;
    }

    /// Sends `len` bytes; with a request, or with the FIN, the packet and its answer have the congestion header.
    fn send(&mut self, at: u64, len: u64, request: bool, fin: bool) {
        let header = if request || fin { 62 } else { 40 };
        let arrived = self.there.carry(at, header + len);
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

    /// Bytes on the wire of all that is left, as one burst with its FIN on the last packet where it fits.
    fn burst(&self) -> u64 {
        let last = (self.left - 1) % 1_460 + 1;
        self.left + self.left.div_ceil(1_460) * 40 + if last <= 1_438 { 22 } else { 0 }
    }

    /// The next packet at `at`; false if nothing may leave.
    fn step(&mut self, at: u64, due: &mut bool) -> bool {
        if std::mem::take(due) && self.burst() > self.budget {
            // More than this round trip sends: the first packet asks for the next.
            let len = self.left.min(1_438);
            let fits = self.budget >= 62 + len;
            self.send(at, if fits { len } else { 0 }, true, false);
            return true;
        }
        let len = self.left.min(1_460);
        let fin = self.request.is_none() && len == self.left && len <= 1_438;
        if self.budget < len + if fin { 62 } else { 40 } {
            return false;
        }
        self.send(at, len, false, fin);
        true
    }
}

/// When `bytes` submitted at `start` are delivered; the SYN asks for and gets `first` units.
fn delivery(links: &[Link], start: u64, bytes: u64, first: u64) -> u64 {
    let slowest = links.iter().map(|link| link.rate.as_bps()).min().unwrap() as f64 / 8e6;
    let scale = (slowest / 64.0).log2().floor() as i32;
    let [there, back] = Line::both(links, 0);
    let full = (slowest / f64::from(scale).exp2()).floor() as u64;
    let mut sender = Sender {
        scale,
        full,
        left: bytes,
        budget: 0,
        rtt: 0,
        there,
        back,
        request: None,
        delivered: 0,
    };
    let mut heard = sender.back.carry(sender.there.carry(start, 62), 62);
    sender.rtt = heard - start;
    sender.grant(first);
    let mut due = true;
    while sender.left > 0 {
        // The NIC takes the next packet when it is free; feedback may come before.
        let at = heard.max(sender.there.free());
        let feedback = sender.request.filter(|&(_, answered)| answered < at);
        if feedback.is_none() && sender.step(at, &mut due) {
            continue;
        }
        let (asked, answered) = feedback.or(sender.request).expect("a request on its way");
        sender.request = None;
        sender.rtt = sender.rtt - sender.rtt / 8 + (answered - asked) / 8;
        sender.grant(sender.full);
        (heard, due) = (answered, true);
    }
    sender.delivered
}

fn simulated(links: &[Link], start: u64, bytes: u64, deadline: Option<Span>) -> u64 {
    let kind = flows(&[(Span::from_ps(start), 0, 1, bytes, deadline)]);
    let records = run(&scenario(chain(links), Protocol::D3(plain()), vec![kind])).records;
    assert_eq!(
        (records.flows[0].retransmits, records.flows[0].timeouts),
        (0, 0)
    );
    finish(&records, 0).as_ps()
}

#[test]
fn one_packet_with_a_deadline_by_hand() {
    // 1 Gbps, 20 us, one switch. SYN and its answer: 62 B each, 4 × (62 × 8 ns + 20 us) = 81.984 us. 5000 B in 0.25 ms
    // are 20 B/us, which is 1639 B in that time: 1 packet of 1000 B and its FIN, 1062 B, may leave at once if there
    // are 1000 B only. 1000 B in 50 us are 20 B/us as well. 2 × (1062 × 8 ns + 20 us) = 56.992 us.
    let expected = 81_984_000 + 56_992_000;
    assert_eq!(
        simulated(&[gigabit(); 2], 0, 1_000, Some(Span::from_us(50))),
        expected
    );
    assert_eq!(delivery(&[gigabit(); 2], 0, 1_000, 20), expected);
}

#[test]
fn one_packet_without_deadline_pauses_first_by_hand() {
    // As above, after one more round trip of a header-only request.
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

#[test]
fn every_size_over_every_chain_with_a_deadline() {
    for links in chains() {
        let slowest = links.iter().map(|link| link.rate.as_bps()).min().unwrap();
        for bytes in SIZES {
            // A third of the slowest link and a bit.
            let deadline = Span::from_ps(bytes * 8_000_000_000_000 / slowest * 3 + 1_000);
            let scale = (slowest as f64 / 8e6 / 64.0).log2().floor();
            let asked = bytes as f64 * 1e6 / deadline.as_ps() as f64 / scale.exp2();
            let got = simulated(&links, 77_777, bytes, Some(deadline));
            assert_eq!(
                got,
                delivery(&links, 77_777, bytes, asked as u64),
                "{bytes} B over {links:?}"
            );
        }
    }
}
