//! How queries arrive: at random times, at regular ones, or with gaps as they were seen.

use crate::distribution::{Sample, Shape};
use crate::observed::Observed;
use std::collections::BTreeMap;

/// How queries arrive.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrivals {
    /// The process.
    pub process: Process,
    /// Queries per second of all roots together.
    pub per_second: f64,
    /// Standard deviation of the gaps at a root over their mean: 1 for random times, 0 for regular ones.
    pub variation: f64,
    /// The largest difference between the CDF of the gaps and that of random times (Kolmogorov and Smirnov).
    pub ks: f64,
}

/// A process.
#[derive(Clone, Debug, PartialEq)]
pub enum Process {
    /// Poisson: at random times.
    Poisson,
    /// At regular times.
    Periodic,
    /// Gaps at each root like these, in ns, independent of each other.
    Gaps(Shape),
}

/// Gaps whose CDF is no farther than this from that of random times, or than chance makes of few, are random.
const NEAR: f64 = 0.05;
const CHANCE: f64 = 1.36;
/// Gaps that vary less than this are regular.
const REGULAR: f64 = 0.1;

impl Arrivals {
    /// Those of the queries; `None` where fewer than three arrived, or all at once.
    pub fn of(seen: &Observed) -> Option<Self> {
        let starts: Vec<u64> = seen.queries.iter().map(|of| of.start_ns).collect();
        let (first, last) = (starts.iter().min()?, starts.iter().max()?);
        let over = (last - first) as f64 * 1e-9;
        if starts.len() < 3 || over <= 0.0 {
            return None;
        }
        let mut by_root: BTreeMap<Option<u32>, Vec<u64>> = BTreeMap::new();
        for of in &seen.queries {
            by_root.entry(of.root).or_default().push(of.start_ns);
        }
        let (mut gaps, mut relative) = (Vec::new(), Vec::new());
        for starts in by_root.values_mut() {
            starts.sort_unstable();
            let own = starts.windows(2).map(|of| (of[1] - of[0]) as f64);
            let own: Vec<f64> = own.collect();
            let mean = own.iter().sum::<f64>() / own.len().max(1) as f64;
            if mean > 0.0 {
                relative.extend(own.iter().map(|gap| gap / mean));
                gaps.extend(own);
            }
        }
        let (gaps, relative) = (Sample::new(gaps), Sample::new(relative));
        let ks = relative.distance_to(|gap| Shape::Exponential(1.0).cdf(gap));
        let variation = relative.variation();
        let process = if relative.len() < 2 {
            Process::Poisson
        } else if variation < REGULAR {
            Process::Periodic
        } else if ks <= NEAR.max(CHANCE / libm::sqrt(relative.len() as f64)) {
            Process::Poisson
        } else {
            Process::Gaps(gaps.times().shape)
        };
        Some(Self {
            process,
            per_second: (starts.len() - 1) as f64 / over,
            variation,
            ks,
        })
    }

    /// In words.
    pub fn words(&self) -> &'static str {
        match self.process {
            Process::Poisson => "at random times (Poisson)",
            Process::Periodic => "at regular times",
            Process::Gaps(_) => "with gaps as they were seen",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observed::Query;
    use duetime_core::random::{Purpose, Streams};

    fn arrivals(gap: impl Fn(f64) -> f64) -> Arrivals {
        let mut stream = Streams::new(3, 0).stream(0, Purpose::Arrival);
        let mut at = 0.0;
        let mut seen = Observed::default();
        for _ in 0..2_000 {
            at += gap(stream.unit());
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "small"
            )]
            let start_ns = at as u64;
            seen.queries.push(Query {
                start_ns,
                ..Query::default()
            });
        }
        Arrivals::of(&seen).unwrap()
    }

    #[test]
    fn processes_are_told_apart() {
        let random = arrivals(|u| -1e6 * libm::log(1.0 - u));
        assert_eq!(random.process, Process::Poisson);
        assert!((random.variation - 1.0).abs() < 0.1 && random.ks < 0.05);
        assert!((random.per_second / 1_000.0 - 1.0).abs() < 0.1);
        let regular = arrivals(|u| 1e6 + 1e3 * u);
        assert_eq!(regular.process, Process::Periodic);
        let bursty = arrivals(|u| if u < 0.8 { 1e5 } else { 4.6e6 });
        assert!(matches!(bursty.process, Process::Gaps(_)), "{bursty:?}");
    }
}
