//! Figures as SVG text: lines with interval bands, bars with error bars, CDFs and time series.
//!
//! A figure is a title and a vertical sequence of panels, readable on a phone. Text and axes use the page's colour
//! (`currentColor`). Series have colours that stand out on light and dark pages and that colour-blind readers can
//! distinguish; a [`Palette`] assigns them. This crate reads no files, clocks or fonts: equal figures give equal bytes
//! on every machine.

#![forbid(unsafe_code)]

mod axis;
mod data;
mod draw;
mod format;
mod frame;
mod layout;
mod legend;
mod marks;
mod overlap;
mod palette;
mod reach;
mod shapes;
mod strip;
mod svg;

use duetime_results::Estimate;

pub use palette::{Colour, Dash, Look, Marker, Palette};
pub use reach::share_axes;
pub use strip::Strip;

/// Figure, drawn by [`Figure::to_svg`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// Title, drawn above the panels.
    pub title: String,
    /// Text alternative for readers who cannot see the figure.
    pub description: String,
    /// Panels, top to bottom. Panels with equal axes share the ends of these axes, and shared linear axes include zero.
    pub panels: Vec<Panel>,
    /// Looks of the series.
    pub palette: Palette,
}

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

/// Named sequence of points.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name, which determines the look by the figure's palette; shown in the legend unless there is a label.
    pub name: String,
    /// Legend text that replaces the name, if not empty.
    pub label: String,
    /// Points in order of x.
    pub points: Vec<Point>,
    /// Style of drawing.
    pub style: Style,
}

/// Value with its interval. A point that is not finite leaves a gap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Position on the x axis.
    pub x: f64,
    /// Value on the y axis.
    pub y: f64,
    /// Lower end of the interval; equal to `y` if there is no interval.
    pub low: f64,
    /// Upper end of the interval; equal to `y` if there is no interval.
    pub high: f64,
}

/// Style of drawing a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Line, with the intervals as a band and, if there are few points, markers. The line is dashed where it overlaps
    /// an earlier line.
    Line,
    /// Line that keeps each value until the next point, for CDFs and counts over time.
    Step,
    /// Bars from zero with error bars, side by side for several series. A bar too low to be read has its value written
    /// above it.
    Bars,
    /// Markers with error bars.
    Points,
    /// Pale dots, for many values.
    Dots,
    /// Hollow markers in the series' colour, for published values, drawn with the series of the same name. The legend
    /// shows them once, as "published".
    Published,
    /// Published upper bounds, such as "below 7 %": a bar with an arrow towards the allowed side.
    AtMost,
    /// Published lower bounds.
    AtLeast,
}

impl Style {
    /// Returns true if the series shows published values.
    fn is_published(self) -> bool {
        matches!(self, Self::Published | Self::AtMost | Self::AtLeast)
    }
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

impl Figure {
    /// Creates a figure with one panel.
    pub fn single(title: &str, description: &str, panel: Panel) -> Self {
        Self {
            title: title.to_owned(),
            description: description.to_owned(),
            panels: vec![panel],
            palette: Palette::default(),
        }
    }

    /// Draws the figure as one `<svg>` element, for a page or a separate file.
    pub fn to_svg(&self) -> String {
        draw::figure(self, false)
    }

    /// Draws the figure with its data as JSON in a `metadata` element, for pages with a script that redraws it.
    pub fn to_svg_with_data(&self) -> String {
        draw::figure(self, true)
    }
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

impl Series {
    /// Creates a series of `points`.
    pub fn new(name: &str, style: Style, points: Vec<Point>) -> Self {
        Self {
            name: name.to_owned(),
            label: String::new(),
            points,
            style,
        }
    }

    /// Sets the legend text.
    #[must_use]
    pub fn labelled(self, label: &str) -> Self {
        Self {
            label: label.to_owned(),
            ..self
        }
    }

    /// Creates the empirical CDF of `values`: for each value, the share of values in [0, 1] that do not exceed it.
    pub fn cdf(name: &str, values: &[f64]) -> Self {
        let mut sorted: Vec<f64> = values
            .iter()
            .copied()
            .filter(|value| value.is_finite())
            .collect();
        sorted.sort_by(f64::total_cmp);
        let all = sorted.len() as f64;
        let first = sorted.first().map(|&value| Point::new(value, 0.0));
        let steps = sorted
            .iter()
            .enumerate()
            .map(|(i, &value)| Point::new(value, (i + 1) as f64 / all));
        Self::new(name, Style::Step, first.into_iter().chain(steps).collect())
    }
}

impl Point {
    /// Creates a point without an interval.
    pub fn new(x: f64, y: f64) -> Self {
        Self {
            x,
            y,
            low: y,
            high: y,
        }
    }

    /// Creates a point from a statistic and its interval, both multiplied by `factor` (100 for per cent).
    pub fn of(x: f64, estimate: &Estimate, factor: f64) -> Self {
        Self {
            x,
            y: estimate.value * factor,
            low: estimate.low() * factor,
            high: estimate.high() * factor,
        }
    }
}

#[cfg(test)]
mod tests;
