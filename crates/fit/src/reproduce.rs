//! Comparison of the fitted scenario with its input.

use crate::distribution::{CHANCE, Sample};
use crate::model::{Due, Model};
use crate::observed::{Observed, Query};
use duetime_results::{Estimate, Interval};
use duetime_scenario::Scenario;
use duetime_sim::{Options, Progress, SetupError, run};
use duetime_study::each;
use serde::Serialize;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Quantity in the input and in the fitted scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Name of the quantity.
    pub quantity: String,
    /// Unit: `B`, `ns`, `/s`, `share`, or empty for counts.
    pub unit: &'static str,
    /// Value in the input, or `None` if unknown.
    pub input: Option<f64>,
    /// Value in the fitted scenario, or `None` if unknown.
    pub fitted: Option<f64>,
    /// Fitted value minus input value, relative to the input value. For shares of queries, the absolute difference.
    pub difference: Option<f64>,
    /// Kolmogorov-Smirnov distance between the distributions, or `None` for quantities without one.
    pub ks: Option<f64>,
    /// True if the difference is within the quantity's threshold; `None` if it has no threshold or a value is unknown.
    pub near: Option<bool>,
    /// For shares of queries, the 95 % interval of the input's value over blocks of time, since the input is a sample.
    pub input_interval: Option<Interval>,
    /// For shares of queries, the 95 % interval of the fitted value over runs.
    pub fitted_interval: Option<Interval>,
}

/// Threshold of sizes, fan-in and load, relative to the input.
pub const RELATIVE_THRESHOLD: f64 = 0.05;
/// Threshold of the share of late queries, as an absolute difference.
pub const MISSED_THRESHOLD: f64 = 0.02;
/// Threshold of the distance between the distributions of completion times. It is larger for small samples.
pub const KS_THRESHOLD: f64 = 0.2;
/// Quantiles of completion times with the names of their rows and their relative thresholds.
pub const COMPLETION: [(f64, &str, f64); 3] = [
    (0.5, "completion, p50", 0.1),
    (0.9, "completion, p90", 0.15),
    (0.99, "completion, p99", 0.25),
];
/// Minimum number of values beyond a quantile for judging it.
const MIN_BEYOND: f64 = 10.0;

/// Names of the rows that decide the verdict.
pub(crate) const SIZE: &str = "answer size, mean";
pub(crate) const FAN_IN: &str = "fan-in, mean";
pub(crate) const LOAD: &str = "load of a root's link";
pub(crate) const MISSED: &str = "missed share";

/// Reasons why the simulation failed.
#[derive(Debug)]
pub(crate) enum Failed {
    Setup(SetupError),
    Stopped,
}

/// Runs are added until the interval of the missed share extends at most this far to either side, up to `MAX_RUNS`.
const PRECISE: f64 = MISSED_THRESHOLD / 2.0;
const MAX_RUNS: usize = 40;
/// Number of blocks of time for the interval of the input's missed share.
const BLOCKS: usize = 20;

/// Simulates the scenario with its first transport, at least once per seed, and returns the measured queries of each
/// run. `on_progress` receives the number of started runs and their total.
pub(crate) fn simulate(
    scenario: &Scenario,
    model: &Model,
    stop: &Arc<AtomicBool>,
    on_progress: &dyn Fn(usize, usize),
) -> Result<Vec<Observed>, Failed> {
    let mut runs: Vec<Observed> = Vec::new();
    let mut target = scenario.seeds as usize;
    loop {
        runs.extend(simulate_runs(
            scenario,
            runs.len()..target,
            stop,
            on_progress,
        )?);
        if target >= MAX_RUNS || is_precise(&runs, model) {
            return Ok(runs);
        }
        target = (2 * target).min(MAX_RUNS);
    }
}

fn is_precise(runs: &[Observed], model: &Model) -> bool {
    let missed = missed(runs.iter().map(|run| run.queries.iter()), model);
    missed
        .is_none_or(|share| (share.high() - share.value).max(share.value - share.low()) <= PRECISE)
}

/// Simulates the runs with these indices.
fn simulate_runs(
    scenario: &Scenario,
    numbers: Range<usize>,
    stop: &Arc<AtomicBool>,
    on_progress: &dyn Fn(usize, usize),
) -> Result<Vec<Observed>, Failed> {
    let progress = Arc::new(Progress::default());
    let options = Options {
        progress: Some(Arc::clone(&progress)),
        ..Options::default()
    };
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let stopped = || stop.load(Ordering::Relaxed);
    let one = |at| {
        let output = run(scenario, 0, (numbers.start + at) as u64, &options)?;
        Ok(Observed::from_run(&output.records, 0))
    };
    let tick = |at| {
        if stopped() {
            progress.cancel.store(true, Ordering::Relaxed);
        }
        on_progress(numbers.start + at, numbers.end);
    };
    let finished = each(numbers.len(), jobs, stopped, one, tick);
    let finished: Result<Option<Vec<_>>, SetupError> =
        finished.into_iter().map(Option::transpose).collect();
    let finished = finished.map_err(Failed::Setup)?;
    finished.filter(|_| !stopped()).ok_or(Failed::Stopped)
}

/// Returns the share of late queries among those for which it is known, with its interval over blocks of queries.
fn missed<'q, Q: Iterator<Item = &'q Query>>(
    blocks: impl Iterator<Item = Q>,
    model: &Model,
) -> Option<Estimate> {
    // Late and all queries of each block.
    let counts: Vec<(usize, usize)> = blocks
        .map(|queries| {
            let judged = queries.filter_map(|query| model.is_late(query));
            judged.fold((0, 0), |(late, all), is_late| {
                (late + usize::from(is_late), all + 1)
            })
        })
        .collect();
    Estimate::of(&counts, |drawn| {
        let late: usize = drawn.iter().map(|(late, _)| late).sum();
        let all: usize = drawn.iter().map(|(_, all)| all).sum();
        (all > 0).then(|| late as f64 / all as f64)
    })
}

/// Compares the input with the runs of the fitted scenario.
pub(crate) fn rows(input: &Observed, runs: Vec<Observed>, model: &Model) -> Vec<Row> {
    let block = input.queries.len().div_ceil(BLOCKS).max(1);
    let blocks = input.queries.chunks(block).filter(|_| input.has_times());
    let missed = [
        missed(blocks.map(<[Query]>::iter), model),
        missed(runs.iter().map(|run| run.queries.iter()), model),
    ];
    let fitted = Observed {
        queries: runs.into_iter().flat_map(|run| run.queries).collect(),
        ..Observed::default()
    };
    let mut rows = Rows::default();
    let sides = [input, &fitted];
    let layers = model.layers.len();
    for layer in (0_u16..).take(layers) {
        let named = |quantity: &str| match layers {
            1 => quantity.to_owned(),
            _ => format!("layer {}: {quantity}", layer + 1),
        };
        let sizes = sides.map(|side| {
            Sample::new(
                side.layer(layer)
                    .map(|answer| answer.bytes as f64)
                    .collect(),
            )
        });
        rows.quantity(&named(SIZE), "B", &sizes, Sample::mean);
        rows.judge(RELATIVE_THRESHOLD);
        rows.ks(&sizes);
        rows.quantity(&named("answer size, p50"), "B", &sizes, |side| {
            side.quantile(0.5)
        });
        rows.quantity(&named("answer size, p99"), "B", &sizes, |side| {
            side.quantile(0.99)
        });
        let fan_ins = sides.map(|side| Sample::new(side.fan_ins(layer)));
        rows.quantity(&named(FAN_IN), "", &fan_ins, Sample::mean);
        rows.judge(RELATIVE_THRESHOLD);
        rows.quantity(&named("fan-in, p99"), "", &fan_ins, |side| {
            side.quantile(0.99)
        });
    }
    // The scenario states its rate, so the random number of queries in its runs does not matter.
    let rate = model.arrivals.per_second;
    rows.add("queries per second", "/s", [Some(rate), Some(rate)]);
    let loads = sides.map(|side| {
        let answers = side
            .queries
            .iter()
            .flat_map(|query| &query.answers)
            .filter(|answer| answer.layer == 0);
        let bytes: f64 = answers.map(|answer| answer.bytes as f64).sum();
        Some(model.load(bytes / side.queries.len().max(1) as f64, rate))
    });
    rows.add(LOAD, "share", loads);
    rows.relative();
    rows.judge(RELATIVE_THRESHOLD);
    let compute = sides.map(|side| {
        let leaves = side
            .queries
            .iter()
            .flat_map(|query| &query.answers)
            .filter(|answer| answer.children == 0);
        Sample::new(
            leaves
                .filter_map(|answer| answer.compute_ns)
                .map(|ns| ns as f64)
                .collect(),
        )
    });
    rows.quantity("computation, mean", "ns", &compute, Sample::mean);
    rows.ks(&compute);
    rows.quantity("computation, p99", "ns", &compute, |side| {
        side.quantile(0.99)
    });
    let took = sides.map(|side| {
        let took = side.queries.iter().filter_map(|query| query.took_ns);
        Sample::new(took.map(|ns| ns as f64).collect())
    });
    for (quantile, name, within) in COMPLETION {
        rows.quantity(name, "ns", &took, |side| side.quantile(quantile));
        if took[0].len() as f64 * (1.0 - quantile) >= MIN_BEYOND {
            rows.judge(within);
        }
        if quantile < 0.6 {
            rows.ks(&took);
            rows.judge_ks(&took);
        }
    }
    if let Due::Budget(due) | Due::Derived(due) = &model.due {
        let due = due.as_ns() as f64;
        rows.quantity("slack, p50", "ns", &took, |side| due - side.quantile(0.5));
        rows.quantity("slack, p1", "ns", &took, |side| due - side.quantile(0.99));
    }
    rows.estimate(MISSED, missed);
    rows.0
}

#[derive(Default)]
struct Rows(Vec<Row>);

impl Rows {
    fn add(&mut self, quantity: &str, unit: &'static str, [input, fitted]: [Option<f64>; 2]) {
        let difference = input.zip(fitted).map(|(input, fitted)| fitted - input);
        self.0.push(Row {
            quantity: quantity.to_owned(),
            unit,
            input,
            fitted,
            difference,
            ks: None,
            near: None,
            input_interval: None,
            fitted_interval: None,
        });
        if unit != "share" {
            self.relative();
        }
    }

    /// Adds a share of queries, unless it is unknown on both sides.
    fn estimate(&mut self, quantity: &str, sides: [Option<Estimate>; 2]) {
        if sides.iter().all(Option::is_none) {
            return;
        }
        self.add(
            quantity,
            "share",
            sides.map(|side| side.map(|estimate| estimate.value)),
        );
        self.judge(MISSED_THRESHOLD);
        if let Some(row) = self.0.last_mut() {
            [row.input_interval, row.fitted_interval] = sides.map(|side| side?.interval);
        }
    }

    /// Makes the difference of the last row relative to the input.
    fn relative(&mut self) {
        if let Some(row) = self.0.last_mut() {
            let share = |(difference, input): (f64, f64)| {
                if difference == 0.0 {
                    return Some(0.0);
                }
                (input != 0.0).then(|| difference / input.abs())
            };
            row.difference = row.difference.zip(row.input).and_then(share);
        }
    }

    fn quantity(
        &mut self,
        name: &str,
        unit: &'static str,
        sides: &[Sample; 2],
        value: impl Fn(&Sample) -> f64,
    ) {
        if sides[0].is_empty() && sides[1].is_empty() {
            return;
        }
        let side = |index: usize| (!sides[index].is_empty()).then(|| value(&sides[index]));
        self.add(name, unit, [side(0), side(1)]);
    }

    /// Compares the difference of the last row with its threshold.
    fn judge(&mut self, within: f64) {
        if let Some(row) = self.0.last_mut().filter(|row| row.input.is_some()) {
            // There is no difference if the fit has no value or the input's value is 0.
            row.near = Some(
                row.difference
                    .is_some_and(|difference| difference.abs() <= within),
            );
        }
    }

    /// Compares the distance of the last row with its threshold.
    fn judge_ks(&mut self, sides: &[Sample; 2]) {
        let few: f64 = sides
            .iter()
            .map(|side| 1.0 / side.len().max(1) as f64)
            .sum();
        let threshold = KS_THRESHOLD.max(CHANCE * libm::sqrt(few));
        if let Some(row) = self.0.last_mut()
            && let Some(ks) = row.ks
        {
            row.near = Some(ks <= threshold && row.near != Some(false));
        }
    }

    /// Sets the distance between the distributions of the last row.
    fn ks(&mut self, sides: &[Sample; 2]) {
        let known = !sides[0].is_empty() && !sides[1].is_empty();
        if let Some(row) = self.0.last_mut().filter(|_| known) {
            row.ks = Some(sides[0].distance(&sides[1]));
        }
    }
}
