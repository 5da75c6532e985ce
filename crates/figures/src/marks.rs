//! What is drawn between the axes: lines, bands, bars, markers, error bars, guides.

use crate::frame::Frame;
use crate::palette::{Dash, Look, Marker};
use crate::svg::{Svg, number};
use crate::{Guide, Panel, Point, Scale, Series, Style};
use std::fmt::Write;

/// With more points than this a line has no markers.
const MARKED: usize = 40;
/// A line with more than four points in each of as many columns is thinned to its extremes in each.
const COLUMNS: usize = 440;

/// Share of a named place that its bars take.
const FILLED: f64 = 0.8;

impl Frame {
    /// How far the middle of bar `i` of `all` lies from the middle of its place, in places.
    pub(crate) fn beside(i: usize, all: usize) -> f64 {
        (i as f64 + 0.5 - all as f64 / 2.0) * FILLED / all as f64
    }

    /// A series that is not of bars; `clip` is the path that its lines end at.
    pub(crate) fn series(
        &self,
        svg: &mut Svg,
        series: &Series,
        look: Look,
        panel: &Panel,
        clip: &str,
    ) {
        let points = thinned(&series.points);
        let runs = self.runs(&points);
        if matches!(series.style, Style::Line | Style::Step) && !runs.is_empty() {
            svg.open("g", &[("clip-path", &format!("url(#{clip})"))]);
            if series.style == Style::Line {
                for run in &runs {
                    self.band(svg, run, look);
                }
            }
            let mut path = String::new();
            for run in &runs {
                for (i, point) in run.iter().enumerate() {
                    let Some((x, y)) = self.at(point.x, point.y) else {
                        continue;
                    };
                    match (i, series.style) {
                        (0, _) => _ = write!(path, "M{} {}", number(x), number(y)),
                        (_, Style::Step) => _ = write!(path, "H{}V{}", number(x), number(y)),
                        _ => _ = write!(path, "L{} {}", number(x), number(y)),
                    }
                }
            }
            if !path.is_empty() {
                line(svg, look, &path);
            }
            svg.close();
        }
        if series.style == Style::Published {
            for point in runs.iter().flatten() {
                let Some(at) = self.at(point.x, point.y) else {
                    continue;
                };
                let tip = format!("published: {}", tip(series, point, panel));
                hollow(svg, look.colour, look.marker, at, Some(&tip));
            }
        }
        if series.style == Style::Points || (series.style == Style::Line && points.len() <= MARKED)
        {
            for point in runs.iter().flatten() {
                let Some(at) = self.at(point.x, point.y) else {
                    continue;
                };
                if series.style == Style::Points {
                    self.whisker(svg, at.0, point, look.colour);
                }
                marker(svg, look, at, Some(&tip(series, point, panel)));
            }
        }
    }

    /// The points in stretches without gaps.
    fn runs(&self, points: &[Point]) -> Vec<Vec<Point>> {
        let drawn = |point: &Point| self.at(point.x, point.y).is_some();
        points
            .split(|point| !drawn(point))
            .filter(|run| !run.is_empty())
            .map(<[Point]>::to_vec)
            .collect()
    }

    fn band(&self, svg: &mut Svg, run: &[Point], look: Look) {
        if run.iter().all(|point| !has_interval(point)) {
            return;
        }
        let ends =
            |end: fn(&Point) -> f64| run.iter().map(move |point| (point.x, end(point), point.y));
        let there = ends(|point| point.high);
        let back = ends(|point| point.low).rev();
        let mut path = String::new();
        for (x, end, y) in there.chain(back) {
            // On a logarithmic axis an interval may reach to zero: then down to the end of the axis.
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
                ("fill", look.colour),
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
        }
    }

    fn whisker(&self, svg: &mut Svg, x: f64, point: &Point, colour: &str) {
        if !has_interval(point) {
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
        let place = if guide.vertical {
            self.across(guide.at)
        } else {
            self.up(guide.at)
        };
        let Some(place) = place else { return };
        let inside = if guide.vertical {
            (self.left - 0.5..=Self::right() + 0.5).contains(&place)
        } else {
            (self.top - 0.5..=self.bottom() + 0.5).contains(&place)
        };
        if !inside {
            return;
        }
        let path = if guide.vertical {
            format!(
                "M{} {}V{}",
                number(place),
                number(self.top),
                number(self.bottom())
            )
        } else {
            format!(
                "M{} {}H{}",
                number(self.left),
                number(place),
                number(Self::right())
            )
        };
        dots(svg, &path);
    }
}

fn has_interval(point: &Point) -> bool {
    point.low.is_finite() && point.high.is_finite() && point.low < point.high
}

/// What a reader sees who points at a value.
fn tip(series: &Series, point: &Point, panel: &Panel) -> String {
    let x = match &panel.x.scale {
        Scale::Names(names) => names
            .get(point.x.round() as usize)
            .cloned()
            .unwrap_or_default(),
        _ => with_unit(&significant(point.x), &panel.x.unit),
    };
    let y = with_unit(&significant(point.y), &panel.y.unit);
    let interval = if has_interval(point) {
        format!(
            " ({} to {})",
            significant(point.low),
            significant(point.high)
        )
    } else {
        String::new()
    };
    format!("{}, {x}: {y}{interval}", series.name)
}

fn with_unit(value: &str, unit: &str) -> String {
    if unit.is_empty() {
        value.to_owned()
    } else {
        format!("{value} {unit}")
    }
}

/// A number to four significant digits, or to the unit if it is large.
fn significant(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let decimals = (3 - libm::floor(libm::log10(value.abs())) as i32).clamp(0, 12) as usize;
    let text = format!("{value:.decimals$}");
    if decimals == 0 {
        text
    } else {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

/// A long series reduced to the first, least, greatest and last point of each column.
fn thinned(points: &[Point]) -> Vec<Point> {
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

/// The dotted line of a guide.
pub(crate) fn dots(svg: &mut Svg, path: &str) {
    svg.empty(
        "path",
        &[
            ("d", path),
            ("stroke", "currentColor"),
            ("stroke-width", "1.2"),
            ("stroke-dasharray", "2 3"),
            ("fill", "none"),
        ],
    );
}

/// A bar: full, or pale and outlined in the look's pattern.
pub(crate) fn bar(
    svg: &mut Svg,
    look: Look,
    (x, y): (f64, f64),
    (width, height): (f64, f64),
    tip: Option<&str>,
) {
    // The outline lies within the bar.
    let inset = if look.dash == Dash::Solid { 0.0 } else { 0.7 };
    let [x, y] = [x + inset, y + inset].map(number);
    let [width, height] = [width, height].map(|length| number((length - 2.0 * inset).max(0.0)));
    let mut attributes = vec![
        ("x", x.as_str()),
        ("y", &y),
        ("width", &width),
        ("height", &height),
        ("fill", look.colour),
    ];
    match look.dash.lengths() {
        None => attributes.push(("fill-opacity", "0.85")),
        Some(lengths) => attributes.extend([
            ("fill-opacity", "0.25"),
            ("stroke", look.colour),
            ("stroke-width", "1.4"),
            ("stroke-dasharray", lengths),
        ]),
    }
    match tip {
        Some(tip) => svg.tipped("rect", &attributes, tip),
        None => svg.empty("rect", &attributes),
    }
}

pub(crate) fn line(svg: &mut Svg, look: Look, path: &str) {
    let mut attributes = vec![
        ("d", path),
        ("stroke", look.colour),
        ("stroke-width", "1.8"),
        ("stroke-linejoin", "round"),
        ("fill", "none"),
    ];
    if let Some(lengths) = look.dash.lengths() {
        attributes.push(("stroke-dasharray", lengths));
    }
    svg.empty("path", &attributes);
}

pub(crate) fn marker(svg: &mut Svg, look: Look, at: (f64, f64), tip: Option<&str>) {
    let path = outline(look.marker, at, 1.0);
    let attributes = [("d", path.as_str()), ("fill", look.colour)];
    match tip {
        Some(tip) => svg.tipped("path", &attributes, tip),
        None => svg.empty("path", &attributes),
    }
}

/// A larger marker of which only the outline is drawn, on white: it may lie on a bar of its own colour.
pub(crate) fn hollow(
    svg: &mut Svg,
    colour: &str,
    marker: Marker,
    at: (f64, f64),
    tip: Option<&str>,
) {
    let path = outline(marker, at, 1.7);
    let attributes = [
        ("d", path.as_str()),
        ("fill", "#fff"),
        ("fill-opacity", "0.8"),
        ("stroke", colour),
        ("stroke-width", "1.8"),
    ];
    match tip {
        Some(tip) => svg.tipped("path", &attributes, tip),
        None => svg.empty("path", &attributes),
    }
}

fn outline(marker: Marker, (x, y): (f64, f64), by: f64) -> String {
    let corner = |dx: f64, dy: f64| format!("{} {}", number(x + dx * by), number(y + dy * by));
    let n = |length: f64| number(length * by);
    match marker {
        Marker::Circle => {
            let (r, d) = (n(3.3), n(6.6));
            let start = corner(-3.3, 0.0);
            format!("M{start}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0Z")
        }
        Marker::Square => {
            let side = n(6.0);
            format!("M{}h{side}v{side}h-{side}Z", corner(-3.0, -3.0))
        }
        Marker::Diamond => {
            let half = n(4.0);
            format!(
                "M{}l{half} {half}l-{half} {half}l-{half} -{half}Z",
                corner(0.0, -4.0)
            )
        }
        Marker::Triangle => format!("M{}l{} {}h-{}Z", corner(0.0, -4.5), n(4.0), n(7.0), n(8.0)),
    }
}
