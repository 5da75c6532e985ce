//! Contents of a panel: lines, bands, bars, markers, error bars, guides.

use crate::format::tip;
use crate::frame::Frame;
use crate::overlap::{below, stretches};
use crate::palette::{Dash, Look};
use crate::panel::{Guide, Panel};
use crate::series::{Point, Series, Style};
use crate::shapes::{arrow, bar, curve, dots, hollow, marker, scattered, through, written};
use crate::svg::{Svg, number};
use std::fmt::Write;

/// Maximum number of points of a line with markers.
const MAX_MARKERS: usize = 40;
/// Number of columns to which a long line is thinned; each column keeps its extremes.
const COLUMNS: usize = 440;

/// Share of a category's width that its bars fill.
const FILLED: f64 = 0.8;

/// Bars lower than this have their value written above them.
const LOW_BAR: f64 = 12.0;

/// Look of a series, and the lines drawn before it.
pub(crate) struct Ink<'a> {
    pub(crate) look: Look,
    /// Clip path of the series' lines.
    pub(crate) clip: &'a str,
    /// Corners of the lines drawn so far.
    pub(crate) earlier: &'a [Vec<(f64, f64)>],
}

impl Frame {
    /// Returns the offset of bar `i` of `all` from the middle of its category, in units of a category.
    pub(crate) fn bar_offset(i: usize, all: usize) -> f64 {
        (i as f64 + 0.5 - all as f64 / 2.0) * FILLED / all as f64
    }

    /// Returns the corners of a series' lines; empty if its style has no lines.
    pub(crate) fn lines(&self, series: &Series) -> Vec<Vec<(f64, f64)>> {
        if !matches!(series.style, Style::Line | Style::Step) {
            return Vec::new();
        }
        let runs = self.runs(&thinned(&series.points));
        runs.iter()
            .map(|run| self.corners(run, series.style))
            .collect()
    }

    fn corners(&self, run: &[Point], style: Style) -> Vec<(f64, f64)> {
        let mut corners: Vec<(f64, f64)> = Vec::with_capacity(2 * run.len());
        for (x, y) in run.iter().filter_map(|point| self.at(point.x, point.y)) {
            if let (Style::Step, Some(&(_, before))) = (style, corners.last()) {
                corners.push((x, before));
            }
            corners.push((x, y));
        }
        corners
    }

    /// Returns true if a solid line of the panel overlaps an earlier line and is dashed there.
    pub(crate) fn has_overlaps(&self, panel: &Panel, look: &dyn Fn(&str) -> Look) -> bool {
        let mut earlier = Vec::new();
        for series in &panel.series {
            let lines = self.lines(series);
            let hides = |line: &Vec<(f64, f64)>| {
                let mut stretches = stretches(line, &earlier).into_iter();
                stretches.any(|stretch| stretch.below > 0)
            };
            if look(&series.name).dash == Dash::Solid && lines.iter().any(hides) {
                return true;
            }
            earlier.extend(lines);
        }
        false
    }

    /// Draws a series that has no bars.
    pub(crate) fn series(&self, svg: &mut Svg, series: &Series, ink: &Ink, panel: &Panel) {
        let Ink { look, clip, .. } = *ink;
        let points = thinned(&series.points);
        let runs = self.runs(&points);
        if matches!(series.style, Style::Line | Style::Step) && !runs.is_empty() {
            svg.open("g", &[("clip-path", &format!("url(#{clip})"))]);
            if series.style == Style::Line {
                for run in &runs {
                    self.band(svg, run, look);
                }
            }
            let corners = runs.iter().map(|run| self.corners(run, series.style));
            curve(svg, look, &corners.collect::<Vec<_>>(), ink.earlier);
            svg.close();
        }
        if series.style == Style::Dots {
            scattered(svg, look, &corners_of(self, &runs));
        }
        if matches!(series.style, Style::AtMost | Style::AtLeast) {
            self.bound(svg, series, look, panel);
        }
        if series.style == Style::Published {
            for point in runs.iter().flatten() {
                let Some(at) = self.at(point.x, point.y) else {
                    continue;
                };
                let tip = format!("published: {}", tip(series, point, panel));
                hollow(svg, look.colour.svg(), look.marker, at, Some(&tip));
            }
        }
        if series.style == Style::Points
            || (series.style == Style::Line && points.len() <= MAX_MARKERS)
        {
            for point in runs.iter().flatten() {
                let Some(at) = self.at(point.x, point.y) else {
                    continue;
                };
                if series.style == Style::Points {
                    self.whisker(svg, at.0, point, look.colour.svg());
                }
                // Markers on earlier lines are smaller, so that the markers below remain visible.
                let size = match below(at, ink.earlier) {
                    _ if series.style == Style::Points => 1.0,
                    0 => 1.0,
                    1 => 0.65,
                    _ => 0.4,
                };
                marker(svg, look, at, size, Some(&tip(series, point, panel)));
            }
        }
    }

    /// Draws the line on which x and y are equal, in segments because it is curved if one axis is logarithmic.
    pub(crate) fn diagonal(&self, svg: &mut Svg, clip: &str) {
        const PIECES: u32 = 48;
        let (from, to) = self.x.ends();
        let piece = |i: u32| {
            let value = self.x.value(f64::from(i) / f64::from(PIECES));
            self.at(value, value)
        };
        let corners: Vec<(f64, f64)> = (0..=PIECES).filter_map(piece).collect();
        if from < to && corners.len() > 1 {
            svg.open("g", &[("clip-path", &format!("url(#{clip})"))]);
            dots(svg, &through(&corners));
            svg.close();
        }
    }

    /// Splits the points into runs without gaps.
    fn runs(&self, points: &[Point]) -> Vec<Vec<Point>> {
        let drawn = |point: &Point| self.at(point.x, point.y).is_some();
        points
            .split(|point| !drawn(point))
            .filter(|run| !run.is_empty())
            .map(<[Point]>::to_vec)
            .collect()
    }

    fn band(&self, svg: &mut Svg, run: &[Point], look: Look) {
        if run.iter().all(|point| !point.has_interval()) {
            return;
        }
        let ends =
            |end: fn(&Point) -> f64| run.iter().map(move |point| (point.x, end(point), point.y));
        let there = ends(|point| point.high);
        let back = ends(|point| point.low).rev();
        let mut path = String::new();
        for (x, end, y) in there.chain(back) {
            // On a logarithmic axis, an interval that includes zero extends to the end of the axis.
            let ground = if end < y { self.y.ground() } else { y };
            let Some((x, y)) = self.at(x, end).or_else(|| self.at(x, ground)) else {
                continue;
            };
            let command = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{command}{} {}", number(x), number(y));
        }
        path.push('Z');
        svg.empty(
            "path",
            &[
                ("d", &path),
                ("fill", look.colour.svg()),
                ("fill-opacity", "0.18"),
            ],
        );
    }

    pub(crate) fn bars(
        &self,
        svg: &mut Svg,
        series: &Series,
        look: Look,
        (i, all): (usize, usize),
        panel: &Panel,
    ) {
        let slot = (Self::right() - self.left) / self.x.ticks.len().max(1) as f64;
        let wide = slot * FILLED / all as f64;
        for point in &series.points {
            let (Some((x, y)), Some(ground)) =
                (self.at(point.x, point.y), self.up(self.y.ground()))
            else {
                continue;
            };
            let from = x + (i as f64 - all as f64 / 2.0) * wide;
            let size = ((wide - 1.5).max(1.0), (y - ground).abs());
            let tip = tip(series, point, panel);
            bar(svg, look, (from, y.min(ground)), size, Some(&tip));
            self.whisker(svg, from + (wide - 1.5) / 2.0, point, "currentColor");
            if size.1 < LOW_BAR {
                let above = self.up(point.high).unwrap_or(y).min(y);
                written(svg, (from + (wide - 1.5) / 2.0, above), wide, point.y);
            }
        }
    }

    /// Draws a published bound: a bar with an arrow towards the allowed side. The bars of several points are joined.
    fn bound(&self, svg: &mut Svg, series: &Series, look: Look, panel: &Panel) {
        let places: Vec<(f64, f64, &Point)> = series
            .points
            .iter()
            .filter_map(|point| self.at(point.x, point.y).map(|(x, y)| (x, y, point)))
            .collect();
        let corners: Vec<(f64, f64)> = places.iter().map(|&(x, y, _)| (x, y)).collect();
        if corners.len() > 1 {
            svg.empty(
                "path",
                &[
                    ("d", &through(&corners)),
                    ("stroke", look.colour.svg()),
                    ("stroke-width", "1.2"),
                    ("fill", "none"),
                ],
            );
        }
        for (x, y, point) in places {
            let (words, down) = match series.style {
                Style::AtMost => ("at most", true),
                _ => ("at least", false),
            };
            let tip = format!("published, {words}: {}", tip(series, point, panel));
            arrow(svg, look.colour.svg(), (x, y), down, Some(&tip));
        }
    }

    fn whisker(&self, svg: &mut Svg, x: f64, point: &Point, colour: &str) {
        if !point.has_interval() {
            return;
        }
        let low = self.up(point.low).or_else(|| self.up(self.y.ground()));
        let (Some(low), Some(high)) = (low, self.up(point.high)) else {
            return;
        };
        let (left, low, high) = (number(x - 3.0), number(low), number(high));
        let path = format!("M{left} {high}h6m-3 0V{low}m-3 0h6");
        svg.empty(
            "path",
            &[
                ("d", &path),
                ("stroke", colour),
                ("stroke-width", "1.3"),
                ("fill", "none"),
            ],
        );
    }

    pub(crate) fn guide(&self, svg: &mut Svg, guide: &Guide) {
        let (across, up) = ((self.left, Self::right()), (self.top, self.bottom()));
        let (place, range, other) = if guide.vertical {
            (self.across(guide.at), across, up)
        } else {
            (self.up(guide.at), up, across)
        };
        let inside = |place: &f64| (range.0 - 0.5..=range.1 + 0.5).contains(place);
        let Some(place) = place.filter(inside).map(number) else {
            return;
        };
        let (from, to) = (number(other.0), number(other.1));
        let path = if guide.vertical {
            format!("M{place} {from}V{to}")
        } else {
            format!("M{from} {place}H{to}")
        };
        dots(svg, &path);
    }
}

/// Returns the positions of the points of all runs.
fn corners_of(frame: &Frame, runs: &[Vec<Point>]) -> Vec<(f64, f64)> {
    let points = runs.iter().flatten();
    points
        .filter_map(|point| frame.at(point.x, point.y))
        .collect()
}

/// Reduces a long series to the first, smallest, largest and last point of each column.
pub(crate) fn thinned(points: &[Point]) -> Vec<Point> {
    if points.len() <= 4 * COLUMNS {
        return points.to_vec();
    }
    let size = points.len().div_ceil(COLUMNS);
    let mut kept = Vec::with_capacity(4 * COLUMNS);
    for chunk in points.chunks(size) {
        let by_y = |i: &usize, j: &usize| chunk[*i].y.total_cmp(&chunk[*j].y);
        let drawn = || (0..chunk.len()).filter(|&i| chunk[i].y.is_finite());
        let ends = [
            Some(0),
            drawn().min_by(by_y),
            drawn().max_by(by_y),
            Some(chunk.len() - 1),
        ];
        let mut indices: Vec<usize> = ends.into_iter().flatten().collect();
        indices.sort_unstable();
        indices.dedup();
        kept.extend(indices.into_iter().map(|i| chunk[i]));
    }
    kept
}
