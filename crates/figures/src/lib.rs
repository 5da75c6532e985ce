//! The one place that draws: lines with interval bands, bars with error bars, CDFs and time series, as SVG text.
//!
//! A figure is a title and panels, one below the other, so that it can be read on a phone. Text and axes take the
//! page's colour (`currentColor`), series have colours that stand out from light and dark pages and that colour-blind
//! readers can tell apart. Which series has which is said by a [`Palette`]. Nothing here reads files, clocks or fonts: the
//! same figure is the same bytes everywhere.

#![forbid(unsafe_code)]

mod axis;
mod data;
mod draw;
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
mod words;

use duetime_results::Estimate;

pub use palette::{Colour, Dash, Look, Marker, Palette};
pub use reach::share_axes;
pub use strip::Strip;

/// A figure. Drawn by [`Figure::to_svg`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// What the figure shows, above it.
    pub title: String,
    /// What a reader who cannot see it should know.
    pub description: String,
    /// Its panels, top to bottom. Those with equal axes have them from the same beginning to the same end, linear ones
    /// from zero.
    pub panels: Vec<Panel>,
    /// How its series look.
    pub palette: Palette,
}

/// One pair of axes with what is drawn between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panel {
    /// Shown above the panel if not empty.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn, first to last.
    pub series: Vec<Series>,
    /// Lines that mark a value.
    pub guides: Vec<Guide>,
    /// What the line means on which both axes have the same value; it is drawn if this is not empty.
    pub diagonal: String,
}

/// An axis. The default is linear and fits its data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// What is measured.
    pub label: String,
    /// Its unit, shown in brackets if not empty.
    pub unit: String,
    /// How values become positions.
    pub scale: Scale,
    /// Where the axis begins, if not where the data do.
    pub from: Option<f64>,
    /// Where the axis ends, if not where the data do.
    pub to: Option<f64>,
}

/// How values become positions.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Scale {
    /// In proportion.
    #[default]
    Linear,
    /// By logarithm; values that are not positive are left out.
    Log,
    /// Named places: value i is the i-th name.
    Names(Vec<String>),
}

/// A named sequence of points.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Decides its look, by the figure's palette; shown in the legend unless there is a label.
    pub name: String,
    /// Shown in the legend instead of the name, if not empty.
    pub label: String,
    /// In order of x.
    pub points: Vec<Point>,
    /// How it is drawn.
    pub style: Style,
}

/// One value with its interval. A point that is not finite leaves a gap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Where.
    pub x: f64,
    /// How much.
    pub y: f64,
    /// Lower end of the interval; equal to `y` without one.
    pub low: f64,
    /// Upper end of the interval; equal to `y` without one.
    pub high: f64,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A line, with the intervals as a band and, when there are few points, markers. Where it lies on a line before it,
    /// it is dashed.
    Line,
    /// A line that keeps each value until the next point: CDFs and counts over time.
    Step,
    /// Bars from zero with error bars; those of several series stand side by side. One too low to be read has its value
    /// written above it.
    Bars,
    /// Markers with error bars.
    Points,
    /// Pale dots, for many values.
    Dots,
    /// Hollow markers in the series' colour: values of others, drawn beside those of the same name. The legend has them
    /// once, as "published".
    Published,
    /// Bounds of others from above, as in "below 7 %": a bar with an arrow towards what is allowed.
    AtMost,
    /// Bounds of others from below.
    AtLeast,
}

impl Style {
    /// Whether it shows what others say, beside what the series of the same name shows.
    fn is_of_others(self) -> bool {
        matches!(self, Self::Published | Self::AtMost | Self::AtLeast)
    }
}

/// A line across a panel: a target, a deadline, a published value.
#[derive(Clone, Debug, PartialEq)]
pub struct Guide {
    /// Whether `at` is a value of the x axis; otherwise of the y axis.
    pub vertical: bool,
    /// Where.
    pub at: f64,
    /// Written in the legend.
    pub label: String,
}

impl Figure {
    /// A figure of one panel.
    pub fn single(title: &str, description: &str, panel: Panel) -> Self {
        Self {
            title: title.to_owned(),
            description: description.to_owned(),
            panels: vec![panel],
            palette: Palette::default(),
        }
    }

    /// The figure as one `<svg>` element: to be put into a page, or into a file of its own.
    pub fn to_svg(&self) -> String {
        draw::figure(self, false)
    }

    /// The same drawing with what it shows as JSON in a `metadata` element, for a page whose script draws it again.
    pub fn to_svg_with_data(&self) -> String {
        draw::figure(self, true)
    }
}

impl Panel {
    /// A panel of these axes and series.
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
    /// A linear axis.
    pub fn linear(label: &str, unit: &str) -> Self {
        Self {
            label: label.to_owned(),
            unit: unit.to_owned(),
            ..Self::default()
        }
    }

    /// A logarithmic axis.
    pub fn log(label: &str, unit: &str) -> Self {
        Self {
            scale: Scale::Log,
            ..Self::linear(label, unit)
        }
    }

    /// An axis of named places.
    pub fn names<N: Into<String>>(label: &str, names: impl IntoIterator<Item = N>) -> Self {
        Self {
            scale: Scale::Names(names.into_iter().map(Into::into).collect()),
            ..Self::linear(label, "")
        }
    }

    /// The same axis, with fixed ends.
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
    /// A series of `points`.
    pub fn new(name: &str, style: Style, points: Vec<Point>) -> Self {
        Self {
            name: name.to_owned(),
            label: String::new(),
            points,
            style,
        }
    }

    /// The same with a text of its own in the legend.
    #[must_use]
    pub fn labelled(self, label: &str) -> Self {
        Self {
            label: label.to_owned(),
            ..self
        }
    }

    /// The empirical CDF of `values`: for each, the share in [0, 1] that does not exceed it.
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
    /// A point without an interval.
    pub fn new(x: f64, y: f64) -> Self {
        Self {
            x,
            y,
            low: y,
            high: y,
        }
    }

    /// A statistic with its interval, both times `factor` (100 for per cent).
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
