//! Draws of sizes, deadlines and gaps by inverse CDF, and properties of their distributions.

use duetime_core::random::Stream;
use duetime_core::{Span, normal_cdf, normal_quantile};
use duetime_scenario::model::{Deadline, Gap, Size};

/// Bytes of IP and TCP headers of every segment.
pub(crate) const TCP_IP_HEADER: u32 = 40;
/// Payload bytes of a full segment.
pub const SEGMENT: u64 = 1460;

/// Draws a flow's size in bytes, at least 1.
pub(super) fn size(size: &Size, stream: &mut Stream) -> u64 {
    let bytes = match size {
        Size::Fixed(bytes) => bytes.0,
        Size::Uniform(low, high) => stream.between(low.0, high.0),
        Size::Cdf { points, .. } => invert_cdf(points, stream.unit()),
    };
    bytes.max(1)
}

/// Returns the `u`-quantile of a size in bytes, at least 1, for `u` in [0, 1).
pub fn size_at(size: &Size, u: f64) -> u64 {
    let bytes = match size {
        Size::Fixed(bytes) => bytes.0,
        Size::Uniform(low, high) => low.0 + ((high.0 - low.0 + 1) as f64 * u) as u64,
        Size::Cdf { points, .. } => invert_cdf(points, u),
    };
    bytes.max(1)
}

/// Returns the `u`-quantile of a CDF.
fn invert_cdf(points: &[(f64, f64)], u: f64) -> u64 {
    let above = points.partition_point(|point| point.1 <= u);
    match (points.get(above.wrapping_sub(1)), points.get(above)) {
        (Some(&(low, p)), Some(&(high, q))) => {
            let share = (u - p) / (q - p);
            libm::round(low + (high - low) * share) as u64
        }
        // The first point has all the probability up to it; there is none beyond the last.
        (None, Some(&(only, _))) | (Some(&(only, _)), None) => libm::round(only) as u64,
        (None, None) => 1,
    }
}

/// Draws a deadline relative to the start of its clock, or returns `None` if there is none.
pub(super) fn deadline(deadline: &Deadline, stream: &mut Stream) -> Option<Span> {
    Some(match *deadline {
        Deadline::None => return None,
        Deadline::Added { base, added } => base + scale(base, added * stream.unit()),
        Deadline::Around { base, variation } => {
            scale(base, 1.0 + variation * (2.0 * stream.unit() - 1.0))
        }
        Deadline::Exponential { mean, floor } => stream.exponential(mean).max(floor),
        Deadline::AddedExponential { base, mean } => base + stream.exponential(mean),
    })
}

/// Maximum time that is drawn; no run lasts longer.
const MAX_TIME: Span = Span::from_secs(24 * 3_600);

/// Draws a gap or delay.
pub(crate) fn gap(gap: &Gap, stream: &mut Stream) -> Span {
    match gap {
        Gap::Fixed(span) => *span,
        Gap::Uniform(low, high) => Span::from_ps(stream.between(low.as_ps(), high.as_ps())),
        Gap::Exponential(mean) => stream.exponential(*mean),
        Gap::LogNormal { .. } | Gap::Pareto { .. } | Gap::Cdf { .. } => gap_at(gap, stream.unit()),
    }
}

/// Returns the `u`-quantile of a gap, for `u` in [0, 1).
pub fn gap_at(gap: &Gap, u: f64) -> Span {
    let ps = match *gap {
        Gap::Fixed(span) => return span,
        Gap::Uniform(low, high) => low.as_ps() as f64 + (high - low).as_ps() as f64 * u,
        Gap::Exponential(mean) => -libm::log1p(-u) * mean.as_ps() as f64,
        Gap::LogNormal { median, sigma } => {
            median.as_ps() as f64 * libm::exp(sigma * normal_quantile(u))
        }
        Gap::Pareto { least, shape, most } => {
            let ps = least.as_ps() as f64 * libm::exp(-libm::log1p(-u) / shape);
            most.map_or(ps, |most| ps.min(most.as_ps() as f64))
        }
        Gap::Cdf { ref points, .. } => invert_cdf(points, u) as f64,
    };
    Span::from_ps(libm::round(ps.min(MAX_TIME.as_ps() as f64)) as u64)
}

/// Draws the time from the start of a source to its first event: a full gap if gaps are memoryless, otherwise a uniform
/// part of one, so that sources are not synchronised.
pub(super) fn first_gap(each: &Gap, stream: &mut Stream) -> Span {
    let full = gap(each, stream);
    if matches!(each, Gap::Exponential(_)) {
        full
    } else {
        scale(full, stream.unit())
    }
}

/// Returns `span × factor`, rounded to a picosecond, or zero for a negative factor.
pub(super) fn scale(span: Span, factor: f64) -> Span {
    Span::from_ps(libm::round(span.as_ps() as f64 * factor) as u64)
}

/// Returns the mean of a gap.
pub fn mean_gap(gap: &Gap) -> Span {
    let longest = MAX_TIME.as_ps() as f64;
    let ps = match *gap {
        Gap::Fixed(span) | Gap::Exponential(span) => return span,
        Gap::Uniform(low, high) => return Span::from_ps(low.as_ps().midpoint(high.as_ps())),
        Gap::LogNormal { median, sigma } => {
            // E min(X, L) = m exp(σ²/2) Φ(z - σ) + L (1 - Φ(z)), where z = ln(L/m) / σ.
            let median = median.as_ps() as f64;
            let z = libm::log(longest / median) / sigma;
            median * libm::exp(sigma * sigma / 2.0) * normal_cdf(z - sigma)
                + longest * normal_cdf(-z)
        }
        Gap::Pareto { least, shape, most } => {
            // E min(X, L) = m + ∫ (m/t)^a dt from m to L.
            let least = least.as_ps() as f64;
            let most = most.map_or(longest, |most| most.as_ps() as f64);
            let log = libm::log(most / least);
            let tail = match 1.0 - shape {
                0.0 => log,
                power => libm::expm1(power * log) / power,
            };
            least * (1.0 + tail)
        }
        Gap::Cdf { ref points, .. } => mean_of_cdf(points),
    };
    Span::from_ps(libm::round(ps) as u64)
}

/// Returns the minimum of a gap.
pub fn min_gap(gap: &Gap) -> Span {
    match gap {
        Gap::Fixed(span) | Gap::Uniform(span, _) => *span,
        Gap::Exponential(_) | Gap::LogNormal { .. } => Span::ZERO,
        Gap::Pareto { least, .. } => *least,
        Gap::Cdf { .. } => gap_at(gap, 0.0),
    }
}

fn mean_of_cdf(points: &[(f64, f64)]) -> f64 {
    let first = points.first().map_or(0.0, |&(value, p)| value * p);
    let rest = points
        .windows(2)
        .map(|pair| f64::midpoint(pair[0].0, pair[1].0) * (pair[1].1 - pair[0].1));
    first + rest.sum::<f64>()
}

/// Returns the mean size in bytes.
pub fn mean_size(size: &Size) -> f64 {
    match size {
        Size::Fixed(bytes) => bytes.0.max(1) as f64,
        Size::Uniform(low, high) => f64::midpoint(low.0 as f64, high.0 as f64).max(1.0),
        Size::Cdf { points, .. } => mean_of_cdf(points).max(1.0),
    }
}

/// Returns the mean number of bytes on the wire: the payload and `header` bytes per segment.
pub fn mean_wire(size: &Size, header: u32) -> f64 {
    mean_size(size) + f64::from(header) * mean_segments(size, SEGMENT)
}

/// Returns the mean number of segments of at most `segment` payload bytes.
pub fn mean_segments(size: &Size, segment: u64) -> f64 {
    /// Number of segments beyond which rounding up to whole segments is approximated by half a segment.
    const COUNTED: u64 = 1 << 20;
    let largest = match size {
        Size::Fixed(bytes) | Size::Uniform(_, bytes) => bytes.0 as f64,
        Size::Cdf { points, .. } => points.last().map_or(1.0, |point| point.0),
    };
    if let Size::Fixed(bytes) = size {
        return bytes.0.max(1).div_ceil(segment) as f64;
    }
    let segments = libm::ceil(largest / segment as f64).max(1.0);
    if segments > COUNTED as f64 {
        return mean_size(size) / segment as f64 + 0.5;
    }
    // The mean of a non-negative integer is the sum of its probabilities to exceed 0, 1, 2, …
    (1..segments as u64)
        .map(|n| exceeds(size, (n * segment) as f64))
        .sum::<f64>()
        + 1.0
}

/// Returns the probability of more than `bytes`.
fn exceeds(size: &Size, bytes: f64) -> f64 {
    match size {
        Size::Fixed(fixed) => f64::from(fixed.0 as f64 > bytes),
        Size::Uniform(low, high) => {
            let all = (high.0 - low.0 + 1) as f64;
            ((high.0 as f64 - bytes) / all).clamp(0.0, 1.0)
        }
        Size::Cdf { points, .. } => {
            let above = points.partition_point(|point| point.0 <= bytes);
            match (points.get(above.wrapping_sub(1)), points.get(above)) {
                (Some(&(low, p)), Some(&(high, q))) => {
                    1.0 - (p + (q - p) * (bytes - low) / (high - low))
                }
                (None, Some(_)) => 1.0,
                _ => 0.0,
            }
        }
    }
}

/// Returns the probability that a deadline is at most `span`, or zero for `Deadline::None`.
pub fn deadline_at_most(deadline: &Deadline, span: Span) -> f64 {
    let t = span.as_ps() as f64;
    let between = |low: f64, high: f64| {
        if t >= high {
            1.0
        } else {
            ((t - low) / (high - low)).max(0.0)
        }
    };
    let exponential = |mean: Span, t: f64| {
        if t < 0.0 {
            0.0
        } else {
            -libm::expm1(-t / mean.as_ps() as f64)
        }
    };
    match *deadline {
        Deadline::Added { base, added } => {
            between(base.as_ps() as f64, scale(base, 1.0 + added).as_ps() as f64)
        }
        Deadline::Around { base, variation } => between(
            scale(base, 1.0 - variation).as_ps() as f64,
            scale(base, 1.0 + variation).as_ps() as f64,
        ),
        Deadline::Exponential { mean, floor } if span >= floor => exponential(mean, t),
        Deadline::None | Deadline::Exponential { .. } => 0.0,
        Deadline::AddedExponential { base, mean } => exponential(mean, t - base.as_ps() as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use duetime_core::Bytes;
    use duetime_core::random::{Purpose, Streams};

    fn sizes() -> [Size; 4] {
        let cdf = |points: &[(f64, f64)]| Size::Cdf {
            name: String::new(),
            points: points.into(),
        };
        [
            Size::Fixed(Bytes(14_601)),
            Size::Uniform(Bytes(0), Bytes(50_000)),
            // The first point has all the probability up to it.
            cdf(&[
                (1.0, 0.5),
                (2_000.0, 0.6),
                (10_000.0, 0.9),
                (400_000.0, 1.0),
            ]),
            cdf(&[
                (0.0, 0.0),
                (10_000.0, 0.15),
                (10_000.0, 0.4),
                (3_000_000.0, 1.0),
            ]),
        ]
    }

    #[test]
    fn mean_size_matches_draws() {
        const DRAWS: u32 = 400_000;
        for distribution in sizes() {
            let mut stream = Streams::new(5, 0).stream(0, Purpose::Size);
            let (mut bytes, mut wire) = (0.0, 0.0);
            for _ in 0..DRAWS {
                let drawn = size(&distribution, &mut stream);
                assert!(drawn >= 1);
                bytes += drawn as f64;
                wire += (drawn + 40 * drawn.div_ceil(SEGMENT)) as f64;
            }
            let near = |found: f64, expected: f64| {
                (found / f64::from(DRAWS) / expected - 1.0).abs() < 0.01
            };
            assert!(
                near(bytes, mean_size(&distribution)),
                "{distribution:?}: {bytes} {}",
                mean_size(&distribution)
            );
            let expected = mean_wire(&distribution, TCP_IP_HEADER);
            assert!(near(wire, expected), "{distribution:?}: {wire}");
        }
    }

    #[test]
    fn size_draws_follow_distribution() {
        for distribution in &sizes()[1..] {
            let mut stream = Streams::new(6, 0).stream(0, Purpose::Size);
            let drawn: Vec<u64> = (0..100_000)
                .map(|_| size(distribution, &mut stream))
                .collect();
            for bytes in [1, 1_500, 9_999, 10_000, 49_000, 200_000, 2_999_999] {
                let found = drawn.iter().filter(|&&size| size > bytes).count() as f64 / 1e5;
                // Draws are rounded to whole bytes.
                let (low, high) = (
                    exceeds(distribution, bytes as f64 + 0.5),
                    exceeds(distribution, bytes as f64 - 0.5),
                );
                assert!(
                    found > low.min(high) - 0.006 && found < low.max(high) + 0.006,
                    "{distribution:?} {bytes} {found}"
                );
            }
        }
    }

    fn gaps() -> Vec<Gap> {
        let ms = Span::from_ms;
        let lognormal = |sigma| Gap::LogNormal {
            median: ms(2),
            sigma,
        };
        let pareto = |shape, most| Gap::Pareto {
            least: ms(1),
            shape,
            most,
        };
        vec![
            Gap::Uniform(ms(1), ms(5)),
            Gap::Exponential(ms(3)),
            lognormal(0.25),
            lognormal(1.0),
            pareto(3.0, None),
            pareto(1.0, Some(ms(50))),
            pareto(0.5, Some(ms(9))),
            Gap::Cdf {
                name: String::new(),
                points: vec![(1e9, 0.0), (2e9, 0.5), (2e9, 0.7), (9e9, 1.0)],
            },
        ]
    }

    /// Returns the probability of at most `t` milliseconds, by the textbook formulas.
    fn gap_at_most(distribution: &Gap, t: f64) -> f64 {
        let in_ms = |span: Span| span.as_ps() as f64 / 1e9;
        match distribution {
            Gap::Fixed(span) => f64::from(in_ms(*span) <= t),
            Gap::Uniform(low, high) => {
                ((t - in_ms(*low)) / (in_ms(*high) - in_ms(*low))).clamp(0.0, 1.0)
            }
            Gap::Exponential(mean) => 1.0 - libm::exp(-t / in_ms(*mean)),
            Gap::LogNormal { median, sigma } => {
                let z = (libm::log(t) - libm::log(in_ms(*median))) / sigma;
                0.5 * (1.0 + libm::erf(z / core::f64::consts::SQRT_2))
            }
            Gap::Pareto { least, shape, most } => match most {
                Some(most) if t >= in_ms(*most) => 1.0,
                _ => (1.0 - libm::pow(in_ms(*least) / t, *shape)).max(0.0),
            },
            Gap::Cdf { .. } if t < 1.0 => 0.0,
            Gap::Cdf { .. } if t < 2.0 => (t - 1.0) / 2.0,
            Gap::Cdf { .. } => (0.7 + 0.3 * (t - 2.0) / 7.0).min(1.0),
        }
    }

    #[test]
    fn gap_quantiles_invert_distribution() {
        for gap in gaps() {
            for step in 1..1_000 {
                let u = f64::from(step) / 1_000.0;
                let t = gap_at(&gap, u).as_ps() as f64 / 1e9;
                let (below, up_to) = (
                    gap_at_most(&gap, t * (1.0 - 1e-9)),
                    gap_at_most(&gap, t * (1.0 + 1e-9)),
                );
                assert!(
                    below <= u + 1e-7 && u <= up_to + 1e-7,
                    "{gap:?}: {u} {t} {below} {up_to}"
                );
            }
        }
    }

    #[test]
    fn mean_gap_is_integral_of_quantiles() {
        // Tails are heavy, so each round integrates 99.9 % of the remaining range in 100,000 steps.
        for gap in gaps() {
            let (mut sum, mut from, mut width) = (0.0, 0.0, 1.0);
            for _ in 0..6 {
                const STEPS: u32 = 100_000;
                let step = width * 0.999 / f64::from(STEPS);
                for i in 0..STEPS {
                    let at = from + (f64::from(i) + 0.5) * step;
                    sum += gap_at(&gap, at).as_ps() as f64 * step;
                }
                from += width * 0.999;
                width *= 0.001;
            }
            sum += gap_at(&gap, 1.0 - 1e-16).as_ps() as f64 * width;
            let mean = mean_gap(&gap).as_ps() as f64;
            assert!((sum / mean - 1.0).abs() < 2e-4, "{gap:?}: {sum} {mean}");
        }
    }

    #[test]
    fn mean_gap_matches_closed_forms() {
        // m exp(σ²/2), and a m / (a - 1).
        let lognormal = Gap::LogNormal {
            median: Span::from_ms(2),
            sigma: 1.0,
        };
        assert_eq!(mean_gap(&lognormal), Span::from_ps(3_297_442_541));
        let pareto = Gap::Pareto {
            least: Span::from_ms(1),
            shape: 3.0,
            most: None,
        };
        assert_eq!(mean_gap(&pareto), Span::from_us(1_500));
        // The tail is cut at the maximum time.
        let long = Gap::LogNormal {
            median: Span::from_secs(3_600),
            sigma: 4.0,
        };
        assert!(mean_gap(&long) < MAX_TIME && gap_at(&long, 1.0 - 1e-16) == MAX_TIME);
    }

    #[test]
    fn gap_draws_follow_distribution() {
        for distribution in gaps() {
            let mut stream = Streams::new(8, 0).stream(0, Purpose::Compute);
            let drawn: Vec<f64> = (0..100_000)
                .map(|_| gap(&distribution, &mut stream).as_ps() as f64 / 1e9)
                .collect();
            for t in [0.5, 1.2, 1.9, 2.5, 4.0, 8.0, 20.0] {
                let found = drawn.iter().filter(|&&time| time <= t).count() as f64 / 1e5;
                let expected = gap_at_most(&distribution, t);
                assert!(
                    (found - expected).abs() < 0.006,
                    "{distribution:?} {t}: {found} {expected}"
                );
            }
            assert!(
                drawn
                    .iter()
                    .all(|&time| time * 1e9 >= min_gap(&distribution).as_ps() as f64)
            );
        }
    }

    #[test]
    fn huge_size_approximates_segment_count() {
        let huge = Size::Uniform(Bytes(1), Bytes(1 << 50));
        let expected = mean_size(&huge) / 1460.0;
        assert!((mean_segments(&huge, SEGMENT) / expected - 1.0).abs() < 1e-6);
    }
}
