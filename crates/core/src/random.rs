//! Tree of random streams. Each (seed, run, entity, purpose) has its own generator (Xoshiro256++), so adding a consumer
//! never shifts the draws of another. Per-packet draws use a smaller generator, Knuth's MMIX ([`Small`]). Samplers are
//! inverse CDFs on pure-Rust `libm`, so results are identical on every machine.

use crate::Span;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Root of the random streams of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    seed: u64,
}

/// Purpose of a stream. A stream is identified by its entity and purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u64)]
pub enum Purpose {
    /// Placement of an application's hosts.
    Placement = 1,
    /// Arrival times of queries or flows.
    Arrival = 2,
    /// Flow sizes.
    Size = 3,
    /// Deadlines.
    Deadline = 4,
    /// Computation time and jitter of a leaf.
    Compute = 5,
    /// Start jitter of a sender.
    Jitter = 6,
    /// Seeded loss at a port.
    Loss = 7,
    /// Seeded order of simultaneous events.
    Order = 8,
    /// Phase of a port's periodic tick.
    Phase = 9,
    /// Path choice.
    Path = 10,
    /// Destination choice.
    Destination = 11,
    /// Faults injected by tests.
    Fault = 12,
    /// Start of a flow within the interval given by its workload.
    Start = 13,
    /// Delay before a host sends a packet.
    Send = 14,
    /// Delay before a host passes a received packet to its transport.
    Receive = 15,
}

/// Stream of random draws.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

/// Stream of random draws with 8 bytes of state and five instructions per draw: the high half of Knuth's linear
/// congruential generator for MMIX (The Art of Computer Programming, volume 2, 3rd edition, §3.3.4, table 1, line 26).
#[derive(Clone, Copy, Debug)]
pub struct Small(u64);

/// Mixes two words into one with the finalizer of `SplitMix64`; bijective in the first word.
#[inline]
pub const fn mix(a: u64, b: u64) -> u64 {
    let mut z = a
        .wrapping_add(b.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Streams {
    /// Creates the streams of run number `run` under `seed`.
    pub const fn new(seed: u64, run: u64) -> Self {
        Self {
            seed: mix(mix(0, seed), run),
        }
    }

    /// Returns a word that identifies (entity, purpose) in this run, for hashes that need no stream.
    pub const fn key(&self, entity: u64, purpose: Purpose) -> u64 {
        mix(mix(self.seed, purpose as u64), entity)
    }

    /// Returns the stream of (entity, purpose).
    pub fn stream(&self, entity: u64, purpose: Purpose) -> Stream {
        Stream(Xoshiro256PlusPlus::seed_from_u64(self.key(entity, purpose)))
    }

    /// Returns the small stream of (entity, purpose).
    pub const fn small(&self, entity: u64, purpose: Purpose) -> Small {
        Small(self.key(entity, purpose))
    }
}

impl Small {
    /// Returns 32 random bits.
    #[expect(clippy::inline_always, reason = "the packet path: measured")]
    #[inline(always)]
    pub const fn bits(&mut self) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as u32
    }

    /// Returns a uniform integer in [0, bound), or zero if `bound` is zero.
    #[expect(clippy::inline_always, reason = "the packet path: measured")]
    #[inline(always)]
    pub const fn below(&mut self, bound: u32) -> u32 {
        ((self.bits() as u64 * bound as u64) >> 32) as u32
    }
}

impl Stream {
    /// Returns 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a uniform float in [0, 1) with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns a uniform integer in [0, bound), exact to 2⁻⁶⁴, or zero if `bound` is zero.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns a uniform integer in [low, high].
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// Returns true with the given probability.
    #[inline]
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Returns an exponentially distributed span with the given mean, by inversion.
    pub fn exponential(&mut self, mean: Span) -> Span {
        let x = -libm::log1p(-self.unit()) * mean.as_ps() as f64;
        Span::from_ps(libm::round(x) as u64)
    }

    /// Returns a random permutation of 0..n (Fisher–Yates).
    pub fn permutation(&mut self, n: usize) -> alloc::vec::Vec<u32> {
        let mut order: alloc::vec::Vec<u32> = (0..n as u32).collect();
        for i in (1..n).rev() {
            order.swap(i, self.below(i as u64 + 1) as usize);
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_matches_knuths_generator() {
        // From 1: 6364136223846793005 + 1442695040888963407 = 0x6c576fac_43fd007c.
        let mut small = Small(1);
        assert_eq!(small.below(u32::MAX), 0x6c57_6fab);
        assert_eq!(small.below(0), 0);
        assert_eq!(
            small.0,
            0x6c57_6fac_43fd_007c_u64
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407)
        );
    }

    #[test]
    fn small_below_is_uniform() {
        let mut small = Streams::new(1, 0).small(7, Purpose::Send);
        let mut seen = [0_u32; 10];
        for _ in 0..100_000 {
            seen[small.below(2_000) as usize / 200] += 1;
        }
        // Five standard deviations of a count with probability 0.1.
        assert!(
            seen.iter().all(|&count| count.abs_diff(10_000) < 475),
            "{seen:?}"
        );
    }

    #[test]
    fn streams_are_independent_and_stable() {
        let streams = Streams::new(1, 0);
        let first = streams.stream(7, Purpose::Size).bits();
        let _ = streams.stream(8, Purpose::Size).bits();
        assert_eq!(first, streams.stream(7, Purpose::Size).bits());
        assert_ne!(first, streams.stream(7, Purpose::Deadline).bits());
        assert_ne!(first, Streams::new(1, 1).stream(7, Purpose::Size).bits());
    }

    #[test]
    fn exponential_has_its_mean() {
        let mut stream = Streams::new(3, 0).stream(0, Purpose::Arrival);
        let mean = Span::from_ms(3);
        let total: u64 = (0..100_000).map(|_| stream.exponential(mean).as_ps()).sum();
        let ratio = total as f64 / 100_000.0 / mean.as_ps() as f64;
        assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
    }
}
