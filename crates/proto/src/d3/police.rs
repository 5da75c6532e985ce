//! Policers for the ingresses of a D3 port, which limit each ingress to the grants of its flows.
//!
//! D3 trusts its hosts (§4.4): a host that sends more than its grants takes capacity from all others at the port. A
//! router keeps no per-flow state, but knows the sum of its grants to the flows of an ingress, because the census of
//! its allocator counts each live flow once per epoch (see `repair`). A token bucket per ingress is filled at this
//! rate.
//!
//! - The rate is the largest sum of the last epochs, so that a flow that misses an epoch because it had to repeat a
//!   request is not reduced to nothing. It never exceeds the rate of the ingress.
//! - An allowance is added for traffic that D3 does not account for: requests of paused flows, acknowledgements,
//!   packets of other protocols.
//! - A new flow is rejected while the flows of the ingress request more than twice the rate of the ingress, and any
//!   rate request is rejected while those in this epoch exceed four times that rate. This bounds the demand that one
//!   ingress can register at a port, whatever it claims.

use super::rate::{FRACTION_BITS, fixed_from_rate};
use super::{Allocator, Config, EncodedRate, Flags, PortDriver, Reading};
use duetime_core::{Rate, Span, Time};

/// Number of epochs over which the largest sum is taken, including the current one.
const EPOCHS: usize = 3;
/// Bytes that an ingress may always send at once: packets that queue behind each other at a host.
const BURST_BYTES: u64 = 32 * 1_500;
/// Number of update intervals of traffic that may arrive at once: hosts may send a grant as one burst (D3 §5).
const BURST_INTERVALS: u64 = 4;
/// Maximum demand for new flows, relative to the rate of the ingress.
const MAX_DEMAND: i64 = 2;
/// Maximum demand of one epoch for any request, relative to the rate of the ingress. It is higher because late flows
/// request more than when they were new; but a packet can falsely claim to belong to an old flow.
const MAX_EPOCH_DEMAND: i64 = 4;

/// Token bucket of one ingress at one port, for ports with [`repair`](super::RouterOptions::repair).
#[derive(Clone, Debug)]
pub struct Policer {
    /// Counts of the current epoch and those before it.
    sums: [Counted; EPOCHS],
    /// Rate of the ingress.
    link: i64,
    allowance: i64,
    /// Tokens, in nanoseconds times fixed-point units of rate.
    tokens: u64,
    filled: Time,
    burst: Span,
    scale: i8,
}

/// Claim of a packet at a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Claim {
    /// No request, or one for no rate.
    #[default]
    Nothing,
    /// Request for a rate, by a flow that claims to be known.
    Rate,
    /// Request to be counted as a new flow.
    Flow,
}

impl Claim {
    /// Returns the claim of a packet with these flags and a request with this desired rate.
    pub fn from_request(flags: Flags, desired: EncodedRate) -> Self {
        if flags.contains(Flags::FIN) {
            Self::Nothing
        } else if flags.contains(Flags::SYN) {
            Self::Flow
        } else if desired == EncodedRate::ZERO {
            Self::Nothing
        } else {
            Self::Rate
        }
    }
}

/// Counts of a port's census in its epoch, in fixed-point units of rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counted {
    /// Sum of desired rates.
    demand: i64,
    /// Sum of allocations.
    allocated: i64,
}

/// Policers of one port, one per ingress, numbered from 0. Wraps calls to the port's [`PortDriver`]. By default there
/// are none, and every packet is admitted.
#[derive(Clone, Debug, Default)]
pub struct Police(Vec<Policer>);

impl Police {
    /// Creates the policers of a port of rate `port_rate` with ingresses of the given rates, if
    /// [`police`](super::RouterOptions::police) is set. C is at most twice the port's rate (D3 §4.4), which also bounds
    /// the grants of an ingress.
    pub fn new(
        config: &Config,
        ingresses: impl IntoIterator<Item = Rate>,
        port_rate: Rate,
    ) -> Self {
        let Some(allowance) = config.router.police else {
            return Self::default();
        };
        let max = Rate::from_bps(port_rate.as_bps().saturating_mul(2));
        let policer = |link: Rate| Policer::new(config, link.min(max), allowance);
        Self(ingresses.into_iter().map(policer).collect())
    }

    /// Returns true if a packet of `bytes`, including headers, is admitted to the port; see [`Policer::admits`].
    pub fn admits(&mut self, now: Time, ingress: usize, bytes: u64, claim: Claim) -> bool {
        let policer = self.0.get_mut(ingress);
        policer.is_none_or(|policer| policer.admits(now, bytes, claim))
    }

    /// Returns true if there are no policers.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Calls `answer`, in which `driver` answers the request of a packet from `ingress`, and credits the grant to the
    /// ingress.
    #[inline]
    pub fn answering<T>(
        &mut self,
        driver: &mut PortDriver,
        ingress: usize,
        answer: impl FnOnce(&mut PortDriver) -> T,
    ) -> T {
        let before = (!self.is_empty()).then(|| driver.allocator().counted());
        let answered = answer(driver);
        if let Some(before) = before {
            self.answered(ingress, before, driver.allocator().counted());
        }
        answered
    }

    #[cold]
    fn answered(&mut self, ingress: usize, before: Counted, after: Counted) {
        if let Some(policer) = self.0.get_mut(ingress) {
            policer.answered(before, after);
        }
    }

    /// Calls [`PortDriver::timeout`] and starts a new epoch if the port has.
    pub fn timeout(
        &mut self,
        driver: &mut PortDriver,
        config: &Config,
        now: Time,
        reading: Reading,
    ) {
        let epoch = driver.allocator().epoch_parity();
        driver.timeout(config, now, reading);
        if driver.allocator().epoch_parity() != epoch {
            self.0.iter_mut().for_each(Policer::start_epoch);
        }
        if driver.next_timeout() == Time::MAX {
            self.0.iter_mut().for_each(Policer::reset);
        }
    }
}

impl Policer {
    /// Creates the policer of an ingress of rate `link` that may send `allowance` in addition to its grants.
    pub fn new(config: &Config, link: Rate, allowance: Rate) -> Self {
        let scale = config.exponent();
        let mut policer = Self {
            sums: [Counted::default(); EPOCHS],
            link: fixed_from_rate(link, scale),
            allowance: fixed_from_rate(allowance, scale).max(1),
            tokens: 0,
            filled: Time::ZERO,
            burst: config.interval() * BURST_INTERVALS,
            scale,
        };
        policer.tokens = policer.depth();
        policer
    }

    /// Updates the sums after a request from the ingress was answered, given the counts of the port's census before and
    /// after.
    fn answered(&mut self, before: Counted, after: Counted) {
        let sum = &mut self.sums[0];
        // Falsely returning a rate must not raise the bound.
        sum.demand = (sum.demand + after.demand - before.demand).max(0);
        sum.allocated += after.allocated - before.allocated;
    }

    /// Starts a new epoch. Called when [`Allocator::epoch_parity`] changes.
    fn start_epoch(&mut self) {
        self.sums.rotate_right(1);
        self.sums[0] = Counted::default();
    }

    /// Resets the sums. Called when the port has no flows left.
    fn reset(&mut self) {
        self.sums = [Counted::default(); EPOCHS];
    }

    /// Returns true if a packet of `bytes`, including headers, may pass. A packet with a claim is also rejected if the
    /// demand of the ingress is too high.
    pub fn admits(&mut self, now: Time, bytes: u64, claim: Claim) -> bool {
        self.fill(now);
        let cost = self.cost(bytes);
        if self.tokens < cost || self.exceeds_demand(claim) {
            return false;
        }
        self.tokens -= cost;
        true
    }

    fn exceeds_demand(&self, claim: Claim) -> bool {
        match claim {
            Claim::Nothing => false,
            Claim::Rate => self.sums[0].demand > MAX_EPOCH_DEMAND * self.link,
            Claim::Flow => {
                let max = self.sums.iter().map(|sum| sum.demand).max();
                max.is_some_and(|demand| demand > MAX_DEMAND * self.link)
            }
        }
    }

    fn fill(&mut self, now: Time) {
        // Longer times fill the bucket anyway.
        let since = now.since(self.filled).min(self.burst + self.burst);
        self.filled = now.max(self.filled);
        let more = self.rate().saturating_mul(since.as_ns());
        self.tokens = self.tokens.saturating_add(more).min(self.depth());
    }

    /// Returns the granted sum plus the allowance.
    fn rate(&self) -> u64 {
        let granted = self.sums.iter().map(|sum| sum.allocated).max().unwrap_or(0);
        (granted.clamp(0, self.link) + self.allowance).cast_unsigned()
    }

    fn depth(&self) -> u64 {
        let burst = self.rate().saturating_mul(self.burst.as_ns());
        burst.saturating_add(self.cost(BURST_BYTES))
    }

    /// Returns the tokens for `bytes`. A unit of rate is 2^scale bytes per microsecond.
    fn cost(&self, bytes: u64) -> u64 {
        let cost = (bytes * 1_000) << FRACTION_BITS;
        if self.scale >= 0 {
            cost >> self.scale
        } else {
            cost << -self.scale
        }
    }
}

impl Allocator {
    /// Returns the parity of the census's epoch. It changes when an epoch ends.
    pub fn epoch_parity(&self) -> bool {
        self.census().parity()
    }

    /// Returns the counts of the census in the current epoch; zero without [`repair`](super::RouterOptions::repair).
    fn counted(&self) -> Counted {
        let counted = self.census().counted();
        Counted {
            demand: counted.demand,
            allocated: counted.allocated,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::d3::rate::UNIT;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// Returns the policer of a gigabit ingress with an allowance of 2 units (16 Mbps); a unit is a byte per
    /// microsecond.
    fn policer() -> Policer {
        Policer::new(&Config::default(), Rate::from_gbps(1), Rate::from_mbps(16))
    }

    fn granted(policer: &mut Policer, demand: i64, allocated: i64) {
        let after = Counted {
            demand: demand * UNIT,
            allocated: allocated * UNIT,
        };
        policer.answered(Counted::default(), after);
    }

    /// Returns the bytes that pass when a packet of 1,000 B arrives each microsecond.
    fn passed(policer: &mut Policer, from: u64, to: u64) -> u64 {
        let passed = (from..to).filter(|&us| policer.admits(at(us), 1_000, Claim::Nothing));
        1_000 * passed.count() as u64
    }

    #[test]
    fn admits_grants_and_allowance() {
        let mut policer = policer();
        let first = passed(&mut policer, 0, 100_000);
        // 100 ms at 2 B/us, and the full bucket: 3.2 ms at 2 B/us, and 48,000 B.
        assert_eq!(first / 1_000, (200_000 + 6_400 + 48_000) / 1_000);
        granted(&mut policer, 50, 60);
        let more = passed(&mut policer, 100_000, 200_000);
        assert!((6_199_000..=6_201_000).contains(&more), "{more}");
        // A sum of three epochs ago does not count.
        policer.start_epoch();
        policer.start_epoch();
        let still = passed(&mut policer, 200_000, 300_000);
        assert!((6_199_000..=6_201_000).contains(&still), "{still}");
        policer.start_epoch();
        let end = passed(&mut policer, 300_000, 400_000);
        assert!((199_000..=201_000).contains(&end), "{end}");
    }

    #[test]
    fn rate_never_exceeds_the_link() {
        let mut policer = policer();
        granted(&mut policer, 0, 1_000_000);
        passed(&mut policer, 0, 100_000);
        let max = passed(&mut policer, 100_000, 200_000);
        assert!((12_699_000..=12_701_000).contains(&max), "{max}");
    }

    #[test]
    fn excess_demand_rejects_new_flows() {
        let mut policer = policer();
        granted(&mut policer, 250, 0);
        let admits = |policer: &mut Policer, claim| policer.admits(at(1), 100, claim);
        assert!(admits(&mut policer, Claim::Flow), "twice the link's rate");
        granted(&mut policer, 1, 0);
        assert!(!admits(&mut policer, Claim::Flow));
        assert!(admits(&mut policer, Claim::Rate), "other packets pass");
        granted(&mut policer, 249, 0);
        assert!(admits(&mut policer, Claim::Rate), "four times");
        granted(&mut policer, 1, 0);
        assert!(!admits(&mut policer, Claim::Rate));
        assert!(admits(&mut policer, Claim::Nothing));
        policer.start_epoch();
        assert!(admits(&mut policer, Claim::Rate), "another epoch");
        assert!(!admits(&mut policer, Claim::Flow), "the last three count");
        policer.reset();
        assert!(admits(&mut policer, Claim::Flow));
    }

    #[test]
    fn false_returns_do_not_raise_the_bound() {
        let mut policer = policer();
        let much = Counted {
            demand: 10_000 * UNIT,
            allocated: 0,
        };
        policer.answered(much, Counted::default());
        granted(&mut policer, 501, 0);
        assert!(!policer.admits(at(1), 100, Claim::Rate));
    }

    #[test]
    fn claim_follows_flags_and_desired_rate() {
        let some = EncodedRate::from_byte(1);
        let claims =
            |flags| [EncodedRate::ZERO, some].map(|desired| Claim::from_request(flags, desired));
        assert_eq!(claims(Flags::default()), [Claim::Nothing, Claim::Rate]);
        assert_eq!(claims(Flags::SYN), [Claim::Flow, Claim::Flow]);
        assert_eq!(claims(Flags::FIN), [Claim::Nothing, Claim::Nothing]);
        assert_eq!(claims(Flags::SYN | Flags::FIN), [Claim::Nothing; 2]);
    }

    #[test]
    fn extreme_values_do_not_overflow() {
        for scale in -16..16 {
            let config = Config::default().with(|c| {
                c.wire.scale = Some(scale);
                c.router.update_interval = Some(Span::from_secs(1));
            });
            let rate = Rate::from_gbps(400);
            let mut policer = Policer::new(&config, rate, rate);
            granted(&mut policer, 1 << 40, 1 << 40);
            assert!(!policer.admits(at(1), 65_535, Claim::Flow), "{scale}");
            assert!(
                policer.admits(at(1 << 40), 65_535, Claim::Nothing),
                "{scale}"
            );
        }
    }
}
