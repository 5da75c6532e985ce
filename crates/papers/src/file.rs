//! The raw contents of `experiment.toml`, before names are resolved. Values that can be invalid keep their positions.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

/// A text with its position.
pub(super) type Text = Spanned<String>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub title: String,
    pub source: String,
    pub metric: Option<Text>,
    pub workload: Option<Text>,
    pub method: Option<Text>,
    pub repetitions: Option<Spanned<Repetitions>>,
    pub axis: Option<Spanned<Axis>>,
    #[serde(default)]
    pub y: Y,
    #[serde(default)]
    pub figure: Vec<Figure>,
    #[serde(default)]
    pub panel: Vec<Panel>,
    #[serde(default)]
    pub scheme: Vec<Scheme>,
    #[serde(default)]
    pub published: Vec<Published>,
    #[serde(default)]
    pub check: Vec<Check>,
    #[serde(default)]
    pub calibration: Vec<Calibration>,
    pub scatter: Option<Scatter>,
    pub distribution: Option<Distribution>,
    pub series: Option<Series>,
}

/// Seeds per point.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Repetitions {
    pub full: u32,
    pub quick: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Axis {
    pub key: Option<Text>,
    #[serde(default)]
    pub keys: Vec<Text>,
    pub label: String,
    #[serde(default)]
    pub unit: String,
    pub values: Vec<Spanned<toml::Value>>,
    pub quick: Option<Vec<Spanned<toml::Value>>>,
    pub scale: Option<Text>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Y {
    pub label: Option<String>,
    pub unit: Option<String>,
    pub range: Option<[f64; 2]>,
    pub scale: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Figure {
    pub title: Option<String>,
    pub metric: Text,
    pub workload: Option<Text>,
    pub label: Option<String>,
    pub range: Option<[f64; 2]>,
    pub scale: Option<Text>,
}

/// Scenario settings: key path and value.
pub(super) type Set = BTreeMap<Text, Spanned<toml::Value>>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Panel {
    pub name: Text,
    pub label: Option<String>,
    pub range: Option<[f64; 2]>,
    #[serde(default)]
    pub set: Set,
    #[serde(default = "yes")]
    pub quick: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scheme {
    pub name: Text,
    pub label: Option<String>,
    #[serde(default)]
    pub set: Set,
    pub panels: Option<Vec<Text>>,
    pub values: Option<Vec<Spanned<toml::Value>>>,
    #[serde(default = "yes")]
    pub quick: bool,
    pub repetitions: Option<Spanned<Repetitions>>,
    pub method: Option<Text>,
    pub flows_of: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Published {
    pub scheme: Text,
    pub panel: Option<Text>,
    pub at: Option<Spanned<toml::Value>>,
    pub metric: Option<Text>,
    pub workload: Option<Text>,
    pub value: Option<f64>,
    pub unit: Option<Text>,
    pub kind: Text,
    pub source: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Check {
    pub text: Text,
    pub panel: Option<Text>,
    pub metric: Option<Text>,
    pub workload: Option<Text>,
    pub left: Side,
    pub right: Option<Side>,
    pub relation: Text,
    pub by: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub from: Option<Spanned<toml::Value>>,
    pub to: Option<Spanned<toml::Value>>,
    pub stated: bool,
    pub kind: Option<Text>,
    pub source: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Side {
    pub experiment: Option<Text>,
    pub scheme: Option<Text>,
    pub panel: Option<Text>,
    pub at: Option<Spanned<toml::Value>>,
    pub metric: Option<Text>,
    pub workload: Option<Text>,
    pub value: Option<f64>,
    pub over: Option<Box<Side>>,
    pub minus: Option<Box<Side>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Calibration {
    pub key: Text,
    pub value: Spanned<toml::Value>,
    pub on: On,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct On {
    pub experiment: Option<Text>,
    pub scheme: Text,
    pub panel: Option<Text>,
    pub at: Option<Spanned<toml::Value>>,
    pub metric: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scatter {
    pub runs: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Distribution {
    pub of: Text,
    pub at: Option<Vec<Spanned<toml::Value>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Series {
    pub of: Text,
    pub at: Option<Spanned<toml::Value>>,
    #[serde(default)]
    pub names: BTreeMap<String, String>,
    pub average: Option<Text>,
    pub until: Option<Text>,
}

fn yes() -> bool {
    true
}

/// Formats a TOML value as `--set` takes it: texts have no quotes unless they would parse as another type.
pub(super) fn written(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) if text.parse::<toml::Value>().is_err() => text.clone(),
        toml::Value::Float(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
            format!("{number:.0}")
        }
        other => other.to_string(),
    }
}

/// Returns the position of a value in the file.
pub(super) fn place<T>(value: &Spanned<T>) -> Range<usize> {
    value.span()
}

/// Returns the text without its position.
pub(super) fn owned(text: Option<&Text>) -> Option<String> {
    text.map(|text| text.get_ref().clone())
}
