//! Descriptions of the values that kinds of keys allow, for messages, the reference page and the JSON Schema.

use crate::diagnostic::Diagnostic;
use crate::keys::Kind;
use crate::place::Place;
use crate::published::PUBLISHED;
use crate::quantity::{FREQUENCY, RATE, SIZE, TIME, Units};

/// Joins names in quotes with commas.
pub(crate) fn quoted(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    quoted.join(", ")
}

/// Describes the values that a kind allows.
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
        Kind::Percentile => "a percentile, such as \"p95\" (p1..p99.99)".to_owned(),
        Kind::OutOf => "a number of all answers, such as \"10 of 14\"".to_owned(),
        Kind::Gap => crate::distribution::GAPS.to_owned(),
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

/// Words of which a message contains one if it names a quantity with its unit.
const QUANTITY: &[&str] = &[
    "a number with a unit",
    "a string with its unit",
    "a rate of",
    "a time",
    " to ",
];

/// Form of a value: words of which a message contains one if it names the form, and the form itself.
type Form = (Vec<String>, String);

/// Adds all missing forms of a value to the allowed values of an error, if the error is about the whole value.
pub(crate) fn complete(error: Diagnostic, place: &Place<'_>, kind: &Kind) -> Diagnostic {
    let here = place.wrong("");
    let position = |error: &Diagnostic| (error.key.clone(), error.line, error.column, error.width);
    let Some(allowed) = error.allowed.clone() else {
        return error;
    };
    if position(&error) != position(&here) || error.file != here.file {
        return error;
    }
    let names = |form: &Form| form.0.iter().any(|word| allowed.contains(word.as_str()));
    let missing: Vec<String> = forms(kind)
        .into_iter()
        .filter(|form| !names(form))
        .map(|(_, form)| form)
        .collect();
    if missing.is_empty() {
        return error;
    }
    error.allowed(format!("{allowed}; or {}", missing.join(", ")))
}

/// Returns the forms of a kind of value if it can be written in several forms. Free texts have no forms here.
fn forms(kind: &Kind) -> Vec<Form> {
    let form = |words: &[&str], form: &str| -> Form {
        (
            words.iter().map(|&word| word.to_owned()).collect(),
            form.to_owned(),
        )
    };
    match kind {
        Kind::Any(kinds) => kinds.iter().flat_map(form_or_forms).collect(),
        Kind::OneOrMore(kind) => {
            let mut forms = form_or_forms(kind);
            forms.push(form(&["list", "per ", "at least one"], "a list of them"));
            forms
        }
        Kind::Sizes => {
            let published: Vec<&str> = PUBLISHED.iter().map(|(name, _)| *name).collect();
            vec![
                form(&[QUANTITY, &["\"10 KB\""]].concat(), "\"10 KB\""),
                form(&["uniform "], "\"uniform 2 KB..50 KB\""),
                form(&["web-search"], &quoted(&published)),
                form(&["cdf ="], "{ cdf = \"file.csv\" }"),
                form(
                    &["points ="],
                    "{ points = [[\"1 KB\", 0], [\"10 KB\", 1]] }",
                ),
            ]
        }
        Kind::Deadline => vec![
            form(&[QUANTITY, &["\"30 ms\""]].concat(), "\"30 ms\""),
            form(&["\"none\""], "\"none\""),
            form(
                &["base ="],
                "{ base = \"35 ms\", variation = \"uniform 50%\" }",
            ),
            form(&["mean ="], "{ mean = \"30 ms\", floor = \"5 ms\" }"),
        ],
        Kind::Gap => vec![
            form(&[QUANTITY, &["\"300 ms\""]].concat(), "\"300 ms\""),
            form(&["exponential"], "\"exponential 300 ms\""),
            form(&["uniform"], "\"uniform 1 ms..5 ms\""),
            form(&["kernel-tcp"], "\"kernel-tcp\""),
            form(&["median ="], "{ median = \"2 ms\", sigma = 1 }"),
            form(&["min ="], "{ min = \"1 ms\", shape = 1.5, cap = \"1 s\" }"),
            form(&["cdf ="], "{ cdf = \"file.csv\" }"),
            form(
                &["points ="],
                "{ points = [[\"1 ms\", 0], [\"10 ms\", 1]] }",
            ),
        ],
        Kind::Amount => vec![
            form(&["packets"], "\"20 packets\""),
            form(&["KB"], "\"30 KB\""),
        ],
        _ => Vec::new(),
    }
}

/// Returns the forms of a kind, or the kind itself as its only form.
fn form_or_forms(kind: &Kind) -> Vec<Form> {
    let several = forms(kind);
    if !several.is_empty() {
        return several;
    }
    let words: &[&str] = match kind {
        Kind::Choice(choices) => return vec![(vec![quoted(&choices[..1])], quoted(choices))],
        Kind::Integer(..) | Kind::Number(..) => &["..="],
        Kind::Share(..) => &["%"],
        Kind::Time(..) | Kind::Rate(..) | Kind::Size(..) | Kind::Frequency => QUANTITY,
        Kind::Percentile => &["percentile"],
        Kind::OutOf => &[" of "],
        Kind::List(_) => &["list"],
        Kind::Table(_) | Kind::Tagged(..) | Kind::Open => &["table", "{ "],
        _ => return Vec::new(),
    };
    let words = words.iter().map(|&word| word.to_owned()).collect();
    vec![(words, allowed(kind))]
}
