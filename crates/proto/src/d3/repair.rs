//! The epoch census: how a port's counters heal while it is busy.
//!
//! N, D and A are sums of what requests added and took back (D3 §4.3). A lost SYN or FIN, a lost request or a dead
//! host leaves a remainder in them for ever; the paper resets the counters "during periods of low load", which a busy
//! port never sees, and capacity adaptation hides at most a factor of two.
//!
//! A port therefore counts its live flows afresh in every *epoch*, exactly once each and without remembering any of
//! them. What it has to know about a flow is one bit, "counted in this epoch", and that bit travels with the flow, as
//! its allocation does: when a port counts a request it writes the parity of its epoch, the *stamp*, into its hop's
//! bit of the header; the receiver returns the stamps with the allocations, and the sender shows them in its next
//! request. A request whose stamp has the other parity comes from a flow not yet counted in this epoch: its flow,
//! desired rate and new allocation enter the census. One with the current parity only changes its share. The six bits
//! use the spare bits of the index and scale bytes (see `header`); a port overwrites the stamp that it was shown, and
//! feedback carries them in the transport's own header, because only hosts read it.
//!
//! When an epoch ends, counters minus census is the *disagreement*. If nothing was lost and every live flow asked at
//! least once, it is exactly zero, so a healthy port is never touched. What three consecutive epochs agree on (same
//! sign; the smallest) is taken out of the counters. So:
//! - the rest of a lost SYN, FIN or request, or of a dead host, is gone after at most four epochs (6.4 ms by default);
//! - a flow that is counted twice because the feedback with its stamp was lost weighs in one epoch only;
//! - a flow that was silent for an epoch, because it had to recover a lost request, is missed in two: in the next its
//!   stamp, two epochs old, looks like the current one;
//! - a port that starts again with all counters at zero under live flows is right after four epochs.
//!
//! An epoch is half of `reset_intervals`, two update intervals by default: D3 expects a round trip to be shorter than
//! one, so that a flow is heard even if it has to ask a second time. Round trips may be longer: two more spare bits
//! carry the sender's *pace*, the power of four by which its wait for an answer exceeds an epoch. A port stretches its
//! epochs to the slowest pace it heard in the last one, up to 64 times. A flow's first request cannot know its pace;
//! two silent epochs are forgiven. The low-load reset would not forgive what slow flows do, so it leaves the counters
//! to the census (a port without requests is clear after four epochs) and resets the capacity only.
//!
//! A paused flow may wait longer than a round trip before it asks again ([`Config::request_backoff`]). It is still
//! counted, because it tells its pace before it waits: each request says how long the flow will be silent if the answer
//! is zero again, and the flow never waits longer than it said. Without the repair there is no pace: then no wait is
//! longer than an epoch, half of the silence after which the counters of a port in low load are reset.
//!
//! An open flow that has nothing to send would be missed as well. It returns what it holds before that: its last packet
//! leaves within the silence that it told.
//!
//! The bits are as trustworthy as the hosts: one that shows wrong stamps is counted too often, exactly as one that
//! sends a SYN twice.

use super::Config;
use duetime_core::Span;

/// The slowest pace: a wait of up to 4³ epochs.
pub(super) const SLOWEST_PACE: u8 = 3;

/// Update intervals in an epoch, for the fastest pace.
pub(super) fn epoch(config: &Config) -> u32 {
    (config.reset_intervals / 2).max(1)
}

/// Within this time of a request that tells `pace`, the flow's next one reaches every port in the same epoch or in the
/// one after it.
pub(super) fn patience(config: &Config, pace: u8) -> Span {
    config.interval() * (u64::from(epoch(config)) << (2 * pace.min(SLOWEST_PACE)))
}

/// The fastest pace that leaves `wait` from one request to the next, or the slowest of all.
pub(super) fn pace(config: &Config, wait: Span) -> u8 {
    (0..SLOWEST_PACE)
        .find(|&pace| wait <= patience(config, pace))
        .unwrap_or(SLOWEST_PACE)
}

/// N, D and A: of a port, of a census, or a difference of both. Rates are internal fixed point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// N: flows.
    pub flows: i64,
    /// D: sum of desired rates.
    pub demand: i64,
    /// A: sum of allocations.
    pub allocated: i64,
}

impl Tally {
    #[inline]
    pub fn add(&mut self, other: Self) {
        self.flows += other.flows;
        self.demand += other.demand;
        self.allocated += other.allocated;
    }

    pub fn minus(self, other: Self) -> Self {
        Self {
            flows: self.flows - other.flows,
            demand: self.demand - other.demand,
            allocated: self.allocated - other.allocated,
        }
    }

    /// Soft state never goes below zero.
    #[inline]
    pub fn clamp(&mut self) {
        self.flows = self.flows.max(0);
        self.clamp_rates();
    }

    /// The same where no flow was taken.
    #[inline]
    pub fn clamp_rates(&mut self) {
        self.demand = self.demand.max(0);
        self.allocated = self.allocated.max(0);
    }

    /// What both agree on.
    fn common(self, other: Self) -> Self {
        fn common(a: i64, b: i64) -> i64 {
            if a.signum() != b.signum() {
                0
            } else if a.abs() < b.abs() {
                a
            } else {
                b
            }
        }
        Self {
            flows: common(self.flows, other.flows),
            demand: common(self.demand, other.demand),
            allocated: common(self.allocated, other.allocated),
        }
    }
}

/// The census of the current epoch, and what earlier ones left unexplained.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Census {
    counted: Tally,
    /// Of the last two epochs, the newer one first.
    doubts: [Tally; 2],
    intervals: u32,
    parity: bool,
    /// The slowest pace of this epoch and the last one.
    pace: u8,
    /// The slowest pace of this epoch.
    heard: u8,
}

impl Census {
    /// The stamp of the current epoch.
    #[inline]
    pub fn parity(&self) -> bool {
        self.parity
    }

    /// The live flows of the current epoch, as far as it has heard them.
    pub fn counted(&self) -> Tally {
        self.counted
    }

    /// Stretches the epoch for a flow of this pace.
    #[inline]
    pub fn hear(&mut self, pace: u8) {
        // The slowest of two epochs is no faster than that of one.
        if pace > self.heard {
            self.heard = pace;
            self.pace = self.pace.max(pace);
        }
    }

    /// Intervals within which every live flow is heard, given those for the fastest.
    fn patience(&self, intervals: u32) -> u32 {
        intervals.saturating_mul(1 << (2 * self.pace.min(SLOWEST_PACE)))
    }

    /// A live flow's request: `whole` is what it holds now, `change` what is new since its last one.
    #[inline]
    pub fn count(&mut self, known: bool, whole: Tally, change: Tally) {
        self.counted.add(if known { change } else { whole });
    }

    /// A flow ended; `change` is what it takes back.
    #[inline]
    pub fn end(&mut self, known: bool, change: Tally) {
        if known {
            self.counted.add(change);
        }
    }

    /// One update interval has passed; at the epoch's end, corrects `counters`.
    pub fn tick(&mut self, intervals: u32, counters: &mut Tally) {
        self.intervals += 1;
        if self.intervals < self.patience(intervals) {
            return;
        }
        let disagreement = counters.minus(self.counted);
        let agreed = self
            .doubts
            .iter()
            .fold(disagreement, |agreed, doubt| agreed.common(*doubt));
        *counters = counters.minus(agreed);
        *self = Self {
            doubts: [disagreement.minus(agreed), self.doubts[0].minus(agreed)],
            parity: !self.parity,
            pace: self.heard,
            ..Self::default()
        };
    }

    /// Nothing counted and no doubt left.
    pub fn is_clear(&self) -> bool {
        self.counted == Tally::default() && self.doubts == <[Tally; 2]>::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flows(n: i64) -> Tally {
        Tally {
            flows: n,
            demand: 3 * n,
            allocated: -n,
        }
    }

    fn epoch(census: &mut Census, counters: &mut Tally, counted: Tally) {
        census.count(false, counted, Tally::default());
        for _ in 0..4 {
            census.tick(4, counters);
        }
    }

    #[test]
    fn a_slow_flow_stretches_the_epochs_in_which_it_is_heard() {
        let (mut census, mut counters) = (Census::default(), Tally::default());
        let mut length = |paces: &[u8]| {
            let parity = census.parity();
            for &pace in paces {
                census.hear(pace);
            }
            (1..1_000).find(|_| {
                census.tick(4, &mut counters);
                census.parity() != parity
            })
        };
        assert_eq!(length(&[]), Some(4));
        assert_eq!(length(&[0, 1]), Some(16));
        assert_eq!(length(&[0]), Some(16), "it may be in its silent half");
        assert_eq!(length(&[0]), Some(4));
        assert_eq!(length(&[3]), Some(256));
    }

    #[test]
    fn only_what_three_epochs_agree_on_is_corrected() {
        let (mut census, mut counters) = (Census::default(), flows(10));
        epoch(&mut census, &mut counters, flows(7));
        epoch(&mut census, &mut counters, flows(8));
        assert_eq!(counters, flows(10), "two epochs convince nobody");
        epoch(&mut census, &mut counters, flows(6));
        assert_eq!(counters, flows(8), "3, 2 and 4 too many: 2 are certain");
        for counted in [8, 8, 8, 9, 9, 7, 8] {
            epoch(&mut census, &mut counters, flows(counted));
        }
        assert_eq!(
            counters,
            flows(8),
            "two too few, then one too many: no agreement"
        );
    }
}
