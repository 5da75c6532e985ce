//! Basic shapes: lines, bars, markers, arrows, and values above bars.

use crate::format::short;
use crate::layout::{TEXT, width};
use crate::overlap::{dashes, stretches};
use crate::palette::{Dash, Look, Marker};
use crate::svg::{Svg, number};
use std::fmt::Write;

/// Returns a path through the corners.
pub(crate) fn through(corners: &[(f64, f64)]) -> String {
    let mut path = String::new();
    let mut last = None;
    for &(x, y) in corners {
        match last {
            None => _ = write!(path, "M{} {}", number(x), number(y)),
            Some((_, before)) if number(before) == number(y) => _ = write!(path, "H{}", number(x)),
            Some((before, _)) if number(before) == number(x) => _ = write!(path, "V{}", number(y)),
            Some(_) => _ = write!(path, "L{} {}", number(x), number(y)),
        }
        last = Some((x, y));
    }
    path
}

/// Draws lines, dashed where they overlap earlier ones. Lines with a dash pattern keep it, since its gaps show the
/// lines below.
pub(crate) fn curve(
    svg: &mut Svg,
    look: Look,
    lines: &[Vec<(f64, f64)>],
    earlier: &[Vec<(f64, f64)>],
) {
    let mut paths: [String; 4] = Default::default();
    for corners in lines {
        if look.dash != Dash::Solid || corners.len() < 2 {
            paths[0].push_str(&through(corners));
            continue;
        }
        for stretch in stretches(corners, earlier) {
            paths[stretch.below.min(3)].push_str(&through(&stretch.corners));
        }
    }
    for (below, path) in paths.iter().enumerate() {
        if !path.is_empty() {
            line(svg, look, path, dashes(below));
        }
    }
}

/// Draws the legend symbol of overlapping lines, in the text colour.
pub(crate) fn overlap(svg: &mut Svg, path: &str) {
    for (opacity, dashes) in [("0.35", "none"), ("1", "6 5")] {
        svg.empty(
            "path",
            &[
                ("d", path),
                ("stroke", "currentColor"),
                ("stroke-opacity", opacity),
                ("stroke-width", "1.8"),
                ("stroke-dasharray", dashes),
                ("fill", "none"),
            ],
        );
    }
}

/// Draws the dotted line of a guide.
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

/// Draws pale dots, all in one path.
pub(crate) fn scattered(svg: &mut Svg, look: Look, places: &[(f64, f64)]) {
    let mut path = String::new();
    for &(x, y) in places {
        let _ = write!(path, "M{} {}h0", number(x), number(y));
    }
    if !path.is_empty() {
        svg.empty(
            "path",
            &[
                ("d", &path),
                ("stroke", look.colour.svg()),
                ("stroke-opacity", "0.5"),
                ("stroke-width", "4"),
                ("stroke-linecap", "round"),
                ("fill", "none"),
            ],
        );
    }
}

/// Draws a bar: filled, or pale with an outline in the look's pattern.
pub(crate) fn bar(
    svg: &mut Svg,
    look: Look,
    (x, y): (f64, f64),
    (width, height): (f64, f64),
    tip: Option<&str>,
) {
    // The outline is drawn inside the bar.
    let inset = if look.dash == Dash::Solid { 0.0 } else { 0.7 };
    let [x, y] = [x + inset, y + inset].map(number);
    let [width, height] = [width, height].map(|length| number((length - 2.0 * inset).max(0.0)));
    let mut attributes = vec![
        ("x", x.as_str()),
        ("y", &y),
        ("width", &width),
        ("height", &height),
        ("fill", look.colour.svg()),
    ];
    match look.dash.lengths() {
        None => attributes.push(("fill-opacity", "0.85")),
        Some(lengths) => attributes.extend([
            ("fill-opacity", "0.25"),
            ("stroke", look.colour.svg()),
            ("stroke-width", "1.4"),
            ("stroke-dasharray", lengths),
        ]),
    }
    svg.tipped("rect", &attributes, tip);
}

/// Draws a line in its look's pattern, or in `dashes`.
pub(crate) fn line(svg: &mut Svg, look: Look, path: &str, dashes: Option<&str>) {
    let mut attributes = vec![
        ("d", path),
        ("stroke", look.colour.svg()),
        ("stroke-width", "1.8"),
        ("stroke-linejoin", "round"),
        ("fill", "none"),
    ];
    if let Some(lengths) = dashes.or(look.dash.lengths()) {
        attributes.push(("stroke-dasharray", lengths));
    }
    svg.empty("path", &attributes);
}

/// Draws a bar across `at`, and an arrow down or up from it.
pub(crate) fn arrow(
    svg: &mut Svg,
    colour: &str,
    (x, y): (f64, f64),
    down: bool,
    tip: Option<&str>,
) {
    // In SVG, y grows downwards.
    let (long, tip_by) = if down { (13, 4) } else { (-13, -4) };
    let (left, x, y) = (number(x - 8.0), number(x), number(y));
    let path = format!(
        "M{left} {y}h16M{x} {y}v{long}m-4 {back}l4 {tip_by}l4 {back}",
        back = -tip_by
    );
    let attributes = [
        ("d", path.as_str()),
        ("stroke", colour),
        ("stroke-width", "2"),
        ("fill", "none"),
    ];
    svg.tipped("path", &attributes, tip);
}

pub(crate) fn marker(svg: &mut Svg, look: Look, at: (f64, f64), size: f64, tip: Option<&str>) {
    let path = outline(look.marker, at, size);
    let attributes = [("d", path.as_str()), ("fill", look.colour.svg())];
    svg.tipped("path", &attributes, tip);
}

/// Draws a larger marker, outlined on white because it may be on a bar of the same colour.
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
    svg.tipped("path", &attributes, tip);
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

/// Writes the value of a low bar above it: horizontally if it fits between the neighbours, otherwise vertically.
pub(crate) fn written(svg: &mut Svg, (x, y): (f64, f64), wide: f64, value: f64) {
    let text = short(value);
    let long = width(&text, TEXT);
    let y = y - 4.0;
    if long <= wide {
        svg.text((x, y), &[("text-anchor", "middle")], &text);
    } else if wide >= TEXT * 0.8 {
        let turn = format!("translate({} {}) rotate(-90)", number(x), number(y));
        svg.leaf("text", &[("y", "4.5"), ("transform", &turn)], &text);
    }
}
