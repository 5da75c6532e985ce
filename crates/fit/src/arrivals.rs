//! Arrival processes of queries: random, periodic, or with the empirical distribution of gaps.

use crate::distribution::{Sample, Shape};
use crate::observed::Observed;
use std::collections::BTreeMap;

/// Arrival process of the queries.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrivals {
    /// Kind of process.
    pub process: Process,
    /// Rate in queries per second, over all roots.
    pub per_second: f64,
    /// Coefficient of variation of the gaps at a root: 1 for random arrivals, 0 for periodic ones.
    pub variation: f64,
    /// Kolmogorov-Smirnov distance between the gaps and exponential gaps.
    pub ks: f64,
}

/// Kind of arrival process.
#[derive(Clone, Debug, PartialEq)]
pub enum Process {
    /// Poisson process.
    Poisson,
    /// Equal gaps.
    Periodic,
    /// Independent gaps at each root with this distribution, in nanoseconds.
    Gaps(Shape),
}

/// Maximum distance from exponential gaps for which arrivals are a Poisson process; for few gaps, `CHANCE` / √n if
/// larger.
const NEAR: f64 = 0.05;
const CHANCE: f64 = 1.36;
/// Maximum coefficient of variation of periodic arrivals.
const PERIODIC: f64 = 0.1;

impl Arrivals {
    /// Fits the process to the queries. Returns `None` for fewer than three queries or if all start at the same time.
    pub fn of(observed: &Observed) -> Option<Self> {
        let starts: Vec<u64> = observed
            .queries
            .iter()
            .map(|query| query.start_ns)
            .collect();
        let (first, last) = (starts.iter().min()?, starts.iter().max()?);
        let over = (last - first) as f64 * 1e-9;
        if starts.len() < 3 || over <= 0.0 {
            return None;
        }
        let mut by_root: BTreeMap<Option<u32>, Vec<u64>> = BTreeMap::new();
        for query in &observed.queries {
            by_root.entry(query.root).or_default().push(query.start_ns);
        }
        let (mut gaps, mut relative) = (Vec::new(), Vec::new());
        for starts in by_root.values_mut() {
            starts.sort_unstable();
            let gaps_of_root = starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64);
            let gaps_of_root: Vec<f64> = gaps_of_root.collect();
            let mean = gaps_of_root.iter().sum::<f64>() / gaps_of_root.len().max(1) as f64;
            if mean > 0.0 {
                relative.extend(gaps_of_root.iter().map(|gap| gap / mean));
                gaps.extend(gaps_of_root);
            }
        }
        let (gaps, relative) = (Sample::new(gaps), Sample::new(relative));
        let ks = relative.distance_to(|gap| Shape::Exponential(1.0).cdf(gap));
        let variation = relative.variation();
        let process = if relative.len() < 2 {
            Process::Poisson
        } else if variation < PERIODIC {
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

    /// Returns a description of the process.
    pub fn description(&self) -> &'static str {
        match self.process {
            Process::Poisson => "random (Poisson)",
            Process::Periodic => "periodic",
            Process::Gaps(_) => "with the observed gaps",
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
    fn processes_are_distinguished() {
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
