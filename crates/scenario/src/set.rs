//! Values set by key path, overriding the file.
//!
//! A key path names a value from the outside in: `switch.buffer`, `tcp.rto_min`, `topology.uplink.rate`.
//! `workload.KEY` is a key of the first workload; `workload.NAME.KEY` and `workload[1].KEY` select another.
//! `response[2]` is an entry of a list.

use crate::all_keys::SCENARIO;
use crate::diagnostic::{Diagnostic, nearest};
use crate::distribution::{DEADLINES, SIZES, TIMES};
use crate::document::{Document, Entry, Node, Text, Value, parse_value, shift};
use crate::keys::{Kind, Table};
use crate::removed;
use crate::transports::VARIANTS;
use crate::workloads::{Names, WORKLOADS};
use std::ops::Range;

type Result<T> = std::result::Result<T, Wrong>;

/// Step of a key path: a name with indices into lists.
struct Step<'k> {
    name: &'k str,
    span: Range<usize>,
    indices: Vec<usize>,
}

impl Document {
    /// Sets `value` at the key path `key`. The value is TOML. A text that is not a TOML value is a string, so
    /// `switch.buffer` accepts `4 MB` as well as `"4 MB"`.
    pub fn set(&mut self, key: &str, value: &str) -> std::result::Result<(), Diagnostic> {
        let text = self.texts.len();
        self.texts.push(Text {
            name: "--set".to_owned(),
            content: format!("{key}={value}"),
        });
        let mut node = parse_value(value.trim(), text, 0);
        let lead = key.len() + 1 + value.len() - value.trim_start().len();
        shift(&mut node, lead);
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
                if let Some(help) = wrong.help {
                    error = error.help(help);
                }
                self.texts.pop();
                Err(error)
            }
        }
    }
}

struct Wrong {
    span: Range<usize>,
    message: String,
    allowed: String,
    help: Option<String>,
}

impl Wrong {
    fn new(span: Range<usize>, message: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self {
            span,
            message: message.into(),
            allowed: allowed.into(),
            help: None,
        }
    }
}

fn steps_of(key: &str) -> Result<Vec<Step<'_>>> {
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

/// Follows the steps from the root of the file, checks each key, and sets the value at the end.
fn insert(root: &mut Node, steps: &[Step<'_>], value: Node, text: usize) -> Result<()> {
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
fn put(node: &mut Node, step: &Step<'_>, value: Node, text: usize) -> Result<()> {
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

/// Returns the value under a key, or inserts an empty table.
fn child<'n>(node: &'n mut Node, step: &Step<'_>, text: usize) -> Result<&'n mut Node> {
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

fn entries<'n>(node: &'n mut Node, step: &Step<'_>) -> Result<&'n mut Vec<Entry>> {
    let found = node.describe();
    let Value::Table(entries) = &mut node.value else {
        let message = format!("the parent of `{}` is {found}, not a table", step.name);
        let allowed = "a key of a table; set the table first";
        return Err(Wrong::new(step.span.clone(), message, allowed));
    };
    Ok(entries)
}

fn item<'n>(node: &'n mut Node, index: usize, step: &Step<'_>) -> Result<&'n mut Node> {
    let found = node.describe();
    let Value::Array(items) = &mut node.value else {
        let message = format!("`{}` is {found}, not a list", step.name);
        return Err(Wrong::new(step.span.clone(), message, "an index of a list"));
    };
    let count = items.len();
    items.get_mut(index).ok_or_else(|| {
        let message = format!("the list has no entry {index}");
        let allowed = format!("0..={}", count.saturating_sub(1));
        Wrong::new(step.span.clone(), message, allowed)
    })
}

/// Returns the index of the selected workload or variant, and true if the next step names it.
fn element(node: &Node, step: &Step<'_>, rest: &[Step<'_>]) -> Result<(usize, bool)> {
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
        WORKLOADS
    } else {
        VARIANTS
    };
    let known = tables
        .iter()
        .any(|(_, table)| table.key(next.name).is_some());
    if known || rest.len() == 1 {
        return Ok((0, false));
    }
    let message = format!("no {} of that name, and no such key", step.name);
    let mut wrong = Wrong::new(next.span.clone(), message, names.join(", "));
    wrong.help = suggestion(next.name, names.iter().map(String::as_str));
    Err(wrong)
}

/// Returns the names of the workloads in the resolved scenario.
fn names(items: &[Node]) -> Vec<String> {
    let mut names = Names::default();
    let name = |item: &Node| match item.get("name").and_then(Node::str) {
        Some(given) => {
            names.take(given);
            given.to_owned()
        }
        None => names.numbered(item.get("kind").and_then(Node::str).unwrap_or_default()),
    };
    items.iter().map(name).collect()
}

fn unknown(step: &Step<'_>, table: &'static Table) -> Wrong {
    if let Some(advice) = removed::advice(step.name, table) {
        let mut wrong = Wrong::new(step.span.clone(), removed::MESSAGE, "");
        wrong.help = Some(advice.to_owned());
        return wrong;
    }
    let known: Vec<&str> = table.all().map(|key| key.name).collect();
    let message = format!("unknown key `{}` in {}", step.name, table.name);
    let mut wrong = Wrong::new(step.span.clone(), message, known.join(", "));
    wrong.help = suggestion(step.name, known);
    wrong
}

fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, known).map(|near| format!("did you mean `{near}`?"))
}

/// Returns the declaration of the table `node`, if a value of this kind can be a table.
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
        Kind::Sizes => Some(&SIZES),
        Kind::Deadline => Some(&DEADLINES),
        Kind::Gap => Some(&TIMES),
        _ => None,
    }
}
