//! Checks: orderings, trends and bounds of measured values.

use std::ops::Range;

use super::{Experiment, Measure};
use crate::verdict::Kind;

/// An ordering, trend or bound of measured values.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Text in the table.
    pub text: String,
    /// Left side.
    pub left: Side,
    /// Right side, or `None` for relations without one.
    pub right: Option<Side>,
    /// Relation between the sides.
    pub relation: Relation,
    /// First and last axis value that apply to sides without one.
    pub range: (usize, usize),
    /// True if the paper states it; otherwise it is a looser bound of our interpretation.
    pub stated: bool,
    /// Predicted or calibrated.
    pub kind: Kind,
    /// Place in the paper.
    pub source: String,
    /// Position in `experiment.toml`.
    pub span: Range<usize>,
}

impl Check {
    /// Returns all measured values that the check reads.
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
    /// Returns all measured values of this side.
    pub fn measured(&self) -> Vec<&Measured> {
        match self {
            Self::Value(_) => Vec::new(),
            Self::Measured(value) => vec![value],
            Self::Over(a, b) | Self::Minus(a, b) => [a.measured(), b.measured()].concat(),
        }
    }
}

/// A measured value.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Another experiment of the paper, or `None` for this one.
    pub experiment: Option<String>,
    /// Name of the scheme.
    pub scheme: String,
    /// Name of the panel, or `None` for the first.
    pub panel: Option<String>,
    /// Axis value as written, or `None` for each one.
    pub at: Option<String>,
    /// Measure, or `None` for that of the experiment.
    pub measure: Option<Measure>,
}

impl Measured {
    /// Returns the measure to read from `experiment`.
    pub fn measure<'a>(&'a self, experiment: &'a Experiment) -> &'a Measure {
        self.measure.as_ref().unwrap_or(&experiment.measure)
    }
}

/// Relation between the sides of a check.
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
    /// left falls by at most this much from one axis value to the next.
    MonotoneUp(f64),
    /// left rises by at most this much from one axis value to the next.
    MonotoneDown(f64),
    /// Both sides have identical results for every seed.
    Same,
}
