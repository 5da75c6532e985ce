//! Exact percentiles, means, and intervals over runs.
//!
//! A percentile is the nearest rank: the smallest observed value that at least p % of the values do not exceed. It is
//! always an observation, never interpolated. Percentiles of several runs pool their samples: see [`crate::pool`].
//!
//! An interval is the 95 % percentile bootstrap over runs: 1,000 times, n of n runs are drawn with replacement and the
//! statistic is computed on them. The interval is the 25th and the 975th smallest of these values. The draws depend
//! only on the number of runs, so intervals are the same on every machine, and two transports that share seeds are
//! resampled together, which cancels the effect of the seeds from differences. One run has no interval. For two or
//! three runs the interval is only the range of the values and is shown with the number of runs. Below ten runs it is
//! too narrow; 20 runs are a good start.

#![expect(
    clippy::cast_possible_truncation,
    reason = "indices and counts of what is in memory"
)]

use duetime_core::random::mix;
use serde::{Deserialize, Serialize};

const RESAMPLES: usize = 1_000;
/// "duetime" in ASCII; any constant would do.
const SEED: u64 = 0x0064_7565_7469_6d65;

/// A 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Number of runs.
    pub runs: u32,
}

impl Interval {
    /// Returns true for fewer than four runs: the interval is then only the range of their values and is shown with the
    /// number of runs.
    pub fn has_few_runs(&self) -> bool {
        self.runs < 4
    }
}

/// Statistic over runs, with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Value for all runs.
    pub value: f64,
    /// 95 % interval, or `None` for fewer than two runs.
    pub interval: Option<Interval>,
}

impl Estimate {
    /// Returns `statistic` of `runs` with its interval, or `None` if the statistic of all runs does not exist.
    /// Resamples for which it does not exist are ignored. There is no interval if one of its ends would be infinite.
    pub fn of<R>(runs: &[R], statistic: impl Fn(&[&R]) -> Option<f64>) -> Option<Self> {
        let all: Vec<&R> = runs.iter().collect();
        let value = statistic(&all).filter(|value| value.is_finite())?;
        let interval = bootstrap(runs.len(), |draw| {
            let drawn: Vec<&R> = draw.iter().map(|&i| &runs[i]).collect();
            statistic(&drawn)
        });
        Some(Self { value, interval })
    }

    /// Returns `statistic` of `runs` minus `statistic` of `baseline`, or `None` if their numbers of runs differ.
    /// `runs[i]` and `baseline[i]` share their seed and are resampled together.
    pub fn of_difference<R>(
        runs: &[R],
        baseline: &[R],
        statistic: impl Fn(&[&R]) -> Option<f64>,
    ) -> Option<Self> {
        if runs.len() != baseline.len() {
            return None;
        }
        let pairs: Vec<(&R, &R)> = runs.iter().zip(baseline).collect();
        Self::of(&pairs, |drawn| {
            let ours: Vec<&R> = drawn.iter().map(|pair| pair.0).collect();
            let theirs: Vec<&R> = drawn.iter().map(|pair| pair.1).collect();
            Some(statistic(&ours)? - statistic(&theirs)?)
        })
    }

    /// Returns the lower end of the interval, or the value if there is none.
    pub fn low(&self) -> f64 {
        self.interval.map_or(self.value, |interval| interval.low)
    }

    /// Returns the upper end of the interval, or the value if there is none.
    pub fn high(&self) -> f64 {
        self.interval.map_or(self.value, |interval| interval.high)
    }
}

/// Returns the 95 % bootstrap interval of `statistic` over `n` items. `statistic` is passed the indices of each draw.
pub fn bootstrap(n: usize, statistic: impl Fn(&[usize]) -> Option<f64>) -> Option<Interval> {
    if n < 2 {
        return None;
    }
    let mut draw = vec![0; n];
    let mut values = Vec::with_capacity(RESAMPLES);
    for resample in 0..RESAMPLES {
        let key = mix(SEED, resample as u64);
        for (i, index) in draw.iter_mut().enumerate() {
            *index = ((u128::from(mix(key, i as u64)) * n as u128) >> 64) as usize;
        }
        values.extend(statistic(&draw).filter(|value| !value.is_nan()));
    }
    values.sort_by(f64::total_cmp);
    let (low, high) = (*nearest_rank(&values, 25)?, *nearest_rank(&values, 975)?);
    let runs = n as u32;
    (low.is_finite() && high.is_finite()).then_some(Interval { low, high, runs })
}

/// Returns the nearest-rank percentile of ascending values: the smallest that at least `per_mille` ‰ of them do not
/// exceed.
pub fn nearest_rank<T>(sorted: &[T], per_mille: u32) -> Option<&T> {
    let rank = (sorted.len() as u64 * u64::from(per_mille)).div_ceil(1_000);
    sorted.get(rank.saturating_sub(1) as usize)
}

/// Returns the arithmetic mean, or `None` without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns Jain's fairness index: 1 if all values are equal, 1/n if all but one are zero. `None` if all are zero.
pub fn jain(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|value| value * value).sum();
    (squares > 0.0).then(|| sum * sum / (values.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mean_of(values: &[&f64]) -> Option<f64> {
        mean(&values.iter().map(|value| **value).collect::<Vec<_>>())
    }

    #[test]
    fn nearest_rank_is_an_observation() {
        let values = [15, 20, 35, 40, 50];
        assert_eq!(nearest_rank(&values, 50), Some(&15));
        assert_eq!(nearest_rank(&values, 300), Some(&20));
        assert_eq!(nearest_rank(&values, 400), Some(&20));
        assert_eq!(nearest_rank(&values, 500), Some(&35));
        assert_eq!(nearest_rank(&values, 1_000), Some(&50));
        let hundred: Vec<u32> = (1..=100).collect();
        assert_eq!(nearest_rank(&hundred, 990), Some(&99));
        assert_eq!(nearest_rank(&hundred, 999), Some(&100));
        assert_eq!(nearest_rank::<u32>(&[], 500), None);
    }

    #[test]
    fn interval_coverage_is_about_95_percent() {
        let mut covered = 0;
        for trial in 0..200u64 {
            let runs: Vec<f64> = (0..20)
                .map(|i| (mix(mix(99, trial), i) >> 11) as f64 / (1u64 << 53) as f64)
                .collect();
            let interval = Estimate::of(&runs, mean_of).unwrap().interval.unwrap();
            covered += u32::from(interval.low <= 0.5 && 0.5 <= interval.high);
        }
        assert!((176..=198).contains(&covered), "{covered} of 200");
    }

    #[test]
    fn shared_seeds_cancel_from_a_difference() {
        let noise = |i: u64| (mix(7, i) % 1_000) as f64;
        let baseline: Vec<f64> = (0..20).map(noise).collect();
        let better: Vec<f64> = (0..20).map(|i| noise(i) + 3.0).collect();
        let difference = Estimate::of_difference(&better, &baseline, mean_of).unwrap();
        let interval = difference.interval.unwrap();
        assert!((difference.value - 3.0).abs() < 1e-9);
        assert!((interval.high - interval.low).abs() < 1e-9);
        assert_eq!(
            Estimate::of_difference(&better, &baseline[1..], mean_of),
            None
        );
    }

    #[test]
    fn one_run_has_no_interval() {
        assert_eq!(Estimate::of(&[1.0], mean_of).unwrap().interval, None);
        assert_eq!(Estimate::of(&[], mean_of), None);
    }

    #[test]
    fn interval_of_few_runs_is_their_range() {
        let of = |runs: &[f64]| Estimate::of(runs, mean_of).unwrap().interval.unwrap();
        assert_eq!(
            of(&[1.0, 3.0]),
            Interval {
                low: 1.0,
                high: 3.0,
                runs: 2
            }
        );
        let three = of(&[1.0, 3.0, 7.0]);
        assert_eq!((three.low, three.high), (1.0, 7.0));
        assert!(three.has_few_runs());
        let four = of(&[1.0, 3.0, 7.0, 8.0]);
        assert!(four.low > 1.0 && four.high < 8.0 && !four.has_few_runs());
    }

    #[test]
    fn jain_index_bounds() {
        assert_eq!(jain(&[3.0; 4]), Some(1.0));
        assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[0.0]), None);
    }

    proptest! {
        #[test]
        fn at_least_p_percent_do_not_exceed_the_percentile(
            mut values in proptest::collection::vec(0u32..50, 1..40),
            per_mille in 1u32..=1_000,
        ) {
            values.sort_unstable();
            let found = *nearest_rank(&values, per_mille).unwrap();
            let share = |limit: u32| values.iter().filter(|value| **value <= limit).count() * 1_000;
            prop_assert!(share(found) >= values.len() * per_mille as usize);
            if found > 0 {
                prop_assert!(share(found - 1) < values.len() * per_mille as usize);
            }
        }
    }
}
