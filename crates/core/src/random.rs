//! The tree of random streams: one named generator (Xoshiro256++) per (seed, run, entity, purpose), so that adding
//! one consumer never shifts the draws of another. Draws for every packet come from a smaller generator, Knuth's MMIX
//! ([`Small`]). Samplers are inverse CDFs on pure-Rust `libm`: the same bits on every machine.

use crate::Span;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The root of one run's streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    seed: u64,
}

/// What a stream is drawn for; together with the entity it names the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u64)]
pub enum Purpose {
    /// Where an application's hosts are placed.
    Placement = 1,
    /// When queries or flows arrive.
    Arrival = 2,
    /// How large flows are.
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
    /// Faults put in by a test.
    Fault = 12,
    /// A flow's start within the time that its workload gives.
    Start = 13,
    /// The delay before a host's packet goes on the link.
    Send = 14,
    /// The time that a host holds a packet before its transport has it.
    Receive = 15,
}

/// One stream of draws.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

/// A stream of draws that takes 8 bytes and five instructions: the high half of Knuth's linear congruential generator
/// for MMIX (The Art of Computer Programming, volume 2, 3rd edition, §3.3.4, table 1, line 26).
#[derive(Clone, Copy, Debug)]
pub struct Small(u64);

/// Mixes two words into one, bijectively in the first (the finaliser of `SplitMix64`).
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
    /// The streams of run number `run` under `seed`.
    pub const fn new(seed: u64, run: u64) -> Self {
        Self {
            seed: mix(mix(0, seed), run),
        }
    }

    /// A word that names (entity, purpose) in this run: for hashes that need no stream.
    pub const fn key(&self, entity: u64, purpose: Purpose) -> u64 {
        mix(mix(self.seed, purpose as u64), entity)
    }

    /// The stream of (entity, purpose).
    pub fn stream(&self, entity: u64, purpose: Purpose) -> Stream {
        Stream(Xoshiro256PlusPlus::seed_from_u64(self.key(entity, purpose)))
    }

    /// The same as a small stream.
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

    /// Uniform integer in [0, bound); zero if `bound` is zero.
    #[expect(clippy::inline_always, reason = "the packet path: measured")]
    #[inline(always)]
    pub const fn below(&mut self, bound: u32) -> u32 {
        ((self.bits() as u64 * bound as u64) >> 32) as u32
    }
}

impl Stream {
    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1), 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform integer in [0, bound), exact to 2⁻⁶⁴; zero if `bound` is zero.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Uniform integer in [low, high], both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True with the given probability.
    #[inline]
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Exponential with the given mean, by inversion.
    pub fn exponential(&mut self, mean: Span) -> Span {
        let x = -libm::log1p(-self.unit()) * mean.as_ps() as f64;
        Span::from_ps(libm::round(x) as u64)
    }

    /// A random order of 0..n (Fisher–Yates).
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
    fn a_small_stream_is_knuths() {
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
    fn a_small_stream_is_uniform_below_its_bound() {
        let mut small = Streams::new(1, 0).small(7, Purpose::Send);
        let mut seen = [0_u32; 10];
        for _ in 0..100_000 {
            seen[small.below(2_000) as usize / 200] += 1;
        }
        // Five standard deviations of a share of a tenth.
        assert!(
            seen.iter().all(|&count| count.abs_diff(10_000) < 475),
            "{seen:?}"
        );
    }

    #[test]
    fn streams_are_independent_of_each_other_and_stable() {
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
