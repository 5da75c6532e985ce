//! One experiment of a paper, with every name looked up.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use duetime_figures::Palette;

mod check;

pub use check::{Check, Measured, Relation, Side};

use super::metric::Metric;
use super::origin::Origin;
use super::verdict::Kind;

/// One experiment.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// `d3` or `d2tcp`: the folder above.
    pub paper: String,
    /// The folder's name, such as `fig10`.
    pub name: String,
    /// The folder.
    pub folder: PathBuf,
    /// Where the folder is.
    pub(crate) origin: Origin,
    /// What it shows.
    pub title: String,
    /// Where the paper has it.
    pub source: String,
    /// How it is made.
    pub method: Method,
    /// What it measures.
    pub measure: Measure,
    /// Seeds per point.
    pub repetitions: Repetitions,
    /// What is varied.
    pub axis: Axis,
    /// How the measure is drawn.
    pub y: YAxis,
    /// Further drawings.
    pub figures: Vec<Drawing>,
    /// At least one; unnamed where there are none.
    pub panels: Vec<Panel>,
    /// The curves.
    pub schemes: Vec<Scheme>,
    /// How the schemes of all experiments look.
    pub palette: Palette,
    /// Values of the paper.
    pub published: Vec<Published>,
    /// Orderings, trends and bounds.
    pub checks: Vec<Check>,
    /// What was fitted, and on what.
    pub calibrations: Vec<Calibration>,
    /// The scenario file's text.
    pub scenario: String,
    /// The interpretation notes, `reading.md`.
    pub reading: String,
    /// `experiment.toml`, for messages.
    pub text: String,
}

/// How an experiment is made and drawn.
#[derive(Clone, Debug, PartialEq)]
pub enum Method {
    /// A sweep of simulations, drawn as curves.
    Simulate,
    /// Ideal schedulers on the flows that the scenario offers; nothing is simulated.
    Fluid,
    /// As a sweep, drawn flow by flow: deadline against completion.
    Scatter {
        /// Seeds whose flows are kept.
        runs: u32,
    },
    /// As a sweep, drawn as cumulative distributions.
    Distribution {
        /// Of what.
        of: Sampled,
        /// At which values of the axis.
        at: Vec<usize>,
    },
    /// As a sweep, drawn over time.
    Series {
        /// What.
        of: Sampled,
        /// At which value of the axis.
        at: usize,
        /// Names of the links.
        names: BTreeMap<String, String>,
        /// Samples are averaged over this time, s; 0: as they are.
        average_s: f64,
        /// Where the time axis ends, s; `None`: with the samples.
        until_s: Option<f64>,
    },
    /// Nothing is run.
    Note,
}

/// What a distribution or a series shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampled {
    /// Queue of the sampled links, KB.
    Queue,
    /// Throughput of the sampled links, Mbps.
    Throughput,
    /// Completion time, ms.
    Completion,
    /// Completion time over the time allowed.
    Allowed,
}

/// Seeds per point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repetitions {
    /// Of a full campaign.
    pub full: u32,
    /// Of a quick one, at most as many.
    pub quick: u32,
}

impl Repetitions {
    /// Those of one campaign.
    pub fn of(self, quick: bool) -> u32 {
        if quick { self.quick } else { self.full }
    }
}

/// A metric, of all flows or of one workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// The metric.
    pub metric: Metric,
    /// The workload's name.
    pub workload: Option<String>,
}

/// What is varied; without an axis one empty value.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Key paths, all set to the value; none without an axis.
    pub keys: Vec<String>,
    /// Shown below.
    pub label: String,
    /// Its unit.
    pub unit: String,
    /// Each as `--set` takes it.
    pub values: Vec<String>,
    /// Whether a value is part of a quick campaign.
    pub quick: Vec<bool>,
    /// The values as numbers, if all are of one unit.
    pub places: Option<Vec<f64>>,
    /// Logarithmic.
    pub log: bool,
}

impl Axis {
    /// The value as a number: its place in the list where it is none.
    pub fn place(&self, value: usize) -> f64 {
        self.places.as_ref().map_or(value as f64, |of| of[value])
    }

    /// Whether there is anything to vary.
    pub fn is_there(&self) -> bool {
        !self.keys.is_empty()
    }
}

/// How values are drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct YAxis {
    /// Shown beside.
    pub label: Option<String>,
    /// Its unit, if not the metric's.
    pub unit: Option<String>,
    /// Its ends.
    pub range: Option<[f64; 2]>,
    /// Logarithmic.
    pub log: bool,
}

/// A further drawing of the same runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// Above it.
    pub title: Option<String>,
    /// What.
    pub measure: Measure,
    /// How.
    pub y: YAxis,
}

/// Settings of one panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// What published values and checks call it; empty where there is only one.
    pub name: String,
    /// Shown above.
    pub label: String,
    /// Ends of the y axis, if not those of the experiment.
    pub range: Option<[f64; 2]>,
    /// Scenario settings.
    pub set: Vec<(String, String)>,
    /// Part of a quick campaign.
    pub quick: bool,
}

/// One curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheme {
    /// Its name, and so its colour.
    pub name: String,
    /// Shown in words.
    pub label: String,
    /// Scenario settings.
    pub set: Vec<(String, String)>,
    /// Whether each panel has it.
    pub panels: Vec<bool>,
    /// Whether each value of the axis has it.
    pub values: Vec<bool>,
    /// Part of a quick campaign.
    pub quick: bool,
    /// Seeds of its own.
    pub repetitions: Repetitions,
    /// An ideal scheduler, and the scheme whose flows it takes; `None` there: those that the scenario offers.
    pub ideal: Option<(Ideal, Option<usize>)>,
}

/// What needs no packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ideal {
    /// Preemptive earliest deadline first.
    EarliestDeadline,
    /// Processor sharing.
    FairShare,
    /// Reservation in order of arrival.
    Reservation,
    /// The fewest late flows of any schedule, or a bound.
    Optimum,
}

impl Ideal {
    /// All, by the name of their scheme.
    pub const ALL: [(&'static str, Self); 4] = [
        ("edf", Self::EarliestDeadline),
        ("fair-share", Self::FairShare),
        ("reservation", Self::Reservation),
        ("optimum", Self::Optimum),
    ];

    /// The scheme's name.
    pub fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(_, of)| *of == self)
            .map_or("", |(name, _)| name)
    }
}

/// A value that the paper states.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// Index of the scheme.
    pub scheme: usize,
    /// Index of the panel.
    pub panel: usize,
    /// Index of the axis value; `None` for metrics that have one value per panel.
    pub at: Option<usize>,
    /// What.
    pub measure: Measure,
    /// The value; none where the paper does not state one.
    pub value: Option<f64>,
    /// Calibrated, predicted, not stated.
    pub kind: Kind,
    /// Where the paper says so.
    pub source: String,
}

/// A value that was fitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// The scenario's key.
    pub key: String,
    /// Its value.
    pub value: String,
    /// The experiment whose points were used, if another.
    pub experiment: Option<String>,
    /// The scheme, by name.
    pub scheme: String,
    /// The panel, by name.
    pub panel: Option<String>,
    /// The axis value.
    pub at: Option<String>,
    /// What; `None`: any metric.
    pub metric: Option<Metric>,
    /// Its place in the file.
    pub span: Range<usize>,
}

impl Calibration {
    /// Whether it was fitted on a curve of D3 or D2TCP.
    pub fn is_deadline_aware(&self) -> bool {
        ["d3", "d2tcp"]
            .iter()
            .any(|name| self.scheme.starts_with(name))
    }
}

impl Experiment {
    /// `d3/fig10`.
    pub fn id(&self) -> String {
        format!("{}/{}", self.paper, self.name)
    }

    /// Index of a scheme.
    pub fn scheme(&self, name: &str) -> Option<usize> {
        self.schemes.iter().position(|scheme| scheme.name == name)
    }

    /// Index of a panel.
    pub fn panel(&self, name: &str) -> Option<usize> {
        self.panels.iter().position(|panel| panel.name == name)
    }

    /// Index of an axis value.
    pub fn value(&self, written: &str) -> Option<usize> {
        self.axis.values.iter().position(|value| value == written)
    }

    /// Whether a point is part of a campaign.
    pub fn has(&self, panel: usize, scheme: usize, value: usize, quick: bool) -> bool {
        let (of, panel_of) = (&self.schemes[scheme], &self.panels[panel]);
        let there = of.panels[panel] && of.values[value];
        there && (!quick || (of.quick && panel_of.quick && self.axis.quick[value]))
    }

    /// The names of the other experiments that its checks read.
    pub fn others(&self) -> Vec<&str> {
        let measured = self.checks.iter().flat_map(Check::measured);
        measured.filter_map(|of| of.experiment.as_deref()).collect()
    }

    /// The place of another experiment of its paper among all.
    pub fn beside(&self, name: &str, all: &[Experiment]) -> Option<usize> {
        all.iter()
            .position(|of| of.paper == self.paper && of.name == name)
    }

    /// The section of the interpretation notes below a heading of the second level.
    pub fn section(&self, heading: &str) -> &str {
        let start = format!("## {heading}");
        let Some(from) = self.reading.find(&start) else {
            return "";
        };
        let rest = &self.reading[from + start.len()..];
        let end = rest.find("\n## ").unwrap_or(rest.len());
        rest[..end].trim()
    }
}
