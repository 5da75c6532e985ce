//! An experiment of a paper with all names resolved.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use duetime_figures::Palette;

mod check;

pub use check::{Check, Measured, Relation, Side};

use super::metric::Metric;
use super::origin::Origin;
use super::verdict::Kind;

/// An experiment of a paper.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Paper: the name of the parent folder, `d3` or `d2tcp`, or `beyond` for our own experiments.
    pub paper: String,
    /// Name of the folder, such as `fig10`.
    pub name: String,
    /// Path of the folder.
    pub folder: PathBuf,
    /// Location of the folder: on disk or built in.
    pub(crate) origin: Origin,
    /// Title.
    pub title: String,
    /// Figure, table or section of the paper.
    pub source: String,
    /// Method of running and drawing.
    pub method: Method,
    /// Main measure.
    pub measure: Measure,
    /// Seeds per point.
    pub repetitions: Repetitions,
    /// Varied setting.
    pub axis: Axis,
    /// Vertical axis of the main measure.
    pub y: YAxis,
    /// Additional drawings.
    pub figures: Vec<Drawing>,
    /// Panels: at least one, unnamed if the file has none.
    pub panels: Vec<Panel>,
    /// Curves.
    pub schemes: Vec<Scheme>,
    /// Colours, markers and dash patterns of the schemes of all experiments.
    pub palette: Palette,
    /// Published values.
    pub published: Vec<Published>,
    /// Orderings, trends and bounds.
    pub checks: Vec<Check>,
    /// Fitted values.
    pub calibrations: Vec<Calibration>,
    /// Text of `scenario.toml`.
    pub scenario: String,
    /// Interpretation notes: the text of `reading.md`.
    pub reading: String,
    /// Text of `experiment.toml`, for error messages.
    pub text: String,
}

/// Method of running and drawing an experiment.
#[derive(Clone, Debug, PartialEq)]
pub enum Method {
    /// A sweep of simulations, drawn as curves.
    Simulate,
    /// Ideal schedulers on the flows that the scenario offers, without simulation.
    Fluid,
    /// A sweep of simulations, drawn as one point per flow: completion against deadline.
    Scatter {
        /// Number of seeds whose flows are stored.
        runs: u32,
    },
    /// A sweep of simulations, drawn as cumulative distributions.
    Distribution {
        /// Quantity.
        of: Sampled,
        /// Indices of the axis values.
        at: Vec<usize>,
    },
    /// A sweep of simulations, drawn over time.
    Series {
        /// Quantity.
        of: Sampled,
        /// Index of the axis value.
        at: usize,
        /// Displayed names by link; if not empty, other links are not drawn.
        names: BTreeMap<String, String>,
        /// Time over which samples are averaged, in seconds; 0 for no averaging.
        average_s: f64,
        /// End of the time axis in seconds, or `None` for that of the samples.
        until_s: Option<f64>,
    },
    /// Nothing is run or drawn.
    Note,
}

/// Quantity of a distribution or series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampled {
    /// Queue of the sampled links in KB.
    Queue,
    /// Throughput of the sampled links in Mbps.
    Throughput,
    /// Completion time in milliseconds.
    Completion,
    /// Completion time over the time allowed.
    Allowed,
}

/// Seeds per point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repetitions {
    /// Seeds of a full campaign.
    pub full: u32,
    /// Seeds of a quick campaign, at most `full`.
    pub quick: u32,
}

impl Repetitions {
    /// Returns the seeds of a full or quick campaign.
    pub fn of(self, quick: bool) -> u32 {
        if quick { self.quick } else { self.full }
    }
}

/// A metric of one workload or of all flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// Metric.
    pub metric: Metric,
    /// Workload, or `None` for all flows.
    pub workload: Option<String>,
}

/// The varied setting; an experiment without an axis has one empty value.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Key paths that are all set to the value; empty without an axis.
    pub keys: Vec<String>,
    /// Label of the drawn axis.
    pub label: String,
    /// Unit of the values.
    pub unit: String,
    /// Values as `--set` takes them.
    pub values: Vec<String>,
    /// True for values that are part of a quick campaign.
    pub quick: Vec<bool>,
    /// Values as numbers, if all have the same unit.
    pub places: Option<Vec<f64>>,
    /// True for a logarithmic axis.
    pub log: bool,
}

impl Axis {
    /// Returns the value as a number, or its index if it is not a number.
    pub fn place(&self, value: usize) -> f64 {
        self.places
            .as_ref()
            .map_or(value as f64, |places| places[value])
    }

    /// Returns true if the experiment has an axis.
    pub fn exists(&self) -> bool {
        !self.keys.is_empty()
    }
}

/// Vertical axis of a drawing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct YAxis {
    /// Label, or `None` for that of the metric.
    pub label: Option<String>,
    /// Unit, or `None` for that of the metric.
    pub unit: Option<String>,
    /// Lower and upper end, or `None` for automatic ones.
    pub range: Option<[f64; 2]>,
    /// True for a logarithmic axis.
    pub log: bool,
}

/// An additional drawing of the same runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// Title, or `None` for that of the axis.
    pub title: Option<String>,
    /// Drawn measure.
    pub measure: Measure,
    /// Vertical axis.
    pub y: YAxis,
}

/// One panel: settings shared by its curves.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Name in published values and checks; empty for a single panel.
    pub name: String,
    /// Displayed name.
    pub label: String,
    /// Ends of the y axis, or `None` for those of the experiment.
    pub range: Option<[f64; 2]>,
    /// Scenario settings: key path and value.
    pub set: Vec<(String, String)>,
    /// True if it is part of a quick campaign.
    pub quick: bool,
}

/// One curve: a transport with its settings, or an ideal scheduler.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheme {
    /// Name, which also selects the colour.
    pub name: String,
    /// Displayed name.
    pub label: String,
    /// Scenario settings: key path and value.
    pub set: Vec<(String, String)>,
    /// True for the panels that have this curve.
    pub panels: Vec<bool>,
    /// True for the axis values that have this curve.
    pub values: Vec<bool>,
    /// True if it is part of a quick campaign.
    pub quick: bool,
    /// Seeds per point.
    pub repetitions: Repetitions,
    /// Ideal scheduler and the scheme that supplies its flows (`None`: the scenario), or `None` for a simulation.
    pub ideal: Option<(Ideal, Option<usize>)>,
}

/// An ideal scheduler or bound, computed without packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ideal {
    /// Preemptive earliest deadline first.
    EarliestDeadline,
    /// Processor sharing.
    FairShare,
    /// Rate reservation in order of arrival.
    Reservation,
    /// Fewest late flows of any schedule, or a lower bound.
    Optimum,
    /// Fewest late answers and queries under any transport.
    Bound,
    /// Online schedule of the receivers' links, for answers and queries.
    Online,
    /// Online schedule of all links, for answers and queries.
    Network,
}

impl Ideal {
    /// All schedulers by scheme name.
    pub const ALL: [(&'static str, Self); 7] = [
        ("edf", Self::EarliestDeadline),
        ("fair-share", Self::FairShare),
        ("reservation", Self::Reservation),
        ("optimum", Self::Optimum),
        ("bound", Self::Bound),
        ("online", Self::Online),
        ("network", Self::Network),
    ];

    /// Returns the scheme name.
    pub fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(_, ideal)| *ideal == self)
            .map_or("", |(name, _)| name)
    }
}

/// A published value, or one of ours that the paper does not state.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// Index of the scheme.
    pub scheme: usize,
    /// Index of the panel.
    pub panel: usize,
    /// Index of the axis value, or `None` for metrics with one value per panel.
    pub at: Option<usize>,
    /// Measure.
    pub measure: Measure,
    /// Value, or `None` if the paper does not state one.
    pub value: Option<f64>,
    /// Predicted, calibrated or not stated.
    pub kind: Kind,
    /// Place in the paper.
    pub source: String,
}

/// A value that was fitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// Key path of the scenario.
    pub key: String,
    /// Fitted value.
    pub value: String,
    /// Experiment of the fitted curve, or `None` for this experiment.
    pub experiment: Option<String>,
    /// Name of the scheme.
    pub scheme: String,
    /// Name of the panel, or `None` for all.
    pub panel: Option<String>,
    /// Axis value, or `None` for all.
    pub at: Option<String>,
    /// Metric, or `None` for all.
    pub metric: Option<Metric>,
    /// Position in `experiment.toml`.
    pub span: Range<usize>,
}

impl Calibration {
    /// Returns true if the value was fitted on a D3 or D2TCP curve.
    pub fn is_deadline_aware(&self) -> bool {
        ["d3", "d2tcp"]
            .iter()
            .any(|name| self.scheme.starts_with(name))
    }
}

impl Experiment {
    /// Returns the identifier, such as `d3/fig10`.
    pub fn id(&self) -> String {
        format!("{}/{}", self.paper, self.name)
    }

    /// Returns true for our own experiments, which reproduce no paper.
    pub fn is_beyond(&self) -> bool {
        self.paper == "beyond"
    }

    /// Returns the index of a scheme, or `None` if it does not exist.
    pub fn scheme(&self, name: &str) -> Option<usize> {
        self.schemes.iter().position(|scheme| scheme.name == name)
    }

    /// Returns the index of a panel, or `None` if it does not exist.
    pub fn panel(&self, name: &str) -> Option<usize> {
        self.panels.iter().position(|panel| panel.name == name)
    }

    /// Returns the index of an axis value as written, or `None` if it does not exist.
    pub fn value(&self, written: &str) -> Option<usize> {
        self.axis.values.iter().position(|value| value == written)
    }

    /// Returns true if a full or quick campaign includes the point.
    pub fn has(&self, panel: usize, scheme: usize, value: usize, quick: bool) -> bool {
        let (curve, in_quick) = (&self.schemes[scheme], self.panels[panel].quick);
        let exists = curve.panels[panel] && curve.values[value];
        exists && (!quick || (curve.quick && in_quick && self.axis.quick[value]))
    }

    /// Returns the names of the other experiments that the checks read.
    pub fn others(&self) -> Vec<&str> {
        let measured = self.checks.iter().flat_map(Check::measured);
        measured
            .filter_map(|value| value.experiment.as_deref())
            .collect()
    }

    /// Returns the index in `all` of an experiment of the same paper.
    pub fn sibling(&self, name: &str, all: &[Experiment]) -> Option<usize> {
        all.iter()
            .position(|other| other.paper == self.paper && other.name == name)
    }

    /// Returns the text below a second-level heading of the interpretation notes, or an empty text.
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
