//! Values set over the file, and the axes of a sweep.

use crate::diagnostic::Diagnostic;
use crate::document::Document;

/// One axis of a sweep: a key and the values that it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Path of the key, as [`Document::set`] takes it.
    pub key: String,
    /// Its values, as [`Document::set`] takes them.
    pub values: Vec<String>,
}

pub(crate) fn axes(_: &Document) -> Result<Vec<Axis>, Diagnostic> {
    Ok(Vec::new())
}

impl Document {
    /// Sets the value at a key path.
    pub fn set(&mut self, _: &str, _: &str) -> Result<(), Diagnostic> {
        Ok(())
    }
}
