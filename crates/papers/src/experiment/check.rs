//! What an experiment holds against the paper: orderings, trends and bounds of what is measured.

use std::ops::Range;

use super::{Experiment, Measure};
use crate::verdict::Kind;

/// An ordering, a trend or a bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// What the table shows.
    pub text: String,
    /// The left side.
    pub left: Side,
    /// The right side, where the relation has one.
    pub right: Option<Side>,
    /// How they relate.
    pub relation: Relation,
    /// Axis values looked at where a side has none: first and last.
    pub range: (usize, usize),
    /// The paper says it; otherwise a looser bound of our interpretation.
    pub stated: bool,
    /// Calibrated or predicted.
    pub kind: Kind,
    /// Where the paper says so.
    pub source: String,
    /// Its place in the file.
    pub span: Range<usize>,
}

impl Check {
    /// All measured values that it reads.
    pub fn measured(&self) -> impl Iterator<Item = &Measured> {
        let sides = std::iter::once(&self.left).chain(&self.right);
        sides.flat_map(Side::measured)
    }
}

/// One side of a check.
#[derive(Clone, Debug, PartialEq)]
pub enum Side {
    /// A constant.
    Value(f64),
    /// A measured value.
    Measured(Measured),
    /// The first over the second.
    Over(Box<Side>, Box<Side>),
    /// The first minus the second.
    Minus(Box<Side>, Box<Side>),
}

impl Side {
    /// All measured values that it is made of.
    pub fn measured(&self) -> Vec<&Measured> {
        match self {
            Self::Value(_) => Vec::new(),
            Self::Measured(of) => vec![of],
            Self::Over(a, b) | Self::Minus(a, b) => [a.measured(), b.measured()].concat(),
        }
    }
}

/// A measured value.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Another experiment of the paper.
    pub experiment: Option<String>,
    /// The scheme, by name.
    pub scheme: String,
    /// The panel, by name; `None`: the first.
    pub panel: Option<String>,
    /// The axis value as written; `None`: every one.
    pub at: Option<String>,
    /// What; `None`: that of the experiment.
    pub measure: Option<Measure>,
}

impl Measured {
    /// What is measured of this experiment.
    pub fn measure<'a>(&'a self, experiment: &'a Experiment) -> &'a Measure {
        self.measure.as_ref().unwrap_or(&experiment.measure)
    }
}

/// How the two sides of a check relate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Relation {
    /// left > right + by.
    Greater(f64),
    /// left < right - by.
    Less(f64),
    /// left / right in [low, high].
    Ratio(f64, f64),
    /// left - right in [low, high].
    Difference(f64, f64),
    /// left in [low, high].
    Within(f64, f64),
    /// left does not fall along the axis by more than this.
    MonotoneUp(f64),
    /// left does not rise along the axis by more than this.
    MonotoneDown(f64),
    /// Every seed left exactly the same.
    Same,
}
