//! How well the fitted scenario reproduces its input: both side by side.

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

/// One quantity on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// What it is.
    pub quantity: String,
    /// `B`, `ns`, `/s`, `share`, or nothing for counts.
    pub unit: &'static str,
    /// In the input; `None`: not known.
    pub input: Option<f64>,
    /// In the fitted scenario.
    pub fitted: Option<f64>,
    /// The fitted less the input's, as a share of the input's; of shares of queries the plain difference.
    pub difference: Option<f64>,
    /// The largest difference between the CDFs of both sides, where the quantity is of a distribution.
    pub ks: Option<f64>,
    /// True if the difference is within the threshold of the quantity; `None` where it has none or a side is not known.
    pub near: Option<bool>,
    /// Of shares of queries: the 95 % interval of the input's, which is a sample of the service, over blocks of its time.
    pub input_interval: Option<Interval>,
    /// That of the fitted scenario, over its runs.
    pub fitted_interval: Option<Interval>,
}

/// Sizes, fan-in and load are reproduced within this share.
pub const WITHIN: f64 = 0.05;
/// The share of late queries within this much.
pub const POINTS: f64 = 0.02;
/// The largest difference between the CDFs of completion times; more where samples are so few that chance makes more of it.
pub const KS: f64 = 0.2;
/// Quantiles of completion times, the names of their rows, and the shares within which they are reproduced.
pub const COMPLETION: [(f64, &str, f64); 3] = [
    (0.5, "completion, p50", 0.1),
    (0.9, "completion, p90", 0.15),
    (0.99, "completion, p99", 0.25),
];
/// A quantile q is judged from this many values beyond it on, as ten are needed to know it.
const BEYOND: f64 = 10.0;

/// The quantities that say whether the input is reproduced.
pub(crate) const SIZE: &str = "answer size, mean";
pub(crate) const FAN_IN: &str = "fan-in, mean";
pub(crate) const LOAD: &str = "load of a root's link";
pub(crate) const MISSED: &str = "missed share";

/// Why there is no comparison.
#[derive(Debug)]
pub(crate) enum Failed {
    Setup(SetupError),
    Stopped,
}

/// Runs are added until the interval of the fitted scenario's missed share is no wider than this to either side, or so many
/// are made.
const PRECISE: f64 = POINTS / 2.0;
const MOST_RUNS: usize = 40;
/// Blocks of time of an input, for the interval of its missed share.
const BLOCKS: usize = 20;

/// The measured queries of each run of the scenario under its first transport: at least as many runs as it has seeds. `begun`
/// hears how many runs are begun, and of how many.
pub(crate) fn simulate(
    scenario: &Scenario,
    model: &Model,
    stop: &Arc<AtomicBool>,
    begun: &dyn Fn(usize, usize),
) -> Result<Vec<Observed>, Failed> {
    let mut runs: Vec<Observed> = Vec::new();
    let mut wanted = scenario.seeds as usize;
    loop {
        runs.extend(simulated(scenario, runs.len()..wanted, stop, begun)?);
        if wanted >= MOST_RUNS || is_precise(&runs, model) {
            return Ok(runs);
        }
        wanted = (2 * wanted).min(MOST_RUNS);
    }
}

fn is_precise(runs: &[Observed], model: &Model) -> bool {
    let missed = missed(runs.iter().map(|of| of.queries.iter()), model);
    missed.is_none_or(|of| (of.high() - of.value).max(of.value - of.low()) <= PRECISE)
}

/// The runs of these numbers.
fn simulated(
    scenario: &Scenario,
    numbers: Range<usize>,
    stop: &Arc<AtomicBool>,
    begun: &dyn Fn(usize, usize),
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
        Ok(Observed::of_run(&output.records, 0))
    };
    let tick = |at| {
        if stopped() {
            progress.cancel.store(true, Ordering::Relaxed);
        }
        begun(numbers.start + at, numbers.end);
    };
    let made = each(numbers.len(), jobs, stopped, one, tick);
    let made: Result<Option<Vec<_>>, SetupError> =
        made.into_iter().map(Option::transpose).collect();
    let made = made.map_err(Failed::Setup)?;
    made.filter(|_| !stopped()).ok_or(Failed::Stopped)
}

/// The share of late queries, of those of which that is known, with its interval over blocks of them.
fn missed<'q, Q: Iterator<Item = &'q Query>>(
    blocks: impl Iterator<Item = Q>,
    model: &Model,
) -> Option<Estimate> {
    // Of each block: late ones, and all.
    let counts: Vec<(usize, usize)> = blocks
        .map(|queries| {
            let judged = queries.filter_map(|of| model.is_late(of));
            judged.fold((0, 0), |(late, all), is_late| {
                (late + usize::from(is_late), all + 1)
            })
        })
        .collect();
    Estimate::of(&counts, |drawn| {
        let late: usize = drawn.iter().map(|of| of.0).sum();
        let all: usize = drawn.iter().map(|of| of.1).sum();
        (all > 0).then(|| late as f64 / all as f64)
    })
}

/// Both sides.
pub(crate) fn rows(input: &Observed, runs: Vec<Observed>, model: &Model) -> Vec<Row> {
    let block = input.queries.len().div_ceil(BLOCKS).max(1);
    let blocks = input.queries.chunks(block).filter(|_| input.has_times());
    let missed = [
        missed(blocks.map(<[Query]>::iter), model),
        missed(runs.iter().map(|of| of.queries.iter()), model),
    ];
    let fitted = Observed {
        queries: runs.into_iter().flat_map(|of| of.queries).collect(),
        ..Observed::default()
    };
    let mut rows = Rows::default();
    let sides = [input, &fitted];
    let layers = model.layers.len();
    for at in (0_u16..).take(layers) {
        let named = |what: &str| match layers {
            1 => what.to_owned(),
            _ => format!("layer {}: {what}", at + 1),
        };
        let sizes = sides.map(|of| Sample::new(of.layer(at).map(|of| of.bytes as f64).collect()));
        rows.quantity(&named(SIZE), "B", &sizes, Sample::mean);
        rows.judge(WITHIN);
        rows.ks(&sizes);
        rows.quantity(&named("answer size, p50"), "B", &sizes, |of| {
            of.quantile(0.5)
        });
        rows.quantity(&named("answer size, p99"), "B", &sizes, |of| {
            of.quantile(0.99)
        });
        let fan_ins = sides.map(|of| Sample::new(of.fan_ins(at)));
        rows.quantity(&named(FAN_IN), "", &fan_ins, Sample::mean);
        rows.judge(WITHIN);
        rows.quantity(&named("fan-in, p99"), "", &fan_ins, |of| of.quantile(0.99));
    }
    // The scenario states its rate; how many queries its runs happen to have says nothing of it.
    let rate = model.arrivals.per_second;
    rows.add("queries per second", "/s", [Some(rate), Some(rate)]);
    let loads = sides.map(|of| {
        let answers = of
            .queries
            .iter()
            .flat_map(|of| &of.answers)
            .filter(|of| of.layer == 0);
        let bytes: f64 = answers.map(|of| of.bytes as f64).sum();
        Some(model.load(bytes / of.queries.len().max(1) as f64, rate))
    });
    rows.add(LOAD, "share", loads);
    rows.relative();
    rows.judge(WITHIN);
    let compute = sides.map(|of| {
        let leaves = of
            .queries
            .iter()
            .flat_map(|of| &of.answers)
            .filter(|of| of.children == 0);
        Sample::new(
            leaves
                .filter_map(|of| of.compute_ns)
                .map(|ns| ns as f64)
                .collect(),
        )
    });
    rows.quantity("computation, mean", "ns", &compute, Sample::mean);
    rows.ks(&compute);
    rows.quantity("computation, p99", "ns", &compute, |of| of.quantile(0.99));
    let took = sides.map(|of| {
        let took = of.queries.iter().filter_map(|of| of.took_ns);
        Sample::new(took.map(|ns| ns as f64).collect())
    });
    for (at, name, within) in COMPLETION {
        rows.quantity(name, "ns", &took, |of| of.quantile(at));
        if took[0].len() as f64 * (1.0 - at) >= BEYOND {
            rows.judge(within);
        }
        if at < 0.6 {
            rows.ks(&took);
            rows.judge_ks(&took);
        }
    }
    if let Due::Budget(due) | Due::StandIn(due) = &model.due {
        let due = due.as_ns() as f64;
        rows.quantity("slack, p50", "ns", &took, |of| due - of.quantile(0.5));
        rows.quantity("slack, p1", "ns", &took, |of| due - of.quantile(0.99));
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

    /// A share of queries, where it is known of either side.
    fn estimate(&mut self, quantity: &str, sides: [Option<Estimate>; 2]) {
        if sides.iter().all(Option::is_none) {
            return;
        }
        self.add(quantity, "share", sides.map(|of| of.map(|of| of.value)));
        self.judge(POINTS);
        if let Some(row) = self.0.last_mut() {
            [row.input_interval, row.fitted_interval] = sides.map(|of| of?.interval);
        }
    }

    /// The latest difference is one relative to the input.
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
        let of = |at: usize| (!sides[at].is_empty()).then(|| value(&sides[at]));
        self.add(name, unit, [of(0), of(1)]);
    }

    /// Compares the difference of the latest row with its threshold.
    fn judge(&mut self, within: f64) {
        if let Some(row) = self.0.last_mut().filter(|row| row.input.is_some()) {
            // Without a difference, the fit has no value, or the input has zero.
            row.near = Some(row.difference.is_some_and(|of| of.abs() <= within));
        }
    }

    /// Compares the distance of the latest row with its threshold too.
    fn judge_ks(&mut self, sides: &[Sample; 2]) {
        let few: f64 = sides.iter().map(|of| 1.0 / of.len().max(1) as f64).sum();
        let most = KS.max(CHANCE * libm::sqrt(few));
        if let Some(row) = self.0.last_mut()
            && let Some(ks) = row.ks
        {
            row.near = Some(ks <= most && row.near != Some(false));
        }
    }

    /// The latest row is of distributions: how far they are apart.
    fn ks(&mut self, sides: &[Sample; 2]) {
        let known = !sides[0].is_empty() && !sides[1].is_empty();
        if let Some(row) = self.0.last_mut().filter(|_| known) {
            row.ks = Some(sides[0].distance(&sides[1]));
        }
    }
}
