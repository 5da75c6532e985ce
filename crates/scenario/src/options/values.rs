//! The types that fields have: how each is read from the file and written in the resolved form.

use super::Result;
use crate::keys::Kind;
use crate::place::Place;
use duetime_core::{Bytes, Rate, Span};
use serde_json::{Value, json};

/// A type that a field may have: what a run's manifest keeps of it.
pub(crate) trait Resolved {
    /// The resolved form.
    fn resolved(&self) -> Value;
}

/// A type that is read from one value of the file.
pub(crate) trait Readable: Resolved + Sized {
    /// What holds where the key is absent, if the default does not say it as a value.
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

macro_rules! resolved_as_they_are {
    ($($type:ty),+) => {$(
        impl Resolved for $type {
            fn resolved(&self) -> Value {
                json!(self)
            }
        }
    )+};
}
resolved_as_they_are!(i8, u8, u32, u64, usize, f64, bool, String, (u32, u32));

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
    ($($type:ty: $kind:ident by $read:ident, resolved as |$it:ident| $written:expr;)+) => {$(
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
                let $it = *self;
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

/// An enum whose variants are words of the file.
pub(crate) trait Words {
    /// The words, in the order of the messages.
    const WORDS: &'static [&'static str];
}

/// One of the words of an enum.
pub(crate) const fn word<T: Words>() -> Kind {
    Kind::Choice(T::WORDS)
}

/// Names the variants of an enum.
macro_rules! words {
    ($type:ident: $($variant:ident = $word:literal),+ $(,)?) => {
        impl $crate::options::Words for $type {
            const WORDS: &'static [&'static str] = &[$($word),+];
        }

        impl $crate::options::Readable for $type {
            fn read(
                place: &$crate::place::Place<'_>,
                _: &'static $crate::keys::Kind,
            ) -> $crate::options::Result<Self> {
                let word = place.choice(<Self as $crate::options::Words>::WORDS)?;
                let all = [$(($word, Self::$variant)),+];
                let found = all.into_iter().find(|(of, _)| *of == word);
                Ok(found.expect("one of the words").1)
            }
        }

        impl $crate::options::Resolved for $type {
            fn resolved(&self) -> serde_json::Value {
                match self { $(Self::$variant => $word),+ }.into()
            }
        }
    };
}
pub(crate) use words;
