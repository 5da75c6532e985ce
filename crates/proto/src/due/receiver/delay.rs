//! Time from a grant to the arrival of the granted packet, from which windows and timers follow.

use duetime_core::Span;
use std::collections::BTreeMap;

/// Minimum of a measured delay, in packet times: host delays vary by about as much.
const MIN_PACKET_TIMES: u64 = 4;

/// Limit of the retransmission timer, as a multiple of its minimum.
const MAX_RESEND_FACTOR: u64 = 32;

/// Delays from grant to arrival, and the limits of the packets in flight that follow from them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Delays {
    /// Delay of the network that windows assume, an upper limit of `typical`.
    assumed: Span,
    /// Allowance for delays in hosts, which are random: the shortest delays do not contain them.
    host_delay: Span,
    floor: Span,
    smoothed: Span,
    deviation: Span,
    sources: BTreeMap<u32, Source>,
    max_sources: usize,
    /// Average of the sources' shortest delays, weighted by packets.
    typical: Span,
    /// Limit of the packets in flight of a message at the assumed delay.
    max_window: u64,
    /// Limit of all packets in flight at the assumed delay, in thousandths of a packet.
    max_cap: u64,
    /// Limit of all packets in flight at the typical delay, in thousandths of a packet.
    cap: u64,
}

/// Measurements of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Source {
    shortest: Span,
    /// Limit of the packets in flight of a message at the shortest delay.
    window: u64,
}

impl Delays {
    /// Creates delays for at most `max_sources` sources. `max_window`, in packets, and `max_cap`, in thousandths of a
    /// packet, fit the assumed delay.
    pub fn new(
        (assumed, host_delay): (Span, Span),
        packet_time: Span,
        (max_window, max_cap): (u64, u64),
        max_sources: usize,
    ) -> Self {
        Self {
            assumed,
            host_delay,
            floor: packet_time * MIN_PACKET_TIMES,
            smoothed: assumed + host_delay,
            deviation: (assumed + host_delay) / 2,
            sources: BTreeMap::new(),
            max_sources,
            typical: assumed,
            max_window,
            max_cap,
            cap: max_cap,
        }
    }

    /// Records the delay of a packet that was granted and sent once (Karn's rule). Returns the window of the source's
    /// messages, which follows its shortest delay. It never grows, so a queue on the path does not enlarge it.
    #[inline]
    pub fn record(&mut self, source: u32, delay: Span) -> u64 {
        let difference = delay.as_ps().abs_diff(self.smoothed.as_ps());
        self.smoothed = average(self.smoothed, delay, 16);
        self.deviation = average(self.deviation, Span::from_ps(difference), 16);
        let delay = delay.max(self.floor);
        let known = match self.sources.get(&source) {
            Some(known) if known.shortest <= delay => *known,
            None if self.sources.len() >= self.max_sources => {
                return self.scale(self.typical, self.max_window);
            }
            _ => {
                let window = self.scale(delay, self.max_window);
                let known = Source {
                    shortest: delay,
                    window,
                };
                self.sources.insert(source, known);
                known
            }
        };
        let typical = average(self.typical, known.shortest.min(self.assumed), 32);
        if typical != self.typical {
            self.typical = typical;
            self.cap = self.scale(typical, self.max_cap);
        }
        known.window
    }

    /// Removes the measurements of a source.
    pub fn forget(&mut self, source: u32) {
        self.sources.remove(&source);
    }

    /// Returns the limit of the packets in flight of a message from the source.
    pub fn window(&self, source: u32) -> u64 {
        self.sources.get(&source).map_or_else(
            || self.scale(self.typical, self.max_window),
            |known| known.window,
        )
    }

    /// Returns the limit of all packets in flight, in thousandths of a packet.
    pub const fn cap(&self) -> u64 {
        self.cap
    }

    /// Scales a number of packets, which fits the assumed delay, to `delay`.
    #[inline]
    fn scale(&self, delay: Span, packets: u64) -> u64 {
        let (delay, assumed) = (delay + self.host_delay, self.assumed + self.host_delay);
        let assumed = assumed.as_ps().max(1);
        let scaled = match packets.checked_mul(delay.as_ps()) {
            Some(product) => product / assumed,
            None => (u128::from(packets) * u128::from(delay.as_ps()) / u128::from(assumed)) as u64,
        };
        scaled.clamp(1, packets.max(1))
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
