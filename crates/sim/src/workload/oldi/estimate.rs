//! Percentiles of the answer times of leaves, at which parents hedge.
//!
//! Each parent estimates from the answers that it has received itself, since nothing acts at a distance in zero time. Until
//! it has `samples` of them, answers that the scenario's declared distributions make likely stand in for the missing ones.

use super::super::{Place, draw};
use super::plan::Plan;
use crate::demand::Alone;
use duetime_core::Span;
use duetime_scenario::model::{Connection, Gap, HedgeAfter, Oldi};
use std::collections::VecDeque;

/// Points of a declared distribution: enough for the highest percentile, p99.99.
const POINTS: u32 = 10_000;
/// Pairs of leaf and parent of which the most distant gives the network's part.
const PAIRS: usize = 64;

/// The latest answer times of a parent.
#[derive(Clone, Debug, Default)]
pub(super) struct Times {
    by_age: VecDeque<Span>,
    sorted: Vec<Span>,
}

/// Answer times that the scenario declares: the computation and jitter of a leaf, and the network's part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Declared {
    /// Equally likely delays of a leaf, sorted.
    delays: Vec<Span>,
    /// Per application: the time of a query's messages on an idle network; `None` if it exceeds the percentile of the
    /// delays, so that the network decides how long answers take.
    network: Vec<Option<Span>>,
}

/// The declared answer times of one application.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected<'d> {
    delays: &'d [Span],
    network: Span,
}

impl Times {
    /// Adds a time and drops the oldest beyond `window`.
    pub(super) fn add(&mut self, time: Span, window: usize) {
        if self.by_age.len() >= window
            && let Some(oldest) = self.by_age.pop_front()
        {
            let at = self.sorted.partition_point(|&other| other < oldest);
            self.sorted.remove(at);
        }
        self.by_age.push_back(time);
        let at = self.sorted.partition_point(|&other| other <= time);
        self.sorted.insert(at, time);
    }

    /// Returns the nearest-rank percentile: the least time that a share of the times do not exceed. Where there are fewer
    /// than `samples`, expected times stand in for the missing ones; without these, the percentile is unknown.
    pub(super) fn percentile(
        &self,
        share: f64,
        samples: u32,
        expected: Option<Expected<'_>>,
    ) -> Option<Span> {
        let missing = (samples as usize).saturating_sub(self.sorted.len()) as u64;
        let all = missing + self.sorted.len() as u64;
        // As in `needed`: a product that is whole must not be rounded up for its last bit.
        let rank = (libm::ceil(share * all as f64 - 1e-9) as u64).max(1);
        if missing == 0 {
            return self.sorted.get(rank as usize - 1).copied();
        }
        let Expected { delays, network } = expected?;
        let points = delays.len() as u64;
        // Each time counts `points`, each point as its share of the missing times.
        let is_below = |time: Span| {
            let own = self.sorted.partition_point(|&other| other <= time) as u64;
            let likely = delays.partition_point(|&delay| delay + network <= time) as u64;
            own * points + likely * missing < rank * points
        };
        let own = self.sorted.partition_point(|&time| is_below(time));
        let likely = delays.partition_point(|&delay| is_below(delay + network));
        let likely = delays.get(likely).map(|&delay| delay + network);
        self.sorted
            .get(own)
            .copied()
            .into_iter()
            .chain(likely)
            .min()
    }
}

impl Declared {
    /// Returns the answer times that a workload declares, or `None` if its leaves are not hedged at a percentile.
    pub(super) fn of(config: &Oldi, plan: &Plan, place: &Place<'_>) -> Option<Self> {
        let HedgeAfter::Percentile(share) = config.hedge?.after else {
            return None;
        };
        let delays = delays(&config.compute, &config.jitter);
        let at = (share * f64::from(POINTS)) as usize;
        let percentile = delays[at.min(delays.len() - 1)];
        let network = idle_times(config, plan, place);
        let decides = |network: &Span| *network > percentile;
        Some(Self {
            delays,
            network: network
                .map(|of| Some(of).filter(|of| !decides(of)))
                .collect(),
        })
    }

    /// Returns the answer times of an application, or `None` if the network decides them.
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
    /// The golden ratio: its multiples, less their whole parts, are spread evenly and do not follow the other times.
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

/// Returns how long the messages of a query take on an idle network, per application: new connections open, the request
/// travels to the most distant leaf, and all answers to a parent pass its link.
fn idle_times(config: &Oldi, plan: &Plan, place: &Place<'_>) -> impl Iterator<Item = Span> {
    let mut alone = Alone::new(place.scenario, place.network);
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
        let times = ends.map(|ends| alone.time(workload, ends, bytes));
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

    /// The percentile of times that are enough.
    fn of(times: &Times, share: f64) -> Option<Span> {
        times.percentile(share, 0, None)
    }

    #[test]
    fn percentiles_are_those_of_the_latest_times() {
        let mut times = Times::default();
        assert_eq!(of(&times, 0.95), None);
        let ms = Span::from_ms;
        for time in [30, 10, 20, 10, 40] {
            times.add(ms(time), 4);
        }
        // The 30 is forgotten: 10, 10, 20, 40.
        assert_eq!(times.sorted, [ms(10), ms(10), ms(20), ms(40)]);
        let at = |share| of(&times, share).unwrap();
        assert_eq!(
            [at(0.01), at(0.5), at(0.75), at(0.76)],
            [ms(10), ms(10), ms(20), ms(40)]
        );
    }

    #[test]
    fn percentiles_equal_those_of_a_sorted_copy() {
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
                assert_eq!(of(&times, percent as f64 / 100.0), Some(latest[rank - 1]));
            }
        }
    }

    #[test]
    fn expected_times_stand_in_for_missing_ones() {
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
        // Five times of 1 ms, and the ten expected ones at half their weight.
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
    fn declared_delays_have_the_quantiles_of_the_sum() {
        let ms = Span::from_ms;
        let lognormal = Gap::LogNormal {
            median: ms(1),
            sigma: 1.0,
        };
        let alone = delays(&lognormal, &Gap::Fixed(Span::ZERO));
        let p95 = libm::exp(duetime_core::normal_quantile(0.95));
        assert!((alone[9_500].as_secs_f64() * 1e3 / p95 - 1.0).abs() < 0.001);
        // The sum of two exponential times of 1 ms each exceeds t with (1 + t) exp(-t).
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
