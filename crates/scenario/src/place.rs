//! Value of a file with the path of its key, and readers for each kind of value.

use crate::diagnostic::{Diagnostic, Result};
use crate::document::{Document, Node, Value};
use crate::expected::{Expected, Form, Forms};
use crate::forms::unnamed;
use crate::keys::{FREQUENCY_RANGE, Kind, PACKETS_RANGE, POOL};
use crate::model::{Amount, Workload};
use crate::quantity::{self, FREQUENCY, InvalidQuantity, PACKETS, RATE, SIZE, TIME, Units};
use crate::sources::{NoFiles, Sources};
use duetime_core::{Bytes, Rate, Span};

/// Value of a file with the path of its key.
#[derive(Clone)]
pub(crate) struct Place<'a> {
    pub document: &'a Document,
    pub node: &'a Node,
    pub path: String,
    pub scope: Scope<'a>,
}

/// Context that a value may refer to.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    /// Files that the scenario names.
    pub sources: &'a dyn Sources,
    /// Number of hosts of the topology.
    pub hosts: u32,
    /// Workloads before this one.
    pub before: &'a [Workload],
}

impl<'a> Place<'a> {
    /// Returns the whole file.
    pub fn root(document: &'a Document) -> Self {
        Self {
            document,
            node: &document.root,
            path: String::new(),
            scope: Scope {
                sources: &NoFiles,
                hosts: 0,
                before: &[],
            },
        }
    }

    /// Sets the scope.
    pub fn within<'s>(self, scope: Scope<'s>) -> Place<'s>
    where
        'a: 's,
    {
        Place { scope, ..self }
    }

    /// Returns an element of the key's list.
    pub fn element(&self, node: &'a Node) -> Self {
        Self {
            document: self.document,
            node,
            path: self.path.clone(),
            scope: self.scope,
        }
    }

    /// Returns the elements of a list, or a single value as one element.
    pub fn items(&self) -> Vec<Self> {
        match &self.node.value {
            Value::Array(items) => items.iter().map(|item| self.element(item)).collect(),
            _ => vec![self.clone()],
        }
    }

    /// Returns the elements of a non-empty list, or a single value as one element.
    pub fn some_items(&self, allowed: &'static str) -> Result<Vec<Self>> {
        let items = self.items();
        if items.is_empty() {
            return self.refuse("an empty list", Expected::new(allowed, &[Form::Several]));
        }
        Ok(items)
    }

    /// Returns the value under `key`, or this table if the key is absent.
    pub fn at(&self, key: &str) -> Self {
        let node = self.node.get(key).unwrap_or(self.node);
        self.child(key, node)
    }

    pub(crate) fn child(&self, key: &str, node: &'a Node) -> Self {
        Self {
            document: self.document,
            node,
            path: self.join(key),
            scope: self.scope,
        }
    }

    pub(crate) fn join(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    pub fn wrong(&self, message: impl Into<String>) -> Diagnostic {
        self.document.wrong(self.node, &self.path, message)
    }

    /// Returns an error about this value, with the allowed values.
    pub fn refuse<T>(&self, message: impl Into<String>, allowed: impl Into<Expected>) -> Result<T> {
        Err(self.wrong(message).expected(allowed))
    }

    pub fn expected(&self, what: &str, allowed: impl Into<Expected>) -> Diagnostic {
        self.wrong(format!("expected {what}, found {}", self.node.describe()))
            .expected(allowed)
    }

    pub fn str(&self, what: &str, allowed: impl Into<Expected>) -> Result<&'a str> {
        self.node.str().ok_or_else(|| self.expected(what, allowed))
    }

    pub fn array(&self) -> Result<Vec<Self>> {
        if let Value::Array(items) = &self.node.value {
            return Ok(items.iter().map(|item| self.element(item)).collect());
        }
        let allowed = Expected::new("a list, such as [1, 2]", &[Form::List, Form::Several]);
        Err(self.expected("a list", allowed))
    }

    pub fn choice(&self, choices: &'static [&'static str]) -> Result<&'static str> {
        let text = self.str("a word", Expected::one_of(choices))?;
        Ok(choices[self.one_of(text, choices, "not one of the choices")?])
    }

    /// Returns the index of `word` in `names`, or an error with `message`.
    pub fn one_of(&self, word: &str, names: &[&str], message: &str) -> Result<usize> {
        let found = names.iter().position(|name| *name == word);
        found.ok_or_else(|| {
            let error = self.wrong(message).expected(Expected::one_of(names));
            error.suggest(word, names.iter().copied(), '"')
        })
    }

    pub fn boolean(&self) -> Result<bool> {
        match self.node.value {
            Value::Boolean(value) => Ok(value),
            _ => Err(self.expected("a boolean", &Kind::Boolean)),
        }
    }

    /// Reads an integer in a range that fits the type.
    pub fn integer<T: TryFrom<i64>>(&self, low: i64, high: i64) -> Result<T> {
        let allowed = Expected::range(low, high);
        match self.node.value {
            Value::Integer(value) if (low..=high).contains(&value) => {
                Ok(T::try_from(value).unwrap_or_else(|_| unreachable!("{allowed} fits the type")))
            }
            Value::Integer(value) => Err(self.out_of_range(value < low).expected(allowed)),
            Value::HugeInteger => self.refuse("too large", allowed),
            _ => Err(self.expected("a whole number", allowed)),
        }
    }

    pub fn number(&self, low: f64, high: f64) -> Result<f64> {
        let value = match self.node.value {
            Value::Integer(value) => value as f64,
            Value::Float(value) => value,
            _ => return Err(self.expected("a number", Expected::range(low, high))),
        };
        self.bounded(value, low, high)
    }

    /// Reads a number or a percentage.
    pub fn share(&self, low: f64, high: f64) -> Result<f64> {
        let allowed = &Kind::Share(low, high);
        let value = match self.node.str() {
            Some(text) => quantity::percent(text)
                .ok_or_else(|| self.wrong("not a percentage").expected(allowed))
                .and_then(|value| self.bounded(value, low, high)),
            None => self.number(low, high),
        };
        value.map_err(|error| error.expected(allowed))
    }

    fn bounded(&self, value: f64, low: f64, high: f64) -> Result<f64> {
        let allowed = Expected::range(low, high);
        if !value.is_finite() {
            return self.refuse("not a finite number", allowed);
        }
        if !(low..=high).contains(&value) {
            return Err(self.out_of_range(value < low).expected(allowed));
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

    /// Reads a frequency per second.
    pub fn frequency(&self) -> Result<f64> {
        let (low, high) = FREQUENCY_RANGE;
        Ok(self.quantity(&FREQUENCY, low, high)? as f64 / 1e3)
    }

    /// Packets or bytes.
    pub fn amount(&self) -> Result<Amount> {
        let allowed = &Kind::Amount;
        let text = self.str("an amount with its unit", allowed)?;
        if text.contains("packet") {
            return self.packets(text);
        }
        let parsed = SIZE
            .parse(text)
            .map_err(|error| self.wrong(error.message).expected(allowed))?;
        self.range(parsed, &SIZE, 1, POOL.1).map(Amount::Bytes)
    }

    /// Parses a number of packets.
    pub fn packets(&self, text: &str) -> Result<Amount> {
        let packets = self.part(text, &PACKETS, PACKETS_RANGE)?;
        let packets = u32::try_from(packets).expect("the range of packets fits 32 bits");
        Ok(Amount::Packets(packets))
    }

    /// Parses a part of this value's text as a quantity.
    pub fn part(&self, text: &str, units: &Units, (low, high): (u64, u64)) -> Result<u64> {
        let value = units
            .parse(text)
            .map_err(|error| self.not_quantity(error, units))?;
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
            let allowed = format!("a string with its unit, such as \"{}\"", units.example);
            return Err(error.expected(Expected::of(allowed, Forms::of(&[units.form]))));
        };
        self.part(text, units, (low, high))
    }

    fn range(&self, value: u64, units: &Units, low: u64, high: u64) -> Result<u64> {
        if (low..=high).contains(&value) {
            return Ok(value);
        }
        let allowed = format!("{} to {}", (units.show)(low), (units.show)(high));
        let allowed = Expected::of(allowed, Forms::of(&[units.form]));
        Err(self.out_of_range(value < low).expected(allowed))
    }

    fn not_quantity(&self, error: InvalidQuantity, units: &Units) -> Diagnostic {
        let allowed = Expected::of(error.allowed, Forms::of(&[units.form]));
        self.wrong(error.message).expected(allowed)
    }
}

/// Adds all missing forms of a value to the allowed values of an error, if the error is about the whole value.
pub(crate) fn complete(error: Diagnostic, place: &Place<'_>, kind: &Kind) -> Diagnostic {
    let here = place.wrong("");
    let position = |error: &Diagnostic| (error.key.clone(), error.line, error.column, error.width);
    let Some(allowed) = error.expectation() else {
        return error;
    };
    if position(&error) != position(&here) || error.file != here.file {
        return error;
    }
    let missing = unnamed(kind, allowed.forms());
    if missing.is_empty() {
        return error;
    }
    let missing = Expected::join(&missing, ", ");
    error.expected(Expected::join(&[allowed, missing], "; or "))
}
