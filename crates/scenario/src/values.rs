//! Types of fields: reading from the file and writing in the resolved form.

use crate::diagnostic::Result;
use crate::keys::Kind;
use crate::place::Place;
use duetime_core::{Bytes, Rate, Span};
use serde_json::{Value, json};

/// Type with a resolved form, for the manifest.
pub(crate) trait Resolved {
    /// Returns the resolved form.
    fn resolved(&self) -> Value;
}

/// Type that is read from one value of the file.
pub(crate) trait Readable: Resolved + Sized {
    /// Value if the key is absent and its default is not a TOML value.
    const ABSENT: Option<Self> = None;

    /// Reads the value.
    fn read(place: &Place<'_>, kind: &'static Kind) -> Result<Self>;
}

macro_rules! whole_numbers {
    ($($type:ty),+) => {$(
        impl Readable for $type {
            fn read(place: &Place<'_>, kind: &'static Kind) -> Result<Self> {
                match *kind {
                    Kind::Integer(low, high) => place.integer(low, high),
                    Kind::Size(low, high) => {
                        let size = place.size(low, high)?.0;
                        Ok(Self::try_from(size).expect("the range fits the type"))
                    }
                    _ => unreachable!("{} is no whole number", place.path),
                }
            }
        }
    )+};
}
whole_numbers!(i8, u8, u32, u64);

macro_rules! resolved_as_is {
    ($($type:ty),+) => {$(
        impl Resolved for $type {
            fn resolved(&self) -> Value {
                json!(self)
            }
        }
    )+};
}
resolved_as_is!(i8, u8, u32, u64, usize, f64, bool, String, (u32, u32));

impl Readable for f64 {
    fn read(place: &Place<'_>, kind: &'static Kind) -> Result<Self> {
        match *kind {
            Kind::Number(low, high) => place.number(low, high),
            Kind::Share(low, high) => place.share(low, high),
            Kind::Frequency => place.frequency(),
            _ => unreachable!("{} is no number", place.path),
        }
    }
}

impl Readable for bool {
    fn read(place: &Place<'_>, _: &'static Kind) -> Result<Self> {
        place.boolean()
    }
}

macro_rules! quantities {
    ($($type:ty: $kind:ident by $read:ident, resolved as |$value:ident| $written:expr;)+) => {$(
        impl Readable for $type {
            fn read(place: &Place<'_>, kind: &'static Kind) -> Result<Self> {
                match *kind {
                    Kind::$kind(low, high) => place.$read(low, high),
                    _ => unreachable!("{} has another unit", place.path),
                }
            }
        }

        impl Resolved for $type {
            fn resolved(&self) -> Value {
                let $value = *self;
                json!($written)
            }
        }
    )+};
}
quantities! {
    Span: Time by time, resolved as |time| time.as_ps();
    Rate: Rate by rate, resolved as |rate| rate.as_bps();
    Bytes: Size by size, resolved as |size| size.0;
}

impl<T: Readable> Readable for Option<T> {
    const ABSENT: Option<Self> = Some(None);

    fn read(place: &Place<'_>, kind: &'static Kind) -> Result<Self> {
        T::read(place, kind).map(Some)
    }
}

impl<T: Resolved> Resolved for Option<T> {
    fn resolved(&self) -> Value {
        json!(self.as_ref().map(T::resolved))
    }
}

impl<T: Resolved> Resolved for Vec<T> {
    fn resolved(&self) -> Value {
        self.iter().map(T::resolved).collect()
    }
}

/// Enum with variants that are words in the file.
pub(crate) trait Words: Copy + PartialEq + 'static {
    /// Words, in the order of the messages.
    const WORDS: &'static [&'static str];
    /// Variant of each word.
    const VARIANTS: &'static [Self];
}

/// Returns the kind of a word of an enum.
pub(crate) const fn word<T: Words>() -> Kind {
    Kind::Choice(T::WORDS)
}

impl<T: Words> Readable for T {
    fn read(place: &Place<'_>, _: &'static Kind) -> Result<Self> {
        let word = place.choice(T::WORDS)?;
        let mut all = T::WORDS.iter().zip(T::VARIANTS);
        Ok(*all.find(|(name, _)| **name == word).expect("a word").1)
    }
}

impl<T: Words> Resolved for T {
    fn resolved(&self) -> Value {
        let mut all = T::WORDS.iter().zip(T::VARIANTS);
        let found = all.find(|(_, variant)| *variant == self);
        json!(found.expect("a word for each variant").0)
    }
}
