//! Epoch census: repairs the counters of a busy port.
//!
//! N, D and A are sums of what requests added and removed (D3 §4.3). A lost SYN or FIN, a lost request or a failed host
//! leaves a permanent error in them. The paper resets the counters "during periods of low load", which a busy port
//! never has, and capacity adaptation compensates for at most a factor of two.
//!
//! A port therefore counts its live flows again in every *epoch*, each exactly once and without per-flow state. The
//! port needs one bit per flow, "counted in this epoch", which travels with the flow like its allocation. When a port
//! counts a request, it writes the parity of its epoch, the *stamp*, into its hop's bit of the header. The receiver
//! returns the stamps with the allocations, and the sender includes them in its next request. A request with a stamp of
//! the other parity is from a flow that is not yet counted in this epoch: its flow, desired rate and new allocation are
//! added to the census. A request with the current parity only changes its share. The six bits use the spare bits of
//! the index and scale bytes (see `wire`). A port overwrites the stamp in the request, and feedback carries the
//! stamps in the transport header, because only hosts read it.
//!
//! At the end of an epoch, the difference of counters and census is the *disagreement*. If nothing was lost and every
//! live flow sent at least one request, it is exactly zero, so a healthy port is never changed. The part that three
//! consecutive epochs agree on (same sign; the smallest) is removed from the counters. Therefore:
//! - the error from a lost SYN, FIN or request, or from a failed host, is removed after at most four epochs (6.4 ms by
//!   default);
//! - a flow that is counted twice because the feedback with its stamp was lost affects one epoch only. An earlier error
//!   that is not removed yet can then take four more epochs, because the second count conceals it;
//! - a flow that was silent for an epoch, because it had to recover a lost request, is missed in two epochs: in the
//!   next one its stamp, two epochs old, looks current;
//! - a port that restarts with all counters at zero under live flows is correct after four epochs, or five if a flow is
//!   too slow for the first, whose length does not take the flow's pace into account.
//!
//! An epoch is half of `reset_intervals`, two update intervals by default. D3 expects a round trip to be shorter than
//! one interval, so a flow is seen even if it has to repeat a request. For longer round trips, two more spare bits
//! carry the sender's *pace*, the power of four by which its wait for an answer exceeds an epoch. A port extends its
//! epochs to the slowest pace seen in the last one, up to 64 times. A flow's first request cannot know its pace; two
//! silent epochs are tolerated. The low-load reset would not tolerate the silence of slow flows, so it leaves the
//! counters to the census (a port without requests is clear after four epochs) and resets the capacity only.
//!
//! A paused flow may wait longer than a round trip between requests
//! ([`request_backoff`](super::HostOptions::request_backoff)). It is still counted because it announces its pace in
//! advance: each request announces how long the flow will be silent if the answer is zero again, and the flow never
//! waits longer. Without the repair there is no pace, and no wait is longer than an epoch, half of the silence after
//! which the counters of a port in low load are reset.
//!
//! An open flow with nothing to send would be missed as well. It returns its rates before that: its last packet is sent
//! within the announced silence.
//!
//! The bits are only as trustworthy as the hosts: a host that sends wrong stamps is counted too often, like a host that
//! sends a SYN twice.

use super::Config;
use duetime_core::Span;

/// Slowest pace: a wait of up to 4³ epochs.
pub(super) const SLOWEST_PACE: u8 = 3;

/// Returns the number of update intervals in an epoch, for the fastest pace.
pub(super) fn epoch(config: &Config) -> u32 {
    (config.router.reset_intervals / 2).max(1)
}

/// Returns the maximum time between a request that announces `pace` and the flow's next one, so that every port sees
/// the latter in the same epoch or the next.
pub(super) fn max_silence(config: &Config, pace: u8) -> Span {
    config.interval() * (u64::from(epoch(config)) << (2 * pace.min(SLOWEST_PACE)))
}

/// Returns the fastest pace that allows `wait` between requests, or the slowest pace.
pub(super) fn pace(config: &Config, wait: Span) -> u8 {
    (0..SLOWEST_PACE)
        .find(|&pace| wait <= max_silence(config, pace))
        .unwrap_or(SLOWEST_PACE)
}

/// N, D and A of a port or a census, or the difference of both. Rates are in internal fixed point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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

    /// Clamps all sums at zero.
    #[inline]
    pub fn clamp(&mut self) {
        self.flows = self.flows.max(0);
        self.clamp_rates();
    }

    /// Clamps the rates at zero, if no flow was removed.
    #[inline]
    pub fn clamp_rates(&mut self) {
        self.demand = self.demand.max(0);
        self.allocated = self.allocated.max(0);
    }

    /// Returns the part that both agree on.
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

/// Census of the current epoch, and unexplained disagreements of earlier ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Census {
    counted: Tally,
    /// Unexplained disagreements of the last two epochs, newest first.
    disagreements: [Tally; 2],
    intervals: u32,
    parity: bool,
    /// Slowest pace of this epoch and the last one.
    pace: u8,
    /// Slowest pace of this epoch.
    observed: u8,
}

impl Census {
    /// Returns the stamp of the current epoch.
    #[inline]
    pub fn parity(&self) -> bool {
        self.parity
    }

    /// Returns the live flows seen in the current epoch.
    pub fn counted(&self) -> Tally {
        self.counted
    }

    /// Extends the epoch for a flow of this pace.
    #[inline]
    pub fn observe(&mut self, pace: u8) {
        // `self.pace` covers two epochs and is never below `observed`, so it needs no update otherwise.
        if pace > self.observed {
            self.observed = pace;
            self.pace = self.pace.max(pace);
        }
    }

    /// Returns the length of the epoch in intervals, given its length for the fastest pace.
    fn epoch_length(&self, intervals: u32) -> u32 {
        intervals.saturating_mul(1 << (2 * self.pace.min(SLOWEST_PACE)))
    }

    /// Counts a live flow's request: `whole` is its new state, `change` the difference to its previous request.
    #[inline]
    pub fn count(&mut self, is_counted: bool, whole: Tally, change: Tally) {
        self.counted.add(if is_counted { change } else { whole });
    }

    /// Counts the end of a flow, where `change` is the returned state.
    #[inline]
    pub fn end(&mut self, is_counted: bool, change: Tally) {
        if is_counted {
            self.counted.add(change);
        }
    }

    /// Advances by one update interval. Corrects `counters` at the end of the epoch.
    pub fn tick(&mut self, intervals: u32, counters: &mut Tally) {
        self.intervals += 1;
        if self.intervals < self.epoch_length(intervals) {
            return;
        }
        let disagreement = counters.minus(self.counted);
        let agreed = self
            .disagreements
            .iter()
            .fold(disagreement, |agreed, previous| agreed.common(*previous));
        *counters = counters.minus(agreed);
        *self = Self {
            disagreements: [
                disagreement.minus(agreed),
                self.disagreements[0].minus(agreed),
            ],
            parity: !self.parity,
            pace: self.observed,
            ..Self::default()
        };
    }

    /// Returns true if nothing is counted and no disagreement is left.
    pub fn is_clear(&self) -> bool {
        self.counted == Tally::default() && self.disagreements == <[Tally; 2]>::default()
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
    fn slow_flows_extend_epochs() {
        let (mut census, mut counters) = (Census::default(), Tally::default());
        let mut length = |paces: &[u8]| {
            let parity = census.parity();
            for &pace in paces {
                census.observe(pace);
            }
            (1..1_000).find(|_| {
                census.tick(4, &mut counters);
                census.parity() != parity
            })
        };
        assert_eq!(length(&[]), Some(4));
        assert_eq!(length(&[0, 1]), Some(16));
        assert_eq!(
            length(&[0]),
            Some(16),
            "the slow flow may be silent in this epoch"
        );
        assert_eq!(length(&[0]), Some(4));
        assert_eq!(length(&[3]), Some(256));
    }

    #[test]
    fn corrects_what_three_epochs_agree_on() {
        let (mut census, mut counters) = (Census::default(), flows(10));
        epoch(&mut census, &mut counters, flows(7));
        epoch(&mut census, &mut counters, flows(8));
        assert_eq!(counters, flows(10), "two epochs are not enough");
        epoch(&mut census, &mut counters, flows(6));
        assert_eq!(counters, flows(8), "3, 2 and 4 too many: 2 are removed");
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
