//! Options that are read in layers, each over the one before.

use super::{Result, resolved_name};
use crate::keys::{Key, Kind};
use crate::place::Place;
use crate::table::Reader;
use crate::words::complete;
use serde_json::{Map, Value};

/// The tables of the file that a configuration is read from, from the general to the special.
pub(crate) type Layers<'l, 'a> = &'l [&'l Reader<'a>];

/// The options of a configuration `C`.
pub(crate) struct Options<C: 'static> {
    /// What the file may say.
    pub keys: &'static [Key],
    /// What becomes of each key.
    pub fields: &'static [Field<C>],
    /// The defaults.
    pub base: fn() -> C,
    /// Takes what a layer says of several options at once, before its keys.
    pub profile: fn(&mut C, &Reader<'_>) -> Result<()>,
    /// What no single key can say: rules across options.
    pub check: fn(&C, Layers<'_, '_>) -> Result<()>,
}

/// What becomes of one key.
pub(crate) struct Field<C> {
    /// The unit in the resolved form; empty: that of the kind.
    pub unit: &'static str,
    /// Takes the value.
    pub set: fn(&mut C, &Place<'_>, &'static Kind) -> Result<()>,
    /// Takes over another option where no layer has the key.
    pub follow: fn(&mut C),
    /// What a run's manifest keeps, if anything.
    pub write: fn(&C) -> Option<Value>,
}

impl<C> Options<C> {
    /// The defaults with the layers over them.
    pub fn over(&self, layers: Layers<'_, '_>) -> Result<C> {
        let mut config = (self.base)();
        for reader in layers {
            (self.profile)(&mut config, reader)?;
            for (key, field) in self.keys.iter().zip(self.fields) {
                if let Some(place) = reader.find(key.name) {
                    (field.set)(&mut config, &place, &key.kind)
                        .map_err(|error| complete(error, &place, &key.kind))?;
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
    pub fn resolved(&self, config: &C) -> Map<String, Value> {
        let resolved = |(key, field): (&Key, &Field<C>)| {
            Some((resolved_name(key, field.unit), (field.write)(config)?))
        };
        self.keys
            .iter()
            .zip(self.fields)
            .filter_map(resolved)
            .collect()
    }
}

/// Declares the options of a transport's configuration as `OPTIONS`, with the tables in which they stand: `TABLE` at
/// the top of the file and `VARIANT`, both with the options that it shares, and `LAYERS`, from the special to the
/// general.
macro_rules! options {
    (
        $(#[doc = $about:literal])+
        $table:ident $(over $($below:ident),+)? for $config:ty $(, starting from $base:path)? $(, profiled by $profile:path)? $(, checked by $check:path)? {
            $(
                $(#[doc = $doc:literal])+
                $key:ident : $kind:expr
                    $(, default $default:literal)? $(, otherwise $otherwise:literal)?
                    $(, unit $unit:literal)? $(, field $($path:ident).+)? $(, read $read:path)?
                    $(, set $set:expr)? $(, write $write:expr)? $(, follows $leader:ident)? $(, follow $follow:path)?;
            )+
        }
    ) => {
        /// The options.
        pub(crate) const OPTIONS: $crate::options::Options<$config> = $crate::options::Options {
            keys: $crate::options::keys!($(
                $(#[doc = $doc])+ $key: $kind $(, default $default)? $(, otherwise $otherwise)?;
            )+),
            fields: &[$($crate::options::Field {
                unit: concat!($($unit)?),
                set: options!(@set [$($set)?] $key [$($($path)+)?] [$($read)?]),
                follow: options!(@follow [$($leader)?] [$($follow)?] $key [$($($path)+)?]),
                write: options!(@write [$($write)?] [$($set)?] $key [$($($path)+)?]),
            }),+],
            base: options!(@base $($base)?),
            profile: options!(@check $($profile)?),
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
        fn documented_defaults_are_those_in_use() {
            OPTIONS.check_defaults();
        }
    };
    (@set [$set:expr] $key:ident $path:tt $read:tt) => { $set };
    (@set [] $key:ident [] $read:tt) => { options!(@set [] $key [$key] $read) };
    (@set [] $key:ident $path:tt []) => { options!(@set [] $key $path [$crate::options::Readable::read]) };
    (@set [] $key:ident [$($path:ident)+] [$read:path]) => {
        |config, place, kind| {
            config.$($path).+ = $read(place, kind)?;
            Ok(())
        }
    };
    (@write [$write:expr] $set:tt $key:ident $path:tt) => { |config| Some($write(config)) };
    (@write [] [$set:expr] $key:ident $path:tt) => { |_| None };
    (@write [] [] $key:ident []) => { options!(@write [] [] $key [$key]) };
    (@write [] [] $key:ident [$($path:ident)+]) => {
        |config| Some($crate::options::Resolved::resolved(&config.$($path).+))
    };
    (@follow [] [] $key:ident $path:tt) => { |_| () };
    (@follow [] [$follow:path] $key:ident $path:tt) => { $follow };
    (@follow [$leader:ident] [] $key:ident []) => { |config| config.$key = config.$leader };
    (@follow [$leader:ident] [] $key:ident [$($path:ident)+]) => { |config| config.$($path).+ = config.$leader };
    (@base) => { Default::default };
    (@base $base:path) => { $base };
    (@check) => { |_, _| Ok(()) };
    (@check $check:path) => { $check };
}
pub(crate) use options;

#[cfg(test)]
impl<C: PartialEq + std::fmt::Debug> Options<C> {
    /// Compares each documented default that is a value with the configuration's own.
    pub fn check_defaults(&self) {
        for (key, field) in self.keys.iter().zip(self.fields) {
            let line = format!("{} = {}", key.name, key.default);
            let Ok(document) = crate::Document::parse(&line, "default") else {
                continue;
            };
            let mut config = (self.base)();
            (field.set)(&mut config, &Place::root(&document).at(key.name), &key.kind)
                .unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(config, (self.base)(), "{line}");
        }
    }
}
