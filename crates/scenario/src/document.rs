//! Scenario file as a tree of values with their position in the file or on the command line.

use crate::Diagnostic;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Parsed scenario file, including values set later.
#[derive(Clone, Debug)]
pub struct Document {
    pub(crate) texts: Vec<Text>,
    pub(crate) root: Node,
}

/// Source text of values.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub name: String,
    pub content: String,
}

/// Value with its position.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Index into [`Document::texts`].
    pub text: usize,
    pub span: Range<usize>,
    pub value: Value,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    String(String),
    Integer(i64),
    /// Integer beyond 64 bits.
    HugeInteger,
    Float(f64),
    Boolean(bool),
    Datetime,
    Array(Vec<Node>),
    Table(Vec<Entry>),
}

/// Key of a table with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub key: String,
    pub key_span: Range<usize>,
    pub node: Node,
}

impl Document {
    /// Parses the text of a file. Errors call the file `name`.
    pub fn parse(text: &str, name: &str) -> Result<Self, Diagnostic> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let table = DeTable::parse(text).map_err(|error| {
            let end = text.trim_end().len();
            let span = error.span().unwrap_or(end..end);
            Diagnostic::at(name, text, span, error.message().replace('\n', "; "))
        })?;
        let root = Node {
            text: 0,
            span: table.span(),
            value: Value::Table(entries(table.get_ref(), 0)),
        };
        let texts = vec![Text {
            name: name.to_owned(),
            content: text.to_owned(),
        }];
        Ok(Self { texts, root })
    }

    /// Creates an error in the value `node` at the path `key`.
    pub(crate) fn wrong(&self, node: &Node, key: &str, message: impl Into<String>) -> Diagnostic {
        let text = &self.texts[node.text];
        let written = &text.content[node.span.clone()];
        let diagnostic =
            Diagnostic::at(&text.name, &text.content, node.span.clone(), message).key(key);
        let has_tables = match &node.value {
            Value::Table(_) => true,
            Value::Array(items) => items.iter().any(|item| item.table().is_some()),
            _ => false,
        };
        if has_tables || written.contains('\n') || written.chars().count() > 80 {
            return diagnostic;
        }
        diagnostic.value(written)
    }

    /// Creates an error, found by a later stage, in the value at a path of plain keys, such as `["record", "links"]`,
    /// or in entry `index` of its list. If the file does not have the value, the error points at the nearest table
    /// above it.
    pub fn mistake(&self, path: &[&str], index: usize, message: impl Into<String>) -> Diagnostic {
        let mut node = &self.root;
        for key in path {
            let Some(below) = node.get(key) else {
                return self.wrong(node, &path.join("."), message);
            };
            node = below;
        }
        if let Value::Array(items) = &node.value {
            node = items.get(index).unwrap_or(node);
        }
        self.wrong(node, &path.join("."), message)
    }

    /// Creates an error in the key of `entry`.
    pub(crate) fn wrong_key(
        &self,
        entry: &Entry,
        key: &str,
        message: impl Into<String>,
    ) -> Diagnostic {
        let text = &self.texts[entry.node.text];
        Diagnostic::at(&text.name, &text.content, entry.key_span.clone(), message).key(key)
    }
}

impl Node {
    /// Empty table, for a table that the file does not have.
    pub const EMPTY: Self = Self {
        text: 0,
        span: 0..0,
        value: Value::Table(Vec::new()),
    };

    pub fn table(&self) -> Option<&[Entry]> {
        match &self.value {
            Value::Table(entries) => Some(entries),
            _ => None,
        }
    }

    pub fn get(&self, key: &str) -> Option<&Node> {
        self.table()?
            .iter()
            .find(|entry| entry.key == key)
            .map(|entry| &entry.node)
    }

    pub fn str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Describes the type of the value.
    pub fn describe(&self) -> &'static str {
        match self.value {
            Value::String(_) => "a string",
            Value::Integer(_) | Value::HugeInteger => "an integer",
            Value::Float(_) => "a number",
            Value::Boolean(_) => "a boolean",
            Value::Datetime => "a date",
            Value::Array(_) => "a list",
            Value::Table(_) => "a table",
        }
    }
}

/// Parses a single TOML value, as in `--set`. A text that is not a TOML value is a string.
pub(crate) fn parse_value(written: &str, text: usize, offset: usize) -> Node {
    let mut node = match DeValue::parse(written) {
        Ok(value) => node(&value, text),
        Err(_) => Node {
            text,
            span: 0..written.len(),
            value: Value::String(written.to_owned()),
        },
    };
    shift(&mut node, offset);
    node
}

pub(crate) fn shift(node: &mut Node, offset: usize) {
    node.span = node.span.start + offset..node.span.end + offset;
    match &mut node.value {
        Value::Array(items) => items.iter_mut().for_each(|item| shift(item, offset)),
        Value::Table(entries) => {
            for entry in entries {
                entry.key_span = entry.key_span.start + offset..entry.key_span.end + offset;
                shift(&mut entry.node, offset);
            }
        }
        _ => {}
    }
}

fn entries(table: &DeTable<'_>, text: usize) -> Vec<Entry> {
    let mut entries: Vec<Entry> = table
        .iter()
        .map(|(key, value)| Entry {
            key: key.get_ref().to_string(),
            key_span: key.span(),
            node: node(value, text),
        })
        .collect();
    entries.sort_by_key(|entry| entry.key_span.start);
    entries
}

fn node(spanned: &Spanned<DeValue<'_>>, text: usize) -> Node {
    let value = match spanned.get_ref() {
        DeValue::String(string) => Value::String(string.to_string()),
        DeValue::Integer(integer) => {
            let parsed = i64::from_str_radix(integer.as_str(), integer.radix());
            parsed.map_or(Value::HugeInteger, Value::Integer)
        }
        DeValue::Float(float) => Value::Float(float.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(boolean) => Value::Boolean(*boolean),
        DeValue::Datetime(_) => Value::Datetime,
        DeValue::Array(items) => Value::Array(items.iter().map(|item| node(item, text)).collect()),
        DeValue::Table(table) => Value::Table(entries(table, text)),
    };
    Node {
        text,
        span: spanned.span(),
        value,
    }
}
