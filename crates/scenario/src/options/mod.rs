//! Declarations of keys: name, kind, default, documentation, field and resolved form.
//!
//! - [`options!`] declares the options of a configuration that is read in layers, each overriding the one before.
//! - [`fields!`] declares a table that is read into a struct.
//! - [`tagged!`] declares tables that become the variants of an enum.
//!
//! A declaration looks like a field:
//!
//! ```text
//! /// Meaning, for the reference page and for messages.
//! key: Kind, default "20 us", read function;
//! ```
//!
//! In all macros, `default` is a TOML value and `otherwise` describes the default in words. A key with neither is
//! required. `read` names a function for values that [`Readable`](crate::values::Readable) cannot read.
//!
//! Options: `unit` is the suffix of the name in the resolved form, if the kind does not imply it. `field` names the
//! field if it differs from the key. `follow` is a function that sets the field if no table has the key. `starting from`
//! names a function that returns the defaults, if they differ from those of the type. `profiled by` names a function that
//! applies a key that sets several options. `set` and `write` replace reading and writing if a key is not exactly one
//! field; with `set` alone, the resolved form omits the key.
//!
//! Tables: `otherwise "…" is` gives the default value. A row binds its value to the name of the key. A row that is
//! `left to then` is not read; `then` computes the remaining fields and checks them.

mod layered;
mod whole;

pub(crate) use layered::{Configured, Field, Layers, Options, Overrides, options};
pub(crate) use whole::{fields, resolved_fields, table, tagged};
