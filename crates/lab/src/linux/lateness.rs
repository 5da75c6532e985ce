//! Lateness of events over a run.

use duetime_core::Span;
use serde::{Deserialize, Serialize};

/// Lateness of all events of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    spans: Vec<Span>,
}

/// Lateness summary, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatenessSummary {
    /// Number of events.
    pub count: u64,
    /// Median.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// Maximum.
    pub max_us: f64,
}

impl Lateness {
    /// Adds an event.
    pub fn add(&mut self, late: Span) {
        self.spans.push(late);
    }

    /// Returns a summary. Percentiles are nearest-rank; without events all values are 0.
    pub fn summary(&self) -> LatenessSummary {
        let mut spans = self.spans.clone();
        spans.sort_unstable();
        let at = |share: usize| {
            let rank = (spans.len() * share).div_ceil(100).max(1);
            let span = spans.get(rank - 1).copied().unwrap_or_default();
            span.as_ps() as f64 / 1e6
        };
        LatenessSummary {
            count: spans.len() as u64,
            p50_us: at(50),
            p99_us: at(99),
            max_us: at(100),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_rank() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.summary(), LatenessSummary::default());
        for us in (1..=100).rev() {
            lateness.add(Span::from_us(us));
        }
        let summary = lateness.summary();
        assert_eq!((summary.p50_us, summary.p99_us), (50.0, 99.0));
        assert_eq!((summary.count, summary.max_us), (100, 100.0));
    }
}
