//! Values of which only bounds are known. An answer that was seen while the link to the client was busy may have waited in the
//! queue before that link: when its server had computed it, only what else passed that queue tells. What such values are likely
//! to be, the others say.

/// A value lies between these. Which bounds it has depends on nothing but between which of them it lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bounds {
    pub low: f64,
    pub high: f64,
}

/// Rounds of the estimate; its likelihood hardly grows after some tens.
const ROUNDS: usize = 60;
/// Multiples of this, less their whole part, are spread evenly over 0 to 1 (the golden ratio's fraction).
const EVENLY: f64 = 0.618_033_988_749_894_9;

/// A value for each, within its bounds: those whose bounds differ by no more than `exact` are known, and keep their upper one;
/// the others are drawn from the distribution that all of them make most likely (Turnbull's estimate, by self-consistency).
/// The draw is the same each time.
pub(crate) fn likely(bounds: &[Bounds], exact: f64) -> Vec<f64> {
    let is_exact = |of: &&Bounds| of.high - of.low <= exact;
    let mut support: Vec<f64> = bounds.iter().filter(is_exact).map(|of| of.high).collect();
    support.sort_unstable_by(f64::total_cmp);
    let known = support.clone();
    let open: Vec<&Bounds> = bounds.iter().filter(|of| !is_exact(of)).collect();
    // Bounds between which no value is known have one in their middle.
    let lone = open.iter().filter(|of| within(&known, of).is_empty());
    support.extend(lone.map(|of| f64::midpoint(of.low, of.high)));
    support.sort_unstable_by(f64::total_cmp);
    support.dedup();

    let mut counts = vec![0.0; support.len()];
    for value in known {
        counts[support.partition_point(|of| *of < value)] += 1.0;
    }
    let ranges: Vec<_> = open.iter().map(|of| within(&support, of)).collect();
    let shares = shares(&counts, &ranges);
    let mut up_to = Vec::with_capacity(shares.len());
    let mut sum = 0.0;
    for share in shares {
        sum += share;
        up_to.push(sum);
    }

    let mut number = 0.0;
    let mut ranges = ranges.into_iter();
    let values = bounds.iter().map(|of| {
        if is_exact(&of) {
            return of.high;
        }
        let range = ranges.next().unwrap_or_default();
        number += 1.0;
        let before = range.start.checked_sub(1).map_or(0.0, |at| up_to[at]);
        let of_range = &up_to[range.clone()];
        let all = of_range.last().map_or(0.0, |end| end - before);
        let drawn = before + libm::modf(number * EVENLY).0 * all;
        let at = of_range.partition_point(|end| *end <= drawn);
        let at = range.start + at.min(of_range.len().saturating_sub(1));
        support.get(at).copied().unwrap_or(of.high)
    });
    values.collect()
}

/// The share of each value: `counts` have it for certain, and each of `ranges` has one of its values.
fn shares(counts: &[f64], ranges: &[std::ops::Range<usize>]) -> Vec<f64> {
    let all = (counts.iter().sum::<f64>() + ranges.len() as f64).max(1.0);
    let mut shares = vec![1.0 / counts.len().max(1) as f64; counts.len()];
    for _ in 0..ROUNDS {
        let mut up_to = vec![0.0; counts.len() + 1];
        for (at, share) in shares.iter().enumerate() {
            up_to[at + 1] = up_to[at] + share;
        }
        // How much more each share counts for than before, as differences from one value to the next.
        let mut factor = vec![0.0; counts.len() + 1];
        for range in ranges {
            let within = up_to[range.end] - up_to[range.start];
            if within > 0.0 {
                factor[range.start] += 1.0 / within;
                factor[range.end] -= 1.0 / within;
            }
        }
        let mut sum = 0.0;
        for (at, share) in shares.iter_mut().enumerate() {
            sum += factor[at];
            *share = (counts[at] + *share * sum.max(0.0)) / all;
        }
    }
    shares
}

/// The positions of the values between the bounds.
fn within(sorted: &[f64], of: &Bounds) -> std::ops::Range<usize> {
    let from = sorted.partition_point(|value| *value < of.low);
    let to = sorted.partition_point(|value| *value <= of.high);
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
    fn what_is_known_stays_as_it_is() {
        let exact = |value| between(value, value);
        let bounds = [exact(3.0), exact(1.0), exact(1.0), between(2.5, 2.7)];
        assert_eq!(likely(&bounds, 0.0), [3.0, 1.0, 1.0, 2.6]);
        assert_eq!(likely(&[], 0.0), [0.0; 0]);
    }

    #[test]
    fn what_may_have_been_no_time_is_none_where_others_were_none() {
        let mut bounds = vec![between(0.0, 0.0); 50];
        bounds.resize(100, between(0.0, 300.0));
        assert!(likely(&bounds, 1.0).iter().all(|of| *of == 0.0));
    }

    #[test]
    fn random_times_are_found_again_behind_random_queues() {
        let mut stream = Streams::new(7, 0).stream(0, Purpose::Arrival);
        let mut random = |mean: f64| -mean * libm::log(1.0 - stream.unit());
        let (mut bounds, mut seen) = (Vec::new(), Vec::new());
        for _ in 0..20_000 {
            // The link is idle and busy in turns; who comes while it is busy leaves before it is idle again.
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
            seen.push(computed + if is_busy { waited } else { 0.0 });
        }
        let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
        assert!(mean(&seen) > 1_150.0, "{}", mean(&seen));
        let found = mean(&likely(&bounds, 1.0));
        assert!((found - 1_000.0).abs() < 30.0, "{found}");
    }
}
