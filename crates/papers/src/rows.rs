//! Table of results: one row per published value and check, and counts of the verdicts.

mod checks;
mod settling;

pub(super) use settling::Settling;

use duetime_results::Estimate;
use serde::{Deserialize, Serialize};

use super::experiment::{Experiment, Published};
use super::results::Results;
use super::verdict::{self, Kind, Verdict};

/// Result of a published value or a check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Paper, such as `d3`.
    pub paper: String,
    /// Name of the experiment.
    pub experiment: String,
    /// Scheme; for a check, the schemes of its sides.
    pub scheme: String,
    /// Panel, axis value and metric; for a check, its text.
    pub point: String,
    /// Published value; for a check, the end of `bound` nearest to `ours`.
    pub published: Option<f64>,
    /// Measured value; for a check, the bounded quantity at the point with the smallest margin.
    pub ours: Option<f64>,
    /// Lower end of the 95 % interval of `ours`.
    pub low: Option<f64>,
    /// Upper end of the 95 % interval of `ours`.
    pub high: Option<f64>,
    /// Number of seeds behind the interval.
    pub seeds: Option<u32>,
    /// Unit of the values above.
    pub unit: String,
    /// Verdict.
    pub verdict: Verdict,
    /// Predicted, calibrated, not stated, or a looser bound.
    pub kind: Kind,
    /// True for a check, false for a number.
    pub check: bool,
    /// Required range, for a check.
    pub bound: Option<Bound>,
    /// Place in the paper.
    pub source: String,
}

/// Range that a check requires.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// Bounded quantity.
    pub of: Bounded,
    /// Lower end, if any.
    pub low: Option<f64>,
    /// Upper end, if any.
    pub high: Option<f64>,
    /// True if the ends are excluded.
    pub strict: bool,
}

/// Quantity that a check bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bounded {
    /// A measured value.
    Value,
    /// One measured value less another.
    Difference,
    /// One measured value over another.
    Ratio,
    /// The change from one axis value to the next.
    Step,
    /// 0 if the results of two schemes are identical, otherwise 1.
    Sameness,
}

/// Number of good rows among all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    /// Rows that are met or hold.
    pub good: usize,
    /// All rows.
    pub of: usize,
}

/// Counts of the verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Published numbers to which nothing was fitted.
    pub numbers: Share,
    /// Orderings and trends that the papers state.
    pub orderings: Share,
    /// Published numbers to which something was fitted.
    pub calibrated_numbers: Share,
    /// Orderings to which something was fitted.
    pub calibrated_orderings: Share,
    /// Bounds of our interpretation.
    pub looser_bounds: Share,
    /// Values that the paper does not state.
    pub not_stated: usize,
    /// Rows whose points are not part of the campaign.
    pub not_run: usize,
}

impl Counts {
    /// Counts the verdicts of `rows`.
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

/// Returns the rows of the selected experiments.
pub fn rows(results: &Results<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for &index in &results.campaign.chosen {
        let experiment = results.experiment(index);
        for published in &experiment.published {
            rows.push(number(results, index, experiment, published));
        }
        for check in &experiment.checks {
            rows.push(checks::row(results, index, experiment, check));
        }
    }
    rows
}

fn number(
    results: &Results<'_>,
    index: usize,
    experiment: &Experiment,
    published: &Published,
) -> Row {
    let value = published.at.unwrap_or(0);
    let found = results.estimate(
        index,
        published.panel,
        published.scheme,
        value,
        &published.measure,
    );
    let metric = published.measure.metric;
    let unit = metric.unit().unwrap_or(&experiment.axis.unit);
    let verdict = match (published.value, &found) {
        _ if !experiment.has_any(published, results.campaign.is_quick()) => Verdict::NotRun,
        (None, _) => Verdict::NotStated,
        // A percentile among unfinished flows has no value, so it cannot match.
        (Some(_), None) => Verdict::Missed,
        (Some(value), Some(ours)) => {
            verdict::number(value, ours.value, (ours.low(), ours.high()), unit == "%")
        }
    };
    let parts = [
        experiment.panels[published.panel].name.clone(),
        published
            .at
            .filter(|_| experiment.axis.exists())
            .map_or(String::new(), |at| experiment.axis.values[at].clone()),
        metric.name(),
        published.measure.workload.clone().unwrap_or_default(),
    ];
    Row {
        paper: experiment.paper.clone(),
        experiment: experiment.name.clone(),
        scheme: experiment.schemes[published.scheme].name.clone(),
        point: non_empty(&parts).join(" "),
        published: published.value,
        unit: unit.to_owned(),
        verdict,
        kind: published.kind,
        check: false,
        source: published.source.clone(),
        ..Row::found(found)
    }
}

fn non_empty(parts: &[String]) -> Vec<&str> {
    parts
        .iter()
        .map(String::as_str)
        .filter(|part| !part.is_empty())
        .collect()
}

impl Experiment {
    /// Returns true if the campaign includes points of the published value.
    fn has_any(&self, published: &Published, quick: bool) -> bool {
        let has = |value| self.has(published.panel, published.scheme, value, quick);
        published
            .at
            .map_or_else(|| (0..self.axis.values.len()).any(has), has)
    }
}

impl Row {
    /// Creates a row with only the measured value.
    fn found(found: Option<Estimate>) -> Self {
        let interval = found.and_then(|estimate| estimate.interval);
        Self {
            paper: String::new(),
            experiment: String::new(),
            scheme: String::new(),
            point: String::new(),
            published: None,
            ours: found.map(|estimate| estimate.value),
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
            seeds: interval.map(|interval| interval.runs),
            unit: String::new(),
            verdict: Verdict::NotRun,
            kind: Kind::Predicted,
            check: false,
            bound: None,
            source: String::new(),
        }
    }
}
