//! Draws of sizes, deadlines and gaps by inverse CDF, and what is known of their distributions beforehand.

use duetime_core::Span;
use duetime_core::random::Stream;
use duetime_scenario::model::{Deadline, Gap, Size};

/// Bytes of IP and TCP headers on every segment.
pub(crate) const TCP_IP_HEADER: u32 = 40;
/// Payload bytes of a full segment.
pub(crate) const SEGMENT: u64 = 1460;

/// A flow's size in bytes, at least 1.
pub(super) fn size(size: &Size, stream: &mut Stream) -> u64 {
    let bytes = match size {
        Size::Fixed(bytes) => bytes.0,
        Size::Uniform(low, high) => stream.between(low.0, high.0),
        Size::Cdf { points, .. } => of_cdf(points, stream.unit()),
    };
    bytes.max(1)
}

/// The size in bytes, at least 1, that a share `u` in [0, 1) of the draws lies below.
pub(crate) fn size_at(size: &Size, u: f64) -> u64 {
    let bytes = match size {
        Size::Fixed(bytes) => bytes.0,
        Size::Uniform(low, high) => low.0 + ((high.0 - low.0 + 1) as f64 * u) as u64,
        Size::Cdf { points, .. } => of_cdf(points, u),
    };
    bytes.max(1)
}

/// The inverse of a CDF.
fn of_cdf(points: &[(f64, f64)], u: f64) -> u64 {
    let above = points.partition_point(|point| point.1 <= u);
    match (points.get(above.wrapping_sub(1)), points.get(above)) {
        (Some(&(low, p)), Some(&(high, q))) => {
            let share = (u - p) / (q - p);
            libm::round(low + (high - low) * share) as u64
        }
        // The first point holds all the probability below it; past the last there is none.
        (None, Some(&(only, _))) | (Some(&(only, _)), None) => libm::round(only) as u64,
        (None, None) => 1,
    }
}

/// A deadline relative to its clock's start.
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

/// A gap or delay.
pub(super) fn gap(gap: Gap, stream: &mut Stream) -> Span {
    match gap {
        Gap::Fixed(span) => span,
        Gap::Uniform(low, high) => Span::from_ps(stream.between(low.as_ps(), high.as_ps())),
        Gap::Exponential(mean) => stream.exponential(mean),
    }
}

/// From the start of a source to its first event: a full draw where the gaps have no memory, otherwise a uniform
/// part of one, so that sources are not in step with each other.
pub(super) fn first_gap(each: Gap, stream: &mut Stream) -> Span {
    let full = gap(each, stream);
    if matches!(each, Gap::Exponential(_)) {
        full
    } else {
        scale(full, stream.unit())
    }
}

/// `span × factor`, rounded to a picosecond; zero for negative factors.
pub(super) fn scale(span: Span, factor: f64) -> Span {
    Span::from_ps(libm::round(span.as_ps() as f64 * factor) as u64)
}

/// The mean of a gap.
pub(crate) fn mean_gap(gap: Gap) -> Span {
    match gap {
        Gap::Fixed(span) | Gap::Exponential(span) => span,
        Gap::Uniform(low, high) => Span::from_ps(low.as_ps().midpoint(high.as_ps())),
    }
}

/// The mean size in bytes.
pub(crate) fn mean_size(size: &Size) -> f64 {
    match size {
        Size::Fixed(bytes) => bytes.0.max(1) as f64,
        Size::Uniform(low, high) => f64::midpoint(low.0 as f64, high.0 as f64).max(1.0),
        Size::Cdf { points, .. } => {
            let first = points.first().map_or(0.0, |&(bytes, p)| bytes * p);
            let rest = points
                .windows(2)
                .map(|pair| f64::midpoint(pair[0].0, pair[1].0) * (pair[1].1 - pair[0].1));
            (first + rest.sum::<f64>()).max(1.0)
        }
    }
}

/// The mean bytes on the wire: payload, and `header` bytes for each segment.
pub(crate) fn mean_wire(size: &Size, header: u32) -> f64 {
    mean_size(size) + f64::from(header) * mean_segments(size, SEGMENT)
}

/// The mean number of segments of at most `segment` payload bytes.
pub(crate) fn mean_segments(size: &Size, segment: u64) -> f64 {
    /// Beyond this the rounding up to whole segments is half a segment in the mean.
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
    // The mean of a whole number is the sum of the chances to exceed 0, 1, 2, …
    (1..segments as u64)
        .map(|n| exceeds(size, (n * segment) as f64))
        .sum::<f64>()
        + 1.0
}

/// The probability of more than `bytes`.
fn exceeds(size: &Size, bytes: f64) -> f64 {
    match size {
        Size::Fixed(it) => f64::from(it.0 as f64 > bytes),
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

/// The probability that a deadline is at most `span`; zero for `Deadline::None`.
pub(crate) fn deadline_at_most(deadline: &Deadline, span: Span) -> f64 {
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
            // The first point holds all the probability below it.
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
    fn means_are_those_of_the_draws() {
        const DRAWS: u32 = 400_000;
        for of in sizes() {
            let mut stream = Streams::new(5, 0).stream(0, Purpose::Size);
            let (mut bytes, mut wire) = (0.0, 0.0);
            for _ in 0..DRAWS {
                let drawn = size(&of, &mut stream);
                assert!(drawn >= 1);
                bytes += drawn as f64;
                wire += (drawn + 40 * drawn.div_ceil(SEGMENT)) as f64;
            }
            let near = |found: f64, expected: f64| {
                (found / f64::from(DRAWS) / expected - 1.0).abs() < 0.01
            };
            assert!(
                near(bytes, mean_size(&of)),
                "{of:?}: {bytes} {}",
                mean_size(&of)
            );
            assert!(near(wire, mean_wire(&of, TCP_IP_HEADER)), "{of:?}: {wire}");
        }
    }

    #[test]
    fn draws_follow_the_distribution() {
        for of in &sizes()[1..] {
            let mut stream = Streams::new(6, 0).stream(0, Purpose::Size);
            let drawn: Vec<u64> = (0..100_000).map(|_| size(of, &mut stream)).collect();
            for bytes in [1, 1_500, 9_999, 10_000, 49_000, 200_000, 2_999_999] {
                let found = drawn.iter().filter(|&&size| size > bytes).count() as f64 / 1e5;
                // Draws are rounded to whole bytes.
                let (low, high) = (
                    exceeds(of, bytes as f64 + 0.5),
                    exceeds(of, bytes as f64 - 0.5),
                );
                assert!(
                    found > low.min(high) - 0.006 && found < low.max(high) + 0.006,
                    "{of:?} {bytes} {found}"
                );
            }
        }
    }

    #[test]
    fn a_size_of_many_segments_is_not_counted_segment_by_segment() {
        let huge = Size::Uniform(Bytes(1), Bytes(1 << 50));
        let expected = mean_size(&huge) / 1460.0;
        assert!((mean_segments(&huge, SEGMENT) / expected - 1.0).abs() < 1e-6);
    }
}
