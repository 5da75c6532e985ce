//! Descriptions of the values that kinds of keys allow, for messages, the reference page and the JSON Schema.

use crate::expected::{Expected, Form, Forms, quoted};
use crate::keys::Kind;
use crate::published::PUBLISHED;
use crate::quantity::{FREQUENCY, RATE, SIZE, TIME, Units};

impl From<&Kind> for Expected {
    fn from(kind: &Kind) -> Self {
        match kind {
            Kind::Text => "a text in quotes".into(),
            Kind::Choice(choices) => Self::one_of(choices),
            Kind::Boolean => "true, false".into(),
            Kind::Integer(low, high) => Self::range(low, high),
            Kind::Number(low, high) => Self::range(low, high),
            Kind::Share(low, high) => Self::of(
                format!("{low}..={high}, or a percentage such as \"50%\""),
                Forms::of(&[Form::Number, Form::Percentage]),
            ),
            Kind::Time(low, high) => bounds(&TIME, *low, *high),
            Kind::Rate(low, high) => bounds(&RATE, *low, *high),
            Kind::Size(low, high) => bounds(&SIZE, *low, *high),
            Kind::Amount => Self::new(
                "packets or bytes, such as \"20 packets\" or \"30 KB\"",
                &[Form::Packets, Form::Bytes],
            ),
            Kind::Frequency => Self::of(example(&FREQUENCY), Forms::of(&[Form::Quantity])),
            Kind::Percentile => Self::new(
                "a percentile, such as \"p95\" (p1..p99.99)",
                &[Form::Percentile],
            ),
            Kind::OutOf => Self::new(
                "a number of all answers, such as \"10 of 14\"",
                &[Form::OutOf],
            ),
            Kind::Gap | Kind::Sizes | Kind::Deadline => Self::join(&alternatives(kind), ", "),
            Kind::Gain => "1/2^n, such as \"1/16\"".into(),
            Kind::List(kind) => Self::of(
                format!("a list of: {}", Self::from(*kind)),
                Forms::of(&[Form::List]),
            ),
            Kind::OneOrMore(kind) => Self::join(
                &[
                    Self::from(*kind),
                    Self::new("or a list of them", &[Form::Several]),
                ],
                "; ",
            ),
            Kind::Table(table) => {
                let names: Vec<&str> = table.all().map(|key| key.name).collect();
                a_table(&format!(" with {}", names.join(", ")))
            }
            Kind::Tagged(_, tables) => {
                let names: Vec<&str> = tables.iter().map(|(name, _)| *name).collect();
                a_table(&format!(" of kind {}", quoted(&names)))
            }
            Kind::Any(kinds) => {
                let all: Vec<Self> = kinds.iter().map(Self::from).collect();
                Self::join(&all, "; or ")
            }
            Kind::Open => a_table(""),
        }
    }
}

/// Describes the forms of a kind, one by one, that a description with the forms `named` does not name. A form with
/// several examples is described by the first.
pub(crate) fn unnamed(kind: &Kind, mut named: Forms) -> Vec<Expected> {
    let mut all = alternatives(kind);
    all.retain(|one| {
        let is_new = !named.has_all(one.forms());
        named = named.with(one.forms());
        is_new
    });
    all
}

fn example(units: &Units) -> String {
    format!("a {}, such as \"{}\"", units.what, units.example)
}

fn bounds(units: &Units, low: u64, high: u64) -> Expected {
    let (low, high) = ((units.show)(low), (units.show)(high));
    let text = format!("{} ({low} to {high})", example(units));
    Expected::of(text, Forms::of(&[units.form]))
}

fn a_table(which: &str) -> Expected {
    Expected::of(format!("a table{which}"), Forms::of(&[Form::Table]))
}

/// Returns the forms of a kind of value if it can be written in several forms. Free texts have no forms here.
fn alternatives(kind: &Kind) -> Vec<Expected> {
    match kind {
        Kind::Any(kinds) => kinds.iter().flat_map(alternatives_or_whole).collect(),
        Kind::OneOrMore(kind) => {
            let mut all = alternatives_or_whole(kind);
            all.push(Expected::new("a list of them", &[Form::Several]));
            all
        }
        Kind::Sizes => {
            let published: Vec<&str> = PUBLISHED.iter().map(|(name, _)| *name).collect();
            vec![
                Expected::new("\"10 KB\"", &[Form::Quantity]),
                Expected::new("\"uniform 2 KB..50 KB\"", &[Form::Uniform]),
                Expected::one_of(&published),
                Expected::new("{ cdf = \"file.csv\" }", &[Form::CdfFile]),
                Expected::new(
                    "{ points = [[\"1 KB\", 0], [\"10 KB\", 1]] }",
                    &[Form::CdfPoints],
                ),
            ]
        }
        Kind::Deadline => vec![
            Expected::new("\"30 ms\"", &[Form::Quantity]),
            Expected::new("\"none\"", &[Form::Word]),
            Expected::new(
                "{ base = \"35 ms\", variation = \"uniform 50%\" }",
                &[Form::BaseDeadline],
            ),
            Expected::new(
                "{ mean = \"30 ms\", floor = \"5 ms\" }",
                &[Form::MeanDeadline],
            ),
        ],
        Kind::Gap => vec![
            Expected::new("\"300 ms\"", &[Form::Quantity]),
            Expected::new("\"exponential 300 ms\"", &[Form::Exponential]),
            Expected::new("\"uniform 1 ms..5 ms\"", &[Form::Uniform]),
            Expected::new("\"kernel-tcp\"", &[Form::Word]),
            Expected::new("{ median = \"2 ms\", sigma = 1 }", &[Form::LogNormal]),
            Expected::new("{ mean = \"2 ms\", sigma = 1 }", &[Form::LogNormal]),
            Expected::new(
                "{ min = \"1 ms\", shape = 1.5, cap = \"1 s\" }",
                &[Form::Pareto],
            ),
            Expected::new("{ cdf = \"file.csv\" }", &[Form::CdfFile]),
            Expected::new(
                "{ points = [[\"1 ms\", 0], [\"10 ms\", 1]] }",
                &[Form::CdfPoints],
            ),
        ],
        Kind::Amount => vec![
            Expected::new("\"20 packets\"", &[Form::Packets]),
            Expected::new("\"30 KB\"", &[Form::Bytes]),
        ],
        _ => Vec::new(),
    }
}

/// Returns the forms of a kind, or the kind itself as its only form.
fn alternatives_or_whole(kind: &Kind) -> Vec<Expected> {
    let mut all = alternatives(kind);
    if all.is_empty() {
        all.push(kind.into());
        all.retain(|whole| !whole.forms().is_empty());
    }
    all
}
