//! Tables that are read into a struct or a variant of an enum.

use crate::keys::Table;
use serde_json::{Map, Value};

/// Declares a table that is read into a struct. The fields have the names of the keys, or are listed after `into`.
macro_rules! fields {
    (
        $(#[doc = $about:literal])+
        $vis:vis static $table:ident : $name:literal $(under $common:ident)? for $type:ident {
            $(
                $(#[doc = $doc:literal])+
                $key:ident : $kind:expr
                    $(, default $default:literal)? $(, otherwise $otherwise:literal $(is $absent:expr)?)?
                    $(, read $read:path)? $(, left to $raw:ident)?;
            )+
        } $(into { $($field:ident),+ } then |$reader:ident| { $($then:tt)* })?
    ) => {
        $vis static $table: $crate::keys::Table = $crate::keys::Table {
            name: $name,
            doc: $crate::keys::sentence(concat!($($about),+)),
            keys: &[$($common,)? $crate::keys::keys!($(
                $(#[doc = $doc])+ $key: $kind $(, default $default)? $(, otherwise $otherwise)?;
            )+)],
        };

        impl $crate::values::Readable for $type {
            fn read(
                place: &$crate::place::Place<'_>,
                _: &'static $crate::keys::Kind,
            ) -> $crate::diagnostic::Result<Self> {
                let reader = $crate::table::Reader::open(place.clone(), &$table)?;
                $(let $crate::options::fields!(@bind $key [$($raw)?]) =
                    $crate::options::fields!(@read reader $key [$($($absent)?)?] [$($read)?] [$($raw)?]);)+
                $(let $reader = &reader; $($then)*)?
                Ok($crate::options::fields!(@all $type [$($($field)+)?] [$($key)+]))
            }
        }

        impl $crate::values::Resolved for $type {
            fn resolved(&self) -> serde_json::Value {
                let $crate::options::fields!(@all $type [$($($field)+)?] [$($key)+]) = self;
                $crate::options::fields!(@resolved &$table, [$($($field)+)?] [$($key)+]).into()
            }
        }
    };
    (@all $type:ident [] [$($key:ident)+]) => { $type { $($key),+ } };
    (@all $type:ident [$($field:ident)+] $keys:tt) => { $type { $($field),+ } };
    (@resolved $table:expr, [] [$($key:ident)+]) => { $crate::options::fields!(@resolved $table, [$($key)+] []) };
    (@resolved $table:expr, [$($field:ident)+] $keys:tt) => {
        $crate::options::resolved_fields($table, [
            $((stringify!($field), $crate::values::Resolved::resolved($field))),+
        ])
    };
    (@bind $key:ident []) => { $key };
    (@bind $key:ident [then]) => { _ };
    (@read $reader:ident $key:ident $absent:tt $read:tt [then]) => { () };
    (@read $reader:ident $key:ident [] [] []) => { $reader.value(stringify!($key))? };
    (@read $reader:ident $key:ident [$absent:expr] [] []) => {
        $reader.read(stringify!($key), Some($absent), $crate::values::Readable::read)?
    };
    (@read $reader:ident $key:ident [] [$read:path] []) => {
        $reader.read(stringify!($key), None, $read)?
    };
    (@read $reader:ident $key:ident [$absent:expr] [$read:path] []) => {
        $reader.read(stringify!($key), Some($absent), $read)?
    };
}
pub(crate) use fields;

/// Declares alternative tables, selected by `kind`, and the variant of an enum that each becomes. The tables are
/// `under` common keys, or `under own` with only a key `kind`. `also` names a second variant of a table, which its
/// `then` returns.
macro_rules! tagged {
    (
        $(#[doc = $about:literal])+
        $vis:vis static $tables:ident : $what:literal under $common:ident for $type:ident;
        $(also $other_tag:literal => $other_variant:ident;)*
        $($struct_tag:literal => $struct_variant:ident($struct_table:ident);)*
        $(
            $(#[doc = $kind_doc:literal])+
            $tag:literal => $variant:ident { $($field:ident),+ } {
                $(
                    $(#[doc = $doc:literal])+
                    $key:ident : $kind:expr
                        $(, default $default:literal)? $(, otherwise $otherwise:literal $(is $absent:expr)?)?
                        $(, read $read:path)? $(, left to $raw:ident)?;
                )+
            } $(then |$reader:ident| { $($then:tt)* })? $(write { $($write:tt)+ })?
        )+
    ) => {
        $(#[doc = $about])+
        $vis static $tables: &[(&str, &$crate::keys::Table)] = &[
            $(($struct_tag, &$struct_table),)*
            $(($tag, &$crate::keys::Table {
                name: concat!($what, " of kind \"", $tag, "\""),
                doc: $crate::keys::sentence(concat!($($kind_doc),+)),
                keys: &[$crate::options::tagged!(@common $tag $common), $crate::keys::keys!($(
                    $(#[doc = $doc])+ $key: $kind $(, default $default)? $(, otherwise $otherwise)?;
                )+)],
            }),)+
        ];

        impl $crate::values::Readable for $type {
            fn read(
                place: &$crate::place::Place<'_>,
                _: &'static $crate::keys::Kind,
            ) -> $crate::diagnostic::Result<Self> {
                let (tag, reader) = $crate::table::Reader::open_tagged(place.clone(), "kind", $tables)?;
                match tag {
                    $($struct_tag => $crate::values::Readable::read(place, &$crate::keys::Kind::Open).map(Self::$struct_variant),)*
                    $($tag => {
                        $(let $crate::options::fields!(@bind $key [$($raw)?]) = $crate::options::fields!(
                            @read reader $key [$($($absent)?)?] [$($read)?] [$($raw)?]
                        );)+
                        $(let $reader = &reader; $($then)*)?
                        Ok(Self::$variant { $($field),+ })
                    })+
                    _ => unreachable!("a tag of the list"),
                }
            }
        }

        impl $crate::values::Resolved for $type {
            fn resolved(&self) -> serde_json::Value {
                let (tag, mut resolved): (&str, serde_json::Value) = match self {
                    $(Self::$struct_variant(inner) => ($struct_tag, $crate::values::Resolved::resolved(inner)),)*
                    $(Self::$other_variant(inner) => ($other_tag, $crate::values::Resolved::resolved(inner)),)*
                    $(Self::$variant { $($field),+ } => {
                        ($tag, $crate::options::tagged!(@resolved $tables $tag [$($field)+] [$($($write)+)?]))
                    })+
                };
                resolved["kind"] = tag.into();
                resolved
            }
        }
    };
    (@common $tag:literal own) => {
        &[$crate::keys::Key {
            name: "kind",
            kind: $crate::keys::Kind::Choice(&[$tag]),
            default: "",
            doc: concat!("`\"", $tag, "\"`."),
        }]
    };
    (@common $tag:literal $common:ident) => { $common };
    (@resolved $tables:ident $tag:literal [$($field:ident)+] []) => {
        $crate::options::fields!(@resolved $crate::options::table($tables, $tag), [$($field)+] []).into()
    };
    (@resolved $tables:ident $tag:literal $fields:tt [$($write:tt)+]) => { $($write)+ };
}
pub(crate) use tagged;

/// Returns the table of that tag.
pub(crate) fn table(tables: &[(&str, &'static Table)], tag: &str) -> &'static Table {
    let found = tables.iter().find(|(name, _)| *name == tag);
    found.expect("a tag of the list").1
}

/// Returns fields in the resolved form. Fields without a key of that name have the name of the field.
pub(crate) fn resolved_fields<const N: usize>(
    table: &'static Table,
    fields: [(&str, Value); N],
) -> Map<String, Value> {
    let name = |field: &str| {
        let key = table.key(field);
        key.map_or_else(|| field.to_owned(), |key| key.resolved_name(""))
    };
    let fields = fields.into_iter();
    fields.map(|(field, value)| (name(field), value)).collect()
}
