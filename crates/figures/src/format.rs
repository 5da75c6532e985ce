//! Formatting of values for tooltips and labels above bars.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "indices and powers of ten are small, and casts from floats saturate"
)]

use crate::panel::{Panel, Scale};
use crate::series::{Point, Series};

/// Returns the tooltip of a value.
pub(crate) fn tip(series: &Series, point: &Point, panel: &Panel) -> String {
    let x = match &panel.x.scale {
        Scale::Names(names) => names
            .get(point.x.round() as usize)
            .cloned()
            .unwrap_or_default(),
        _ => with_unit(&significant(point.x), &panel.x.unit),
    };
    let y = with_unit(&significant(point.y), &panel.y.unit);
    let interval = if point.has_interval() {
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

/// Formats a number with three significant digits.
pub(crate) fn short(value: f64) -> String {
    rounded(value, 2, 4)
}

/// Formats a number with four significant digits, or to the unit if it is large.
fn significant(value: f64) -> String {
    rounded(value, 3, 12)
}

/// Formats a number with `digits` digits after its first significant digit, at most `decimals` of them after the
/// decimal point.
fn rounded(value: f64, digits: i32, decimals: i32) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let first = libm::floor(libm::log10(value.abs())) as i32;
    let decimals = (digits - first).clamp(0, decimals) as usize;
    let text = format!("{value:.decimals$}");
    if decimals == 0 {
        text
    } else {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}
