//! Compact chart of a few percentiles and a budget on one line, for cards that are compared on the same scale.

use crate::axis::{Extent, Span};
use crate::layout::width;
use crate::palette::Palette;
use crate::panel::Axis;
use crate::shapes::dots;
use crate::svg::{Svg, number};

/// Percentiles of one series on a logarithmic scale, drawn by [`Strip::to_svg`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Strip {
    /// Name of the series, which determines its colour by the palette.
    pub name: String,
    /// Looks of the series.
    pub palette: Palette,
    /// Text alternative for readers who cannot see the strip.
    pub description: String,
    /// Unit of all values.
    pub unit: String,
    /// Ends of the scale, shared by all strips side by side.
    pub ends: (f64, f64),
    /// Names and values of the percentiles, ascending. A percentile without a value is drawn beyond the end of the
    /// scale.
    pub marks: Vec<(String, Option<f64>)>,
    /// Budget that the values should stay below.
    pub budget: Option<f64>,
}

const WIDTH: f64 = 250.0;
const HEIGHT: f64 = 62.0;
const LEFT: f64 = 10.0;
const RIGHT: f64 = 240.0;
/// Vertical position of the line.
const LEVEL: f64 = 28.0;
const TEXT: f64 = 12.0;

impl Strip {
    /// Draws the strip as one `<svg>` element.
    pub fn to_svg(&self) -> String {
        let axis = Axis::log("", &self.unit);
        let (low, high) = self.ends;
        let scale = Span::new(
            &axis,
            Extent::new([low, high].into_iter(), &axis.scale),
            true,
            false,
        );
        let place = |value: f64| {
            let share = scale.place(value)?.clamp(0.0, 1.0);
            Some(LEFT + (RIGHT - LEFT) * share)
        };
        let look = self.palette.looks(&[&self.name])[0];
        let mut svg = Svg::new();
        svg.open(
            "svg",
            &[
                ("xmlns", "http://www.w3.org/2000/svg"),
                ("viewBox", &format!("0 0 {WIDTH} {HEIGHT}")),
                ("role", "img"),
                ("aria-label", &self.description),
                (
                    "font-family",
                    "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif",
                ),
                ("font-size", &number(TEXT)),
                ("fill", "currentColor"),
                ("style", "width:100%;height:auto"),
            ],
        );
        let across =
            |from: f64, to: f64| format!("M{} {}H{}", number(from), number(LEVEL), number(to));
        let stroke = |svg: &mut Svg, path: &str, colour: &str, wide: &str, opacity: &str| {
            let attributes = [
                ("d", path),
                ("stroke", colour),
                ("stroke-width", wide),
                ("stroke-opacity", opacity),
                ("fill", "none"),
            ];
            svg.empty("path", &attributes);
        };
        stroke(&mut svg, &across(LEFT, RIGHT), "currentColor", "1", "0.4");
        let budget = self.budget.and_then(place);
        if let Some(x) = budget {
            // Shade the values over budget.
            let (x, wide) = (number(x), number(RIGHT + 6.0 - x));
            let place = [
                ("x", x.as_str()),
                ("y", "14"),
                ("width", &wide),
                ("height", "28"),
            ];
            let shade = [("fill", "currentColor"), ("fill-opacity", "0.1")];
            svg.empty("rect", &[place.as_slice(), &shade].concat());
            dots(&mut svg, &format!("M{x} 10V46"));
        }
        let marks: Vec<(f64, &str, bool)> = self
            .marks
            .iter()
            .map(|(name, value)| {
                let x = value.and_then(place);
                (x.unwrap_or(RIGHT + 4.0), name.as_str(), x.is_some())
            })
            .collect();
        if let [first, .., last] = marks.as_slice() {
            stroke(
                &mut svg,
                &across(first.0, last.0),
                look.colour.svg(),
                "5",
                "0.45",
            );
        }
        let mut free = f64::NEG_INFINITY;
        // The last percentile matters most, so its label has priority.
        for &(x, name, has_value) in marks.iter().rev() {
            if has_value {
                let path = format!("M{} {}v12", number(x), number(LEVEL - 6.0));
                stroke(&mut svg, &path, look.colour.svg(), "3", "1");
            } else {
                let path = format!("M{} {}l6 5l-6 5", number(x - 4.0), number(LEVEL - 5.0));
                stroke(&mut svg, &path, look.colour.svg(), "2.5", "1");
            }
            let half = width(name, TEXT) / 2.0;
            let at = x.clamp(half, WIDTH - half);
            if free == f64::NEG_INFINITY || at + half + 4.0 <= free {
                svg.text((at, 12.0), &[("text-anchor", "middle")], name);
                free = at - half;
            }
        }
        self.scale(&mut svg, &scale, budget);
        svg.finish()
    }

    /// Writes the values below the line: the budget, and the ticks that do not overlap it.
    fn scale(&self, svg: &mut Svg, scale: &Span, budget: Option<f64>) {
        let mut taken: Vec<(f64, f64)> = Vec::new();
        let mut write = |svg: &mut Svg, x: f64, text: &str, weight: &str, opacity: &str| {
            let half = width(text, TEXT) / 2.0;
            let at = x.clamp(half, WIDTH - half);
            let (from, to) = (at - half - 3.0, at + half + 3.0);
            if taken.iter().any(|&(a, b)| from < b && a < to) {
                return;
            }
            taken.push((from, to));
            let look = [
                ("text-anchor", "middle"),
                ("font-weight", weight),
                ("opacity", opacity),
            ];
            svg.text((at, 57.0), &look, text);
        };
        if let (Some(x), Some(budget)) = (budget, self.budget) {
            let text = format!("{} {}", crate::format::short(budget), self.unit);
            write(svg, x, &text, "600", "1");
        }
        let places = scale.ticks.iter().filter_map(|(value, label)| {
            let share = scale.place(*value)?;
            Some((LEFT + (RIGHT - LEFT) * share, label))
        });
        let last = scale.ticks.len().saturating_sub(1);
        for (i, (x, label)) in places.enumerate() {
            let text = if i == 0 || i == last {
                format!("{label} {}", self.unit)
            } else {
                label.clone()
            };
            write(svg, x, &text, "400", "0.75");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strip(marks: &[(&str, Option<f64>)]) -> String {
        let marks = marks.iter().map(|&(name, value)| (name.to_owned(), value));
        let svg = Strip {
            name: "dctcp".into(),
            palette: Palette::default(),
            description: "<completion>".into(),
            unit: "ms".into(),
            ends: (0.8, 150.0),
            marks: marks.collect(),
            budget: Some(5.0),
        }
        .to_svg();
        roxmltree::Document::parse(&svg).expect("well-formed");
        svg
    }

    #[test]
    fn percentiles_and_budget_are_in_order() {
        let svg = strip(&[("p50", Some(2.0)), ("p99", Some(12.0)), ("p99.9", None)]);
        let marks: Vec<f64> = svg
            .split("<path d=\"M")
            .filter(|path| path.contains("v12\""))
            .map(|path| path.split(' ').next().unwrap().parse().unwrap())
            .collect();
        let budget: f64 = svg
            .split("<rect x=\"")
            .nth(1)
            .and_then(|rest| rest.split('"').next())
            .unwrap()
            .parse()
            .unwrap();
        let [p99, p50] = marks[..] else {
            panic!("{marks:?}")
        };
        assert!(p50 < budget && budget < p99, "{p50} {budget} {p99}");
        assert!(svg.contains(">5 ms</text>") && svg.contains(">p99.9</text>"));
        assert!(
            svg.contains("l6 5l-6 5"),
            "a percentile without a value is drawn beyond the end"
        );
    }

    #[test]
    fn strip_without_values_is_valid() {
        strip(&[]);
        strip(&[("p50", None), ("p90", None)]);
    }
}
