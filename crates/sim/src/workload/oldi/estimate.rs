//! Percentiles of the response times of leaves, at which parents hedge.
//!
//! Each parent estimates from the answers that it has received itself, because nothing acts at a distance in zero time.
//! Until it has `samples` of them, response times computed from the scenario's declared distributions replace the
//! missing ones.

use super::super::draw;
use super::super::place::Place;
use super::plan::Plan;
use crate::unloaded::Unloaded;
use duetime_core::Span;
use duetime_scenario::model::{Connection, Gap, HedgeAfter, Oldi};
use std::collections::VecDeque;

/// Number of points of a declared distribution: enough for the highest percentile, p99.99.
const POINTS: u32 = 10_000;
/// Maximum number of leaf-parent pairs of which the most distant one determines the network's part.
const PAIRS: usize = 64;

/// Latest response times seen by a parent.
#[derive(Clone, Debug, Default)]
pub(super) struct Times {
    by_age: VecDeque<Span>,
    sorted: Vec<Span>,
}

/// Response times declared by the scenario: the computation and jitter of a leaf, and the network's part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Declared {
    /// Equally likely delays of a leaf, sorted.
    delays: Vec<Span>,
    /// Time of a query's messages on an idle network, by application. `None` if it exceeds the percentile of the
    /// delays, so that the network determines the response times.
    network: Vec<Option<Span>>,
}

/// Declared response times of one application.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected<'d> {
    delays: &'d [Span],
    network: Span,
}

impl Times {
    /// Adds a time and drops the oldest one beyond `window`.
    pub(super) fn add(&mut self, time: Span, window: usize) {
        if self.by_age.len() >= window
            && let Some(oldest) = self.by_age.pop_front()
        {
            let index = self.sorted.partition_point(|&other| other < oldest);
            self.sorted.remove(index);
        }
        self.by_age.push_back(time);
        let index = self.sorted.partition_point(|&other| other <= time);
        self.sorted.insert(index, time);
    }

    /// Returns the nearest-rank percentile: the smallest time that at least `share` of the times do not exceed. If
    /// there are fewer than `samples` times, expected times replace the missing ones; without expected times, returns
    /// `None`.
    pub(super) fn percentile(
        &self,
        share: f64,
        samples: u32,
        expected: Option<Expected<'_>>,
    ) -> Option<Span> {
        let missing = (samples as usize).saturating_sub(self.sorted.len()) as u64;
        let all = missing + self.sorted.len() as u64;
        // An exact product must not be rounded up because of floating-point error (see `needed`).
        let rank = (libm::ceil(share * all as f64 - 1e-9) as u64).max(1);
        if missing == 0 {
            return self.sorted.get(rank as usize - 1).copied();
        }
        let Expected { delays, network } = expected?;
        let points = delays.len() as u64;
        // Each time has the weight `points`, each point has the weight `missing`.
        let is_below = |time: Span| {
            let seen = self.sorted.partition_point(|&other| other <= time) as u64;
            let expected = delays.partition_point(|&delay| delay + network <= time) as u64;
            seen * points + expected * missing < rank * points
        };
        let seen = self.sorted.partition_point(|&time| is_below(time));
        let expected = delays.partition_point(|&delay| is_below(delay + network));
        let expected = delays.get(expected).map(|&delay| delay + network);
        self.sorted
            .get(seen)
            .copied()
            .into_iter()
            .chain(expected)
            .min()
    }
}

impl Declared {
    /// Returns the response times that a workload declares, or `None` if its leaves are not hedged at a percentile.
    pub(super) fn new(config: &Oldi, plan: &Plan, place: &Place<'_>) -> Option<Self> {
        let HedgeAfter::Percentile(share) = config.hedge?.after else {
            return None;
        };
        let delays = delays(&config.compute, &config.jitter);
        let index = (share * f64::from(POINTS)) as usize;
        let percentile = delays[index.min(delays.len() - 1)];
        let network = idle_times(config, plan, place);
        let is_below = |network: &Span| *network <= percentile;
        Some(Self {
            delays,
            network: network
                .map(|network| Some(network).filter(is_below))
                .collect(),
        })
    }

    /// Returns the response times of an application, or `None` if the network determines them.
    pub(super) fn for_application(&self, application: usize) -> Option<Expected<'_>> {
        let network = self.network.get(application).copied().flatten()?;
        Some(Expected {
            delays: &self.delays,
            network,
        })
    }
}

/// Returns equally likely sums of two random times, sorted.
fn delays(compute: &Gap, jitter: &Gap) -> Vec<Span> {
    /// Golden ratio; the fractional parts of its multiples are evenly spread and uncorrelated with the other times.
    const STEP: f64 = 0.618_033_988_749_894_9;
    let sum = |point: u32| {
        let other = f64::from(point) * STEP;
        let u = (f64::from(point) + 0.5) / f64::from(POINTS);
        draw::gap_at(compute, u) + draw::gap_at(jitter, other - libm::floor(other))
    };
    let mut delays: Vec<Span> = (0..POINTS).map(sum).collect();
    delays.sort_unstable();
    delays
}

/// Returns how long the messages of a query take on an idle network, by application: new connections open, the request
/// travels to the most distant leaf, and all answers to a parent cross its link.
fn idle_times(config: &Oldi, plan: &Plan, place: &Place<'_>) -> impl Iterator<Item = Span> {
    let mut unloaded = Unloaded::with_limited_search(place.scenario, place.network);
    let workload = usize::from(place.workload);
    let leaves: Vec<u32> = (0..plan.hosts.len() as u32)
        .filter(|&role| plan.forest.is_leaf(role))
        .collect();
    let pairs: Vec<(u32, u32)> = leaves
        .iter()
        .step_by(leaves.len().div_ceil(PAIRS).max(1))
        .map(|&leaf| (plan.host(plan.parent(leaf)), plan.host(leaf)))
        .collect();
    let mut farthest = |up: bool, bytes: u64| {
        let ends = pairs.iter().map(
            |&(parent, leaf)| {
                if up { (leaf, parent) } else { (parent, leaf) }
            },
        );
        let times = ends.map(|ends| unloaded.message_time(workload, ends, bytes));
        times.max().unwrap_or(Span::ZERO)
    };
    let connection = place.scenario.workloads[workload].connection;
    let opens = match connection {
        Connection::PerFlow => (farthest(false, 1) + farthest(true, 1)) * 2,
        Connection::Persistent => Span::ZERO,
    };
    let request = farthest(false, config.query.0);
    let layers = config.fan_in.len();
    let fan_in = f64::from(config.fan_in[layers - 1]);
    let answers: Vec<Span> = (0..config.applications as usize)
        .map(|application| {
            let mean = draw::mean_size(config.answer(application, layers - 1));
            farthest(true, (fan_in * mean) as u64)
        })
        .collect();
    answers
        .into_iter()
        .map(move |answers| opens + request + answers)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a percentile without expected times.
    fn percentile(times: &Times, share: f64) -> Option<Span> {
        times.percentile(share, 0, None)
    }

    #[test]
    fn percentiles_use_latest_times() {
        let mut times = Times::default();
        assert_eq!(percentile(&times, 0.95), None);
        let ms = Span::from_ms;
        for time in [30, 10, 20, 10, 40] {
            times.add(ms(time), 4);
        }
        // The 30 was dropped; 10, 10, 20, 40 are left.
        assert_eq!(times.sorted, [ms(10), ms(10), ms(20), ms(40)]);
        let at = |share| percentile(&times, share).unwrap();
        assert_eq!(
            [at(0.01), at(0.5), at(0.75), at(0.76)],
            [ms(10), ms(10), ms(20), ms(40)]
        );
    }

    #[test]
    fn percentiles_match_a_sorted_copy() {
        use duetime_core::random::{Purpose, Streams};
        let mut stream = Streams::new(1, 0).stream(0, Purpose::Compute);
        let mut times = Times::default();
        let mut all: Vec<Span> = Vec::new();
        for _ in 0..2_000 {
            let time = Span::from_us(stream.between(1, 300));
            all.push(time);
            times.add(time, 100);
            let mut latest = all[all.len().saturating_sub(100)..].to_vec();
            latest.sort_unstable();
            for percent in [5, 50, 95, 99] {
                let rank = (latest.len() * percent).div_ceil(100);
                let found = percentile(&times, percent as f64 / 100.0);
                assert_eq!(found, Some(latest[rank - 1]));
            }
        }
    }

    #[test]
    fn expected_times_replace_missing_ones() {
        let ms = Span::from_ms;
        let delays: Vec<Span> = (1..=10).map(ms).collect();
        let expected = Expected {
            delays: &delays,
            network: ms(100),
        };
        let mut times = Times::default();
        let at = |times: &Times, share| times.percentile(share, 10, Some(expected));
        assert_eq!(times.percentile(0.5, 10, None), None);
        assert_eq!(at(&times, 0.5), Some(ms(105)));
        // Five times of 1 ms, and the ten expected times at half their weight.
        for _ in 0..5 {
            times.add(ms(1), 100);
        }
        assert_eq!(at(&times, 0.5), Some(ms(1)));
        assert_eq!(at(&times, 0.6), Some(ms(102)));
        assert_eq!(at(&times, 0.9), Some(ms(108)));
        for _ in 0..5 {
            times.add(ms(2), 100);
        }
        assert_eq!(at(&times, 0.9), Some(ms(2)));
        assert_eq!(times.percentile(0.9, 11, None), None);
    }

    #[test]
    fn declared_delays_match_quantiles_of_the_sum() {
        let ms = Span::from_ms;
        let lognormal = Gap::LogNormal {
            median: ms(1),
            sigma: 1.0,
        };
        let alone = delays(&lognormal, &Gap::Fixed(Span::ZERO));
        let p95 = libm::exp(duetime_core::normal_quantile(0.95));
        assert!((alone[9_500].as_secs_f64() * 1e3 / p95 - 1.0).abs() < 0.001);
        // The probability that the sum of two exponential times of 1 ms each exceeds t is (1 + t) exp(-t).
        let mean = Gap::Exponential(ms(1));
        let sum = delays(&mean, &mean);
        for at in [1_000, 5_000, 9_000, 9_900] {
            let t = sum[at].as_secs_f64() * 1e3;
            let beyond = (1.0 + t) * libm::exp(-t);
            let expected = 1.0 - at as f64 / f64::from(POINTS);
            assert!(
                (beyond - expected).abs() < 0.003,
                "{at}: {beyond} {expected}"
            );
        }
    }
}
