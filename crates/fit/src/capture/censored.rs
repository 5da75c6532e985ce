//! Estimation of values with known bounds. An answer that was captured while the link to the client was busy may have
//! waited in the queue of that link, so the end of its computation is only bounded by other packets of the queue. Such
//! values are estimated from the distribution of all values.

/// Bounds of a value. They must be independent of the value except that they contain it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bounds {
    pub low: f64,
    pub high: f64,
}

/// Rounds of the estimation. Its likelihood hardly grows after some tens of rounds.
const ROUNDS: usize = 60;
/// Fraction of the golden ratio. The fractional parts of its multiples are evenly spread over 0 to 1.
const GOLDEN_FRACTION: f64 = 0.618_033_988_749_894_9;

/// Returns a value within each pair of bounds. Values whose bounds differ by at most `exact` are known and equal their
/// upper bound. The others are drawn, deterministically, from the maximum-likelihood distribution (Turnbull's
/// estimator, by self-consistency).
pub(crate) fn likely(bounds: &[Bounds], exact: f64) -> Vec<f64> {
    let is_exact = |bound: &&Bounds| bound.high - bound.low <= exact;
    let mut support: Vec<f64> = bounds
        .iter()
        .filter(is_exact)
        .map(|bound| bound.high)
        .collect();
    support.sort_unstable_by(f64::total_cmp);
    let known = support.clone();
    let open: Vec<&Bounds> = bounds.iter().filter(|bound| !is_exact(bound)).collect();
    // Bounds without a known value between them get one in their middle.
    let lone = open.iter().filter(|bound| within(&known, bound).is_empty());
    support.extend(lone.map(|bound| f64::midpoint(bound.low, bound.high)));
    support.sort_unstable_by(f64::total_cmp);
    support.dedup();

    let mut counts = vec![0.0; support.len()];
    for value in known {
        counts[support.partition_point(|other| *other < value)] += 1.0;
    }
    let ranges: Vec<_> = open.iter().map(|bound| within(&support, bound)).collect();
    let shares = shares(&counts, &ranges);
    let mut up_to = Vec::with_capacity(shares.len());
    let mut sum = 0.0;
    for share in shares {
        sum += share;
        up_to.push(sum);
    }

    let mut number = 0.0;
    let mut ranges = ranges.into_iter();
    let values = bounds.iter().map(|bound| {
        if is_exact(&bound) {
            return bound.high;
        }
        let range = ranges.next().unwrap_or_default();
        number += 1.0;
        let before = range.start.checked_sub(1).map_or(0.0, |index| up_to[index]);
        let of_range = &up_to[range.clone()];
        let all = of_range.last().map_or(0.0, |end| end - before);
        let drawn = before + libm::modf(number * GOLDEN_FRACTION).0 * all;
        let index = of_range.partition_point(|end| *end <= drawn);
        let index = range.start + index.min(of_range.len().saturating_sub(1));
        support.get(index).copied().unwrap_or(bound.high)
    });
    values.collect()
}

/// Estimates the share of each value. `counts` are the numbers of known values; each of `ranges` contains an unknown
/// one.
fn shares(counts: &[f64], ranges: &[std::ops::Range<usize>]) -> Vec<f64> {
    let all = (counts.iter().sum::<f64>() + ranges.len() as f64).max(1.0);
    let mut shares = vec![1.0 / counts.len().max(1) as f64; counts.len()];
    for _ in 0..ROUNDS {
        let mut up_to = vec![0.0; counts.len() + 1];
        for (index, share) in shares.iter().enumerate() {
            up_to[index + 1] = up_to[index] + share;
        }
        // Growth factor of each share, as differences between consecutive values.
        let mut factor = vec![0.0; counts.len() + 1];
        for range in ranges {
            let within = up_to[range.end] - up_to[range.start];
            if within > 0.0 {
                factor[range.start] += 1.0 / within;
                factor[range.end] -= 1.0 / within;
            }
        }
        let mut sum = 0.0;
        for (index, share) in shares.iter_mut().enumerate() {
            sum += factor[index];
            *share = (counts[index] + *share * sum.max(0.0)) / all;
        }
    }
    shares
}

/// Returns the indices of the values between the bounds.
fn within(sorted: &[f64], bounds: &Bounds) -> std::ops::Range<usize> {
    let from = sorted.partition_point(|value| *value < bounds.low);
    let to = sorted.partition_point(|value| *value <= bounds.high);
    from..to
}

#[cfg(test)]
mod tests {
    use super::*;
    use duetime_core::random::{Purpose, Streams};

    fn between(low: f64, high: f64) -> Bounds {
        Bounds { low, high }
    }

    #[test]
    fn known_values_are_kept() {
        let exact = |value| between(value, value);
        let bounds = [exact(3.0), exact(1.0), exact(1.0), between(2.5, 2.7)];
        assert_eq!(likely(&bounds, 0.0), [3.0, 1.0, 1.0, 2.6]);
        assert_eq!(likely(&[], 0.0), [0.0; 0]);
    }

    #[test]
    fn uncertain_values_follow_known_zeros() {
        let mut bounds = vec![between(0.0, 0.0); 50];
        bounds.resize(100, between(0.0, 300.0));
        assert!(likely(&bounds, 1.0).iter().all(|value| *value == 0.0));
    }

    #[test]
    fn random_times_behind_queues_are_estimated() {
        let mut stream = Streams::new(7, 0).stream(0, Purpose::Arrival);
        let mut random = |mean: f64| -mean * libm::log(1.0 - stream.unit());
        let (mut bounds, mut observed) = (Vec::new(), Vec::new());
        for _ in 0..20_000 {
            // The link alternates between idle and busy. Packets that arrive while it is busy leave in the same busy
            // period.
            let computed = random(1_000.0);
            let (mut busy, mut idle) = (0.0, 0.0);
            while idle <= computed {
                busy = idle + random(400.0);
                idle = busy + random(800.0);
            }
            let is_busy = computed > busy;
            let bounds_of = if is_busy {
                (busy, idle)
            } else {
                (computed, computed)
            };
            bounds.push(between(bounds_of.0, bounds_of.1));
            let waited = (idle - computed) * (random(1.0) % 1.0);
            observed.push(computed + if is_busy { waited } else { 0.0 });
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        assert!(mean(&observed) > 1_150.0, "{}", mean(&observed));
        let found = mean(&likely(&bounds, 1.0));
        assert!((found - 1_000.0).abs() < 30.0, "{found}");
    }
}
