//! Policers for the ingresses of a D3 port: they hold what enters there to what its flows were granted.
//!
//! D3 trusts its hosts (§4.4): one that sends more than it was granted takes it from all who share the port. A router
//! keeps no state of flows, but it knows what it has granted to all flows of an ingress together: the census of its
//! allocator counts each live flow once in an epoch (see `repair`). A token bucket per ingress is filled at this sum.
//!
//! - The rate is the largest sum of the last epochs, so that a flow that is not heard in one, because it had to repeat a
//!   request, is not held to nothing; and it is never above the rate of the ingress.
//! - An allowance comes on top, for what D3 does not account for: requests of paused flows, acknowledgements, packets of
//!   other protocols.
//! - A new flow is turned away while the flows of the ingress ask for more than twice what the ingress can carry, and any
//!   request for a rate while those heard in this epoch ask for more than four times as much: so the demand that one ingress
//!   can put on a port is bounded, whatever it claims.

use super::rate::{FRACTION_BITS, fixed_from_rate};
use super::{Allocator, Config, EncodedRate, Flags, PortDriver, Reading};
use duetime_core::{Rate, Span, Time};

/// Epochs whose largest sum counts, the current one included.
const EPOCHS: usize = 3;
/// Bytes that an ingress may always send at once: some packets that wait for each other at a host.
const BURST_BYTES: u64 = 32 * 1_500;
/// Update intervals whose bytes may come at once: hosts may send a grant as one burst (D3 §5).
const BURST_INTERVALS: u64 = 4;
/// Demand that is too much for a new flow, over the rate of the ingress.
const MOST_DEMAND: i64 = 2;
/// Demand of one epoch that is too much for any request. Flows that are late ask for more than they did when they were
/// new; but what says that it is an old flow need not be one.
const MOST_HEARD: i64 = 4;

/// The token bucket of one ingress at one port, for ports with [`Config::repair`].
#[derive(Clone, Debug)]
pub struct Policer {
    /// What was counted in the current epoch, and in those before it.
    sums: [Counted; EPOCHS],
    /// The rate of the ingress.
    link: i64,
    allowance: i64,
    /// What may pass, in nanoseconds times fixed-point units of rate.
    tokens: u64,
    filled: Time,
    burst: Span,
    scale: i8,
}

/// What a packet claims at a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Claim {
    /// Nothing: it has no request, or one that asks for no rate.
    #[default]
    Nothing,
    /// A rate, for a flow that it says is known.
    Rate,
    /// To be a new flow.
    Flow,
}

impl Claim {
    /// Of a packet with these flags whose request has this desired rate.
    pub fn of(flags: Flags, desired: EncodedRate) -> Self {
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

/// What a port's census has counted so far in its epoch, in fixed-point units of rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counted {
    /// Sum of desired rates.
    demand: i64,
    /// Sum of allocations.
    allocated: i64,
}

/// The policers of one port, one for each ingress: what its owner calls in place of its [`PortDriver`], whose ingresses
/// are numbered from 0. By default there are none, and everything passes.
#[derive(Clone, Debug, Default)]
pub struct Police(Vec<Policer>);

impl Police {
    /// Those of a port of rate `own` with ingresses of these rates, as [`Config::police`] says. C is at most twice the
    /// port's rate (D3 §4.4), and so is what one ingress can be granted.
    pub fn new(config: &Config, ingresses: impl IntoIterator<Item = Rate>, own: Rate) -> Self {
        let Some(allowance) = config.police else {
            return Self::default();
        };
        let most = Rate::from_bps(own.as_bps().saturating_mul(2));
        let policer = |link: Rate| Policer::new(config, link.min(most), allowance);
        Self(ingresses.into_iter().map(policer).collect())
    }

    /// Whether a packet of so many bytes, headers included, may come to the port; see [`Policer::admits`].
    pub fn admits(&mut self, now: Time, ingress: usize, bytes: u64, claim: Claim) -> bool {
        let policer = self.0.get_mut(ingress);
        policer.is_none_or(|policer| policer.admits(now, bytes, claim))
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Calls `answer`, by which `driver` answers the request of a packet that came through `ingress`.
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

    /// [`PortDriver::timeout`].
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
            self.0.iter_mut().for_each(Policer::epoch_ends);
        }
        if driver.next_timeout() == Time::MAX {
            self.0.iter_mut().for_each(Policer::forget);
        }
    }
}

impl Policer {
    /// That of an ingress of this rate, which may send `allowance` beside what it is granted.
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

    /// A request that came through the ingress was answered: what the census of the port has counted before and after.
    fn answered(&mut self, before: Counted, after: Counted) {
        let sum = &mut self.sums[0];
        // Whoever claims to return what it never had does not raise the bound for others.
        sum.demand = (sum.demand + after.demand - before.demand).max(0);
        sum.allocated += after.allocated - before.allocated;
    }

    /// An epoch of the port has ended ([`Allocator::epoch_parity`] is another).
    fn epoch_ends(&mut self) {
        self.sums.rotate_right(1);
        self.sums[0] = Counted::default();
    }

    /// The port knows no flow any more.
    fn forget(&mut self) {
        self.sums = [Counted::default(); EPOCHS];
    }

    /// Whether a packet of so many bytes, headers included, may pass. One that claims something may also be turned away
    /// because the ingress asks for too much.
    pub fn admits(&mut self, now: Time, bytes: u64, claim: Claim) -> bool {
        self.fill(now);
        let cost = self.cost(bytes);
        if self.tokens < cost || self.is_too_much(claim) {
            return false;
        }
        self.tokens -= cost;
        true
    }

    fn is_too_much(&self, claim: Claim) -> bool {
        match claim {
            Claim::Nothing => false,
            Claim::Rate => self.sums[0].demand > MOST_HEARD * self.link,
            Claim::Flow => {
                let most = self.sums.iter().map(|sum| sum.demand).max();
                most.is_some_and(|demand| demand > MOST_DEMAND * self.link)
            }
        }
    }

    fn fill(&mut self, now: Time) {
        // What is longer ago has filled the bucket.
        let since = now.since(self.filled).min(self.burst + self.burst);
        self.filled = now.max(self.filled);
        let more = self.rate().saturating_mul(since.as_ns());
        self.tokens = self.tokens.saturating_add(more).min(self.depth());
    }

    /// The granted sum and the allowance.
    fn rate(&self) -> u64 {
        let granted = self.sums.iter().map(|sum| sum.allocated).max().unwrap_or(0);
        (granted.clamp(0, self.link) + self.allowance).cast_unsigned()
    }

    fn depth(&self) -> u64 {
        let burst = self.rate().saturating_mul(self.burst.as_ns());
        burst.saturating_add(self.cost(BURST_BYTES))
    }

    /// A unit of rate is 2^scale bytes per microsecond.
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
    /// Which of two kinds of epoch the census is in: it changes when an epoch ends.
    pub fn epoch_parity(&self) -> bool {
        self.census().parity()
    }

    /// What the census has counted in the current epoch; nothing without [`Config::repair`].
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

    /// Of a gigabit ingress with 2 units, 16 Mbps, of allowance; a unit is a byte per microsecond.
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

    /// Bytes that pass of packets of 1,000 B, one each microsecond.
    fn passed(policer: &mut Policer, from: u64, to: u64) -> u64 {
        let passed = (from..to).filter(|&us| policer.admits(at(us), 1_000, Claim::Nothing));
        1_000 * passed.count() as u64
    }

    #[test]
    fn what_passes_is_what_was_granted_and_the_allowance() {
        let mut policer = policer();
        let first = passed(&mut policer, 0, 100_000);
        // 100 ms at 2 B/us, and the bucket that was full: 3.2 ms at 2 B/us, and 48,000 B.
        assert_eq!(first / 1_000, (200_000 + 6_400 + 48_000) / 1_000);
        granted(&mut policer, 50, 60);
        let more = passed(&mut policer, 100_000, 200_000);
        assert!((6_199_000..=6_201_000).contains(&more), "{more}");
        // The sum of three epochs ago counts no more.
        policer.epoch_ends();
        policer.epoch_ends();
        let still = passed(&mut policer, 200_000, 300_000);
        assert!((6_199_000..=6_201_000).contains(&still), "{still}");
        policer.epoch_ends();
        let end = passed(&mut policer, 300_000, 400_000);
        assert!((199_000..=201_000).contains(&end), "{end}");
    }

    #[test]
    fn no_claim_makes_it_faster_than_its_link() {
        let mut policer = policer();
        granted(&mut policer, 0, 1_000_000);
        passed(&mut policer, 0, 100_000);
        let most = passed(&mut policer, 100_000, 200_000);
        assert!((12_699_000..=12_701_000).contains(&most), "{most}");
    }

    #[test]
    fn new_flows_are_turned_away_when_the_demand_is_too_much() {
        let mut policer = policer();
        granted(&mut policer, 250, 0);
        let admits = |policer: &mut Policer, claim| policer.admits(at(1), 100, claim);
        assert!(admits(&mut policer, Claim::Flow), "twice the link's rate");
        granted(&mut policer, 1, 0);
        assert!(!admits(&mut policer, Claim::Flow));
        assert!(admits(&mut policer, Claim::Rate), "others pass");
        granted(&mut policer, 249, 0);
        assert!(admits(&mut policer, Claim::Rate), "four times");
        granted(&mut policer, 1, 0);
        assert!(!admits(&mut policer, Claim::Rate));
        assert!(admits(&mut policer, Claim::Nothing));
        policer.epoch_ends();
        assert!(admits(&mut policer, Claim::Rate), "another epoch");
        assert!(!admits(&mut policer, Claim::Flow), "the last three count");
        policer.forget();
        assert!(admits(&mut policer, Claim::Flow));
    }

    #[test]
    fn returning_what_was_never_held_raises_no_bound() {
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
    fn a_packet_claims_what_its_request_asks_for() {
        let some = EncodedRate::from_byte(1);
        let of = |flags| [EncodedRate::ZERO, some].map(|desired| Claim::of(flags, desired));
        assert_eq!(of(Flags::default()), [Claim::Nothing, Claim::Rate]);
        assert_eq!(of(Flags::SYN), [Claim::Flow, Claim::Flow]);
        assert_eq!(of(Flags::FIN), [Claim::Nothing, Claim::Nothing]);
        assert_eq!(of(Flags::SYN | Flags::FIN), [Claim::Nothing; 2]);
    }

    #[test]
    fn every_scale_and_silence_of_any_length_is_computed_without_overflow() {
        for scale in -16..16 {
            let config = Config {
                scale: Some(scale),
                update_interval: Some(Span::from_secs(1)),
                ..Config::default()
            };
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
