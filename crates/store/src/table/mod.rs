//! Tables: each column is described once, and from that written, documented and checked.

mod read;
mod write;

pub use read::{Cell, StoredColumn, StoredTable};
pub use write::to_parquet;

/// A row type with its table.
pub trait Row: Sized + 'static {
    /// File name without extension.
    const NAME: &'static str;
    /// What one row is.
    const ABOUT: &'static str;
    /// The columns, in the order of the file.
    const COLUMNS: &'static [Column<Self>];
}

/// One column of a table of `R`.
pub struct Column<R: 'static> {
    /// Its name, with the unit.
    pub name: &'static str,
    /// Its meaning, with range and what a null says.
    pub about: &'static str,
    /// Its type, and its value in a row.
    pub get: Get<R>,
}

/// A column's type, and how to get its value from a row.
pub enum Get<R: 'static> {
    /// A 64-bit integer.
    Int(fn(&R) -> i64),
    /// A 64-bit integer or null.
    OptionalInt(fn(&R) -> Option<i64>),
    /// A double.
    Real(fn(&R) -> f64),
    /// A double or null.
    OptionalReal(fn(&R) -> Option<f64>),
    /// A boolean.
    Bool(fn(&R) -> bool),
    /// A boolean or null.
    OptionalBool(fn(&R) -> Option<bool>),
    /// A string.
    Text(fn(&R) -> &str),
}

impl<R> Get<R> {
    /// The type's name in the documentation.
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::Int(_) | Self::OptionalInt(_) => "int64",
            Self::Real(_) | Self::OptionalReal(_) => "double",
            Self::Bool(_) | Self::OptionalBool(_) => "boolean",
            Self::Text(_) => "string",
        }
    }

    /// Whether values may be missing.
    pub const fn optional(&self) -> bool {
        matches!(
            self,
            Self::OptionalInt(_) | Self::OptionalReal(_) | Self::OptionalBool(_)
        )
    }
}

/// Shorthand for a [`Column`].
pub const fn column<R>(name: &'static str, get: Get<R>, about: &'static str) -> Column<R> {
    Column { name, about, get }
}
