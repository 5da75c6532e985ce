//! One declaration per option: key, kind, default, documentation, the field it sets, and how it is kept.
//!
//! [`options!`] declares the options of a configuration that is read in layers, each over the one before; [`fields!`]
//! declares a table that is read whole. [`words!`] names the variants of an enum. A declaration is read like a field:
//!
//! ```text
//! /// What it means, for the reference page and the messages.
//! key: Kind, default "20 us", unit "segments", field path.to.field, read function;
//! ```
//!
//! `default` takes a TOML value, `otherwise` says in words what holds where the key is absent; a key with neither must
//! be there. `unit` ends the key's name in the resolved form, where the kind does not say it. `field` names the field
//! where it is not called like the key, and `read` a function for values that [`Held`] does not read alone. `set` and
//! `keep` replace both ways where a key is more or less than one field; with `set` alone it is not kept. `follows` names
//! the field that is taken over where no table has the key.

use crate::diagnostic::Diagnostic;
use crate::keys::{Key, Kind};
use crate::place::Place;
use crate::table::Reader;
use duetime_core::Span;
use serde_json::{Map, Value, json};

pub(crate) type Result<T> = std::result::Result<T, Diagnostic>;

/// The tables of the file that a configuration is read from, from the general to the special.
pub(crate) type Layers<'l, 'a> = &'l [&'l Reader<'a>];

/// The options of a configuration `C`.
pub(crate) struct Options<C: 'static> {
    /// What the file may say.
    pub keys: &'static [Key],
    /// What becomes of each key.
    pub fields: &'static [Field<C>],
    /// What no single key can say: rules across options.
    pub check: fn(&C, Layers<'_, '_>) -> Result<()>,
}

/// What becomes of one key.
pub(crate) struct Field<C> {
    /// The unit of what is kept; empty: that of the kind.
    pub unit: &'static str,
    /// Takes the value.
    pub set: fn(&mut C, &Place<'_>, &'static Kind) -> Result<()>,
    /// Takes over another option where no layer has the key.
    pub follow: fn(&mut C),
    /// What a run's manifest keeps, if anything.
    pub keep: fn(&C) -> Option<Value>,
}

impl<C: Default> Options<C> {
    /// The defaults with the layers over them.
    pub fn over(&self, layers: Layers<'_, '_>) -> Result<C> {
        let mut config = C::default();
        for reader in layers {
            for (key, field) in self.keys.iter().zip(self.fields) {
                if let Some(place) = reader.find(key.name) {
                    (field.set)(&mut config, &place, &key.kind)?;
                }
            }
        }
        for (key, field) in self.keys.iter().zip(self.fields) {
            if !layers.iter().any(|reader| reader.find(key.name).is_some()) {
                (field.follow)(&mut config);
            }
        }
        (self.check)(&config, layers)?;
        Ok(config)
    }

    /// The resolved form.
    pub fn kept(&self, config: &C) -> Map<String, Value> {
        let kept = |(key, field): (&Key, &Field<C>)| {
            Some((kept_name(key, field.unit), (field.keep)(config)?))
        };
        self.keys.iter().zip(self.fields).filter_map(kept).collect()
    }
}

/// The key's name in the resolved form, which ends in the unit.
pub(crate) fn kept_name(key: &Key, unit: &str) -> String {
    let unit = match key.kind {
        _ if !unit.is_empty() => unit,
        Kind::Time(..) => "ps",
        Kind::Size(..) => "bytes",
        Kind::Rate(..) => "bps",
        _ => return key.name.to_owned(),
    };
    format!("{}_{unit}", key.name)
}

/// A type that a field may have: how it is read as a kind, and how it is kept.
pub(crate) trait Held: Sized {
    /// What holds where the key is absent, if the default does not say it as a value.
    const ABSENT: Option<Self> = None;
    /// Reads the value.
    fn read(place: &Place<'_>, kind: &'static Kind) -> Result<Self>;
    /// What a run's manifest keeps.
    fn kept(&self) -> Value;
}

macro_rules! whole_numbers {
    ($($type:ty),+) => {$(
        impl Held for $type {
            fn read(place: &Place<'_>, kind: &'static Kind) -> Result<Self> {
                match *kind {
                    Kind::Integer(low, high) => Ok(place.integer(low, high)? as Self),
                    Kind::Size(low, high) => Ok(place.size(low, high)?.0 as Self),
                    _ => unreachable!("{} is no whole number", place.path),
                }
            }

            fn kept(&self) -> Value {
                json!(self)
            }
        }
    )+};
}
whole_numbers!(i8, u8, u32, u64);

impl Held for f64 {
    fn read(place: &Place<'_>, kind: &'static Kind) -> Result<Self> {
        match *kind {
            Kind::Number(low, high) => place.number(low, high),
            Kind::Share(low, high) => place.share(low, high),
            _ => unreachable!("{} is no number", place.path),
        }
    }

    fn kept(&self) -> Value {
        json!(self)
    }
}

impl Held for bool {
    fn read(place: &Place<'_>, _: &'static Kind) -> Result<Self> {
        place.boolean()
    }

    fn kept(&self) -> Value {
        json!(self)
    }
}

impl Held for Span {
    fn read(place: &Place<'_>, kind: &'static Kind) -> Result<Self> {
        match *kind {
            Kind::Time(low, high) => place.time(low, high),
            _ => unreachable!("{} is no time", place.path),
        }
    }

    fn kept(&self) -> Value {
        json!(self.as_ps())
    }
}

impl<T: Held> Held for Option<T> {
    const ABSENT: Option<Self> = Some(None);

    fn read(place: &Place<'_>, kind: &'static Kind) -> Result<Self> {
        T::read(place, kind).map(Some)
    }

    fn kept(&self) -> Value {
        json!(self.as_ref().map(T::kept))
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

/// A declaration's documentation as one text.
pub(crate) const fn sentence(doc: &'static str) -> &'static str {
    doc.split_at(1).1
}

/// Names the variants of an enum.
macro_rules! words {
    ($type:ident: $($variant:ident = $word:literal),+ $(,)?) => {
        impl $crate::options::Words for $type {
            const WORDS: &'static [&'static str] = &[$($word),+];
        }

        impl $crate::options::Held for $type {
            fn read(
                place: &$crate::place::Place<'_>,
                _: &'static $crate::keys::Kind,
            ) -> $crate::options::Result<Self> {
                let word = place.choice(<Self as $crate::options::Words>::WORDS)?;
                let all = [$(($word, Self::$variant)),+];
                let found = all.into_iter().find(|(of, _)| *of == word);
                Ok(found.expect("one of the words").1)
            }

            fn kept(&self) -> serde_json::Value {
                match self { $(Self::$variant => $word),+ }.into()
            }
        }
    };
}
pub(crate) use words;

/// Declares the options of a transport's configuration as `OPTIONS`, with the tables in which they stand: `TABLE` at
/// the top of the file and `VARIANT`, both with the options that it shares, and `LAYERS`, from the special to the
/// general.
macro_rules! options {
    (
        $(#[doc = $about:literal])+
        $table:ident $(over $($below:ident),+)? for $config:ty $(, checked by $check:path)? {
            $(
                $(#[doc = $doc:literal])+
                $key:ident : $kind:expr
                    $(, default $default:literal)? $(, otherwise $otherwise:literal)?
                    $(, unit $unit:literal)? $(, field $($path:ident).+)? $(, read $read:path)?
                    $(, set $set:expr)? $(, keep $keep:expr)? $(, follows $leader:ident)?;
            )+
        }
    ) => {
        /// The options.
        pub(crate) const OPTIONS: $crate::options::Options<$config> = $crate::options::Options {
            keys: &[$($crate::keys::Key {
                name: stringify!($key),
                kind: $kind,
                default: concat!($(stringify!($default))? $($otherwise)?),
                doc: $crate::options::sentence(concat!($($doc),+)),
            }),+],
            fields: &[$($crate::options::Field {
                unit: concat!($($unit)?),
                set: options!(@set [$($set)?] $key [$($($path)+)?] [$($read)?]),
                follow: options!(@follow [$($leader)?] $key [$($($path)+)?]),
                keep: options!(@keep [$($keep)?] [$($set)?] $key [$($($path)+)?]),
            }),+],
            check: options!(@check $($check)?),
        };
        /// The table at the top of the file.
        pub(crate) static TABLE: $crate::keys::Table = $crate::keys::Table {
            name: stringify!($table),
            doc: $crate::options::sentence(concat!($($about),+)),
            keys: &[OPTIONS.keys $($(, super::$below::OPTIONS.keys)+)?],
        };
        /// The keys of a variant.
        pub(crate) static VARIANT: $crate::keys::Table = $crate::keys::Table {
            name: concat!("variant of ", stringify!($table)),
            doc: concat!("Keys of `[", stringify!($table), "]`."),
            keys: &[super::VARIANT_KEYS, OPTIONS.keys $($(, super::$below::OPTIONS.keys)+)?],
        };
        /// The tables that make it, from the special to the general.
        pub(crate) const LAYERS: &[&str] = &[stringify!($table) $($(, stringify!($below))+)?];

        #[cfg(test)]
        #[test]
        fn the_defaults_told_are_those_in_use() {
            OPTIONS.check_defaults();
        }
    };
    (@set [$set:expr] $key:ident $path:tt $read:tt) => { $set };
    (@set [] $key:ident [] $read:tt) => { options!(@set [] $key [$key] $read) };
    (@set [] $key:ident $path:tt []) => { options!(@set [] $key $path [$crate::options::Held::read]) };
    (@set [] $key:ident [$($path:ident)+] [$read:path]) => {
        |config, place, kind| {
            config.$($path).+ = $read(place, kind)?;
            Ok(())
        }
    };
    (@keep [$keep:expr] $set:tt $key:ident $path:tt) => { |config| Some($keep(config)) };
    (@keep [] [$set:expr] $key:ident $path:tt) => { |_| None };
    (@keep [] [] $key:ident []) => { options!(@keep [] [] $key [$key]) };
    (@keep [] [] $key:ident [$($path:ident)+]) => {
        |config| Some($crate::options::Held::kept(&config.$($path).+))
    };
    (@follow [] $key:ident $path:tt) => { |_| () };
    (@follow [$leader:ident] $key:ident []) => { |config| config.$key = config.$leader };
    (@follow [$leader:ident] $key:ident [$($path:ident)+]) => { |config| config.$($path).+ = config.$leader };
    (@check) => { |_, _| Ok(()) };
    (@check $check:path) => { $check };
}
pub(crate) use options;

/// Declares a table that is read whole into a struct, whose fields are called like its keys.
macro_rules! fields {
    (
        $(#[doc = $about:literal])+
        static $table:ident : $name:literal for $type:ident {
            $(
                $(#[doc = $doc:literal])+
                $key:ident : $kind:expr $(, default $default:literal)? $(, otherwise $otherwise:literal)?;
            )+
        }
    ) => {
        pub(crate) static $table: $crate::keys::Table = $crate::keys::Table {
            name: $name,
            doc: $crate::options::sentence(concat!($($about),+)),
            keys: &[&[$($crate::keys::Key {
                name: stringify!($key),
                kind: $kind,
                default: concat!($(stringify!($default))? $($otherwise)?),
                doc: $crate::options::sentence(concat!($($doc),+)),
            }),+]],
        };

        impl $crate::options::Held for $type {
            fn read(
                place: &$crate::place::Place<'_>,
                _: &'static $crate::keys::Kind,
            ) -> $crate::options::Result<Self> {
                let reader = $crate::table::Reader::open(place.clone(), &$table)?;
                Ok(Self { $($key: reader.value(stringify!($key))?),+ })
            }

            fn kept(&self) -> serde_json::Value {
                let kept = [$($crate::options::Held::kept(&self.$key)),+];
                let names = $table.all().map(|key| $crate::options::kept_name(key, ""));
                serde_json::Value::Object(names.zip(kept).collect())
            }
        }
    };
}
pub(crate) use fields;

#[cfg(test)]
impl<C: Default + PartialEq + std::fmt::Debug> Options<C> {
    /// Holds each default that is a value against the configuration's own.
    pub fn check_defaults(&self) {
        for (key, field) in self.keys.iter().zip(self.fields) {
            let line = format!("{} = {}", key.name, key.default);
            let Ok(document) = crate::Document::parse(&line, "default") else {
                continue;
            };
            let mut config = C::default();
            (field.set)(&mut config, &Place::root(&document).at(key.name), &key.kind)
                .unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(config, C::default(), "{line}");
        }
    }
}
