//! What figures in Python share with those of the reports: how series look, and which values are numbers of one unit.

#![expect(
    clippy::needless_pass_by_value,
    reason = "arguments from Python come by value"
)]

use duetime_figures::Dash;
use duetime_study::known_as;
use pyo3::prelude::*;

/// A series of a figure: its transport's name for readers; colour as `#rrggbb`; name of the marker; lengths of strokes and
/// gaps, none for a solid line.
type Look = (String, &'static str, &'static str, Vec<f64>);

/// How the series of these transports look in one figure.
#[pyfunction]
pub fn looks(names: Vec<String>) -> Vec<Look> {
    let listed: Vec<&str> = names.iter().map(String::as_str).collect();
    let looks = duetime_study::palette().looks(&listed);
    let all = names.iter().zip(looks);
    all.map(|(name, look)| {
        let marker = look.marker.name();
        let strokes = strokes(look.dash);
        (known_as(name), look.colour.svg(), marker, strokes)
    })
    .collect()
}

fn strokes(dash: Dash) -> Vec<f64> {
    let lengths = dash.lengths().unwrap_or_default().split_whitespace();
    lengths.filter_map(|of| of.parse().ok()).collect()
}

/// The values of a key of a scenario as numbers, and their unit; `None` if they are not numbers of one unit.
#[pyfunction]
pub fn numbers(values: Vec<String>) -> Option<(Vec<f64>, String)> {
    duetime_study::text::numbers(&values)
}
