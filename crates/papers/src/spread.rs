//! Compact distributions: counts in logarithmic bins. Percentiles are accurate to 0.3 %.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "bins are logarithms of 64-bit values, and each run has less than 2³² values"
)]

use serde::{Deserialize, Serialize};

/// Bins per factor of two, so each bin is 0.54 % wide.
const BINS_PER_OCTAVE: f64 = 128.0;

/// Histogram of positive values. Other values count as zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    /// Number of values that are not positive.
    #[serde(rename = "0", default, skip_serializing_if = "is_zero")]
    zeros: u64,
    /// Bins with their counts, in increasing order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    bins: Vec<(i32, u32)>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "required by serde")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Spread {
    /// Counts the values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let (mut zeros, mut places) = (0, Vec::new());
        for value in values {
            if value > 0.0 {
                places.push(libm::floor(libm::log2(value) * BINS_PER_OCTAVE) as i32);
            } else {
                zeros += 1;
            }
        }
        places.sort_unstable();
        let bins = places.chunk_by(|a, b| a == b);
        Self {
            zeros,
            bins: bins.map(|bin| (bin[0], bin.len() as u32)).collect(),
        }
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.zeros + self.bins.iter().map(|bin| u64::from(bin.1)).sum::<u64>()
    }

    /// Returns true if there are no values.
    pub fn is_empty(&self) -> bool {
        self.zeros == 0 && self.bins.is_empty()
    }
}

/// Sum of several spreads.
#[derive(Clone, Debug, Default)]
pub struct Pooled {
    zeros: u64,
    first: i32,
    counts: Vec<u64>,
}

impl Pooled {
    /// Adds `spreads`.
    pub fn of<'a>(spreads: impl Iterator<Item = &'a Spread> + Clone) -> Self {
        let bins = || {
            spreads
                .clone()
                .flat_map(|spread| spread.bins.iter().map(|bin| bin.0))
        };
        let first = bins().min().unwrap_or(0);
        let last = bins().max().unwrap_or(-1);
        let mut counts = vec![0; usize::try_from(last - first + 1).unwrap_or(0)];
        let mut zeros = 0;
        for spread in spreads {
            zeros += spread.zeros;
            for &(bin, count) in &spread.bins {
                counts[(bin - first) as usize] += u64::from(count);
            }
        }
        Self {
            zeros,
            first,
            counts,
        }
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.zeros + self.counts.iter().sum::<u64>()
    }

    /// Returns the nearest-rank percentile of `all` values, where values not counted here are larger than all others.
    /// Returns `None` if the percentile falls among those.
    pub fn percentile(&self, per_mille: u32, all: u64) -> Option<f64> {
        let rank = (all * u64::from(per_mille)).div_ceil(1000).max(1);
        let mut seen = self.zeros;
        if all == 0 {
            return None;
        }
        if rank <= seen {
            return Some(0.0);
        }
        for (i, count) in self.counts.iter().enumerate() {
            seen += count;
            if rank <= seen {
                return Some(centre(self.first + i as i32));
            }
        }
        None
    }

    /// Keeps only values of at least `from`.
    #[must_use]
    pub fn at_least(mut self, from: f64) -> Self {
        self.zeros = 0;
        let first = libm::floor(libm::log2(from) * BINS_PER_OCTAVE) as i32;
        let below = usize::try_from(first - self.first).unwrap_or(0);
        for count in self.counts.iter_mut().take(below) {
            *count = 0;
        }
        self
    }

    /// Returns the centre of each non-empty bin and the share of `all` values that do not exceed it.
    pub fn cumulative(&self, all: u64) -> Vec<(f64, f64)> {
        let share = |count: u64| count as f64 / all.max(1) as f64;
        let mut points = Vec::new();
        let mut seen = self.zeros;
        if seen > 0 {
            points.push((0.0, share(seen)));
        }
        for (i, &count) in self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
        {
            seen += count;
            points.push((centre(self.first + i as i32), share(seen)));
        }
        points
    }
}

/// Returns the centre of a bin.
fn centre(bin: i32) -> f64 {
    libm::exp2((f64::from(bin) + 0.5) / BINS_PER_OCTAVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_accurate() {
        let values: Vec<f64> = (1..=1000).map(|i| f64::from(i) * 1e-3).collect();
        let halves = [
            Spread::of(values[..300].iter().copied()),
            Spread::of(values[300..].iter().copied()),
        ];
        let pooled = Pooled::of(halves.iter());
        for per_mille in [10, 50, 500, 900, 990, 1000] {
            let found = pooled.percentile(per_mille, 1000).unwrap();
            let exact = f64::from(per_mille) * 1e-3;
            assert!((found / exact - 1.0).abs() < 0.003, "{per_mille}: {found}");
        }
        // With 200 values that never arrived, the 90th percentile falls among them.
        assert_eq!(pooled.percentile(900, 1200), None);
        assert!(pooled.percentile(800, 1200).is_some());
    }

    #[test]
    fn zeros_sort_first_and_empty_has_no_percentile() {
        let some = Spread::of([0.0, 0.0, 2.0]);
        let pooled = Pooled::of([&some].into_iter());
        assert_eq!(pooled.percentile(500, 3), Some(0.0));
        assert!((pooled.percentile(1000, 3).unwrap() / 2.0 - 1.0).abs() < 0.006);
        assert_eq!(pooled.clone().at_least(1.0).count(), 1);
        let none = Pooled::of(std::iter::empty());
        assert_eq!((none.count(), none.percentile(500, 0)), (0, None));
    }
}
