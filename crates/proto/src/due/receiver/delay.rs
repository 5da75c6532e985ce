//! Time from a grant to the arrival of the granted packet, from which windows and timers follow.

use duetime_core::Span;
use std::collections::BTreeMap;

/// Minimum of a measured delay, in packet times: host delays vary by about as much.
const MIN_PACKET_TIMES: u64 = 4;

/// Limit of the retransmission timer, as a multiple of its minimum.
const MAX_RESEND_FACTOR: u64 = 32;

/// Delays from grant to arrival.
#[derive(Debug)]
pub(super) struct Delays {
    /// Delay of the network that windows assume, an upper limit of `typical`.
    assumed: Span,
    /// Allowance for delays in hosts, which are random: the shortest delays do not contain them.
    host_delay: Span,
    floor: Span,
    smoothed: Span,
    deviation: Span,
    /// Shortest delay by source.
    shortest: BTreeMap<u32, Span>,
    /// Average of the sources' shortest delays, weighted by packets.
    typical: Span,
    max_sources: usize,
}

impl Delays {
    pub fn new(assumed: Span, host_delay: Span, packet_time: Span, max_sources: usize) -> Self {
        Self {
            assumed,
            host_delay,
            floor: packet_time * MIN_PACKET_TIMES,
            smoothed: assumed + host_delay,
            deviation: (assumed + host_delay) / 2,
            shortest: BTreeMap::new(),
            typical: assumed,
            max_sources,
        }
    }

    /// Records the delay of a packet that was granted and sent once (Karn's rule). Returns the source's shortest delay,
    /// which its window follows. It never grows, so a queue on the path does not enlarge the window.
    pub fn record(&mut self, source: u32, delay: Span) -> Span {
        let difference = delay.as_ps().abs_diff(self.smoothed.as_ps());
        self.smoothed = average(self.smoothed, delay, 16);
        self.deviation = average(self.deviation, Span::from_ps(difference), 16);
        let delay = delay.max(self.floor);
        let is_full = self.shortest.len() >= self.max_sources;
        let shortest = match self.shortest.get_mut(&source) {
            Some(shortest) => {
                *shortest = delay.min(*shortest);
                *shortest
            }
            None if is_full => return self.typical,
            None => {
                self.shortest.insert(source, delay);
                delay
            }
        };
        self.typical = average(self.typical, shortest.min(self.assumed), 32);
        shortest
    }

    /// Returns the delay that the window of a source assumes.
    pub fn of_source(&self, source: u32) -> Span {
        let shortest = self.shortest.get(&source);
        shortest.copied().unwrap_or(self.typical)
    }

    /// Scales a number of packets, which fits the assumed delay, to the typical delay.
    pub fn scale_to_typical(&self, packets: u64) -> u64 {
        self.scale(self.typical, packets)
    }

    /// Scales a number of packets, which fits the assumed delay, to `delay`.
    pub fn scale(&self, delay: Span, packets: u64) -> u64 {
        let scaled = u128::from(packets) * u128::from((delay + self.host_delay).as_ps());
        let scaled = scaled / u128::from((self.assumed + self.host_delay).as_ps().max(1));
        (scaled as u64).clamp(1, packets.max(1))
    }

    /// Returns the silence after which a granted message is passed over. `min` is used while delays are short. Timers
    /// follow the delays, because a congested core delays all granted packets.
    pub fn stall(&self, min: Span) -> Span {
        min.max(self.smoothed + self.deviation * 2)
    }

    /// Returns the silence after which missing packets are requested.
    pub fn resend(&self, min: Span) -> Span {
        let measured = self.smoothed * 2 + self.deviation * 4;
        min.max(measured).min(min * MAX_RESEND_FACTOR)
    }
}

/// Moves an average by 1/`weight` of the difference.
fn average(old: Span, new: Span, weight: u64) -> Span {
    (old * (weight - 1) + new) / weight
}
