//! Position of a panel, its axes, and the text around it.

use crate::axis::Span;
use crate::layout::{LEFT, PLOT_HEIGHT, RIGHT, TEXT, WIDTH, width, wrapped};
use crate::panel::{Axis, Panel, Scale};
use crate::reach::Reach;
use crate::svg::{Svg, number};
use std::fmt::Write;

/// Maximum width of slanted labels; longer ones are truncated.
const MAX_SLANTED_WIDTH: f64 = 110.0;

/// Position and axes of a panel.
pub(crate) struct Frame {
    pub(crate) x: Span,
    pub(crate) y: Span,
    pub(crate) top: f64,
    pub(crate) left: f64,
    /// Labels of the x axis, each split into lines.
    labels: Vec<Vec<String>>,
    slanted: bool,
    /// Vertical position at which the next panel may begin.
    pub(crate) end: f64,
    heading: Vec<String>,
    caption: Vec<String>,
    start: f64,
}

impl Frame {
    pub(crate) fn new(panel: &Panel, reach: &Reach, start: f64) -> Self {
        let (x, y) = reach.spans(panel);
        let label_width = widest(y.ticks.iter().map(|(_, label)| label));
        let mut left = (label_width + 10.0).clamp(24.0, WIDTH / 3.0);
        let heading = wrapped(&panel.title, TEXT, WIDTH - LEFT);
        let caption = wrapped(&caption(&panel.y), TEXT, WIDTH - LEFT);
        let top = start + (heading.len() + caption.len()) as f64 * 16.0 + 12.0;
        let slot = (WIDTH - left - RIGHT) / x.ticks.len().max(1) as f64;
        let (labels, slanted) = labels(&x, matches!(panel.x.scale, Scale::Names(_)), slot);
        if slanted {
            // The first label extends to the left.
            let first = widest(labels.first().into_iter().flatten());
            left = left.max(first * 0.87 - slot / 2.0);
        }
        let under = if slanted {
            widest(labels.iter().flatten()) * 0.5 + 16.0
        } else {
            18.0 * labels.iter().map(Vec::len).max().unwrap_or(1).max(1) as f64
        };
        let x_caption = if caption_is_empty(&panel.x) {
            0.0
        } else {
            18.0
        };
        Self {
            x,
            y,
            top,
            left,
            labels,
            slanted,
            end: top + PLOT_HEIGHT + under + x_caption + 12.0,
            heading,
            caption,
            start,
        }
    }

    pub(crate) fn right() -> f64 {
        WIDTH - RIGHT
    }

    pub(crate) fn bottom(&self) -> f64 {
        self.top + PLOT_HEIGHT
    }

    pub(crate) fn at(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        Some((self.across(x)?, self.up(y)?))
    }

    pub(crate) fn across(&self, x: f64) -> Option<f64> {
        // Clamping values far outside the panel keeps the coordinates short.
        Some(self.left + (Self::right() - self.left) * self.x.place(x)?.clamp(-9.0, 10.0))
    }

    pub(crate) fn up(&self, y: f64) -> Option<f64> {
        Some(self.bottom() - PLOT_HEIGHT * self.y.place(y)?.clamp(-9.0, 10.0))
    }

    /// Defines the clip path `id`: the area between the axes plus `margin` on each side.
    pub(crate) fn clip(&self, svg: &mut Svg, id: &str, margin: f64) {
        svg.open("clipPath", &[("id", id)]);
        svg.empty(
            "rect",
            &[
                ("x", &number(self.left - margin)),
                ("y", &number(self.top - margin)),
                ("width", &number(Self::right() - self.left + 2.0 * margin)),
                ("height", &number(PLOT_HEIGHT + 2.0 * margin)),
            ],
        );
        svg.close();
    }

    pub(crate) fn text_around(&self, svg: &mut Svg, panel: &Panel) {
        let mut y = self.start + 13.0;
        for line in &self.heading {
            svg.text((LEFT, y), &[("font-weight", "600")], line);
            y += 16.0;
        }
        for line in &self.caption {
            svg.text((LEFT, y), &[("opacity", "0.8")], line);
            y += 16.0;
        }
        if !caption_is_empty(&panel.x) {
            let middle = (f64::midpoint(self.left, Self::right()), self.end - 16.0);
            let look = [("text-anchor", "middle"), ("opacity", "0.8")];
            svg.text(middle, &look, &caption(&panel.x));
        }
    }

    pub(crate) fn axes(&self, svg: &mut Svg, panel: &Panel) {
        let mut grid = String::new();
        for (value, label) in &self.y.ticks {
            let Some(y) = self.up(*value) else { continue };
            let _ = write!(
                grid,
                "M{} {}H{}",
                number(self.left),
                number(y),
                number(Self::right())
            );
            let end = (self.left - 6.0, y + 4.0);
            svg.text(end, &[("text-anchor", "end")], label);
        }
        stroke(svg, &grid, "0.15");
        svg.open("g", &[("class", "x")]);
        let mut base = format!(
            "M{} {}H{}",
            number(self.left),
            number(self.bottom()),
            number(Self::right())
        );
        let named = matches!(panel.x.scale, Scale::Names(_));
        let mut free = f64::NEG_INFINITY;
        for ((value, _), lines) in self.x.ticks.iter().zip(&self.labels) {
            let Some(x) = self.across(*value) else {
                continue;
            };
            if !named {
                let _ = write!(base, "M{} {}v4", number(x), number(self.bottom()));
            }
            let half = widest(lines) / 2.0;
            if self.slanted {
                self.slanted_label(svg, x, lines);
            } else if x - half >= free {
                // Labels near an end are moved inwards, so that they are not cut off.
                let x = x.clamp(half.min(WIDTH / 2.0), (WIDTH - half - 1.0).max(WIDTH / 2.0));
                for (i, line) in lines.iter().enumerate() {
                    let y = self.bottom() + 17.0 + 15.0 * i as f64;
                    svg.text((x, y), &[("text-anchor", "middle")], line);
                }
                free = x + half + 6.0;
            }
        }
        stroke(svg, &base, "0.7");
        svg.close();
    }

    fn slanted_label(&self, svg: &mut Svg, x: f64, lines: &[String]) {
        let (x, y) = (x + 4.0, self.bottom() + 12.0);
        let turn = format!("rotate(-30 {} {})", number(x), number(y));
        for line in lines {
            svg.text(
                (x, y),
                &[("text-anchor", "end"), ("transform", &turn)],
                line,
            );
        }
    }
}

/// Returns the labels of an x axis, and true if they must be slanted. Names are wrapped to their slots; if a word is
/// too wide even so, or a name needs more than three lines, all labels are slanted and long ones truncated.
fn labels(x: &Span, named: bool, slot: f64) -> (Vec<Vec<String>>, bool) {
    let plain = || {
        x.ticks
            .iter()
            .map(|(_, label)| vec![label.clone()])
            .collect::<Vec<_>>()
    };
    if !named {
        return (plain(), false);
    }
    let wrap = |(_, label): &(f64, String)| wrapped(label, TEXT, slot - 6.0);
    let lines: Vec<Vec<String>> = x.ticks.iter().map(wrap).collect();
    let fits = lines
        .iter()
        .flatten()
        .all(|line| width(line, TEXT) <= slot - 2.0);
    if fits && lines.iter().all(|lines| lines.len() <= 3) {
        return (lines, false);
    }
    let cut = |lines: &mut Vec<String>| {
        for line in lines {
            if width(line, TEXT) > MAX_SLANTED_WIDTH {
                while !line.is_empty() && width(line, TEXT) > MAX_SLANTED_WIDTH - TEXT {
                    line.pop();
                }
                line.push('…');
            }
        }
    };
    let mut slanted = plain();
    slanted.iter_mut().for_each(cut);
    (slanted, true)
}

/// Returns the width of the widest label.
fn widest<'l>(labels: impl IntoIterator<Item = &'l String>) -> f64 {
    let widths = labels.into_iter().map(|label| width(label, TEXT));
    widths.fold(0.0, f64::max)
}

fn caption(axis: &Axis) -> String {
    if axis.unit.is_empty() {
        axis.label.clone()
    } else {
        format!("{} ({})", axis.label, axis.unit)
    }
}

fn caption_is_empty(axis: &Axis) -> bool {
    axis.label.is_empty() && axis.unit.is_empty()
}

fn stroke(svg: &mut Svg, path: &str, opacity: &str) {
    if !path.is_empty() {
        svg.empty(
            "path",
            &[
                ("d", path),
                ("stroke", "currentColor"),
                ("stroke-opacity", opacity),
                ("fill", "none"),
            ],
        );
    }
}
