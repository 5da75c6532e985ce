//! The typed reader of one table: it knows the table's keys, refuses others, and takes each value with the kind and
//! the range that `keys` gives it.

use crate::diagnostic::{Diagnostic, nearest};
use crate::document::{Document, Node, Value};
use crate::keys::{FREQUENCY_RANGE, Key, Kind, PACKETS_RANGE, POOL, Table};
use crate::model::Amount;
use crate::quantity::{self, FREQUENCY, NotQuantity, PACKETS, RATE, SIZE, TIME, Units};
use duetime_core::{Bytes, Rate, Span};

type Result<T> = std::result::Result<T, Diagnostic>;

/// A table of the file, being read.
#[derive(Clone)]
pub(crate) struct Reader<'a> {
    pub place: Place<'a>,
    table: &'static Table,
}

/// A value of the file with its key's path.
#[derive(Clone)]
pub(crate) struct Place<'a> {
    pub document: &'a Document,
    pub node: &'a Node,
    pub path: String,
}

impl<'a> Place<'a> {
    /// The same key, with another value: an element of its list.
    pub fn element(&self, node: &'a Node) -> Self {
        Self {
            document: self.document,
            node,
            path: self.path.clone(),
        }
    }

    /// The list's elements, or the single value.
    pub fn items(&self) -> Vec<Self> {
        match &self.node.value {
            Value::Array(items) => items.iter().map(|item| self.element(item)).collect(),
            _ => vec![self.clone()],
        }
    }

    /// The value under `key`, or this table where the key is absent.
    pub fn at(&self, key: &str) -> Self {
        let node = self.node.get(key).unwrap_or(self.node);
        self.child(key, node)
    }

    fn child(&self, key: &str, node: &'a Node) -> Self {
        Self {
            document: self.document,
            node,
            path: self.join(key),
        }
    }

    fn join(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    pub fn wrong(&self, message: impl Into<String>) -> Diagnostic {
        self.document.wrong(self.node, &self.path, message)
    }

    pub fn expected(&self, what: &str, allowed: impl Into<String>) -> Diagnostic {
        self.wrong(format!("expected {what}, found {}", self.node.describe()))
            .allowed(allowed)
    }

    pub fn str(&self, what: &str, allowed: &str) -> Result<&'a str> {
        self.node.str().ok_or_else(|| self.expected(what, allowed))
    }

    pub fn array(&self) -> Result<Vec<Self>> {
        match &self.node.value {
            Value::Array(items) => Ok(items.iter().map(|item| self.element(item)).collect()),
            _ => Err(self.expected("a list", "a list, such as [1, 2]")),
        }
    }

    pub fn choice(&self, choices: &'static [&'static str]) -> Result<&'static str> {
        let quoted: Vec<String> = choices
            .iter()
            .map(|choice| format!("\"{choice}\""))
            .collect();
        let allowed = quoted.join(", ");
        let text = self.str("a word", &allowed)?;
        choices
            .iter()
            .find(|choice| **choice == text)
            .copied()
            .ok_or_else(|| {
                let mut error = self.wrong("not one of the choices").allowed(&allowed);
                if let Some(near) = nearest(text, choices.iter().copied()) {
                    error = error.help(format!("did you mean \"{near}\"?"));
                }
                error
            })
    }

    pub fn integer(&self, low: i64, high: i64) -> Result<i64> {
        let allowed = format!("{low}..={high}");
        match self.node.value {
            Value::Integer(value) if (low..=high).contains(&value) => Ok(value),
            Value::Integer(value) => Err(self.out_of_range(value < low).allowed(allowed)),
            Value::HugeInteger => Err(self.wrong("too large").allowed(allowed)),
            _ => Err(self.expected("a whole number", allowed)),
        }
    }

    pub fn number(&self, low: f64, high: f64) -> Result<f64> {
        let value = match self.node.value {
            Value::Integer(value) => value as f64,
            Value::Float(value) => value,
            _ => return Err(self.expected("a number", format!("{low}..={high}"))),
        };
        self.bounded(value, low, high)
    }

    /// A number, or a percentage.
    pub fn share(&self, low: f64, high: f64) -> Result<f64> {
        let allowed = format!("{low}..={high}, or a percentage such as \"50%\"");
        let value = match self.node.str() {
            Some(text) => quantity::percent(text)
                .ok_or_else(|| self.wrong("not a percentage").allowed(&allowed))
                .and_then(|value| self.bounded(value, low, high)),
            None => self.number(low, high),
        };
        value.map_err(|error| error.allowed(allowed))
    }

    fn bounded(&self, value: f64, low: f64, high: f64) -> Result<f64> {
        let allowed = format!("{low}..={high}");
        if !value.is_finite() {
            return Err(self.wrong("not a finite number").allowed(allowed));
        }
        if !(low..=high).contains(&value) {
            return Err(self.out_of_range(value < low).allowed(allowed));
        }
        Ok(value)
    }

    fn out_of_range(&self, low: bool) -> Diagnostic {
        self.wrong(if low { "too small" } else { "too large" })
    }

    pub fn time(&self, low: u64, high: u64) -> Result<Span> {
        self.quantity(&TIME, low, high).map(Span::from_ps)
    }

    pub fn rate(&self, low: u64, high: u64) -> Result<Rate> {
        self.quantity(&RATE, low, high).map(Rate::from_bps)
    }

    pub fn size(&self, low: u64, high: u64) -> Result<Bytes> {
        self.quantity(&SIZE, low, high).map(Bytes)
    }

    /// Flows per second.
    pub fn frequency(&self) -> Result<f64> {
        let (low, high) = FREQUENCY_RANGE;
        Ok(self.quantity(&FREQUENCY, low, high)? as f64 / 1e3)
    }

    /// Packets or bytes.
    pub fn amount(&self) -> Result<Amount> {
        let allowed = "packets or bytes, such as \"20 packets\" or \"30 KB\"";
        let text = self.str("an amount with its unit", allowed)?;
        if text.contains("packet") {
            let (low, high) = PACKETS_RANGE;
            return Ok(Amount::Packets(self.quantity(&PACKETS, low, high)? as u32));
        }
        let parsed = SIZE
            .parse(text)
            .map_err(|error| self.wrong(error.message).allowed(allowed))?;
        self.range(parsed, &SIZE, 1, POOL.1).map(Amount::Bytes)
    }

    /// A part of this text, read as a quantity.
    pub fn part(&self, text: &str, units: &Units, (low, high): (u64, u64)) -> Result<u64> {
        let value = units
            .parse(text)
            .map_err(|error| self.not_quantity(error))?;
        self.range(value, units, low, high)
    }

    fn quantity(&self, units: &Units, low: u64, high: u64) -> Result<u64> {
        let Some(text) = self.node.str() else {
            let error = match self.node.value {
                Value::Integer(_) | Value::HugeInteger | Value::Float(_) => {
                    self.wrong(format!("the unit of this {} is missing", units.what))
                }
                _ => self.expected(&format!("a {}", units.what), ""),
            };
            return Err(error.allowed(format!(
                "a string with its unit, such as \"{}\"",
                units.example
            )));
        };
        self.part(text, units, (low, high))
    }

    fn range(&self, value: u64, units: &Units, low: u64, high: u64) -> Result<u64> {
        if (low..=high).contains(&value) {
            return Ok(value);
        }
        let show = units.show;
        Err(self
            .out_of_range(value < low)
            .allowed(format!("{} to {}", show(low), show(high))))
    }

    fn not_quantity(&self, error: NotQuantity) -> Diagnostic {
        self.wrong(error.message).allowed(error.allowed)
    }
}

impl<'a> Reader<'a> {
    /// Reads `place` as a table with these keys; others are refused.
    pub fn open(place: Place<'a>, table: &'static Table) -> Result<Self> {
        let Some(entries) = place.node.table() else {
            return Err(place.expected("a table", format!("the keys of {}", table.name)));
        };
        for entry in entries {
            if table.key(&entry.key).is_some() {
                continue;
            }
            let names: Vec<&str> = table.all().map(|key| key.name).collect();
            let full = place.join(&entry.key);
            let message = format!("unknown key in {}", table.name);
            let mut error = place
                .document
                .wrong_key(entry, &full, message)
                .allowed(names.join(", "));
            if let Some(near) = nearest(&entry.key, names.iter().copied()) {
                error = error.help(format!("did you mean `{near}`?"));
            }
            return Err(error);
        }
        Ok(Self { place, table })
    }

    /// Reads `place` as one of several tables, by its `kind`.
    pub fn open_tagged(
        place: Place<'a>,
        tag: &'static str,
        tables: &'static [(&'static str, &'static Table)],
    ) -> Result<(&'static str, Self)> {
        if place.node.table().is_none() {
            return Err(place.expected("a table", format!("a table with a `{tag}`")));
        }
        let names: Vec<String> = tables
            .iter()
            .map(|(name, _)| format!("\"{name}\""))
            .collect();
        let Some(kind) = place.node.get(tag) else {
            let key = place.join(tag);
            return Err(place
                .document
                .wrong(place.node, &key, "missing")
                .allowed(names.join(", ")));
        };
        let inner = place.child(tag, kind);
        let text = inner.str("a word", &names.join(", "))?;
        let Some(&(name, table)) = tables.iter().find(|(name, _)| *name == text) else {
            let mut error = inner
                .wrong("not one of the choices")
                .allowed(names.join(", "));
            if let Some(near) = nearest(text, tables.iter().map(|(name, _)| *name)) {
                error = error.help(format!("did you mean \"{near}\"?"));
            }
            return Err(error);
        };
        Ok((name, Self::open(place, table)?))
    }

    fn key(&self, name: &str) -> &'static Key {
        self.table
            .key(name)
            .unwrap_or_else(|| panic!("`{name}` is not a key of {}", self.table.name))
    }

    /// The value of a key, if it is there.
    pub fn get(&self, key: &'static str) -> Option<Place<'a>> {
        let key = self.key(key).name;
        Some(self.place.child(key, self.place.node.get(key)?))
    }

    /// Whether the table has such a key at all.
    pub fn has(&self, key: &str) -> bool {
        self.table.key(key).is_some()
    }

    /// The value of a key that must be there.
    pub fn need(&self, key: &'static str) -> Result<Place<'a>> {
        self.get(key).ok_or_else(|| self.missing(key))
    }

    /// The error that a key is missing.
    pub fn missing(&self, key: &'static str) -> Diagnostic {
        let described = self.key(key);
        let path = self.place.join(key);
        self.place
            .document
            .wrong(self.place.node, &path, "missing")
            .allowed(allowed(&described.kind))
            .help(described.doc)
    }

    pub fn boolean(&self, key: &'static str) -> Result<Option<bool>> {
        self.get(key)
            .map(|child| match child.node.value {
                Value::Boolean(value) => Ok(value),
                _ => Err(child.expected("a boolean", "true, false")),
            })
            .transpose()
    }

    pub fn text(&self, key: &'static str) -> Result<Option<&'a str>> {
        self.get(key)
            .map(|child| child.str("a text", "a text in quotes"))
            .transpose()
    }

    pub fn choice(&self, key: &'static str) -> Result<Option<&'static str>> {
        let Kind::Choice(choices) = self.key(key).kind else {
            unreachable!("`{key}` is no choice")
        };
        self.get(key).map(|child| child.choice(choices)).transpose()
    }

    pub fn integer(&self, key: &'static str) -> Result<Option<i64>> {
        let Kind::Integer(low, high) = self.key(key).kind else {
            unreachable!("`{key}` is no integer")
        };
        self.get(key)
            .map(|child| child.integer(low, high))
            .transpose()
    }

    pub fn number(&self, key: &'static str) -> Result<Option<f64>> {
        self.get(key)
            .map(|child| match self.key(key).kind {
                Kind::Number(low, high) => child.number(low, high),
                Kind::Share(low, high) => child.share(low, high),
                _ => unreachable!("`{key}` is no number"),
            })
            .transpose()
    }

    pub fn time(&self, key: &'static str) -> Result<Option<Span>> {
        let Kind::Time(low, high) = self.key(key).kind else {
            unreachable!("`{key}` is no time")
        };
        self.get(key).map(|child| child.time(low, high)).transpose()
    }

    pub fn size(&self, key: &'static str) -> Result<Option<Bytes>> {
        let Kind::Size(low, high) = self.key(key).kind else {
            unreachable!("`{key}` is no size")
        };
        self.get(key).map(|child| child.size(low, high)).transpose()
    }

    pub fn rate(&self, key: &'static str) -> Result<Option<Rate>> {
        let Kind::Rate(low, high) = self.key(key).kind else {
            unreachable!("`{key}` is no rate")
        };
        self.get(key).map(|child| child.rate(low, high)).transpose()
    }

    /// The texts of a list (or a single text) with their places.
    pub fn texts(&self, key: &'static str) -> Result<Option<Vec<(&'a str, Place<'a>)>>> {
        let Some(list) = self.get(key) else {
            return Ok(None);
        };
        let read = |place: Place<'a>| Ok((place.str("a text", "a text in quotes")?, place));
        list.items()
            .into_iter()
            .map(read)
            .collect::<Result<_>>()
            .map(Some)
    }
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
        Kind::Choice(choices) => {
            let quoted: Vec<String> = choices
                .iter()
                .map(|choice| format!("\"{choice}\""))
                .collect();
            quoted.join(", ")
        }
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
            let names: Vec<String> = tables
                .iter()
                .map(|(name, _)| format!("\"{name}\""))
                .collect();
            format!("a table of kind {}", names.join(", "))
        }
        Kind::Any(kinds) => kinds.iter().map(allowed).collect::<Vec<_>>().join("; or "),
        Kind::Open => "a table".to_owned(),
    }
}
