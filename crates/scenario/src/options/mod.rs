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
//! field if it differs from the key. `by` is a [`Field`] of a key that is not exactly one field. The configuration
//! implements [`Configuration`].
//!
//! Tables: `otherwise "…" is` gives the default value. A row binds its value to the name of the key. A row that is
//! `left to then` is not read; `then` computes the remaining fields and checks them.

mod layered;
mod whole;

pub(crate) use layered::{
    Configuration, Configured, Field, Layers, Options, Overrides, last, options,
};
pub(crate) use whole::{fields, resolved_fields, table, tagged};
