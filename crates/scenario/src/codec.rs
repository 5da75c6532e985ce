//! Tables that become values of a type.

use crate::diagnostic::Result;
use crate::keys::Table;
use crate::place::Place;
use crate::table::Reader;
use serde_json::Value;

/// Reads a table as a value of `T`, and writes the value in the resolved form.
pub(crate) struct Codec<T: 'static> {
    /// Keys of the table.
    pub table: &'static Table,
    /// Reads a value.
    pub read: fn(&Reader<'_>) -> Result<T>,
    /// Returns the fields of a value, or `None` for a variant of another table.
    pub write: fn(&T) -> Option<Fields>,
}

/// Fields in the resolved form, by name.
pub(crate) type Fields = Vec<(&'static str, Value)>;

/// Codecs of an enum, by the value of `kind`.
pub(crate) type Codecs<T> = [(&'static str, &'static Codec<T>)];

impl<T> Codec<T> {
    /// Opens the table and reads a value.
    pub fn open(&self, place: &Place<'_>) -> Result<T> {
        (self.read)(&Reader::open(place.clone(), self.table)?)
    }

    /// Returns the resolved form, or `None` for a variant of another table. A field with the name of a key has the
    /// resolved name of the key.
    pub fn resolved(&self, value: &T) -> Option<Value> {
        let named = |(name, value): (&str, Value)| match self.table.key(name) {
            Some(key) => (key.resolved_name(""), value),
            None => (name.to_owned(), value),
        };
        Some((self.write)(value)?.into_iter().map(named).collect())
    }
}

/// Returns the tables of the codecs.
pub(crate) const fn tables_of<T, const N: usize>(
    codecs: &[(&'static str, &'static Codec<T>); N],
) -> [(&'static str, &'static Table); N] {
    let mut tables = [("", codecs[0].1.table); N];
    let mut i = 0;
    while i < N {
        tables[i] = (codecs[i].0, codecs[i].1.table);
        i += 1;
    }
    tables
}

/// Opens one of the tables, selected by `kind`, and reads a value.
pub(crate) fn open_kind<T>(
    place: &Place<'_>,
    tables: &'static [(&'static str, &'static Table)],
    codecs: &Codecs<T>,
) -> Result<T> {
    let (kind, reader) = Reader::open_tagged(place.clone(), "kind", tables)?;
    let codec = codecs.iter().find(|(name, _)| *name == kind);
    (codec.expect("a codec for each table").1.read)(&reader)
}

/// Returns the resolved form of a variant, with its `kind`.
pub(crate) fn resolved_kind<T>(value: &T, codecs: &Codecs<T>) -> Value {
    let resolved = |(kind, codec): &(&str, &Codec<T>)| {
        let mut resolved = codec.resolved(value)?;
        resolved["kind"] = (*kind).into();
        Some(resolved)
    };
    let found = codecs.iter().find_map(resolved);
    found.expect("a codec for each variant")
}
