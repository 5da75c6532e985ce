//! Axes of a sweep: keys with their values.

use crate::all_keys::SCENARIO;
use crate::diagnostic::{Diagnostic, Result};
use crate::document::{Document, Node, Value, parse_value};
use crate::place::Place;
use crate::table::Reader;
use std::ops::Range;

const MAX_VALUES: usize = 10_000;
const ALLOWED: &str = "KEY=LOW..HIGH:STEP or KEY=A,B,C, such as workload.fan_in=5..40:5";

/// Axis of a sweep: a key with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Path of the key, as for [`Document::set`].
    pub key: String,
    /// Values, as for [`Document::set`].
    pub values: Vec<String>,
}

impl Axis {
    /// Parses an axis of `--vary`: `KEY=LOW..HIGH:STEP` or `KEY=A,B,C`. The default step is 1. Bounds may have a unit.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |span: Range<usize>, message: &str| {
            Diagnostic::at("--vary", text, span, message).allowed(ALLOWED)
        };
        let Some((key, values)) = text.split_once('=') else {
            return Err(wrong(0..text.len(), "no values"));
        };
        let span = key.len() + 1..text.len();
        let values = match range(values) {
            Some(values) => values.map_err(|message| wrong(span.clone(), &message))?,
            None => list(values),
        };
        let key = key.trim().to_owned();
        Self { key, values }.checked(text, span)
    }

    /// Creates an axis with these values, each in TOML. Errors call it `--vary`.
    pub fn of(key: &str, values: &[String]) -> Result<Self> {
        let values: Vec<String> = values.iter().map(|value| plain(value)).collect();
        let text = format!("{key}={}", values.join(","));
        let key = key.to_owned();
        Self { key, values }.checked(&text, 0..text.len())
    }

    /// Checks that the axis has values without duplicates. Errors point at `span` of `text`.
    fn checked(self, text: &str, span: Range<usize>) -> Result<Self> {
        let wrong = |message: &str| Diagnostic::at("--vary", text, span.clone(), message);
        if self.values.is_empty() || self.values.iter().any(String::is_empty) {
            return Err(wrong("a value is missing").allowed(ALLOWED));
        }
        match first_twice(&self.values) {
            Some(twice) => Err(wrong(&format!("{twice} is listed twice")).allowed(ALLOWED)),
            None => Ok(self),
        }
    }
}

/// Returns all combinations of the axes' values, with the last axis varying fastest, each as the pairs for
/// [`crate::load`].
pub fn grid(axes: &[Axis]) -> Vec<Vec<(String, String)>> {
    axes.iter().fold(vec![Vec::new()], |points, axis| {
        let extend = |point: &Vec<(String, String)>| {
            let point = point.clone();
            axis.values.iter().map(move |value| {
                let mut longer = point.clone();
                longer.push((axis.key.clone(), value.clone()));
                longer
            })
        };
        points.iter().flat_map(extend).collect()
    })
}

/// Reads the axes of `[sweep]`.
pub(crate) fn axes(document: &Document) -> Result<Vec<Axis>> {
    let root = Place::root(document);
    let Some(sweep) = Reader::open(root, &SCENARIO)?.get("sweep") else {
        return Ok(Vec::new());
    };
    let mut axes = Vec::new();
    collect(&sweep, "", &mut axes)?;
    for (axis, place) in &axes {
        let mut scratch = document.clone();
        for value in &axis.values {
            scratch.set(&axis.key, value).map_err(|error| {
                let mut moved = place.wrong(error.message.clone());
                if let Some(allowed) = &error.allowed {
                    moved = moved.allowed(allowed);
                }
                if let Some(help) = &error.help {
                    moved = moved.help(help);
                }
                moved
            })?;
        }
    }
    Ok(axes.into_iter().map(|(axis, _)| axis).collect())
}

/// Collects the axes below a place. Dotted keys are nested tables in TOML; a list or a text is an axis.
fn collect<'a>(place: &Place<'a>, key: &str, axes: &mut Vec<(Axis, Place<'a>)>) -> Result<()> {
    if let Some(entries) = place.node.table() {
        for entry in entries {
            let dot = if key.is_empty() { "" } else { "." };
            collect(
                &place.at(&entry.key),
                &format!("{key}{dot}{}", entry.key),
                axes,
            )?;
        }
        return Ok(());
    }
    let allowed = "a list such as [5, 10, 20], or a range such as \"5..40:5\"";
    let values = match &place.node.value {
        Value::Array(items) => items
            .iter()
            .map(|item| written(place.document, item))
            .collect(),
        Value::String(text) => match range(text) {
            Some(values) => values.map_err(|message| place.wrong(message).allowed(allowed))?,
            None => return place.refuse("not a range", allowed),
        },
        _ => return Err(place.expected("a list", allowed)),
    };
    if values.is_empty() {
        return place.refuse("an empty list", allowed);
    }
    if let Some(twice) = first_twice(&values) {
        return place.refuse(format!("{twice} is listed twice"), "each value once");
    }
    let key = key.to_owned();
    axes.push((Axis { key, values }, place.clone()));
    Ok(())
}

fn first_twice(values: &[String]) -> Option<&String> {
    (1..values.len())
        .find(|&i| values[..i].contains(&values[i]))
        .map(|i| &values[i])
}

/// Formats a value as for `--set`.
fn written(document: &Document, node: &Node) -> String {
    unquoted(node, &document.texts[node.text].content[node.span.clone()])
}

/// Converts a TOML value to the form of `--set`.
fn plain(value: &str) -> String {
    unquoted(&parse_value(value, 0, 0), value)
}

/// Removes the quotes of a string, unless the text alone would be another type of value.
fn unquoted(node: &Node, source: &str) -> String {
    match node.str() {
        Some(text) if parse_value(text, 0, 0).str() == Some(text) => text.to_owned(),
        _ => source.to_owned(),
    }
}

/// Parses `LOW..HIGH:STEP`, with or without a unit. Returns `None` if the text is not a range.
fn range(text: &str) -> Option<std::result::Result<Vec<String>, String>> {
    let (low, rest) = text.split_once("..")?;
    let (high, step) = rest.split_once(':').unwrap_or((rest, "1"));
    let parts = [low, high, step].map(|part| {
        let part = part.trim();
        let end = part
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .unwrap_or(part.len());
        (&part[..end], part[end..].trim())
    });
    if parts
        .iter()
        .any(|(number, _)| number.parse::<f64>().is_err())
    {
        return None;
    }
    let is_unit = |unit: &str| {
        unit.chars()
            .all(|c| c.is_alphabetic() || matches!(c, '/' | '%'))
    };
    if parts.iter().any(|(_, unit)| !is_unit(unit)) {
        return None;
    }
    let unit = parts[1].1;
    if parts
        .iter()
        .any(|(_, other)| !other.is_empty() && *other != unit)
    {
        return Some(Err("the bounds and the step need the same unit".to_owned()));
    }
    Some(steps(parts.map(|(number, _)| number), unit))
}

/// Computes the values in exact decimals.
fn steps(numbers: [&str; 3], unit: &str) -> std::result::Result<Vec<String>, String> {
    let decimals = |number: &str| {
        number
            .split_once('.')
            .map_or(0, |(_, fraction)| fraction.len())
    };
    let places = numbers
        .iter()
        .map(|number| decimals(number))
        .max()
        .unwrap_or(0);
    let mut scaled = [0u64; 3];
    for (number, scaled) in numbers.iter().zip(&mut scaled) {
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = format!("0{whole}{fraction:0<places$}");
        *scaled = digits
            .parse()
            .map_err(|_| format!("{number} is too large"))?;
    }
    let [low, high, step] = scaled;
    if step == 0 {
        return Err("a step of zero".to_owned());
    }
    if low > high {
        return Err("the bounds are the wrong way round".to_owned());
    }
    let count = (high - low) / step;
    if count >= MAX_VALUES as u64 {
        return Err(format!("more than {MAX_VALUES} values"));
    }
    let power = 10u64.pow(u32::try_from(places).unwrap_or(0));
    let show = |value: u64| {
        let number = if places == 0 {
            value.to_string()
        } else {
            let text = format!("{}.{:0places$}", value / power, value % power);
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        };
        match unit {
            "" | "%" => format!("{number}{unit}"),
            _ => format!("{number} {unit}"),
        }
    };
    Ok((0..=count).map(|i| show(low + i * step)).collect())
}

/// Splits at commas outside of brackets, braces and quotes.
fn list(text: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let (mut depth, mut quoted) = (0u32, false);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            '[' | '{' if !quoted => depth += 1,
            ']' | '}' if !quoted => depth = depth.saturating_sub(1),
            ',' if !quoted && depth == 0 => {
                items.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(item) = items.last_mut() {
            item.push(c);
        }
    }
    items
        .into_iter()
        .map(|item| item.trim().to_owned())
        .collect()
}

impl Document {
    /// Returns the axes of the file's `[sweep]`, in order.
    pub fn sweep(&self) -> Result<Vec<Axis>> {
        axes(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        Axis::parse(text)
            .unwrap_or_else(|error| panic!("{error}"))
            .values
    }

    #[test]
    fn ranges_are_exact_and_keep_their_unit() {
        assert_eq!(values("a=5..20:5"), ["5", "10", "15", "20"]);
        assert_eq!(values("a=1..3"), ["1", "2", "3"]);
        assert_eq!(values("a=0.05..0.2:0.05"), ["0.05", "0.1", "0.15", "0.2"]);
        assert_eq!(values("a=20 ms..40ms:10 ms"), ["20 ms", "30 ms", "40 ms"]);
        assert_eq!(values("a=10%..30%:10%"), ["10%", "20%", "30%"]);
        assert_eq!(
            values("a=1 KB,uniform 1 KB..2 KB"),
            ["1 KB", "uniform 1 KB..2 KB"]
        );
        assert_eq!(values("a=[1, 2],[3]"), ["[1, 2]", "[3]"]);
    }

    #[test]
    fn toml_values_match_the_command_line() {
        let axis = |values: &[&str]| {
            let values: Vec<String> = values.iter().map(|&value| value.to_owned()).collect();
            Axis::of("a", &values).map(|axis| axis.values)
        };
        assert_eq!(
            axis(&["5", "0.1", "\"4 MB\"", "[1, 2]"]).unwrap(),
            ["5", "0.1", "4 MB", "[1, 2]"]
        );
        // A quoted number stays a string.
        assert_eq!(axis(&["\"5\""]).unwrap(), ["\"5\""]);
        assert!(axis(&[]).unwrap_err().to_string().contains("missing"));
        assert!(axis(&["5", "5"]).unwrap_err().to_string().contains("twice"));
    }

    #[test]
    fn grid_has_every_combination_in_order() {
        let axes = [Axis::parse("a=1,2").unwrap(), Axis::parse("b=x,y").unwrap()];
        let points: Vec<String> = grid(&axes)
            .iter()
            .map(|point| format!("{}{}", point[0].1, point[1].1))
            .collect();
        assert_eq!(points, ["1x", "1y", "2x", "2y"]);
        assert_eq!(grid(&[]), [[]]);
    }
}
