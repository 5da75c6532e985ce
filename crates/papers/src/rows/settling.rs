//! Settling of verdicts: which further runs could still change a verdict.
//!
//! A verdict is settled once the interval of its value, stretched to 99.9 %, is on one side of its bound. Six looks at a
//! value at its bound settle a false verdict with a probability of 0.6 % (Bonferroni), or up to 3 % if the runs
//! are as skewed as an exponential distribution. Further from the bound, that is rarer still.

use std::collections::BTreeSet;

use duetime_results::{Estimate, Interval};

use super::super::experiment::{Check, Experiment, Measure, Published, Relation};
use super::super::metric::Metric;
use super::super::results::{Cell, Results};
use super::super::verdict;
use super::{Bound, checks};

/// Verdicts of a campaign that are settled.
#[derive(Debug, Default)]
pub(in super::super) struct Settling {
    /// Experiment, and index among its published values and, after these, its checks.
    settled: BTreeSet<(usize, usize)>,
    /// Number of verdicts at the last look.
    all: usize,
}

impl Settling {
    /// Returns the number of verdicts.
    pub fn all(&self) -> usize {
        self.all
    }

    /// Returns the number of verdicts that are not settled.
    pub fn open(&self) -> usize {
        self.all - self.settled.len()
    }

    /// Settles what `results` settle. Returns the cells that the other verdicts need.
    pub fn unsettled(&mut self, results: &Results<'_>) -> BTreeSet<Cell> {
        let mut needed = BTreeSet::new();
        self.all = 0;
        for &index in &results.campaign.chosen {
            let experiment = results.experiment(index);
            let numbers = &experiment.published;
            for row in 0..numbers.len() + experiment.checks.len() {
                self.all += 1;
                if self.settled.contains(&(index, row)) {
                    continue;
                }
                let cells = if let Some(published) = numbers.get(row) {
                    needed_by_number(results, index, published)
                } else {
                    let check = &experiment.checks[row - numbers.len()];
                    needed_by_check(results, index, experiment, check)
                };
                if cells.is_empty() {
                    self.settled.insert((index, row));
                }
                needed.extend(cells);
            }
        }
        needed
    }
}

/// Returns the cells that a published value needs; empty if its verdict is settled or there is none.
fn needed_by_number(results: &Results<'_>, index: usize, published: &Published) -> Vec<Cell> {
    let Some(value) = published.value else {
        return Vec::new();
    };
    let (panel, scheme, at) = (published.panel, published.scheme, published.at.unwrap_or(0));
    let estimate = results.estimate(index, panel, scheme, at, &published.measure);
    let is_settled = estimate
        .and_then(stretched)
        .is_some_and(|range| verdict::is_settled(value, range));
    if is_settled {
        return Vec::new();
    }
    needed_by_measure(results, ((index, panel, at), scheme), &published.measure)
}

/// Returns the cells that a check needs; empty if its verdict is settled: it holds at all of its points, or fails at one.
fn needed_by_check(
    results: &Results<'_>,
    index: usize,
    experiment: &Experiment,
    check: &Check,
) -> Vec<Cell> {
    // Results that are identical for several seeds are so by construction, and one seed shows that others are not.
    if check.relation == Relation::Same {
        return Vec::new();
    }
    let bound = Bound::of(check);
    let mut needed = Vec::new();
    for found in checks::found(results, index, experiment, check) {
        let holds = stretched(found.estimate).and_then(|range| bound.contains(range));
        let mut cells = Vec::new();
        for at in found.at.into_iter().filter(|_| holds.is_none()) {
            let written = Some(experiment.axis.values[at].as_str()).filter(|at| !at.is_empty());
            for measured in check.measured() {
                if let Some(cell) = results.cell(index, measured, written) {
                    let measure = measured.measure(results.experiment(cell.0.0));
                    cells.extend(needed_by_measure(results, cell, measure));
                }
            }
        }
        // No cell: further runs do not change what the check reads.
        if cells.is_empty() && !holds.unwrap_or(found.margin >= 0.0) {
            return Vec::new();
        }
        needed.extend(cells);
    }
    needed
}

/// Returns the cells that can still change a measure at `cell`. A metric of the whole axis depends on the first axis
/// value that does not reach a percentage, so only on the values up to there that may or may not reach it.
fn needed_by_measure(results: &Results<'_>, cell: Cell, measure: &Measure) -> Vec<Cell> {
    let Some((percent, upwards)) = measure.metric.reaches() else {
        return results.cells_of(cell, measure.metric);
    };
    let ((index, panel, _), scheme) = cell;
    let axis = &results.experiment(index).axis;
    let mut values: Vec<usize> = (0..axis.values.len()).collect();
    values.sort_by(|&a, &b| axis.place(a).total_cmp(&axis.place(b)));
    if !upwards {
        values.reverse();
    }
    let throughput = Measure {
        metric: Metric::ApplicationThroughput,
        ..measure.clone()
    };
    let mut needed = Vec::new();
    for value in values {
        let Some(estimate) = results.estimate(index, panel, scheme, value, &throughput) else {
            continue;
        };
        match stretched(estimate) {
            Some((low, _)) if low >= percent => {}
            Some((_, high)) if high < percent => break,
            _ => needed.push(((index, panel, value), scheme)),
        }
    }
    needed
}

impl Bound {
    /// Returns true if all of the range is allowed, false if none of it is, or `None` if a part is.
    fn contains(&self, (low, high): (f64, f64)) -> Option<bool> {
        let least = self.low.unwrap_or(f64::NEG_INFINITY);
        let most = self.high.unwrap_or(f64::INFINITY);
        // At the end of a strict range, nothing is settled.
        if least < low && high < most || !self.strict && least <= low && high <= most {
            Some(true)
        } else if high < least || most < low {
            Some(false)
        } else {
            None
        }
    }
}

/// Quantiles of Student's t distribution for 99.9 %, by the smallest number of runs that they apply to.
const T: [(u32, f64); 13] = [
    (4, 12.92),
    (5, 8.61),
    (6, 6.87),
    (7, 5.96),
    (8, 5.41),
    (9, 5.04),
    (10, 4.78),
    (12, 4.44),
    (15, 4.14),
    (20, 3.88),
    (30, 3.66),
    (60, 3.46),
    (120, 3.37),
];
/// Quantile of the normal distribution for 95 %.
const NORMAL: f64 = 1.96;

/// Returns the 95 % bootstrap interval of an estimate, stretched around its value to 99.9 %. A bootstrap interval of n
/// runs is that of the normal distribution with the deviation of the sample, so too narrow for small n. Returns `None`
/// if there are too few runs.
fn stretched(Estimate { value, interval }: Estimate) -> Option<(f64, f64)> {
    let Interval { low, high, runs } = interval?;
    let (_, t) = T.into_iter().rev().find(|(least, _)| *least <= runs)?;
    let runs = f64::from(runs);
    let factor = t / NORMAL * (runs / (runs - 1.0)).sqrt();
    let mut sides = [value - low, high - value];
    if sides.iter().any(|&side| side < 0.0) {
        // The value is of all runs, the interval of those that both sides of a check have.
        sides = [(high - low) / 2.0; 2];
    }
    Some((value - factor * sides[0], value + factor * sides[1]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use duetime_core::random::mix;

    fn estimate(value: f64, low: f64, high: f64, runs: u32) -> Estimate {
        Estimate {
            value,
            interval: Some(Interval { low, high, runs }),
        }
    }

    #[test]
    fn few_runs_settle_nothing() {
        assert_eq!(stretched(estimate(1.0, 0.9, 1.1, 3)), None);
        assert_eq!(stretched(estimate(1.0, 1.0, 1.0, 4)), Some((1.0, 1.0)));
        let (low, high) = stretched(estimate(1.0, 0.9, 1.1, 4)).expect("a range");
        assert!(
            (low - 0.239).abs() < 0.01 && (high - 1.761).abs() < 0.01,
            "{low} {high}"
        );
    }

    #[test]
    fn range_contains_a_value_outside_of_its_interval() {
        let (low, high) = stretched(estimate(1.5, 0.9, 1.1, 4)).expect("a range");
        let middle = f64::midpoint(low, high);
        assert!(
            (middle - 1.5).abs() < 1e-9 && high - low > 1.5,
            "{low} {high}"
        );
    }

    #[test]
    fn strict_bound_is_never_settled_at_its_end() {
        let bound = |strict| Bound {
            of: super::super::Bounded::Value,
            low: Some(1.0),
            high: None,
            strict,
        };
        assert_eq!(bound(true).contains((1.0, 2.0)), None);
        assert_eq!(bound(false).contains((1.0, 2.0)), Some(true));
        assert_eq!(bound(true).contains((0.0, 0.9)), Some(false));
        assert_eq!(bound(false).contains((0.0, 1.0)), None);
    }

    /// Returns the share of samples with the true mean `bound` that are settled, whichever way, after five looks.
    fn settled_at(bound: f64, draw: impl Fn(f64) -> f64) -> f64 {
        let samples = 1_000;
        let uniform = |sample: u64, i: u64| (mix(mix(7, sample), i) as f64 + 0.5) / u64::MAX as f64;
        let settled = (0..samples).filter(|&sample| {
            let runs: Vec<f64> = (0..96).map(|i| draw(uniform(sample, i))).collect();
            [6, 12, 24, 48, 96].into_iter().any(|n| {
                let mean = |runs: &[&f64]| Some(runs.iter().copied().sum::<f64>() / n as f64);
                let estimate = Estimate::of(&runs[..n], mean).expect("a mean");
                let (low, high) = stretched(estimate).expect("a range");
                low > bound || high < bound
            })
        });
        settled.count() as f64 / samples as f64
    }

    #[test]
    fn value_at_its_bound_is_rarely_settled() {
        let even = settled_at(0.5, |uniform| uniform);
        assert!(even <= 0.015, "{even}");
        let skewed = settled_at(1.0, |uniform| -libm::log(uniform));
        assert!(skewed <= 0.045, "{skewed}");
    }
}
