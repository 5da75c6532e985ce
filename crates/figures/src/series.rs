//! Series of a figure: their points and their style.

use duetime_results::Estimate;

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
    pub(crate) fn is_published(self) -> bool {
        matches!(self, Self::Published | Self::AtMost | Self::AtLeast)
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

    /// Returns true if there is an interval.
    pub(crate) fn has_interval(&self) -> bool {
        self.low.is_finite() && self.high.is_finite() && self.low < self.high
    }
}
