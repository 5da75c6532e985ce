//! The final table: each published value and each check with what was found, and how many there are of each.

mod checks;

use duetime_results::Estimate;
use serde::{Deserialize, Serialize};

use super::experiment::{Experiment, Published};
use super::results::Results;
use super::verdict::{self, Kind, Verdict};

/// One row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The paper.
    pub paper: String,
    /// The experiment.
    pub experiment: String,
    /// The scheme; of a check, those of its sides.
    pub scheme: String,
    /// Panel, axis value, metric; of a check, its text.
    pub point: String,
    /// What the paper says; of a check, the end of `bound` that `ours` is nearest to.
    pub published: Option<f64>,
    /// What was found; of a check, what is bounded, where it holds by least.
    pub ours: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end of its 95 % interval.
    pub high: Option<f64>,
    /// Seeds that the interval comes from.
    pub seeds: Option<u32>,
    /// The unit of these.
    pub unit: String,
    /// What became of it.
    pub verdict: Verdict,
    /// Predicted, calibrated, not stated, or a looser bound.
    pub kind: Kind,
    /// A check rather than a number.
    pub check: bool,
    /// Of a check: what must hold.
    pub bound: Option<Bound>,
    /// Where the paper says so.
    pub source: String,
}

/// What a check bounds, and the ends that it may not pass.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// What `ours` is.
    pub of: Bounded,
    /// The lower end.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// Whether the ends themselves do not hold.
    pub strict: bool,
}

/// What a check bounds.
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
    /// Whether two schemes left the same: 0, or 1 where they did not.
    Sameness,
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
    /// Bounds of our interpretation.
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
            rows.push(checks::row(results, index, experiment, check));
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
            seeds: interval.map(|of| of.runs),
            unit: String::new(),
            verdict: Verdict::NotRun,
            kind: Kind::Predicted,
            check: false,
            bound: None,
            source: String::new(),
        }
    }
}
