//! The typed reader of one table: it knows the table's keys, refuses others, and takes each value with the kind and
//! the range that `keys` gives it.

use crate::diagnostic::Diagnostic;
use crate::document::{Document, Node};
use crate::keys::{Key, Kind, Table};
use crate::options::Readable;
use crate::place::Place;
use crate::words::{allowed, complete, quoted};

type Result<T> = std::result::Result<T, Diagnostic>;

/// A table of the file, being read.
#[derive(Clone)]
pub(crate) struct Reader<'a> {
    pub place: Place<'a>,
    table: &'static Table,
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
            let error = place.document.wrong_key(entry, &full, message);
            let error = error.allowed(names.join(", "));
            return Err(error.suggest(&entry.key, names, '`'));
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
        let names: Vec<&str> = tables.iter().map(|(name, _)| *name).collect();
        let Some(kind) = place.node.get(tag) else {
            let key = place.join(tag);
            let error = place.document.wrong(place.node, &key, "missing");
            return Err(error.allowed(quoted(&names)));
        };
        let inner = place.child(tag, kind);
        let text = inner.str("a word", &quoted(&names))?;
        let (name, table) = tables[inner.one_of(text, &names, "not one of the choices")?];
        Ok((name, Self::open(place, table)?))
    }

    fn key(&self, name: &str) -> &'static Key {
        self.table
            .key(name)
            .unwrap_or_else(|| panic!("`{name}` is not a key of {}", self.table.name))
    }

    /// The value of a key, if it is there.
    pub fn get(&self, key: &'static str) -> Option<Place<'a>> {
        self.find(self.key(key).name)
    }

    /// The value of a key, if this is one of the table's and there.
    pub fn find(&self, key: &str) -> Option<Place<'a>> {
        Some(self.place.child(key, self.place.node.get(key)?))
    }

    /// The value of a key that must be there.
    pub fn need(&self, key: &'static str) -> Result<Place<'a>> {
        self.get(key).ok_or_else(|| self.missing(key))
    }

    /// The value of a key, or what holds where it is absent.
    pub fn value<T: Readable>(&self, key: &'static str) -> Result<T> {
        self.read(key, T::ABSENT, T::read)
    }

    /// The value of a key, read by `read`; where it is absent `absent`, or what its declared default means.
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

    /// A value that must be there, read by one of the methods below.
    pub fn needed<T>(
        &self,
        key: &'static str,
        read: impl Fn(&Self, &'static str) -> Result<Option<T>>,
    ) -> Result<T> {
        read(self, key)?.ok_or_else(|| self.missing(key))
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
