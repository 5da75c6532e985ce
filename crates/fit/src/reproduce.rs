//! How well the fitted scenario reproduces its input: both side by side.

use crate::distribution::Sample;
use crate::model::{Due, Model};
use crate::observed::Observed;
use duetime_scenario::Scenario;
use duetime_sim::{Options, Progress, SetupError, run};
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

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
}

/// Sizes, fan-in and load are reproduced within this share.
pub const WITHIN: f64 = 0.05;
/// The share of late queries within this much.
pub const POINTS: f64 = 0.02;

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

/// The measured queries of all runs of the scenario under its first transport.
pub(crate) fn simulate(scenario: &Scenario, stop: &Arc<AtomicBool>) -> Result<Observed, Failed> {
    let progress = Arc::new(Progress::default());
    let options = Options {
        progress: Some(Arc::clone(&progress)),
        ..Options::default()
    };
    let runs = u64::from(scenario.seeds);
    let jobs = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let next = std::sync::atomic::AtomicU64::new(0);
    let work = || -> Result<Vec<(u64, Observed)>, SetupError> {
        let mut made = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= runs || progress.cancel.load(Ordering::Relaxed) {
                return Ok(made);
            }
            let output = run(scenario, 0, number, &options)?;
            made.push((number, Observed::of_run(&output.records, 0)));
        }
    };
    let mut made = Vec::new();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.min(runs)).map(|_| scope.spawn(work)).collect();
        while !workers
            .iter()
            .all(std::thread::ScopedJoinHandle::is_finished)
        {
            if stop.load(Ordering::Relaxed) {
                progress.cancel.store(true, Ordering::Relaxed);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        for worker in workers {
            match worker.join() {
                Ok(done) => made.extend(done.map_err(Failed::Setup)?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(())
    })?;
    if stop.load(Ordering::Relaxed) {
        return Err(Failed::Stopped);
    }
    made.sort_by_key(|of| of.0);
    let mut all = Observed::default();
    for (_, of) in made {
        all.queries.extend(of.queries);
    }
    Ok(all)
}

/// Both sides.
pub(crate) fn rows(input: &Observed, fitted: &Observed, model: &Model) -> Vec<Row> {
    let mut rows = Rows::default();
    let sides = [input, fitted];
    let layers = model.layers.len();
    for at in (0_u16..).take(layers) {
        let named = |what: &str| match layers {
            1 => what.to_owned(),
            _ => format!("layer {}: {what}", at + 1),
        };
        let sizes = sides.map(|of| Sample::new(of.layer(at).map(|of| of.bytes as f64).collect()));
        rows.quantity(&named(SIZE), "B", &sizes, Sample::mean);
        rows.ks(&sizes);
        rows.quantity(&named("answer size, p50"), "B", &sizes, |of| {
            of.quantile(0.5)
        });
        rows.quantity(&named("answer size, p99"), "B", &sizes, |of| {
            of.quantile(0.99)
        });
        let fan_ins = sides.map(|of| Sample::new(of.fan_ins(at)));
        rows.quantity(&named(FAN_IN), "", &fan_ins, Sample::mean);
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
    for (at, name) in [
        (0.5, "completion, p50"),
        (0.9, "completion, p90"),
        (0.99, "completion, p99"),
    ] {
        rows.quantity(name, "ns", &took, |of| of.quantile(at));
        if at < 0.6 {
            rows.ks(&took);
        }
    }
    if let Due::Budget(due) | Due::StandIn(due) = &model.due {
        let due = due.as_ns() as f64;
        rows.quantity("slack, p50", "ns", &took, |of| due - of.quantile(0.5));
        rows.quantity("slack, p1", "ns", &took, |of| due - of.quantile(0.99));
    }
    let missed = sides.map(|of| {
        let judged = of.queries.iter().filter(|_| of.has_times());
        let judged: Vec<bool> = judged.filter_map(|of| model.is_late(of)).collect();
        let late = judged.iter().filter(|late| **late).count();
        (!judged.is_empty()).then(|| late as f64 / judged.len() as f64)
    });
    if missed.iter().any(Option::is_some) {
        rows.add(MISSED, "share", missed);
    }
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
        });
        if unit != "share" {
            self.relative();
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

    /// The latest row is of distributions: how far they are apart.
    fn ks(&mut self, sides: &[Sample; 2]) {
        let known = !sides[0].is_empty() && !sides[1].is_empty();
        if let Some(row) = self.0.last_mut().filter(|_| known) {
            row.ks = Some(sides[0].distance(&sides[1]));
        }
    }
}

/// Whether a row's difference is one that counts as reproduced.
pub(crate) fn is_near(row: &Row) -> Option<bool> {
    let most = if row.quantity == MISSED {
        POINTS
    } else {
        WITHIN
    };
    row.difference.map(|of| of.abs() <= most)
}
