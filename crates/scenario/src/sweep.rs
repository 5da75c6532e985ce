//! Values set over the file, and the axes of a sweep.
//!
//! A key path names a value from the outside in: `switch.buffer`, `tcp.rto_min`, `topology.uplink.rate`.
//! `workload.KEY` is a key of the first workload, `workload.NAME.KEY` and `workload[1].KEY` of another;
//! `response[2]` is an entry of a list.

use crate::diagnostic::{Diagnostic, nearest};
use crate::document::{Document, Entry, Node, Text, Value, parse_value};
use crate::keys::{self, Kind, SCENARIO, Table};
use crate::table::{Place, Reader};
use std::ops::Range;

type Result<T> = std::result::Result<T, Diagnostic>;

const MOST_VALUES: usize = 10_000;

/// One axis of a sweep: a key and the values that it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Path of the key, as [`Document::set`] takes it.
    pub key: String,
    /// Its values, as [`Document::set`] takes them.
    pub values: Vec<String>,
}

impl Axis {
    /// Parses `KEY=LOW..HIGH:STEP` (the step is 1 where not given, bounds may have a unit) or `KEY=A,B,C`, as
    /// `--vary` takes it.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |span: Range<usize>, message: &str| {
            Diagnostic::at("--vary", text, span, message)
                .allowed("KEY=LOW..HIGH:STEP or KEY=A,B,C, such as workload.fan_in=5..40:5")
        };
        let Some((key, values)) = text.split_once('=') else {
            return Err(wrong(0..text.len(), "no values"));
        };
        let span = key.len() + 1..text.len();
        let values = match range(values) {
            Some(values) => values.map_err(|message| wrong(span.clone(), &message))?,
            None => list(values),
        };
        if values.is_empty() || values.iter().any(String::is_empty) {
            return Err(wrong(span, "a value is missing"));
        }
        if let Some(twice) = first_twice(&values) {
            return Err(wrong(span, &format!("{twice} is listed twice")));
        }
        Ok(Self {
            key: key.trim().to_owned(),
            values,
        })
    }
}

/// All combinations of the axes' values, the last axis fastest, each as the pairs that [`crate::load`] takes.
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

/// The axes of `[sweep]`.
pub(crate) fn axes(document: &Document) -> Result<Vec<Axis>> {
    let root = Place {
        document,
        node: &document.root,
        path: String::new(),
    };
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

/// Dotted keys are nested tables to TOML; a list or a text at the end is an axis.
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
            None => return Err(place.wrong("not a range").allowed(allowed)),
        },
        _ => return Err(place.expected("a list", allowed)),
    };
    if values.is_empty() {
        return Err(place.wrong("an empty list").allowed(allowed));
    }
    if let Some(twice) = first_twice(&values) {
        return Err(place
            .wrong(format!("{twice} is listed twice"))
            .allowed("each value once"));
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

/// A value as `--set` would take it.
fn written(document: &Document, node: &Node) -> String {
    let source = &document.texts[node.text].content[node.span.clone()];
    match node.str() {
        // Quotes are needed only where the text alone would be another kind of value.
        Some(text) if parse_value(text, 0, 0).str() == Some(text) => text.to_owned(),
        _ => source.to_owned(),
    }
}

/// `LOW..HIGH:STEP` with or without a unit; `None` if the text is something else.
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

/// The steps in exact decimals.
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
    if count >= MOST_VALUES as u64 {
        return Err(format!("more than {MOST_VALUES} values"));
    }
    let power = 10u64.pow(places as u32);
    let show = |value: u64| {
        let number = match places {
            0 => value.to_string(),
            _ => {
                let text = format!("{}.{:0places$}", value / power, value % power);
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            }
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

/// One part of a key path: a name, or an index into a list.
struct Step<'k> {
    name: &'k str,
    span: Range<usize>,
    indices: Vec<usize>,
}

impl Document {
    /// Sets `value` at the key path `key`. The value is TOML; a text that is no TOML value is a string, so that
    /// `switch.buffer` takes `4 MB` as well as `"4 MB"`.
    pub fn set(&mut self, key: &str, value: &str) -> Result<()> {
        let text = self.texts.len();
        self.texts.push(Text {
            name: "--set".to_owned(),
            content: format!("{key}={value}"),
        });
        let mut node = parse_value(value.trim(), text, 0);
        let lead = key.len() + 1 + value.len() - value.trim_start().len();
        crate::document::shift(&mut node, lead);
        let mut root = self.root.clone();
        let result = steps_of(key).and_then(|steps| insert(&mut root, &steps, node, text));
        match result {
            Ok(()) => {
                self.root = root;
                Ok(())
            }
            Err(wrong) => {
                let content = &self.texts[text].content;
                let mut error =
                    Diagnostic::at("--set", content, wrong.span, wrong.message).key(key);
                if !wrong.allowed.is_empty() {
                    error = error.allowed(wrong.allowed);
                }
                if let Some(near) = wrong.near {
                    error = error.help(format!("did you mean `{near}`?"));
                }
                self.texts.pop();
                Err(error)
            }
        }
    }

    /// The axes of the file's `[sweep]`, in its order.
    pub fn sweep(&self) -> Result<Vec<Axis>> {
        axes(self)
    }
}

struct Wrong {
    span: Range<usize>,
    message: String,
    allowed: String,
    near: Option<String>,
}

impl Wrong {
    fn new(span: Range<usize>, message: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self {
            span,
            message: message.into(),
            allowed: allowed.into(),
            near: None,
        }
    }
}

fn steps_of(key: &str) -> std::result::Result<Vec<Step<'_>>, Wrong> {
    let mut steps = Vec::new();
    let mut start = 0;
    for part in key.split('.') {
        let span = start..start + part.len();
        start += part.len() + 1;
        let wrong = || {
            Wrong::new(
                span.clone(),
                "not a key path",
                "names joined by dots, such as workload.fan_in or workload[1].load",
            )
        };
        let (name, mut rest) = part.split_at(part.find('[').unwrap_or(part.len()));
        let name = name.trim();
        if name.is_empty() {
            return Err(wrong());
        }
        let mut indices = Vec::new();
        while !rest.is_empty() {
            let (index, after) = rest
                .strip_prefix('[')
                .and_then(|r| r.split_once(']'))
                .ok_or_else(wrong)?;
            indices.push(index.trim().parse().map_err(|_| wrong())?);
            rest = after;
        }
        steps.push(Step {
            name,
            span,
            indices,
        });
    }
    Ok(steps)
}

/// Walks from the file's root along the steps, with the tables' keys at hand, and puts the value at the end.
fn insert(
    root: &mut Node,
    steps: &[Step<'_>],
    value: Node,
    text: usize,
) -> std::result::Result<(), Wrong> {
    let mut node = root;
    let mut table: Option<&'static Table> = Some(&SCENARIO);
    let mut rest = steps;
    while let [step, after @ ..] = rest {
        rest = after;
        let key = match table {
            Some(table) => Some(table.key(step.name).ok_or_else(|| unknown(step, table))?),
            None => None,
        };
        let whole = step.span.clone();
        let last = rest.is_empty();
        if last && step.indices.is_empty() {
            return put(node, step, value, text);
        }
        node = child(node, step, text)?;
        if matches!(step.name, "workload" | "variant")
            && table.is_some_and(|table| std::ptr::eq(table, &raw const SCENARIO))
        {
            let (index, used) = element(node, step, rest)?;
            if used {
                rest = &rest[1..];
            }
            if rest.is_empty() {
                let message = format!("a whole {} cannot be set", step.name);
                return Err(Wrong::new(whole, message, format!("{}.KEY", step.name)));
            }
            node = item(node, index, step)?;
        } else {
            for &index in &step.indices {
                node = item(node, index, step)?;
            }
        }
        if last {
            *node = value;
            return Ok(());
        }
        table = key.and_then(|key| table_of(&key.kind, node));
    }
    Ok(())
}

/// Replaces or adds the last key.
fn put(
    node: &mut Node,
    step: &Step<'_>,
    value: Node,
    text: usize,
) -> std::result::Result<(), Wrong> {
    let entries = entries(node, step)?;
    match entries.iter_mut().find(|entry| entry.key == step.name) {
        Some(entry) => {
            entry.key_span = step.span.clone();
            entry.node = value;
        }
        None => entries.push(Entry {
            key: step.name.to_owned(),
            key_span: step.span.clone(),
            node: Node { text, ..value },
        }),
    }
    Ok(())
}

/// The value under a key; an empty table where there is none.
fn child<'n>(
    node: &'n mut Node,
    step: &Step<'_>,
    text: usize,
) -> std::result::Result<&'n mut Node, Wrong> {
    let entries = entries(node, step)?;
    let index = entries
        .iter()
        .position(|entry| entry.key == step.name)
        .unwrap_or_else(|| {
            entries.push(Entry {
                key: step.name.to_owned(),
                key_span: step.span.clone(),
                node: Node {
                    text,
                    span: step.span.clone(),
                    value: Value::Table(Vec::new()),
                },
            });
            entries.len() - 1
        });
    Ok(&mut entries[index].node)
}

fn entries<'n>(
    node: &'n mut Node,
    step: &Step<'_>,
) -> std::result::Result<&'n mut Vec<Entry>, Wrong> {
    let found = node.describe();
    match &mut node.value {
        Value::Table(entries) => Ok(entries),
        _ => {
            let message = format!("what holds `{}` is {found} here, not a table", step.name);
            Err(Wrong::new(
                step.span.clone(),
                message,
                "a key of a table; set the table itself first",
            ))
        }
    }
}

fn item<'n>(
    node: &'n mut Node,
    index: usize,
    step: &Step<'_>,
) -> std::result::Result<&'n mut Node, Wrong> {
    let found = node.describe();
    match &mut node.value {
        Value::Array(items) => {
            let count = items.len();
            items.get_mut(index).ok_or_else(|| {
                let message = format!("there is no entry {index}");
                Wrong::new(
                    step.span.clone(),
                    message,
                    format!("0..={}", count.saturating_sub(1)),
                )
            })
        }
        _ => {
            let message = format!("`{}` is {found}, not a list", step.name);
            Err(Wrong::new(step.span.clone(), message, "an index of a list"))
        }
    }
}

/// Which workload or variant is meant, and whether the next step names it.
fn element(
    node: &Node,
    step: &Step<'_>,
    rest: &[Step<'_>],
) -> std::result::Result<(usize, bool), Wrong> {
    let Value::Array(items) = &node.value else {
        let message = format!("the scenario has no [[{}]]", step.name);
        return Err(Wrong::new(step.span.clone(), message, ""));
    };
    if let [index] = step.indices[..] {
        return Ok((index, false));
    }
    let names = names(items);
    let Some(next) = rest.first() else {
        return Ok((0, false));
    };
    if let Some(index) = names.iter().position(|name| name == next.name) {
        return Ok((index, true));
    }
    let tables = if step.name == "workload" {
        keys::WORKLOADS
    } else {
        keys::VARIANTS
    };
    let known = tables
        .iter()
        .any(|(_, table)| table.key(next.name).is_some());
    if known || rest.len() == 1 {
        return Ok((0, false));
    }
    let message = format!("no {} of that name, and no such key", step.name);
    let mut wrong = Wrong::new(next.span.clone(), message, names.join(", "));
    wrong.near = nearest(next.name, names.iter().map(String::as_str)).map(str::to_owned);
    Err(wrong)
}

/// The names of workloads, as the resolved scenario will have them.
fn names(items: &[Node]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for item in items {
        let given = item.get("name").and_then(Node::str).map(str::to_owned);
        let kind = item.get("kind").and_then(Node::str).unwrap_or_default();
        let numbered = (2..).map(|number| format!("{kind}-{number}"));
        let mut candidates = std::iter::once(kind.to_owned()).chain(numbered);
        let name = given.or_else(|| candidates.find(|name| !names.contains(name)));
        names.push(name.unwrap_or_default());
    }
    names
}

fn unknown(step: &Step<'_>, table: &'static Table) -> Wrong {
    let known: Vec<&str> = table.all().map(|key| key.name).collect();
    let message = format!("unknown key `{}` in {}", step.name, table.name);
    let mut wrong = Wrong::new(step.span.clone(), message, known.join(", "));
    wrong.near = nearest(step.name, known).map(str::to_owned);
    wrong
}

/// The keys of the table `node` that a value of this kind may be.
fn table_of(kind: &'static Kind, node: &Node) -> Option<&'static Table> {
    match kind {
        Kind::Table(table) => Some(table),
        Kind::Tagged(tag, tables) => {
            let found = node.get(tag)?.str()?;
            tables
                .iter()
                .find(|(name, _)| *name == found)
                .map(|(_, table)| *table)
        }
        Kind::List(kind) | Kind::OneOrMore(kind) => table_of(kind, node),
        Kind::Any(kinds) => kinds.iter().find_map(|kind| table_of(kind, node)),
        Kind::Sizes => Some(&keys::SIZES),
        Kind::Deadline => Some(&keys::DEADLINES),
        _ => None,
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
    fn a_grid_has_every_combination_in_order() {
        let axes = [Axis::parse("a=1,2").unwrap(), Axis::parse("b=x,y").unwrap()];
        let points: Vec<String> = grid(&axes)
            .iter()
            .map(|point| format!("{}{}", point[0].1, point[1].1))
            .collect();
        assert_eq!(points, ["1x", "1y", "2x", "2y"]);
        assert_eq!(grid(&[]), [[]]);
    }
}
