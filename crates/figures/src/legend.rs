//! The legend: all series of a figure with their looks, and its guides.

use crate::layout::{TEXT, rows, width};
use crate::marks::{dots, line, marker};
use crate::palette::Look;
use crate::svg::{Svg, number};
use crate::{Figure, Style};

const ROW: f64 = 18.0;
const SWATCH: f64 = 26.0;

/// The entries with their places: (x, row). A single unnamed series needs none.
pub(crate) struct Legend<'a> {
    entries: Vec<Entry<'a>>,
    places: Vec<(f64, usize)>,
}

struct Entry<'a> {
    text: &'a str,
    /// `None` for a guide.
    series: Option<(Style, Look)>,
}

impl<'a> Legend<'a> {
    pub(crate) fn new(figure: &'a Figure, names: &[&'a str], looks: &[Look]) -> Self {
        let style = |name: &str| {
            let mut series = figure.panels.iter().flat_map(|panel| &panel.series);
            series
                .find(|series| series.name == name)
                .map(|series| series.style)
        };
        let mut entries: Vec<Entry> = names
            .iter()
            .zip(looks)
            .filter(|(name, _)| !name.is_empty())
            .filter_map(|(name, look)| {
                Some(Entry {
                    text: name,
                    series: Some((style(name)?, *look)),
                })
            })
            .collect();
        for guide in figure.panels.iter().flat_map(|panel| &panel.guides) {
            let known = entries
                .iter()
                .any(|entry| entry.series.is_none() && entry.text == guide.label);
            if !known && !guide.label.is_empty() {
                entries.push(Entry {
                    text: &guide.label,
                    series: None,
                });
            }
        }
        let widths: Vec<f64> = entries
            .iter()
            .map(|entry| SWATCH + width(entry.text, TEXT))
            .collect();
        Self {
            places: rows(&widths, 12.0),
            entries,
        }
    }

    pub(crate) fn height(&self) -> f64 {
        self.places
            .last()
            .map_or(0.0, |&(_, row)| (row + 1) as f64 * ROW + 4.0)
    }

    pub(crate) fn draw(&self, svg: &mut Svg, top: f64) {
        for (&(x, row), entry) in self.places.iter().zip(&self.entries) {
            let y = top + row as f64 * ROW + ROW / 2.0;
            let across = format!("M{} {}h22", number(x), number(y));
            match entry.series {
                None => dots(svg, &across),
                Some((Style::Bars, look)) => svg.empty(
                    "rect",
                    &[
                        ("x", &number(x + 5.0)),
                        ("y", &number(y - 5.0)),
                        ("width", "12"),
                        ("height", "10"),
                        ("fill", look.colour),
                    ],
                ),
                Some((style, look)) => {
                    if style != Style::Points {
                        line(svg, look, &across);
                    }
                    if style != Style::Step {
                        marker(svg, look, (x + 11.0, y), None);
                    }
                }
            }
            svg.leaf(
                "text",
                &[("x", &number(x + SWATCH)), ("y", &number(y + 4.0))],
                entry.text,
            );
        }
    }
}
