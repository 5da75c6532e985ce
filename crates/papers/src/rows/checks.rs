//! Evaluation of checks: the bounded quantity, its bounds and the margin at each point.

use std::collections::BTreeSet;

use duetime_results::{Estimate, Interval};

use super::super::experiment::{Check, Experiment, Relation, Side};
use super::super::metric::Metric;
use super::super::results::Results;
use super::super::verdict::{Kind, Verdict};
use super::{Bound, Bounded, Row};

impl Bound {
    /// Returns the range that a check requires.
    pub(in super::super) fn of(check: &Check) -> Self {
        let finite = |end: f64| Some(end).filter(|end| end.is_finite());
        let constant = check.constant().unwrap_or(0.0);
        let left = match check.left {
            Side::Over(..) => Bounded::Ratio,
            Side::Minus(..) => Bounded::Difference,
            Side::Value(_) | Side::Measured(_) => Bounded::Value,
        };
        let of = match check.relation {
            Relation::Within(..) => left,
            Relation::Greater(_) | Relation::Less(_) | Relation::Difference(..) => {
                check.constant().map_or(Bounded::Difference, |_| left)
            }
            Relation::Ratio(..) => Bounded::Ratio,
            Relation::MonotoneUp(_) | Relation::MonotoneDown(_) => Bounded::Step,
            Relation::Same => Bounded::Sameness,
        };
        let (low, high) = match check.relation {
            Relation::Greater(by) => (constant + by, f64::INFINITY),
            Relation::Less(by) => (f64::NEG_INFINITY, constant - by),
            Relation::Difference(low, high) => (constant + low, constant + high),
            Relation::Ratio(low, high) | Relation::Within(low, high) => (low, high),
            Relation::MonotoneUp(by) => (0.0 - by, f64::INFINITY),
            Relation::MonotoneDown(by) => (f64::NEG_INFINITY, by),
            Relation::Same => (f64::NEG_INFINITY, 0.0),
        };
        Self {
            of,
            low: finite(low),
            high: finite(high),
            strict: matches!(check.relation, Relation::Greater(_) | Relation::Less(_)),
        }
    }
}

impl Check {
    /// Returns the right side if it is a constant.
    fn constant(&self) -> Option<f64> {
        match self.right {
            Some(Side::Value(value)) => Some(value),
            _ => None,
        }
    }
}

fn shifted(estimate: Estimate, by: f64) -> Estimate {
    Estimate {
        value: estimate.value + by,
        interval: estimate.interval.map(|range| Interval {
            low: range.low + by,
            high: range.high + by,
            ..range
        }),
    }
}

/// Result of a check at one point.
pub(super) struct Found {
    /// First and last axis value that sides without one read.
    pub at: [usize; 2],
    /// Bounded quantity.
    pub estimate: Estimate,
    bound: f64,
    /// Distance from the bound; negative if the check does not hold.
    pub margin: f64,
}

/// Returns the row of a check.
pub(super) fn row(
    results: &Results<'_>,
    index: usize,
    experiment: &Experiment,
    check: &Check,
) -> Row {
    let found = found(results, index, experiment, check);
    // The point with the smallest margin represents the check.
    let worst = found.iter().min_by(|a, b| a.margin.total_cmp(&b.margin));
    let verdict = match worst {
        None => Verdict::NotRun,
        Some(worst) if worst.margin >= 0.0 => Verdict::Holds,
        Some(_) => Verdict::Missed,
    };
    let schemes: BTreeSet<&str> = check
        .measured()
        .map(|measured| measured.scheme.as_str())
        .collect();
    let ratio = matches!(check.relation, Relation::Ratio(..)) || check.left.is_ratio();
    let metric = check.left.metric(experiment);
    let unit = match check.relation {
        Relation::Same => "",
        _ if ratio => "ratio",
        _ => metric.unit().unwrap_or(&experiment.axis.unit),
    };
    let kind = if check.stated {
        check.kind
    } else {
        Kind::LooserBound
    };
    Row {
        paper: experiment.paper.clone(),
        experiment: experiment.name.clone(),
        scheme: schemes.into_iter().collect::<Vec<_>>().join(" / "),
        point: check.text.clone(),
        published: worst
            .map(|found| found.bound)
            .filter(|bound| bound.is_finite()),
        unit: unit.to_owned(),
        verdict,
        kind,
        check: true,
        bound: Some(Bound::of(check)),
        source: check.source.clone(),
        ..Row::found(worst.map(|found| found.estimate))
    }
}

/// Evaluates a check at each of its points that the campaign includes.
pub(super) fn found(
    results: &Results<'_>,
    index: usize,
    experiment: &Experiment,
    check: &Check,
) -> Vec<Found> {
    let (left, right) = (&check.left, check.right.as_ref());
    let all: Vec<usize> = (check.range.0..=check.range.1).collect();
    let written =
        |value: usize| Some(experiment.axis.values[value].as_str()).filter(|at| !at.is_empty());
    let value = |value: usize| results.side_estimate(index, left, written(value));
    let pinned = |side: &Side| side.is_pinned(experiment);
    let places: Vec<usize> = if pinned(left) && right.is_none_or(pinned) {
        vec![check.range.0]
    } else {
        all.clone()
    };
    let within = |at: usize, estimate: Estimate, low: f64, high: f64| {
        let (below, above) = (estimate.value - low, high - estimate.value);
        let bound = if below < above { low } else { high };
        Found {
            at: [at, at],
            estimate,
            bound,
            margin: below.min(above),
        }
    };
    // A difference from a constant is reported as the value itself.
    let by_constant = check.constant();
    let reported = |estimate: Estimate| match by_constant {
        Some(constant) => shifted(estimate, constant),
        None => estimate,
    };
    let both =
        |value: usize, ratio: bool| results.both(index, (left, right?), written(value), ratio);
    let one = |at: usize| {
        Some(match check.relation {
            // Handled below: each step needs two points.
            Relation::MonotoneUp(_) | Relation::MonotoneDown(_) => return None,
            Relation::Within(low, high) => within(at, value(at)?, low, high),
            Relation::Ratio(low, high) => within(at, both(at, true)?, low, high),
            Relation::Difference(low, high) => {
                let shift = by_constant.unwrap_or(0.0);
                within(at, reported(both(at, false)?), low + shift, high + shift)
            }
            // Strict: equal values do not hold unless `by` is negative.
            Relation::Greater(by) => {
                let estimate = both(at, false)?;
                Found {
                    at: [at, at],
                    estimate: reported(estimate),
                    bound: by + by_constant.unwrap_or(0.0),
                    margin: strictly(estimate.value - by),
                }
            }
            Relation::Less(by) => {
                let estimate = both(at, false)?;
                Found {
                    at: [at, at],
                    estimate: reported(estimate),
                    bound: by_constant.unwrap_or(0.0) - by,
                    margin: strictly(0.0 - by - estimate.value),
                }
            }
            Relation::Same => {
                let same = results.same(index, left, right?, written(at))?;
                let differing = f64::from(u8::from(!same));
                let interval = Interval {
                    low: differing,
                    high: differing,
                    runs: 0,
                };
                Found {
                    at: [at, at],
                    estimate: Estimate {
                        value: differing,
                        interval: Some(interval),
                    },
                    bound: 0.0,
                    margin: 0.0 - differing,
                }
            }
        })
    };
    let step = |from: usize, to: usize| {
        let written = [from, to].map(|at| experiment.axis.values[at].as_str());
        results.step(index, left, written)
    };
    match check.relation {
        Relation::MonotoneUp(by) => steps(&all, step, by, 1.0),
        Relation::MonotoneDown(by) => steps(&all, step, by, -1.0),
        _ => places.into_iter().filter_map(one).collect(),
    }
}

fn strictly(margin: f64) -> f64 {
    if margin == 0.0 {
        -f64::MIN_POSITIVE
    } else {
        margin
    }
}

/// Evaluates the steps from each axis value to the next that has one: upwards if `sign` is 1, downwards if it is -1.
fn steps(
    all: &[usize],
    step: impl Fn(usize, usize) -> Option<Estimate>,
    by: f64,
    sign: f64,
) -> Vec<Found> {
    let mut found = Vec::new();
    let mut from = None;
    for &to in all {
        if let Some(at) = from {
            let Some(estimate) = step(at, to) else {
                continue;
            };
            found.push(Found {
                at: [at, to],
                estimate,
                bound: 0.0 - sign * by,
                margin: sign * estimate.value + by,
            });
        }
        from = Some(to);
    }
    found
}

impl Side {
    /// Returns true if the side has a single value rather than one per axis value.
    fn is_pinned(&self, experiment: &Experiment) -> bool {
        self.measured().into_iter().all(|measured| {
            measured.at.is_some()
                || measured.measure(experiment).metric.spans_axis()
                || !experiment.axis.exists()
        })
    }

    fn metric(&self, experiment: &Experiment) -> Metric {
        match self {
            Side::Value(_) => experiment.measure.metric,
            Side::Over(a, _) | Side::Minus(a, _) => a.metric(experiment),
            Side::Measured(measured) => measured.measure(experiment).metric,
        }
    }

    fn is_ratio(&self) -> bool {
        match self {
            Side::Over(..) => true,
            Side::Minus(a, _) => a.is_ratio(),
            _ => false,
        }
    }
}
