//! Store-and-forward arithmetic on plain integers, with which the simulator is compared.

use duetime_scenario::model::Link;

/// Links in a row, each of which sends one packet at a time. Times are in picoseconds.
pub struct Line {
    /// (bits per second, latency, time at which the link is next free).
    links: Vec<(u128, u64, u64)>,
    /// Bytes of every packet in addition to its IP length.
    overhead: u64,
}

impl Line {
    pub fn new<'a>(links: impl Iterator<Item = &'a Link>, overhead: u64) -> Self {
        let links = links
            .map(|link| (u128::from(link.rate.as_bps()), link.latency.as_ps(), 0))
            .collect();
        Self { links, overhead }
    }

    /// Returns the line in both directions.
    pub fn both(links: &[Link], overhead: u64) -> [Self; 2] {
        [
            Self::new(links.iter(), overhead),
            Self::new(links.iter().rev(), overhead),
        ]
    }

    /// Returns the time at which the first link is next free.
    pub fn free(&self) -> u64 {
        self.links[0].2
    }

    /// Sends a packet of `bytes` that is ready at `at`. Returns the arrival of its last bit at the far end.
    pub fn carry(&mut self, mut at: u64, bytes: u64) -> u64 {
        let bytes = u128::from(bytes + self.overhead);
        for (rate, latency, free) in &mut self.links {
            let sending = (bytes * 8_000_000_000_000).div_ceil(*rate) as u64;
            *free = at.max(*free) + sending;
            at = *free + *latency;
        }
        at
    }
}

/// Returns chains of one to five switches: equal and unequal links, with and without a whole number of picoseconds per
/// byte.
pub fn chains() -> Vec<Vec<Link>> {
    use duetime_core::{Rate, Span};
    let even = |rate, ns, links| vec![crate::common::link(rate, Span::from_ns(ns)); links];
    let each = |rates: &[Rate]| {
        let links = rates.iter().zip(1..);
        links
            .map(|(&rate, i)| crate::common::link(rate, Span::from_ps(7_777_777 * i + 13)))
            .collect()
    };
    let (mbps, gbps) = (Rate::from_mbps, Rate::from_gbps);
    vec![
        even(gbps(1), 20_000, 2),
        even(gbps(3), 5_000, 3),
        even(gbps(40), 1_500, 4),
        even(mbps(333), 50_000, 5),
        even(gbps(7), 20_000, 6),
        each(&[gbps(1), gbps(10), gbps(40), gbps(10), gbps(1)]),
        each(&[gbps(10), mbps(1_234), mbps(777)]),
        each(&[mbps(100), gbps(1)]),
        each(&[gbps(10), Rate::from_bps(999_999_937), gbps(25), gbps(3)]),
    ]
}
