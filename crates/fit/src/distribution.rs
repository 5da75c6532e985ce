//! Fitting of distributions: fixed, uniform, exponential, lognormal or empirical.

use duetime_core::normal_cdf;

/// Sorted values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    sorted: Vec<f64>,
    sum: f64,
}

/// Distribution that a scenario can express.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Constant value.
    Fixed(f64),
    /// Uniform between two values.
    Uniform(f64, f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Lognormal with this median and standard deviation of the logarithm.
    LogNormal(f64, f64),
    /// Piecewise-linear CDF of (value, probability) points.
    Points(Vec<(f64, f64)>),
}

/// Distribution and its distance from the values.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// Distribution.
    pub shape: Shape,
    /// Kolmogorov-Smirnov distance from the values, 0 to 1.
    pub ks: f64,
}

/// Values within this share of their mean count as constant.
const CONSTANT: f64 = 0.01;
/// Maximum distance of a named distribution from the values. For few values, the distance that chance exceeds in 5 % of
/// cases if larger: `CHANCE` / √n.
const NEAR: f64 = 0.015;
pub(crate) const CHANCE: f64 = 1.36;
/// Target distance of an empirical CDF from the values.
const NEAR_POINTS: f64 = 0.004;
/// Maximum number of chosen values in an empirical CDF.
const MAX_POINTS: usize = 48;
/// Maximum error of the values between two points, as a share of the mean.
const NEAR_MEAN: f64 = 0.002;
/// Quantiles that an empirical CDF always includes.
const ALWAYS: [f64; 7] = [0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999];

/// Returns the quantile `q` of values by nearest rank, or `None` if there are none.
pub(crate) fn quantile_of(values: Vec<f64>, q: f64) -> Option<f64> {
    let sample = Sample::new(values);
    (!sample.is_empty()).then(|| sample.quantile(q))
}

/// Rounds to the nearest integer.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "casts from floats saturate; the values are not negative"
)]
pub(crate) fn whole(value: f64) -> u64 {
    libm::round(value) as u64
}

impl Sample {
    /// Sorts values and removes those that are not finite.
    pub fn new(mut values: Vec<f64>) -> Self {
        values.retain(|value| value.is_finite());
        values.sort_unstable_by(f64::total_cmp);
        Self {
            sum: values.iter().sum(),
            sorted: values,
        }
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// Returns true if there are no values.
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// Returns the mean, or 0 without values.
    pub fn mean(&self) -> f64 {
        self.sum / self.sorted.len().max(1) as f64
    }

    /// Returns the sum.
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// Returns the quantile `q`, 0 to 1, by nearest rank, or 0 without values.
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

    /// Returns the smallest and the largest value.
    pub fn range(&self) -> (f64, f64) {
        (self.quantile(0.0), self.quantile(1.0))
    }

    /// Returns the coefficient of variation, or 0 if the mean is 0.
    pub fn variation(&self) -> f64 {
        let mean = self.mean();
        if mean == 0.0 {
            return 0.0;
        }
        let squares: f64 = self
            .sorted
            .iter()
            .map(|value| (value - mean) * (value - mean))
            .sum();
        libm::sqrt(squares / self.sorted.len().max(1) as f64) / mean
    }

    /// Returns the share of values above `value`.
    pub fn above(&self, value: f64) -> f64 {
        let up_to = self.sorted.partition_point(|other| *other <= value);
        (self.sorted.len() - up_to) as f64 / self.sorted.len().max(1) as f64
    }

    /// Returns the most frequent value and its share. For a tie, returns the smallest one.
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

    /// Returns the Kolmogorov-Smirnov distance between two samples.
    pub fn distance(&self, other: &Self) -> f64 {
        let share = |sample: &Self, value: f64| 1.0 - sample.above(value);
        let values = self.sorted.iter().chain(&other.sorted);
        values.fold(0.0, |largest: f64, &value| {
            largest.max((share(self, value) - share(other, value)).abs())
        })
    }

    /// Returns the Kolmogorov-Smirnov distance from a CDF.
    pub fn distance_to(&self, cdf: impl Fn(f64) -> f64) -> f64 {
        let many = self.sorted.len() as f64;
        let mut largest: f64 = 0.0;
        let mut before = 0;
        for equal in self.sorted.chunk_by(|a, b| a.total_cmp(b).is_eq()) {
            let after = before + equal.len();
            let value = equal[0];
            // The empirical CDF steps at the value, so also compare just below it.
            let below = cdf(value - value.abs().max(1.0) * 1e-9);
            largest = largest.max((below - before as f64 / many).abs());
            largest = largest.max((cdf(value) - after as f64 / many).abs());
            before = after;
        }
        largest
    }

    /// Fits a distribution of sizes: fixed, uniform or empirical.
    pub fn sizes(&self) -> Fitted {
        self.best(&[self.uniform()])
    }

    /// Fits a distribution of times: fixed, exponential, uniform, lognormal or empirical.
    pub fn times(&self) -> Fitted {
        self.best(&[self.exponential(), self.uniform(), self.log_normal()])
    }

    fn best(&self, named: &[Option<Shape>]) -> Fitted {
        let (smallest, largest) = self.range();
        if largest - smallest <= CONSTANT * self.mean() {
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
        match found.filter(|fitted| fitted.ks <= near) {
            Some(named) => named,
            None => self.fitted(Shape::Points(self.points())),
        }
    }

    fn fitted(&self, shape: Shape) -> Fitted {
        let ks = self.distance_to(|value| shape.cdf(value));
        Fitted { shape, ks }
    }

    fn uniform(&self) -> Option<Shape> {
        let (smallest, largest) = self.range();
        (largest > smallest).then_some(Shape::Uniform(smallest, largest))
    }

    fn exponential(&self) -> Option<Shape> {
        (self.mean() > 0.0).then(|| Shape::Exponential(self.mean()))
    }

    fn log_normal(&self) -> Option<Shape> {
        if self.range().0 <= 0.0 {
            return None;
        }
        let logs = Self::new(self.sorted.iter().map(|&value| libm::log(value)).collect());
        let mean = logs.mean();
        let squares: f64 = logs
            .sorted
            .iter()
            .map(|value| (value - mean) * (value - mean))
            .sum();
        let sigma = libm::sqrt(squares / logs.len().max(1) as f64);
        (0.001..=4.0)
            .contains(&sigma)
            .then(|| Shape::LogNormal(libm::exp(mean), sigma))
    }

    /// Returns a piecewise-linear CDF near the values with few points, by repeatedly adding a point where the error is
    /// largest.
    fn points(&self) -> Vec<(f64, f64)> {
        let many = self.sorted.len() as f64;
        // The CDF just below and at each distinct value.
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
            chosen.push(steps.partition_point(|step| step.2 < q).min(last));
        }
        chosen.sort_unstable();
        chosen.dedup();
        // Partial sums up to each step, divided by the number of values.
        let mut sum = 0.0;
        let sums: Vec<f64> = steps
            .iter()
            .map(|(value, before, after)| {
                sum += value * (after - before);
                sum
            })
            .collect();
        while chosen.len() < MAX_POINTS {
            let mut worst = (1.0, None);
            for pair in chosen.windows(2) {
                let ((from, _, low), (to, high, _)) = (steps[pair[0]], steps[pair[1]]);
                let mut farthest = (-1.0, None);
                for (index, step) in steps.iter().enumerate().take(pair[1]).skip(pair[0] + 1) {
                    let line = low + (high - low) * (step.0 - from) / (to - from);
                    let off = (line - step.1).abs().max((line - step.2).abs());
                    if off > farthest.0 {
                        farthest = (off, Some(index));
                    }
                }
                let Some(index) = farthest.1 else { continue };
                let between = sums[pair[1] - 1] - sums[pair[0]];
                let line = (high - low) * f64::midpoint(from, to);
                let off_mean = (between - line).abs() / self.mean().abs();
                let off = (farthest.0 / NEAR_POINTS).max(off_mean / NEAR_MEAN);
                if off > worst.0 {
                    worst = (off, Some(index));
                }
            }
            let Some(index) = worst.1 else { break };
            chosen.push(index);
            chosen.sort_unstable();
        }
        let mut points: Vec<(f64, f64)> = Vec::new();
        for index in chosen {
            let (value, before, after) = steps[index];
            let mass = after - before;
            let left = points.last().map_or(value, |point| point.0);
            // A line up to a large value would shift part of its weight to smaller values.
            let off_mean = mass * (value - left) / 2.0 / self.mean().abs();
            if mass > NEAR_POINTS || off_mean > NEAR_MEAN || index == 0 {
                points.push((value, before));
            }
            points.push((value, if index == last { 1.0 } else { after }));
        }
        points
    }
}

impl Shape {
    /// Returns the probability of values up to `value`.
    pub fn cdf(&self, value: f64) -> f64 {
        match *self {
            Self::Fixed(constant) => f64::from(u8::from(value >= constant)),
            Self::Uniform(low, high) => ((value - low) / (high - low)).clamp(0.0, 1.0),
            Self::Exponential(mean) => 1.0 - libm::exp(-value.max(0.0) / mean),
            Self::LogNormal(median, sigma) if value > 0.0 => {
                normal_cdf(libm::log(value / median) / sigma)
            }
            Self::LogNormal(..) => 0.0,
            Self::Points(ref points) => {
                let after = points.partition_point(|point| point.0 <= value);
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

    /// Returns the mean.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Fixed(mean) | Self::Exponential(mean) => *mean,
            Self::Uniform(low, high) => f64::midpoint(*low, *high),
            Self::LogNormal(median, sigma) => median * libm::exp(sigma * sigma / 2.0),
            Self::Points(points) => {
                let parts = points.windows(2);
                parts
                    .map(|pair| (pair[1].1 - pair[0].1) * f64::midpoint(pair[0].0, pair[1].0))
                    .sum()
            }
        }
    }

    /// Returns the name of the distribution.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Fixed(_) => "fixed",
            Self::Uniform(..) => "uniform",
            Self::Exponential(_) => "exponential",
            Self::LogNormal(..) => "lognormal",
            Self::Points(_) => "empirical",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use duetime_core::normal_quantile;

    /// Returns evenly spaced quantiles of a distribution.
    fn sample(quantile: impl Fn(f64) -> f64) -> Sample {
        Sample::new(
            (0..4_000)
                .map(|at| quantile((f64::from(at) + 0.5) / 4_000.0))
                .collect(),
        )
    }

    #[test]
    fn named_distributions_are_recognised() {
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
        for (sample, expected) in cases {
            let found = sample.times();
            assert_eq!(found.shape.name(), expected.name());
            assert!(
                (found.shape.mean() / expected.mean() - 1.0).abs() < 0.01,
                "{found:?}"
            );
            assert!(found.ks < 0.01);
        }
    }

    #[test]
    fn points_keep_jumps_and_the_mean() {
        // Two values make up half of the sample; the others have a long tail.
        let sample_values = sample(|u| match u {
            ..0.3 => 100.0,
            ..0.5 => 900.0,
            u => 1_000.0 / (1.0 - u),
        });
        let found = sample_values.sizes();
        let Shape::Points(points) = &found.shape else {
            panic!("{found:?}")
        };
        assert!(
            points.len() <= 2 * MAX_POINTS && found.ks < 0.02,
            "{found:?}"
        );
        assert!(points.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1));
        assert_eq!((points[0].1, points[points.len() - 1].1), (0.0, 1.0));
        assert!((found.shape.mean() / sample_values.mean() - 1.0).abs() < 0.03);
        assert!((found.shape.cdf(100.0) - 0.3).abs() < 1e-9 && found.shape.cdf(99.0) < 0.001);
    }

    #[test]
    fn distance_of_samples() {
        let sample = |values: &[f64]| Sample::new(values.to_vec());
        assert!((sample(&[1.0, 2.0]).distance(&sample(&[1.0, 2.0]))).abs() < 1e-12);
        assert!((sample(&[1.0, 2.0]).distance(&sample(&[1.0, 3.0])) - 0.5).abs() < 1e-12);
        assert!((sample(&[1.0]).distance(&sample(&[2.0])) - 1.0).abs() < 1e-12);
    }
}
