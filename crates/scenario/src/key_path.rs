//! Conversion from a place in the resolved form of a scenario to the key path in the file.

use crate::all_keys::SCENARIO;
use crate::keys::{Kind, Table};
use crate::quantity::{RATE, SIZE, TIME};
use crate::transports::TRANSPORTS;
use serde_json::Value;

/// Key path as in the file and in `--set`, with the format of its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPath {
    /// Path, such as `workload.fan_in` or `tcp.rto_min`.
    pub key: String,
    /// Unit in the resolved form: `ps`, `bps`, `bytes`, or empty.
    unit: &'static str,
}

impl KeyPath {
    /// Returns the key path of the place `path` in the resolved scenario `resolved`. A place is a path of names and
    /// indices in which transports may appear by their quoted names: `workloads[0].does.fan_in[0]`,
    /// `transports."tcp".options.mss`.
    pub fn of(resolved: &Value, path: &str) -> Self {
        let known = known();
        let is_key = |name: &str| known.contains(&name);
        let mut unit = "";
        let mut key: Vec<String> = Vec::new();
        let mut node = Some(resolved);
        let mut steps = steps(path).into_iter().peekable();
        while let Some((name, index)) = steps.next() {
            let list = node.and_then(|node| node.get(&name)).cloned();
            node = node.and_then(|node| node.get(&name));
            let many = list
                .as_ref()
                .and_then(Value::as_array)
                .is_some_and(|list| list.len() > 1);
            if let Some(index) = index {
                node = node.and_then(|node| node.get(index));
            }
            match name.as_str() {
                "workloads" => {
                    key.push("workload".to_owned());
                    let own = node.and_then(|node| node["name"].as_str());
                    key.extend(own.filter(|_| many).map(str::to_owned));
                }
                "transports" => {
                    if let Some((transport, _)) = steps.next() {
                        let own = TRANSPORTS.contains(&transport.as_str());
                        key.extend((!own).then(|| "variant".to_owned()));
                        key.push(transport);
                    }
                }
                "priorities" => key.push("classes".to_owned()),
                "flows_per_second" => key.push("rate".to_owned()),
                "flows" | "digest" => key.push("file".to_owned()),
                "poisson" | "arrival" if steps.peek().is_none() => key.push("arrival".to_owned()),
                // The resolved form groups several keys under this one.
                "arrival" => {}
                "every" if steps.peek().is_some_and(|(next, _)| next == "load") => {}
                _ => {
                    let stem = name.rsplit_once('_').map(|(stem, _)| stem);
                    let Some(found) = [Some(name.as_str()), stem]
                        .into_iter()
                        .flatten()
                        .find(|name| is_key(name))
                    else {
                        unit = unit_of(&name);
                        continue;
                    };
                    unit = if found == name { "" } else { unit_of(&name) };
                    key.push(match index {
                        Some(index) if many => format!("{found}[{index}]"),
                        _ => found.to_owned(),
                    });
                }
            }
        }
        Self {
            key: key.join("."),
            unit,
        }
    }

    /// Formats a value of this key, cut to the length of a message.
    pub fn show(&self, value: &Value) -> String {
        let text = match value {
            Value::Array(list) if self.key == "switch.ecn_threshold" => thresholds(list),
            _ => shown(self.unit, value),
        };
        if text.chars().count() <= MAX_CHARS {
            text
        } else {
            let kept = text.chars().take(MAX_CHARS - 3);
            kept.chain("...".chars()).collect()
        }
    }
}

/// Maximum length of a formatted value, in characters.
const MAX_CHARS: usize = 80;

/// Formats a value with its unit in the resolved form. A table with a single quantity is formatted as that quantity.
fn shown(unit: &str, value: &Value) -> String {
    match (unit, value) {
        ("ps", Value::Number(ps)) => (TIME.show)(ps.as_u64().unwrap_or_default()),
        ("bps", Value::Number(bps)) => (RATE.show)(bps.as_u64().unwrap_or_default()),
        ("bytes", Value::Number(bytes)) => (SIZE.show)(bytes.as_u64().unwrap_or_default()),
        (_, Value::Null) => "none".to_owned(),
        (_, Value::Array(list)) => {
            let items: Vec<String> = list.iter().map(|item| shown(unit, item)).collect();
            format!("[{}]", items.join(", "))
        }
        (_, Value::Object(table)) => {
            let mut entries = table.iter();
            if let (Some((name, value)), None) = (entries.next(), entries.next()) {
                return only(name, value);
            }
            let entries = table.iter().map(|(name, value)| {
                let unit = unit_of(name);
                let stem = name.strip_suffix(unit).unwrap_or(name);
                let stem = stem.strip_suffix('_').unwrap_or(stem);
                let stem = if stem.is_empty() { name } else { stem };
                format!("{stem} = {}", shown(unit, value))
            });
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
        _ => value.to_string(),
    }
}

/// Formats a table of one entry: an amount, a gap or a size as in a file.
fn only(name: &str, value: &Value) -> String {
    let unit = unit_of(name);
    match (name, value) {
        ("packets", Value::Number(packets)) => format!("{packets} packets"),
        ("bytes" | "fixed_ps", _) => shown(unit, value),
        ("exponential_ps", _) => format!("exponential {}", shown(unit, value)),
        ("uniform_ps" | "uniform_bytes", Value::Array(ends)) => {
            let ends: Vec<String> = ends.iter().map(|end| shown(unit, end)).collect();
            format!("uniform {}", ends.join(".."))
        }
        _ => format!("{{ {name} = {} }}", shown(unit, value)),
    }
}

/// Formats ECN thresholds by link rate.
fn thresholds(list: &[Value]) -> String {
    let each = list.iter().map(|entry| {
        let threshold = shown("", &entry["threshold"]);
        match entry["from_rate_bps"].as_u64() {
            None | Some(0) => threshold,
            Some(bps) => format!("from {} {threshold}", (RATE.show)(bps)),
        }
    });
    match list {
        [] => "off".to_owned(),
        _ => each.collect::<Vec<_>>().join("; "),
    }
}

fn unit_of(name: &str) -> &'static str {
    let units = ["ps", "bps", "bytes"];
    let last = name.rsplit('_').next().unwrap_or_default();
    units.into_iter().find(|unit| *unit == last).unwrap_or("")
}

/// Splits a path into names with their indices. A quoted name may contain dots.
fn steps(path: &str) -> Vec<(String, Option<usize>)> {
    let mut parts = vec![String::new()];
    let mut quoted = false;
    for letter in path.chars() {
        match letter {
            '"' => quoted = !quoted,
            '.' if !quoted => parts.push(String::new()),
            _ => parts.last_mut().expect("there is one").push(letter),
        }
    }
    let step = |part: String| match part.strip_suffix(']').and_then(|part| part.split_once('[')) {
        Some((name, index)) => (name.to_owned(), index.parse().ok()),
        None => (part, None),
    };
    parts.into_iter().map(step).collect()
}

/// Returns the names of all keys of all tables.
fn known() -> Vec<&'static str> {
    let mut names = Vec::new();
    let mut tables: Vec<&'static Table> = vec![&SCENARIO];
    while let Some(table) = tables.pop() {
        for key in table.all() {
            names.push(key.name);
            below(&key.kind, &mut tables);
        }
    }
    names
}

fn below(kind: &'static Kind, tables: &mut Vec<&'static Table>) {
    match kind {
        Kind::Table(table) => tables.push(table),
        Kind::Tagged(_, tagged) => tables.extend(tagged.iter().map(|(_, table)| *table)),
        Kind::List(kind) | Kind::OneOrMore(kind) => below(kind, tables),
        Kind::Any(kinds) => kinds.iter().for_each(|kind| below(kind, tables)),
        Kind::Sizes => tables.push(&crate::distribution::SIZES),
        Kind::Deadline => tables.push(&crate::distribution::DEADLINES),
        Kind::Gap => tables.push(&crate::distribution::TIMES),
        _ => {}
    }
}
