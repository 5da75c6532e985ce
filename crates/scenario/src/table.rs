//! Typed reader of a table, which refuses unknown keys and reads each value with the kind and range from `keys`.

use crate::diagnostic::{Diagnostic, Result};
use crate::document::{Document, Entry, Node};
use crate::expected::Expected;
use crate::keys::{Key, Kind, Table};
use crate::place::{Place, complete};
use crate::removed;
use crate::values::Readable;

/// Reader of a table of the file.
#[derive(Clone)]
pub(crate) struct Reader<'a> {
    pub place: Place<'a>,
    table: &'static Table,
}

impl<'a> Reader<'a> {
    /// Opens `place` as a table with these keys. Refuses other keys.
    pub fn open(place: Place<'a>, table: &'static Table) -> Result<Self> {
        let Some(entries) = place.node.table() else {
            return Err(place.expected("a table", format!("the keys of {}", table.name)));
        };
        for entry in entries {
            if table.key(&entry.key).is_some() {
                continue;
            }
            let full = place.join(&entry.key);
            if let Some(advice) = removed::advice(&entry.key, table) {
                let error = place.document.wrong_key(entry, &full, removed::MESSAGE);
                return Err(error.help(advice));
            }
            let names: Vec<&str> = table.all().map(|key| key.name).collect();
            let message = format!("unknown key in {}", table.name);
            let error = place.document.wrong_key(entry, &full, message);
            let error = error.allowed(names.join(", "));
            return Err(error.suggest(&entry.key, names, '`'));
        }
        Ok(Self { place, table })
    }

    /// Opens `place` as one of several tables, selected by the key `tag`.
    pub fn open_tagged(
        place: Place<'a>,
        tag: &'static str,
        tables: &'static [(&'static str, &'static Table)],
    ) -> Result<(&'static str, Self)> {
        if place.node.table().is_none() {
            return Err(place.expected("a table", format!("a table with a `{tag}`")));
        }
        let names: Vec<&str> = tables.iter().map(|(name, _)| *name).collect();
        let Some(kind) = place.node.get(tag) else {
            let key = place.join(tag);
            let error = place.document.wrong(place.node, &key, "missing");
            return Err(error.expected(Expected::one_of(&names)));
        };
        let inner = place.child(tag, kind);
        let text = inner.str("a word", Expected::one_of(&names))?;
        let (name, table) = tables[inner.one_of(text, &names, "not one of the choices")?];
        Ok((name, Self::open(place, table)?))
    }

    fn key(&self, name: &str) -> &'static Key {
        self.table
            .key(name)
            .unwrap_or_else(|| panic!("`{name}` is not a key of {}", self.table.name))
    }

    /// Returns the value of a key, or `None` if it is absent.
    pub fn get(&self, key: &'static str) -> Option<Place<'a>> {
        self.find(self.key(key).name)
    }

    /// Returns the value of a key, or `None` if it is absent or not a key of this table.
    pub fn find(&self, key: &str) -> Option<Place<'a>> {
        Some(self.place.child(key, self.place.node.get(key)?))
    }

    /// Returns the value of a required key.
    pub fn need(&self, key: &'static str) -> Result<Place<'a>> {
        self.get(key).ok_or_else(|| self.missing(key))
    }

    /// Reads the value of a key, or its default.
    pub fn value<T: Readable>(&self, key: &'static str) -> Result<T> {
        self.read(key, T::ABSENT, T::read)
    }

    /// Reads the value of a key with `read`. If it is absent, returns `absent` or the declared default.
    pub fn read<T>(
        &self,
        key: &'static str,
        absent: Option<T>,
        read: impl Fn(&Place<'_>, &'static Kind) -> Result<T>,
    ) -> Result<T> {
        let key = self.key(key);
        if let Some(place) = self.find(key.name) {
            return read(&place, &key.kind).map_err(|error| complete(error, &place, &key.kind));
        }
        match (absent, &key.kind) {
            _ if key.default.is_empty() => Err(self.missing(key.name)),
            (Some(absent), _) => Ok(absent),
            (None, Kind::Table(_)) => read(&self.place.child(key.name, &Node::EMPTY), &key.kind),
            (None, kind) => {
                let text = format!("{} = {}", key.name, key.default);
                let document = Document::parse(&text, "default")?;
                read(&Place::root(&document).at(key.name), kind)
            }
        }
    }

    /// Reads a field with a function of this reader and the name of the field.
    pub fn field<T>(
        &self,
        name: &'static str,
        read: impl FnOnce(&Self, &'static str) -> Result<T>,
    ) -> Result<T> {
        read(self, name)
    }

    /// Reads a required value with one of the methods below.
    pub fn needed<T>(
        &self,
        key: &'static str,
        read: impl Fn(&Self, &'static str) -> Result<Option<T>>,
    ) -> Result<T> {
        read(self, key)?.ok_or_else(|| self.missing(key))
    }

    /// Creates the error for a missing key.
    pub fn missing(&self, key: &'static str) -> Diagnostic {
        let described = self.key(key);
        let path = self.place.join(key);
        self.place
            .document
            .wrong(self.place.node, &path, "missing")
            .expected(&described.kind)
            .help(described.doc)
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

    /// Reads the texts of a list, or a single text, with their places.
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

/// Returns the entries of the array of tables under `key`. A single table is an error.
pub(crate) fn tables<'a>(reader: &Reader<'a>, key: &'static str) -> Result<Vec<Place<'a>>> {
    let Some(place) = reader.get(key) else {
        return Ok(Vec::new());
    };
    if place.node.table().is_some() {
        return Err(place
            .wrong(format!("`[{key}]` is one table"))
            .help(format!("write `[[{key}]]`")));
    }
    let items = place.array()?;
    let many = items.len() > 1;
    let named = |entry: &Entry| entry.key == "name";
    Ok(items
        .into_iter()
        .enumerate()
        .map(|(index, mut item)| {
            let entries = item.node.table().unwrap_or_default();
            let name = entries
                .iter()
                .find(|entry| named(entry))
                .and_then(|entry| entry.node.str());
            if many {
                item.path =
                    name.map_or_else(|| format!("{key}[{index}]"), |name| format!("{key}.{name}"));
            }
            item
        })
        .collect())
}
