//! Panels of a figure: axes, series between them, and lines that mark values.

use crate::series::Series;

/// A pair of axes and the contents drawn between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panel {
    /// Title, drawn above the panel if not empty.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Series in drawing order.
    pub series: Vec<Series>,
    /// Lines that mark values.
    pub guides: Vec<Guide>,
    /// Legend text of the diagonal, on which x and y are equal. The diagonal is drawn if the text is not empty.
    pub diagonal: String,
}

/// Axis. The default is linear and fits its data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// Measured quantity.
    pub label: String,
    /// Unit, shown in parentheses if not empty.
    pub unit: String,
    /// Mapping of values to positions.
    pub scale: Scale,
    /// Start of the axis; by default, derived from the data.
    pub from: Option<f64>,
    /// End of the axis; by default, derived from the data.
    pub to: Option<f64>,
}

/// Mapping of values to positions.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Scale {
    /// Proportional.
    #[default]
    Linear,
    /// Logarithmic; values that are not positive are omitted.
    Log,
    /// Categories: value i is the i-th name.
    Names(Vec<String>),
}

/// Line across a panel at a target, a deadline or a published value.
#[derive(Clone, Debug, PartialEq)]
pub struct Guide {
    /// True if `at` is a value of the x axis, false if of the y axis.
    pub vertical: bool,
    /// Value that the line marks.
    pub at: f64,
    /// Legend text.
    pub label: String,
}

impl Panel {
    /// Creates a panel with these axes and series.
    pub fn new(x: Axis, y: Axis, series: Vec<Series>) -> Self {
        Self {
            x,
            y,
            series,
            ..Self::default()
        }
    }
}

impl Axis {
    /// Creates a linear axis.
    pub fn linear(label: &str, unit: &str) -> Self {
        Self {
            label: label.to_owned(),
            unit: unit.to_owned(),
            ..Self::default()
        }
    }

    /// Creates a logarithmic axis.
    pub fn log(label: &str, unit: &str) -> Self {
        Self {
            scale: Scale::Log,
            ..Self::linear(label, unit)
        }
    }

    /// Creates an axis of named categories.
    pub fn names<N: Into<String>>(label: &str, names: impl IntoIterator<Item = N>) -> Self {
        Self {
            scale: Scale::Names(names.into_iter().map(Into::into).collect()),
            ..Self::linear(label, "")
        }
    }

    /// Sets fixed ends of the axis.
    #[must_use]
    pub fn between(self, from: f64, to: f64) -> Self {
        Self {
            from: Some(from),
            to: Some(to),
            ..self
        }
    }
}
