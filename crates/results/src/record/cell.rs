//! Conversion of a record's fields to cells of their columns, from cells to fields, and to words of the digest.

use crate::Class;
use crate::digest::Lanes;
use crate::schema::{Context, Kind, Value};
use duetime_core::Time;

/// Type of a column's declaration.
pub(crate) trait Typed {
    /// Type of the column.
    const KIND: Kind;
    /// True if the column can be null.
    const NULLABLE: bool = false;
}

/// Type of a record's field.
pub(crate) trait Field: Typed + Sized {
    /// Returns the field as a cell.
    fn value(&self) -> Value<'_>;

    /// Reads the field from a cell. The error describes the cell.
    fn read(value: Value<'_>) -> Result<Self, String>;

    /// Adds the field to a digest.
    fn digest(&self, lanes: &mut Lanes);
}

/// Representation of a field of type `T` in its column.
pub(crate) trait Form<T> {
    /// Type of the column.
    const KIND: Kind;
    /// True if the column can be null.
    const NULLABLE: bool;

    /// Returns the field as a cell.
    fn value<'a>(context: &'a Context<'a>, field: &'a T) -> Value<'a>;

    /// Reads the field from a cell. The error describes the cell.
    fn read(context: &Context<'_>, value: Value<'_>) -> Result<T, String>;
}

/// Representation given by the field's type.
pub(crate) struct Plain;

/// Number for which the maximum means "none"; null in its column.
pub(crate) struct NullAtMax;

/// Index into [`Context::sampled_links`]; the link's name in its column.
pub(crate) struct SampledLink;

impl<T: Field> Form<T> for Plain {
    const KIND: Kind = T::KIND;
    const NULLABLE: bool = T::NULLABLE;

    fn value<'a>(_: &'a Context<'a>, field: &'a T) -> Value<'a> {
        field.value()
    }

    fn read(_: &Context<'_>, value: Value<'_>) -> Result<T, String> {
        T::read(value)
    }
}

impl Form<u64> for NullAtMax {
    const KIND: Kind = Kind::Unsigned;
    const NULLABLE: bool = true;

    fn value<'a>(_: &'a Context<'a>, &field: &'a u64) -> Value<'a> {
        Value::from((field != u64::MAX).then_some(field))
    }

    fn read(_: &Context<'_>, value: Value<'_>) -> Result<u64, String> {
        Option::read(value).map(|field| field.unwrap_or(u64::MAX))
    }
}

impl Form<u32> for SampledLink {
    const KIND: Kind = Kind::Text;
    const NULLABLE: bool = false;

    fn value<'a>(context: &'a Context<'a>, &field: &'a u32) -> Value<'a> {
        let name = context.sampled_links.get(field as usize);
        Value::Text(name.map_or("", String::as_str))
    }

    fn read(context: &Context<'_>, value: Value<'_>) -> Result<u32, String> {
        let name = String::read(value)?;
        let index = context.sampled_links.iter().position(|link| *link == name);
        index
            .and_then(|index| u32::try_from(index).ok())
            .ok_or_else(|| format!("`{name}` was not sampled"))
    }
}

/// Field added to a record in a later version. It enters the digest only if it differs from the default, after the word
/// `MARK`, so digests of runs without it do not change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Added<T, const MARK: u64>(pub T);

impl<T, const MARK: u64> From<T> for Added<T, MARK> {
    fn from(field: T) -> Self {
        Self(field)
    }
}

impl<T: Typed, const MARK: u64> Typed for Added<T, MARK> {
    const KIND: Kind = T::KIND;
    const NULLABLE: bool = T::NULLABLE;
}

impl<T: Field + Default + PartialEq, const MARK: u64> Field for Added<T, MARK> {
    fn value(&self) -> Value<'_> {
        self.0.value()
    }

    fn read(value: Value<'_>) -> Result<Self, String> {
        T::read(value).map(Self)
    }

    fn digest(&self, lanes: &mut Lanes) {
        if self.0 != T::default() {
            lanes.word(MARK);
            self.0.digest(lanes);
        }
    }
}

impl Typed for i64 {
    const KIND: Kind = Kind::Signed;
}

impl<T: Typed> Typed for Option<T> {
    const KIND: Kind = T::KIND;
    const NULLABLE: bool = true;
}

impl<T: Field> Field for Option<T> {
    fn value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, T::value)
    }

    fn read(value: Value<'_>) -> Result<Self, String> {
        match value {
            Value::Null => Ok(None),
            value => T::read(value).map(Some),
        }
    }

    fn digest(&self, lanes: &mut Lanes) {
        self.is_some().digest(lanes);
        if let Some(field) = self {
            field.digest(lanes);
        }
    }
}

macro_rules! integers {
    ($($type:ty),+) => {
        $(
            impl Typed for $type {
                const KIND: Kind = Kind::Unsigned;
            }

            impl Field for $type {
                fn value(&self) -> Value<'_> {
                    Value::Unsigned((*self).into())
                }

                fn read(value: Value<'_>) -> Result<Self, String> {
                    match value {
                        Value::Unsigned(number) => {
                            Self::try_from(number).map_err(|_| format!("{number} is too large"))
                        }
                        value => needed("an integer", value),
                    }
                }

                fn digest(&self, lanes: &mut Lanes) {
                    lanes.word((*self).into());
                }
            }
        )+
    };
}

integers!(u16, u32, u64);

impl Typed for Time {
    const KIND: Kind = Kind::Unsigned;
}

/// In picoseconds.
impl Field for Time {
    fn value(&self) -> Value<'_> {
        Value::Unsigned(self.as_ps())
    }

    fn read(value: Value<'_>) -> Result<Self, String> {
        u64::read(value).map(Self::from_ps)
    }

    fn digest(&self, lanes: &mut Lanes) {
        lanes.word(self.as_ps());
    }
}

impl Typed for bool {
    const KIND: Kind = Kind::Boolean;
}

impl Field for bool {
    fn value(&self) -> Value<'_> {
        Value::Boolean(*self)
    }

    fn read(value: Value<'_>) -> Result<Self, String> {
        match value {
            Value::Boolean(flag) => Ok(flag),
            value => needed("a boolean", value),
        }
    }

    fn digest(&self, lanes: &mut Lanes) {
        lanes.word((*self).into());
    }
}

impl Typed for f64 {
    const KIND: Kind = Kind::Real;
}

impl Field for f64 {
    fn value(&self) -> Value<'_> {
        Value::Real(*self)
    }

    fn read(value: Value<'_>) -> Result<Self, String> {
        match value {
            Value::Real(number) => Ok(number),
            value => needed("a double", value),
        }
    }

    fn digest(&self, lanes: &mut Lanes) {
        lanes.word(self.to_bits());
    }
}

impl Typed for String {
    const KIND: Kind = Kind::Text;
}

impl Field for String {
    fn value(&self) -> Value<'_> {
        Value::Text(self)
    }

    fn read(value: Value<'_>) -> Result<Self, String> {
        match value {
            Value::Text(text) => Ok(text.to_owned()),
            value => needed("a string", value),
        }
    }

    fn digest(&self, lanes: &mut Lanes) {
        lanes.text(self);
    }
}

impl Typed for Class {
    const KIND: Kind = Kind::Text;
}

/// The name in a cell, the index in [`Class::ALL`] in the digest.
impl Field for Class {
    fn value(&self) -> Value<'_> {
        Value::Text(self.name())
    }

    fn read(value: Value<'_>) -> Result<Self, String> {
        let name = String::read(value)?;
        let class = Self::ALL.into_iter().find(|class| class.name() == name);
        class.ok_or_else(|| format!("unknown class `{name}`"))
    }

    fn digest(&self, lanes: &mut Lanes) {
        lanes.word(*self as u64);
    }
}

fn needed<T>(expected: &str, found: Value<'_>) -> Result<T, String> {
    Err(match found {
        Value::Null => "a value is missing".to_owned(),
        _ => format!("{expected} is needed"),
    })
}
