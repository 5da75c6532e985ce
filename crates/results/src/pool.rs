//! Percentiles of the pooled samples of several runs.
//!
//! A percentile requires 10 samples beyond it, so at least 10 / (1 - p) samples: 20 for the median and 1,000 for the
//! 99th. Samples without a value, such as queries that never finished, count as worse than all others. A percentile
//! that falls among them does not exist.
//!
//! The interval is the bootstrap of [`crate::stats`]: runs are drawn, and the percentile is computed from the samples
//! of the drawn runs. There is no interval for one run, or if one of its ends falls among the samples without a value.

use crate::stats::{bootstrap, mean};
use crate::summary::Percentiles;
use crate::{Estimate, Interval};
use std::sync::Arc;

/// Ranks of the percentiles in thousandths; `None` for the mean.
pub(crate) const PER_MILLE: Percentiles<Option<u32>> = Percentiles {
    mean: None,
    p50: Some(500),
    p90: Some(900),
    p95: Some(950),
    p99: Some(990),
    p999: Some(999),
};

/// Returns the minimum number of samples for a percentile: 10 / (1 - p).
pub fn min_samples(per_mille: u32) -> u64 {
    10_000 / u64::from(1_000 - per_mille.min(999))
}

/// Samples of one quantity in one run. Clones share the values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// Values from the best to the worst, negated if a larger value is the better one.
    worst_last: Arc<[f64]>,
    /// Number of samples, including those without a value.
    all: u64,
    /// True if the values are negated.
    is_negated: bool,
}

impl Samples {
    /// Creates the samples of a quantity for which less is better. `all` also counts samples without a value.
    pub(crate) fn least_best(mut values: Vec<f64>, all: u64) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        Self {
            all: all.max(values.len() as u64),
            worst_last: values.into(),
            is_negated: false,
        }
    }

    /// Creates the samples of a quantity for which more is better.
    pub(crate) fn most_best(values: impl Iterator<Item = f64>, all: u64) -> Self {
        Self {
            is_negated: true,
            ..Self::least_best(values.map(|value| -value).collect(), all)
        }
    }

    /// Returns the mean of the samples that have a value.
    fn mean(&self) -> Option<f64> {
        Some(signed(mean(&self.worst_last)?, self.is_negated))
    }

    /// Returns the mean of this run's samples, and its percentiles where there are enough samples.
    pub(crate) fn percentiles(&self) -> Percentiles<Option<f64>> {
        Percentiles::from_fn(|field| {
            let Some(per_mille) = field(&PER_MILLE) else {
                return self.mean();
            };
            let rank = rank(self.all, per_mille)?;
            let value = self.worst_last.get(usize::try_from(rank).ok()?)?;
            Some(signed(*value, self.is_negated))
        })
    }
}

/// Returns the index of the nearest rank, or `None` if there are too few samples for the percentile.
fn rank(all: u64, per_mille: u32) -> Option<u64> {
    (all >= min_samples(per_mille)).then(|| (all * u64::from(per_mille)).div_ceil(1_000) - 1)
}

/// Negates `value` if `is_negated`, by `0 - x` instead of `-x` to avoid negative zero.
fn signed(value: f64, is_negated: bool) -> f64 {
    if is_negated { 0.0 - value } else { value }
}

/// Samples of several runs, sorted by value.
pub(crate) struct Pool {
    /// Values with the index of their run, from the best to the worst.
    values: Vec<(f64, u32)>,
    /// Number of samples per run before each block, block by block.
    before: Vec<u64>,
    /// Values per block.
    block: usize,
    /// Samples per run, including those without a value.
    all: Vec<u64>,
    /// Mean of each run and the number of its samples with a value.
    means: Vec<(f64, u64)>,
    is_negated: bool,
}

impl Pool {
    /// Pools the samples of runs. A run may have none.
    pub(crate) fn of<'a>(runs: impl Iterator<Item = Option<&'a Samples>>) -> Self {
        let none = Samples::default();
        let runs: Vec<&Samples> = runs.map(|run| run.unwrap_or(&none)).collect();
        let each = runs.iter().zip(0_u32..);
        let mut values: Vec<(f64, u32)> = each
            .flat_map(|(run, index)| run.worst_last.iter().map(move |&value| (value, index)))
            .collect();
        values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let block = values.len().isqrt().max(1);
        let mut before = Vec::new();
        let mut so_far = vec![0; runs.len()];
        for block in values.chunks(block) {
            before.extend_from_slice(&so_far);
            for (_, run) in block {
                so_far[*run as usize] += 1;
            }
        }
        Self {
            before,
            block,
            all: runs.iter().map(|run| run.all).collect(),
            means: runs
                .iter()
                .map(|run| (run.mean().unwrap_or(0.0), run.worst_last.len() as u64))
                .collect(),
            is_negated: runs.iter().any(|run| run.is_negated),
            values,
        }
    }

    fn runs(&self) -> usize {
        self.all.len()
    }

    /// Returns the percentile of the samples, where run `i` counts `weights[i]` times. Returns an infinite value if the
    /// percentile falls among the samples without a value, and `None` without samples.
    fn percentile(&self, weights: &[u64], per_mille: u32) -> Option<f64> {
        let weigh =
            |counts: &[u64]| -> u64 { counts.iter().zip(weights).map(|(a, b)| a * b).sum() };
        let all = weigh(&self.all);
        let rank = (all * u64::from(per_mille)).div_ceil(1_000);
        let counts = |block: usize| &self.before[block * self.runs()..][..self.runs()];
        let blocks = self.values.len().div_ceil(self.block);
        // The last block with fewer samples before it than the rank.
        let (mut low, mut high) = (0, blocks);
        while low + 1 < high {
            let middle = usize::midpoint(low, high);
            if weigh(counts(middle)) < rank {
                low = middle;
            } else {
                high = middle;
            }
        }
        let mut seen = if blocks > 0 { weigh(counts(low)) } else { 0 };
        let found = self.values.iter().skip(low * self.block).find(|(_, run)| {
            seen += weights[*run as usize];
            seen >= rank
        });
        let worst = found.map_or(f64::INFINITY, |(value, _)| *value);
        (all > 0).then(|| signed(worst, self.is_negated))
    }

    /// Returns the mean of the samples with a value, where run `i` counts `weights[i]` times.
    fn mean(&self, weights: &[u64]) -> Option<f64> {
        let each = self.means.iter().zip(weights);
        let (sum, count) = each.fold((0.0, 0), |(sum, count), ((mean, samples), weight)| {
            let samples = samples * weight;
            (sum + mean * samples as f64, count + samples)
        });
        (count > 0).then(|| sum / count as f64)
    }

    /// Returns the mean (if `per_mille` is `None`) or percentile, where run `i` counts `weights[i]` times.
    fn statistic(&self, per_mille: Option<u32>, weights: &[u64]) -> Option<f64> {
        match per_mille {
            None => self.mean(weights),
            Some(per_mille) => self.percentile(weights, per_mille),
        }
    }

    /// Returns the statistic of all runs, or `None` if it does not exist or has too few samples.
    fn value(&self, per_mille: Option<u32>) -> Option<f64> {
        let all: u64 = self.all.iter().sum();
        let is_enough = per_mille.is_none_or(|per_mille| all >= min_samples(per_mille));
        let value = self.statistic(per_mille, &vec![1; self.runs()])?;
        (is_enough && value.is_finite()).then_some(value)
    }

    /// Returns the mean (if `per_mille` is `None`) or a percentile of all samples, with its interval over runs.
    pub(crate) fn estimate(&self, per_mille: Option<u32>) -> Option<Estimate> {
        Some(Estimate {
            value: self.value(per_mille)?,
            interval: resample(self.runs(), |weights| self.statistic(per_mille, weights)),
        })
    }

    /// Returns the mean and the percentiles of all samples, with their intervals over runs.
    pub(crate) fn estimates(&self) -> Percentiles<Option<Estimate>> {
        Percentiles::from_fn(|field| self.estimate(field(&PER_MILLE)))
    }

    /// Returns this pool's mean or percentile minus the baseline's, or `None` if either does not exist or the numbers
    /// of runs differ. Runs with the same index share their seed and are resampled together.
    pub(crate) fn difference(&self, baseline: &Self, per_mille: Option<u32>) -> Option<Estimate> {
        let value = self.value(per_mille)? - baseline.value(per_mille)?;
        let interval = resample(self.runs(), |weights| {
            Some(self.statistic(per_mille, weights)? - baseline.statistic(per_mille, weights)?)
        });
        (self.runs() == baseline.runs()).then_some(Estimate { value, interval })
    }
}

/// Returns the bootstrap interval over `runs` runs. `statistic` is passed the number of times that each run was drawn.
fn resample(runs: usize, statistic: impl Fn(&[u64]) -> Option<f64>) -> Option<Interval> {
    bootstrap(runs, |draw| {
        let mut weights = vec![0; runs];
        for &run in draw {
            weights[run] += 1;
        }
        statistic(&weights)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pool(runs: &[Samples]) -> Pool {
        Pool::of(runs.iter().map(Some))
    }

    fn run(values: impl IntoIterator<Item = u32>, all: u64) -> Samples {
        Samples::least_best(values.into_iter().map(f64::from).collect(), all)
    }

    #[test]
    fn percentiles_pool_runs() {
        // The mean of the runs' medians would be 50.5, which is no sample.
        let runs = [run([1; 30], 0), run([100; 20], 0)];
        let pooled = pool(&runs).estimates();
        assert_eq!(pooled.p50.map(|estimate| estimate.value), Some(1.0));
        assert_eq!(pooled.p90, None, "50 samples");
        assert_eq!(pooled.mean.map(|estimate| estimate.value), Some(40.6));
        let interval = pooled
            .p50
            .and_then(|estimate| estimate.interval)
            .expect("two runs");
        assert_eq!((interval.low, interval.high), (1.0, 100.0));
    }

    #[test]
    fn few_samples_have_no_percentile() {
        for (per_mille, needed) in [
            (500, 20),
            (900, 100),
            (950, 200),
            (990, 1_000),
            (999, 10_000),
        ] {
            assert_eq!(min_samples(per_mille), u64::from(needed));
            let exists = |count: u32| {
                pool(&[run(0..count, 0)])
                    .estimate(Some(per_mille))
                    .is_some()
            };
            assert!(exists(needed) && !exists(needed - 1), "{per_mille}");
        }
    }

    #[test]
    fn unfinished_samples_are_worst() {
        // 89 of 100 finished, in runs of unequal shares.
        let runs = [run(0..50, 50), run(50..89, 50)];
        let pooled = pool(&runs).estimates();
        assert_eq!(pooled.p50.map(|estimate| estimate.value), Some(49.0));
        assert_eq!(pooled.p90, None);
        let more = [run(0..50, 50), run(50..90, 50)];
        let p90 = pool(&more).estimates().p90.expect("90 of 100 finished");
        assert_eq!(
            (p90.value, p90.interval),
            (89.0, None),
            "the second run alone has none"
        );
    }

    #[test]
    fn one_run_has_no_interval() {
        let median = pool(&[run(0..20, 0)]).estimates().p50;
        assert_eq!(
            median.map(|estimate| (estimate.value, estimate.interval)),
            Some((9.0, None))
        );
    }

    #[test]
    fn worst_goodput_is_the_smallest() {
        let goodputs = |from: u32| Samples::most_best((from..from + 50).map(f64::from), 0);
        let pooled = pool(&[goodputs(1), goodputs(51)]).estimates();
        assert_eq!(
            pooled.p90.map(|estimate| estimate.value),
            Some(11.0),
            "90 of 100 have 11 or more"
        );
    }

    #[test]
    fn differences_resample_pairs() {
        let ours = [run(0..40, 0), run(100..140, 0)];
        let theirs = [run(5..45, 0), run(105..145, 0)];
        let difference = pool(&ours)
            .difference(&pool(&theirs), Some(500))
            .expect("80 each");
        let interval = difference.interval.expect("two pairs");
        let all = (difference.value, interval.low, interval.high);
        assert_eq!(all, (-5.0, -5.0, -5.0));
        assert_eq!(pool(&ours).difference(&pool(&theirs[1..]), Some(500)), None);
    }

    proptest! {
        #[test]
        fn weighted_percentiles_equal_sorted_copies(
            runs in proptest::collection::vec((proptest::collection::vec(0u32..40, 0..30), 0u64..5), 1..6),
            weights in proptest::collection::vec(0u64..4, 6),
            per_mille in 1u32..1_000,
        ) {
            let samples: Vec<Samples> = runs
                .iter()
                .map(|(values, never)| run(values.clone(), values.len() as u64 + never))
                .collect();
            let mut copies = Vec::new();
            for ((values, never), weight) in runs.iter().zip(&weights) {
                for _ in 0..*weight {
                    copies.extend(values.iter().copied().map(f64::from));
                    copies.extend((0..*never).map(|_| f64::INFINITY));
                }
            }
            copies.sort_by(f64::total_cmp);
            let wanted = crate::stats::nearest_rank(&copies, per_mille).copied();
            let found = pool(&samples).percentile(&weights[..runs.len()], per_mille);
            prop_assert_eq!(found, wanted);
        }
    }
}
