//! What the kinds of values allow, in words: for messages, the reference page and the JSON Schema.

use crate::keys::Kind;
use crate::quantity::{FREQUENCY, RATE, SIZE, TIME, Units};

/// Names in quotes, one after the other.
pub(crate) fn quoted(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    quoted.join(", ")
}

/// What a kind of value allows, in words.
pub(crate) fn allowed(kind: &Kind) -> String {
    let example = |units: &Units| format!("a {}, such as \"{}\"", units.what, units.example);
    let bounds = |units: &Units, low: u64, high: u64| {
        format!(
            "{} ({} to {})",
            example(units),
            (units.show)(low),
            (units.show)(high)
        )
    };
    match kind {
        Kind::Text => "a text in quotes".to_owned(),
        Kind::Choice(choices) => quoted(choices),
        Kind::Boolean => "true, false".to_owned(),
        Kind::Integer(low, high) => format!("{low}..={high}"),
        Kind::Number(low, high) => format!("{low}..={high}"),
        Kind::Share(low, high) => format!("{low}..={high}, or a percentage such as \"50%\""),
        Kind::Time(low, high) => bounds(&TIME, *low, *high),
        Kind::Rate(low, high) => bounds(&RATE, *low, *high),
        Kind::Size(low, high) => bounds(&SIZE, *low, *high),
        Kind::Amount => "packets or bytes, such as \"20 packets\" or \"30 KB\"".to_owned(),
        Kind::Frequency => example(&FREQUENCY),
        Kind::Gap => "\"300 ms\", \"exponential 300 ms\", \"uniform 1 ms..5 ms\"".to_owned(),
        Kind::Sizes => crate::distribution::SIZE_FORMS.to_owned(),
        Kind::Deadline => crate::distribution::DEADLINE_FORMS.to_owned(),
        Kind::Gain => "1/2^n, such as \"1/16\"".to_owned(),
        Kind::List(kind) => format!("a list of: {}", allowed(kind)),
        Kind::OneOrMore(kind) => format!("{}; or a list of them", allowed(kind)),
        Kind::Table(table) => {
            let names: Vec<&str> = table.all().map(|key| key.name).collect();
            format!("a table with {}", names.join(", "))
        }
        Kind::Tagged(_, tables) => {
            let names: Vec<&str> = tables.iter().map(|(name, _)| *name).collect();
            format!("a table of kind {}", quoted(&names))
        }
        Kind::Any(kinds) => kinds.iter().map(allowed).collect::<Vec<_>>().join("; or "),
        Kind::Open => "a table".to_owned(),
    }
}
