//! Legend: all series of a figure with their looks, and its guides.

use crate::layout::{TEXT, rows, width};
use crate::palette::{Look, Marker};
use crate::panel::Panel;
use crate::series::Style;
use crate::shapes::{arrow, bar, dots, hollow, line, marker, overlap};
use crate::svg::{Svg, number};

const ROW: f64 = 18.0;
const SWATCH: f64 = 26.0;

/// Legend entries and their positions (x, row). A single unnamed series needs no legend.
pub(crate) struct Legend<'a> {
    entries: Vec<Entry<'a>>,
    places: Vec<(f64, usize)>,
}

struct Entry<'a> {
    text: &'a str,
    /// Name of the entry's series; empty for other entries.
    name: &'a str,
    kind: Kind,
}

enum Kind {
    Series(Style, Look),
    /// All published values, in any colour.
    Published,
    /// All published bounds, in any colour.
    Bound,
    /// Dashes of overlapping solid lines.
    Overlap,
    Guide,
}

fn entry(text: &str, kind: Kind) -> Entry<'_> {
    let name = "";
    Entry { text, name, kind }
}

impl<'a> Legend<'a> {
    /// Creates the legend of a figure with these panels. `overlaps` is true if some lines overlap.
    pub(crate) fn new(
        panels: &'a [Panel],
        names: &[&'a str],
        looks: &[Look],
        overlaps: bool,
    ) -> Self {
        let all = || panels.iter().flat_map(|panel| &panel.series);
        let drawn = |name: &str| {
            let mut named = all().filter(|series| series.name == name);
            named.find(|series| !series.style.is_published())
        };
        let mut entries: Vec<Entry> = names
            .iter()
            .zip(looks)
            .filter(|(name, _)| !name.is_empty())
            .filter_map(|(name, look)| {
                let series = drawn(name)?;
                let label = Some(series.label.as_str()).filter(|label| !label.is_empty());
                let kind = Kind::Series(series.style, *look);
                let text = label.unwrap_or(name);
                Some(Entry { text, name, kind })
            })
            .collect();
        let has =
            |style: Style| all().any(|series| series.style == style && !series.points.is_empty());
        if has(Style::Published) {
            entries.push(entry("published", Kind::Published));
        }
        if has(Style::AtMost) || has(Style::AtLeast) {
            entries.push(entry("published bound", Kind::Bound));
        }
        for guide in panels.iter().flat_map(|panel| &panel.guides) {
            let known = entries
                .iter()
                .any(|entry| matches!(entry.kind, Kind::Guide) && entry.text == guide.label);
            if !known && !guide.label.is_empty() {
                entries.push(entry(&guide.label, Kind::Guide));
            }
        }
        for panel in panels {
            let known = entries.iter().any(|entry| entry.text == panel.diagonal);
            if !known && !panel.diagonal.is_empty() {
                entries.push(entry(&panel.diagonal, Kind::Guide));
            }
        }
        if overlaps {
            entries.push(entry("overlapping lines", Kind::Overlap));
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
            if let Kind::Series(..) = entry.kind {
                svg.open("g", &[("class", "entry"), ("data-name", entry.name)]);
            }
            match entry.kind {
                Kind::Guide => dots(svg, &across),
                Kind::Bound => arrow(svg, "currentColor", (x + 11.0, y - 5.0), true, None),
                Kind::Overlap => overlap(svg, &across),
                Kind::Published => {
                    hollow(svg, "currentColor", Marker::Circle, (x + 11.0, y), None);
                }
                Kind::Series(Style::Bars, look) => {
                    bar(svg, look, (x + 5.0, y - 5.0), (12.0, 10.0), None);
                }
                Kind::Series(style, look) => {
                    if !matches!(style, Style::Points | Style::Dots) {
                        line(svg, look, &across, None);
                    }
                    if style != Style::Step {
                        marker(svg, look, (x + 11.0, y), 1.0, None);
                    }
                }
            }
            svg.text((x + SWATCH, y + 4.0), &[], entry.text);
            if let Kind::Series(..) = entry.kind {
                svg.close();
            }
        }
    }
}
