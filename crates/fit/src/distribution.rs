//! What values are distributed like: fixed, uniform, exponential, lognormal, or as they were seen, point by point.

use duetime_core::normal_cdf;

/// Values, sorted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    sorted: Vec<f64>,
    sum: f64,
}

/// A distribution that a scenario can state.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Always this.
    Fixed(f64),
    /// Between the two.
    Uniform(f64, f64),
    /// With this mean.
    Exponential(f64),
    /// Its median, and the standard deviation of its logarithm.
    LogNormal(f64, f64),
    /// A piecewise-linear CDF: (value, probability).
    Points(Vec<(f64, f64)>),
}

/// A distribution and how far it is from the values.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The distribution.
    pub shape: Shape,
    /// The largest difference between the two CDFs (Kolmogorov and Smirnov), 0 to 1.
    pub ks: f64,
}

/// Values that differ by less than this share of their mean are all alike.
const ALIKE: f64 = 0.01;
/// A named distribution is taken where its CDF is nowhere farther than this from the values'; of few values, than what
/// chance makes of them in one of twenty cases: `CHANCE` / √n.
const NEAR: f64 = 0.015;
pub(crate) const CHANCE: f64 = 1.36;
/// The same for points, of which there are at most so many.
const NEAR_POINTS: f64 = 0.004;
const MOST_POINTS: usize = 48;
/// Share of the mean that the values between two points may be off by.
const NEAR_MEAN: f64 = 0.002;
/// Points that are always there.
const ALWAYS: [f64; 7] = [0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999];

/// The quantile `q` of values, by nearest rank; `None` without any.
pub(crate) fn quantile_of(values: Vec<f64>, q: f64) -> Option<f64> {
    let sample = Sample::new(values);
    (!sample.is_empty()).then(|| sample.quantile(q))
}

/// The nearest whole number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "casts from floats saturate; the values are not negative"
)]
pub(crate) fn whole(value: f64) -> u64 {
    libm::round(value) as u64
}

impl Sample {
    /// Of these values; those that are no numbers are left out.
    pub fn new(mut values: Vec<f64>) -> Self {
        values.retain(|value| value.is_finite());
        values.sort_unstable_by(f64::total_cmp);
        Self {
            sum: values.iter().sum(),
            sorted: values,
        }
    }

    /// Values.
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// The mean; 0 without values.
    pub fn mean(&self) -> f64 {
        self.sum / self.sorted.len().max(1) as f64
    }

    /// The sum.
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// The quantile `q`, 0 to 1, by nearest rank; 0 without values.
    pub fn quantile(&self, q: f64) -> f64 {
        let rank = libm::ceil(q * self.sorted.len() as f64) - 1.0;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rank; casts from floats saturate"
        )]
        let at = (rank.max(0.0) as usize).min(self.sorted.len().saturating_sub(1));
        self.sorted.get(at).copied().unwrap_or(0.0)
    }

    /// The least and the largest.
    pub fn range(&self) -> (f64, f64) {
        (self.quantile(0.0), self.quantile(1.0))
    }

    /// Standard deviation over the mean; 0 where there is none.
    pub fn variation(&self) -> f64 {
        let mean = self.mean();
        if mean == 0.0 {
            return 0.0;
        }
        let squares: f64 = self.sorted.iter().map(|of| (of - mean) * (of - mean)).sum();
        libm::sqrt(squares / self.sorted.len().max(1) as f64) / mean
    }

    /// The share of the values above this one.
    pub fn above(&self, value: f64) -> f64 {
        let up_to = self.sorted.partition_point(|of| *of <= value);
        (self.sorted.len() - up_to) as f64 / self.sorted.len().max(1) as f64
    }

    /// The most frequent value and its share; of equally frequent ones the least.
    pub fn mode(&self) -> (f64, f64) {
        let mut best: &[f64] = &[];
        for equal in self.sorted.chunk_by(|a, b| a.total_cmp(b).is_eq()) {
            if equal.len() > best.len() {
                best = equal;
            }
        }
        let share = best.len() as f64 / self.sorted.len().max(1) as f64;
        (best.first().copied().unwrap_or(0.0), share)
    }

    /// The largest difference between the CDFs of two samples.
    pub fn distance(&self, other: &Self) -> f64 {
        let share = |of: &Self, value: f64| 1.0 - of.above(value);
        let values = self.sorted.iter().chain(&other.sorted);
        values.fold(0.0, |most: f64, &value| {
            most.max((share(self, value) - share(other, value)).abs())
        })
    }

    /// The largest difference to a CDF.
    pub fn distance_to(&self, cdf: impl Fn(f64) -> f64) -> f64 {
        let many = self.sorted.len() as f64;
        let mut most: f64 = 0.0;
        let mut before = 0;
        for equal in self.sorted.chunk_by(|a, b| a.total_cmp(b).is_eq()) {
            let after = before + equal.len();
            let value = equal[0];
            // Just below a value nothing of it counts yet.
            let below = cdf(value - value.abs().max(1.0) * 1e-9);
            most = most.max((below - before as f64 / many).abs());
            most = most.max((cdf(value) - after as f64 / many).abs());
            before = after;
        }
        most
    }

    /// The distribution of sizes like these: fixed, uniform, or points.
    pub fn sizes(&self) -> Fitted {
        self.best(&[self.uniform()])
    }

    /// The distribution of times like these.
    pub fn times(&self) -> Fitted {
        self.best(&[self.exponential(), self.uniform(), self.log_normal()])
    }

    fn best(&self, named: &[Option<Shape>]) -> Fitted {
        let (least, most) = self.range();
        if most - least <= ALIKE * self.mean() {
            return Fitted {
                shape: Shape::Fixed(self.mean()),
                ks: 0.0,
            };
        }
        let near = NEAR.max(CHANCE / libm::sqrt(self.len() as f64));
        let found = named
            .iter()
            .flatten()
            .map(|shape| self.fitted(shape.clone()));
        let found = found.min_by(|a, b| a.ks.total_cmp(&b.ks));
        match found.filter(|of| of.ks <= near) {
            Some(named) => named,
            None => self.fitted(Shape::Points(self.points())),
        }
    }

    fn fitted(&self, shape: Shape) -> Fitted {
        let ks = self.distance_to(|value| shape.cdf(value));
        Fitted { shape, ks }
    }

    fn uniform(&self) -> Option<Shape> {
        let (least, most) = self.range();
        (most > least).then_some(Shape::Uniform(least, most))
    }

    fn exponential(&self) -> Option<Shape> {
        (self.mean() > 0.0).then(|| Shape::Exponential(self.mean()))
    }

    fn log_normal(&self) -> Option<Shape> {
        if self.range().0 <= 0.0 {
            return None;
        }
        let logs = Self::new(self.sorted.iter().map(|&of| libm::log(of)).collect());
        let mean = logs.mean();
        let squares: f64 = logs.sorted.iter().map(|of| (of - mean) * (of - mean)).sum();
        let sigma = libm::sqrt(squares / logs.len().max(1) as f64);
        (0.001..=4.0)
            .contains(&sigma)
            .then(|| Shape::LogNormal(libm::exp(mean), sigma))
    }

    /// A piecewise-linear CDF near that of the values, with few points: where it is farthest off, the next one is set.
    fn points(&self) -> Vec<(f64, f64)> {
        let many = self.sorted.len() as f64;
        // The CDF before and at each different value.
        let mut steps: Vec<(f64, f64, f64)> = Vec::new();
        let mut before = 0;
        for equal in self.sorted.chunk_by(|a, b| a.total_cmp(b).is_eq()) {
            let after = before + equal.len();
            steps.push((equal[0], before as f64 / many, after as f64 / many));
            before = after;
        }
        let last = steps.len() - 1;
        let mut chosen = vec![0, last];
        for q in ALWAYS {
            chosen.push(steps.partition_point(|of| of.2 < q).min(last));
        }
        chosen.sort_unstable();
        chosen.dedup();
        // The sum of all values up to each step, as a share of the number of values.
        let mut sum = 0.0;
        let sums: Vec<f64> = steps
            .iter()
            .map(|(value, before, after)| {
                sum += value * (after - before);
                sum
            })
            .collect();
        while chosen.len() < MOST_POINTS {
            let mut worst = (1.0, None);
            for pair in chosen.windows(2) {
                let ((from, _, low), (to, high, _)) = (steps[pair[0]], steps[pair[1]]);
                let mut farthest = (-1.0, None);
                for (at, step) in steps.iter().enumerate().take(pair[1]).skip(pair[0] + 1) {
                    let line = low + (high - low) * (step.0 - from) / (to - from);
                    let off = (line - step.1).abs().max((line - step.2).abs());
                    if off > farthest.0 {
                        farthest = (off, Some(at));
                    }
                }
                let Some(at) = farthest.1 else { continue };
                let between = sums[pair[1] - 1] - sums[pair[0]];
                let line = (high - low) * f64::midpoint(from, to);
                let off_mean = (between - line).abs() / self.mean().abs();
                let off = (farthest.0 / NEAR_POINTS).max(off_mean / NEAR_MEAN);
                if off > worst.0 {
                    worst = (off, Some(at));
                }
            }
            let Some(at) = worst.1 else { break };
            chosen.push(at);
            chosen.sort_unstable();
        }
        let mut points: Vec<(f64, f64)> = Vec::new();
        for at in chosen {
            let (value, before, after) = steps[at];
            let mass = after - before;
            let left = points.last().map_or(value, |of| of.0);
            // A line up to it would take a part of a large value's weight for smaller ones.
            let off_mean = mass * (value - left) / 2.0 / self.mean().abs();
            if mass > NEAR_POINTS || off_mean > NEAR_MEAN || at == 0 {
                points.push((value, before));
            }
            points.push((value, if at == last { 1.0 } else { after }));
        }
        points
    }
}

impl Shape {
    /// The share of draws up to this value.
    pub fn cdf(&self, value: f64) -> f64 {
        match *self {
            Self::Fixed(of) => f64::from(u8::from(value >= of)),
            Self::Uniform(low, high) => ((value - low) / (high - low)).clamp(0.0, 1.0),
            Self::Exponential(mean) => 1.0 - libm::exp(-value.max(0.0) / mean),
            Self::LogNormal(median, sigma) if value > 0.0 => {
                normal_cdf(libm::log(value / median) / sigma)
            }
            Self::LogNormal(..) => 0.0,
            Self::Points(ref points) => {
                let after = points.partition_point(|of| of.0 <= value);
                match (after.checked_sub(1).map(|at| points[at]), points.get(after)) {
                    (None, _) => 0.0,
                    (Some(_), None) => 1.0,
                    (Some(from), Some(to)) => {
                        from.1 + (to.1 - from.1) * (value - from.0) / (to.0 - from.0)
                    }
                }
            }
        }
    }

    /// The mean of draws.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Fixed(of) | Self::Exponential(of) => *of,
            Self::Uniform(low, high) => f64::midpoint(*low, *high),
            Self::LogNormal(median, sigma) => median * libm::exp(sigma * sigma / 2.0),
            Self::Points(points) => {
                let parts = points.windows(2);
                parts
                    .map(|of| (of[1].1 - of[0].1) * f64::midpoint(of[0].0, of[1].0))
                    .sum()
            }
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Fixed(_) => "fixed",
            Self::Uniform(..) => "uniform",
            Self::Exponential(_) => "exponential",
            Self::LogNormal(..) => "lognormal",
            Self::Points(_) => "as seen",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use duetime_core::normal_quantile;

    /// Quantiles of a distribution at even steps: a sample without chance.
    fn sample(quantile: impl Fn(f64) -> f64) -> Sample {
        Sample::new(
            (0..4_000)
                .map(|at| quantile((f64::from(at) + 0.5) / 4_000.0))
                .collect(),
        )
    }

    #[test]
    fn named_distributions_are_found_again() {
        let cases = [
            (sample(|_| 7.0), Shape::Fixed(7.0)),
            (sample(|u| 10.0 + 90.0 * u), Shape::Uniform(10.0, 100.0)),
            (
                sample(|u| -5.0 * libm::log(1.0 - u)),
                Shape::Exponential(5.0),
            ),
            (
                sample(|u| 2.0 * libm::exp(0.8 * normal_quantile(u))),
                Shape::LogNormal(2.0, 0.8),
            ),
        ];
        for (sample, wanted) in cases {
            let found = sample.times();
            assert_eq!(found.shape.name(), wanted.name());
            assert!(
                (found.shape.mean() / wanted.mean() - 1.0).abs() < 0.01,
                "{found:?}"
            );
            assert!(found.ks < 0.01);
        }
    }

    #[test]
    fn points_keep_jumps_and_the_mean() {
        // Half of the values are one of two, the others have a long tail.
        let seen = sample(|u| match u {
            ..0.3 => 100.0,
            ..0.5 => 900.0,
            u => 1_000.0 / (1.0 - u),
        });
        let found = seen.sizes();
        let Shape::Points(points) = &found.shape else {
            panic!("{found:?}")
        };
        assert!(
            points.len() <= 2 * MOST_POINTS && found.ks < 0.02,
            "{found:?}"
        );
        assert!(points.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1));
        assert_eq!((points[0].1, points[points.len() - 1].1), (0.0, 1.0));
        assert!((found.shape.mean() / seen.mean() - 1.0).abs() < 0.03);
        assert!((found.shape.cdf(100.0) - 0.3).abs() < 1e-9 && found.shape.cdf(99.0) < 0.001);
    }

    #[test]
    fn the_distance_between_samples_is_that_of_their_cdfs() {
        let of = |values: &[f64]| Sample::new(values.to_vec());
        assert!((of(&[1.0, 2.0]).distance(&of(&[1.0, 2.0]))).abs() < 1e-12);
        assert!((of(&[1.0, 2.0]).distance(&of(&[1.0, 3.0])) - 0.5).abs() < 1e-12);
        assert!((of(&[1.0]).distance(&of(&[2.0])) - 1.0).abs() < 1e-12);
    }
}
