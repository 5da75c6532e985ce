//! Parts that figures in Python share with those of the reports: styles of series, and conversion of values to numbers.

#![expect(
    clippy::needless_pass_by_value,
    reason = "arguments from Python come by value"
)]

use duetime_figures::Dash;
use duetime_study::known_as;
use pyo3::prelude::*;

/// Style of a series: display name of the transport, colour as `#rrggbb`, marker name, and lengths of dashes and gaps,
/// empty for a solid line.
type Look = (String, &'static str, &'static str, Vec<f64>);

/// Returns the style of each transport's series in one figure.
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
    lengths.filter_map(|length| length.parse().ok()).collect()
}

/// Returns the values of a scenario key as numbers, and their unit, or `None` if they are not numbers of one unit.
#[pyfunction]
pub fn numbers(values: Vec<String>) -> Option<(Vec<f64>, String)> {
    duetime_study::text::numbers(&values)
}
