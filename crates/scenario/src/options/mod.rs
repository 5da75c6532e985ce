//! One declaration per key: name, kind, default, documentation, the field that it sets, and its resolved form.
//!
//! [`options!`] declares the options of a configuration that is read in layers, each over the one before; [`fields!`]
//! a table that is read whole into a struct, [`tagged!`] tables that become the variants of an enum; [`words!`] names
//! the variants of an enum that is one word. A declaration looks like a field:
//!
//! ```text
//! /// What it means, for the reference page and the messages.
//! key: Kind, default "20 us", read function;
//! ```
//!
//! All: `default` takes a TOML value, `otherwise` says in words what holds where the key is absent; a key with neither
//! must be there. `read` names a function for values that [`Readable`] does not read alone.
//!
//! Options: `unit` ends the name in the resolved form, where the kind does not say it. `field` names the field where it
//! is not called like the key. `follows` names the field that is taken over where no table has the key, `follow` a
//! function that does it. `starting from` names a function that returns the defaults, where they are not those of the
//! type. `profiled by` names a function that takes what a table says of several options at once. `set` and
//! `write` replace both ways where a key is more or less than one field; with `set` alone the resolved form leaves it
//! out.
//!
//! Tables: `otherwise "…" is` gives the value that the words mean. What a row reads is bound to its key's name; one that
//! is `left to then` is not read: `then` makes the fields that no row reads alone, and checks them.

mod layered;
mod values;
mod whole;

pub(crate) use layered::{Field, Layers, Options, options};
pub(crate) use values::{Readable, Resolved, Words, word, words};
pub(crate) use whole::{fields, resolved_fields, table, tagged};

use crate::diagnostic::Diagnostic;
use crate::keys::{Key, Kind};

pub(crate) type Result<T> = std::result::Result<T, Diagnostic>;

/// Declares keys alone.
macro_rules! keys {
    ($(
        $(#[doc = $doc:literal])+
        $key:ident : $kind:expr $(, default $default:literal)? $(, otherwise $otherwise:literal)?;
    )+) => {
        &[$($crate::keys::Key {
            name: stringify!($key),
            kind: $kind,
            default: concat!($(stringify!($default))? $($otherwise)?),
            doc: $crate::options::sentence(concat!($($doc),+)),
        }),+]
    };
}
pub(crate) use keys;

/// A declaration's documentation as one text.
pub(crate) const fn sentence(doc: &'static str) -> &'static str {
    doc.split_at(1).1
}

/// The key's name in the resolved form, which ends in the unit.
pub(crate) fn resolved_name(key: &Key, unit: &str) -> String {
    let unit = match key.kind {
        _ if !unit.is_empty() => unit,
        Kind::Time(..) => "ps",
        Kind::Size(..) => "bytes",
        Kind::Rate(..) => "bps",
        _ => return key.name.to_owned(),
    };
    format!("{}_{unit}", key.name)
}
