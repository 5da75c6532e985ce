//! The final table: each published value and each check with what was found, and how many there are of each.

use std::collections::BTreeSet;

use duetime_results::{Estimate, Interval};
use serde::Serialize;

use super::experiment::{Check, Experiment, Published, Relation, Side};
use super::results::Results;
use super::verdict::{self, Kind, Verdict};

/// One row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The paper.
    pub paper: String,
    /// The experiment.
    pub experiment: String,
    /// The scheme; of a check, those of its sides.
    pub scheme: String,
    /// Panel, axis value, metric; of a check, its text.
    pub point: String,
    /// What the paper says; of a check, the bound on `ours`.
    pub published: Option<f64>,
    /// What was found; of a check, the difference, ratio or value that is bounded.
    pub ours: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end of its 95 % interval.
    pub high: Option<f64>,
    /// The unit of these.
    pub unit: String,
    /// What became of it.
    pub verdict: Verdict,
    /// Predicted, calibrated, not stated, or a looser bound.
    pub kind: Kind,
    /// A check rather than a number.
    pub check: bool,
    /// Where the paper says so.
    pub source: String,
}

/// So many of so many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    /// Met, or holding.
    pub good: usize,
    /// Of these.
    pub of: usize,
}

/// The counts at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Published numbers that nothing was fitted to.
    pub numbers: Share,
    /// Orderings and trends that the source texts state.
    pub orderings: Share,
    /// Numbers that something was fitted to.
    pub calibrated_numbers: Share,
    /// Orderings that something was fitted to.
    pub calibrated_orderings: Share,
    /// Bounds of our reading.
    pub looser_bounds: Share,
    /// Values that the paper does not state.
    pub not_stated: usize,
    /// Rows whose points this campaign does not have.
    pub not_run: usize,
}

impl Counts {
    /// Of these rows.
    pub fn of(rows: &[Row]) -> Self {
        let mut counts = Self::default();
        for row in rows {
            let share = match (row.verdict, row.kind, row.check) {
                (Verdict::NotRun, ..) => {
                    counts.not_run += 1;
                    continue;
                }
                (_, Kind::NotStated, _) => {
                    counts.not_stated += 1;
                    continue;
                }
                (_, Kind::LooserBound, _) => &mut counts.looser_bounds,
                (_, Kind::Predicted, false) => &mut counts.numbers,
                (_, Kind::Predicted, true) => &mut counts.orderings,
                (_, Kind::Calibrated, false) => &mut counts.calibrated_numbers,
                (_, Kind::Calibrated, true) => &mut counts.calibrated_orderings,
            };
            share.of += 1;
            share.good += usize::from(row.verdict.is_good());
        }
        counts
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { good, of } = *self;
        if of == 0 {
            return f.write_str("none");
        }
        write!(
            f,
            "{good} of {of} ({:.0} %)",
            100.0 * good as f64 / of as f64
        )
    }
}

/// The rows of the experiments asked for.
pub fn rows(results: &Results<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for &index in &results.campaign.chosen {
        let experiment = results.experiment(index);
        for published in &experiment.published {
            rows.push(number(results, index, experiment, published));
        }
        for check in &experiment.checks {
            rows.push(self::check(results, index, experiment, check));
        }
    }
    rows
}

fn number(results: &Results<'_>, index: usize, experiment: &Experiment, of: &Published) -> Row {
    let value = of.at.unwrap_or(0);
    let found = results.estimate(index, of.panel, of.scheme, value, &of.measure);
    let metric = of.measure.metric;
    let unit = metric.unit().unwrap_or(&experiment.axis.unit);
    let verdict = match (of.value, &found) {
        _ if !experiment.has_any(of, results.campaign.quick) => Verdict::NotRun,
        (None, _) => Verdict::NotStated,
        // A percentile among unfinished flows, say: there is no value, and so it is not the published one.
        (Some(_), None) => Verdict::Missed,
        (Some(published), Some(ours)) => verdict::number(
            published,
            ours.value,
            (ours.low(), ours.high()),
            unit == "%",
        ),
    };
    let words = [
        experiment.panels[of.panel].name.clone(),
        of.at
            .filter(|_| experiment.axis.is_there())
            .map_or(String::new(), |at| experiment.axis.values[at].clone()),
        metric.name(),
        of.measure.workload.clone().unwrap_or_default(),
    ];
    Row {
        paper: experiment.paper.clone(),
        experiment: experiment.name.clone(),
        scheme: experiment.schemes[of.scheme].name.clone(),
        point: said(&words).join(" "),
        published: of.value,
        unit: unit.to_owned(),
        verdict,
        kind: of.kind,
        check: false,
        source: of.source.clone(),
        ..Row::found(found)
    }
}

fn said(words: &[String]) -> Vec<&str> {
    words
        .iter()
        .map(String::as_str)
        .filter(|word| !word.is_empty())
        .collect()
}

impl Experiment {
    /// Whether a campaign has the points of a published value.
    fn has_any(&self, of: &Published, quick: bool) -> bool {
        let has = |value| self.has(of.panel, of.scheme, value, quick);
        of.at
            .map_or_else(|| (0..self.axis.values.len()).any(has), has)
    }
}

impl Row {
    /// A row with nothing but what was found.
    fn found(found: Option<Estimate>) -> Self {
        let interval = found.and_then(|of| of.interval);
        Self {
            paper: String::new(),
            experiment: String::new(),
            scheme: String::new(),
            point: String::new(),
            published: None,
            ours: found.map(|of| of.value),
            low: interval.map(|of| of.low),
            high: interval.map(|of| of.high),
            unit: String::new(),
            verdict: Verdict::NotRun,
            kind: Kind::Predicted,
            check: false,
            source: String::new(),
        }
    }
}

/// What a check found at one place: what is bounded, the bound, and by how much it holds (negative: it does not).
struct Found {
    estimate: Estimate,
    bound: f64,
    margin: f64,
}

fn check(results: &Results<'_>, index: usize, experiment: &Experiment, check: &Check) -> Row {
    let found = found(results, index, experiment, check);
    // The place where it holds by least stands for all.
    let worst = found.iter().min_by(|a, b| a.margin.total_cmp(&b.margin));
    let verdict = match worst {
        None => Verdict::NotRun,
        Some(worst) if worst.margin >= 0.0 => Verdict::Holds,
        Some(_) => Verdict::Missed,
    };
    let mut schemes = BTreeSet::new();
    check.left.schemes(&mut schemes);
    if let Some(right) = &check.right {
        right.schemes(&mut schemes);
    }
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
        published: worst.map(|of| of.bound).filter(|bound| bound.is_finite()),
        unit: unit.to_owned(),
        verdict,
        kind,
        check: true,
        source: check.source.clone(),
        ..Row::found(worst.map(|of| of.estimate))
    }
}

/// What the check finds at each place that it looks at and that the campaign has.
fn found(
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
    let within = |estimate: Estimate, low: f64, high: f64| {
        let (below, above) = (estimate.value - low, high - estimate.value);
        let bound = if below < above { low } else { high };
        Found {
            estimate,
            bound,
            margin: below.min(above),
        }
    };
    let both =
        |value: usize, ratio: bool| results.both(index, (left, right?), written(value), ratio);
    match check.relation {
        Relation::MonotoneUp(by) => steps(&all, value, by, 1.0),
        Relation::MonotoneDown(by) => steps(&all, value, by, -1.0),
        Relation::Within(low, high) => places
            .into_iter()
            .filter_map(|at| Some(within(value(at)?, low, high)))
            .collect(),
        Relation::Ratio(low, high) => places
            .into_iter()
            .filter_map(|at| Some(within(both(at, true)?, low, high)))
            .collect(),
        Relation::Difference(low, high) => places
            .into_iter()
            .filter_map(|at| Some(within(both(at, false)?, low, high)))
            .collect(),
        // Strictly: equal values do not hold unless `by` is negative.
        Relation::Greater(by) => places
            .into_iter()
            .filter_map(|at| {
                let estimate = both(at, false)?;
                Some(Found {
                    estimate,
                    bound: by,
                    margin: strictly(estimate.value - by),
                })
            })
            .collect(),
        Relation::Less(by) => places
            .into_iter()
            .filter_map(|at| {
                let estimate = both(at, false)?;
                Some(Found {
                    estimate,
                    bound: 0.0 - by,
                    margin: strictly(0.0 - by - estimate.value),
                })
            })
            .collect(),
        Relation::Same => places
            .into_iter()
            .filter_map(|at| {
                let same = results.same(index, left, right?, written(at))?;
                let differing = f64::from(u8::from(!same));
                Some(Found {
                    estimate: Estimate {
                        value: differing,
                        interval: Some(Interval {
                            low: differing,
                            high: differing,
                            runs: 0,
                        }),
                    },
                    bound: 0.0,
                    margin: 0.0 - differing,
                })
            })
            .collect(),
    }
}

fn strictly(margin: f64) -> f64 {
    if margin == 0.0 {
        -f64::MIN_POSITIVE
    } else {
        margin
    }
}

/// The steps from each axis value to the next, upwards where `sign` is 1.
fn steps(
    all: &[usize],
    value: impl Fn(usize) -> Option<Estimate>,
    by: f64,
    sign: f64,
) -> Vec<Found> {
    let values: Vec<Estimate> = all.iter().filter_map(|&at| value(at)).collect();
    values
        .windows(2)
        .map(|pair| {
            let step = pair[1].value - pair[0].value;
            Found {
                estimate: Estimate {
                    value: step,
                    interval: None,
                },
                bound: 0.0 - sign * by,
                margin: sign * step + by,
            }
        })
        .collect()
}

impl Side {
    /// Whether it has one value rather than one for each place of the axis.
    fn is_pinned(&self, experiment: &Experiment) -> bool {
        match self {
            Side::Value(_) => true,
            Side::Over(a, b) | Side::Minus(a, b) => {
                a.is_pinned(experiment) && b.is_pinned(experiment)
            }
            Side::Measured { at, .. } => {
                at.is_some()
                    || self.metric(experiment).reads_the_axis()
                    || !experiment.axis.is_there()
            }
        }
    }

    fn metric(&self, experiment: &Experiment) -> super::metric::Metric {
        match self {
            Side::Value(_) => experiment.measure.metric,
            Side::Over(a, _) | Side::Minus(a, _) => a.metric(experiment),
            Side::Measured { measure, .. } => {
                measure.as_ref().unwrap_or(&experiment.measure).metric
            }
        }
    }

    fn is_ratio(&self) -> bool {
        match self {
            Side::Over(..) => true,
            Side::Minus(a, _) => a.is_ratio(),
            _ => false,
        }
    }

    fn schemes<'s>(&'s self, names: &mut BTreeSet<&'s str>) {
        match self {
            Side::Value(_) => {}
            Side::Over(a, b) | Side::Minus(a, b) => {
                a.schemes(names);
                b.schemes(names);
            }
            Side::Measured { scheme, .. } => _ = names.insert(scheme),
        }
    }
}
