//! JSON data of a figure, from which a page's script redraws it with other axes or without some series. The script has
//! no other source; `crates/study/src/report/page/` reads this format.

use crate::axis::Span;
use crate::frame::Frame;
use crate::layout::PLOT_HEIGHT;
use crate::marks::thinned;
use crate::palette::{Look, Marker};
use crate::panel::{Axis, Panel, Scale};
use crate::series::{Point, Series, Style};
use std::fmt::Write;

/// Returns the panels of a figure as JSON. The flag of a panel is true if its y axis must show zero. `look` maps the
/// name of a series to its look.
pub(crate) fn json<'a>(
    panels: impl Iterator<Item = (&'a Panel, &'a Frame, bool)>,
    look: &dyn Fn(&str) -> Look,
) -> String {
    let panels = panels.map(|(panel, frame, zero)| {
        let sides = [frame.left, frame.top, Frame::right() - frame.left];
        let sides = sides.into_iter().chain([PLOT_HEIGHT]).map(number);
        let guides = panel.guides.iter().map(|guide| {
            let at = number(guide.at);
            format!("[{},{at},{}]", guide.vertical, string(&guide.label))
        });
        format!(
            "{{\"title\":{},\"box\":{},\"x\":{},\"y\":{},\"guides\":{},\"diagonal\":{},\"series\":{}}}",
            string(&panel.title),
            list(sides),
            axis(&panel.x, &frame.x, false),
            axis(&panel.y, &frame.y, zero),
            list(guides),
            !panel.diagonal.is_empty(),
            list(panel.series.iter().map(|shown| series(shown, look(&shown.name)))),
        )
    });
    list(panels)
}

/// Returns an axis with its requested and its drawn ends.
fn axis(axis: &Axis, span: &Span, zero: bool) -> String {
    let scale = match &axis.scale {
        Scale::Linear => "linear",
        Scale::Log => "log",
        Scale::Names(_) => "names",
    };
    let ends = |ends: [Option<f64>; 2]| list(ends.map(|end| end.map_or("null".to_owned(), exact)));
    let (from, to) = span.ends();
    let ticks = span.ticks.iter();
    let ticks = ticks.map(|(value, label)| format!("[{},{}]", exact(*value), string(label)));
    format!(
        "{{\"label\":{},\"unit\":{},\"scale\":\"{scale}\",\"asked\":{},\"ends\":{},\"zero\":{zero},\"ticks\":{}}}",
        string(&axis.label),
        string(&axis.unit),
        ends([axis.from, axis.to]),
        ends([Some(from), Some(to)]),
        list(ticks),
    )
}

/// Returns a series: x and y of each point in turn, and the interval ends if any point has an interval.
fn series(series: &Series, look: Look) -> String {
    let style = match series.style {
        Style::Line => "line",
        Style::Step => "step",
        Style::Bars => "bars",
        Style::Points => "points",
        Style::Dots => "dots",
        Style::Published => "published",
        Style::AtMost => "at most",
        Style::AtLeast => "at least",
    };
    let marker = match look.marker {
        Marker::Circle => "circle",
        Marker::Square => "square",
        Marker::Diamond => "diamond",
        Marker::Triangle => "triangle",
    };
    let points = thinned(&series.points);
    let values = points.iter().flat_map(|point| [point.x, point.y]);
    let ends = points.iter().flat_map(|point| [point.low, point.high]);
    let has_intervals = points.iter().any(Point::has_interval);
    format!(
        "{{\"name\":{},\"label\":{},\"style\":\"{style}\",\"colour\":\"{}\",\"marker\":\"{marker}\",\"dash\":\"{}\",\
         \"points\":{},\"intervals\":{}}}",
        string(&series.name),
        string(&series.label),
        look.colour.svg(),
        look.dash.lengths().unwrap_or_default(),
        list(values.map(number)),
        list(ends.filter(|_| has_intervals).map(number)),
    )
}

fn list(items: impl IntoIterator<Item = String>) -> String {
    let all: Vec<String> = items.into_iter().collect();
    format!("[{}]", all.join(","))
}

/// Formats a number with seven significant digits, of which the page shows four; null if it is not finite.
fn number(value: f64) -> String {
    exact(format!("{value:.6e}").parse().unwrap_or(value))
}

fn exact(value: f64) -> String {
    match value.abs() {
        _ if !value.is_finite() => "null".to_owned(),
        0.0 => "0".to_owned(),
        1e-4..1e15 => format!("{value}"),
        _ => format!("{value:e}"),
    }
}

/// Returns a JSON string with all characters escaped that have a meaning in XML or HTML.
fn string(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '<' | '>' | '&' | '\u{0}'..'\u{20}' | '\u{fffe}'..='\u{ffff}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(letter));
            }
            _ => out.push(letter),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_strings_escaped() {
        assert_eq!(number(1.0 / 3.0), "0.3333333");
        assert_eq!(number(12_345_678.9), "12345680");
        assert_eq!(number(-0.0), "0");
        assert_eq!(number(1.25e-9), "1.25e-9");
        assert_eq!(number(f64::NAN), "null");
        assert_eq!(string("a\"<b>\u{1}"), "\"a\\\"\\u003cb\\u003e\\u0001\"");
    }
}
