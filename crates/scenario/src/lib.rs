//! Scenarios: TOML files that describe an experiment, for the simulator and for real stacks.
//!
//! [`model`] is the typed scenario with all defaults. The other modules read the file and report errors with their
//! position.
//!
//! ```text
//! text ──> Document ──(set: sweep, command line)──> Document ──resolve──> Scenario
//! ```

#![forbid(unsafe_code)]

mod all_keys;
mod cdf;
mod changes;
mod check;
mod codec;
mod devices;
mod diagnostic;
mod distribution;
mod document;
mod expected;
mod forms;
mod key_path;
pub mod keys;
pub mod model;
mod names;
mod network;
mod normalised;
mod options;
mod place;
mod port_space;
pub mod published;
mod quantity;
mod reference;
mod removed;
mod resolve;
mod schema;
pub mod service;
mod set;
mod sources;
mod spans;
pub mod sweep;
mod table;
mod text;
mod trace;
mod transports;
mod values;
mod workloads;
mod write;

pub use all_keys::SCENARIO;
pub use changes::{Change, changes};
pub use diagnostic::{Details, Diagnostic, nearest};
pub use document::Document;
pub use key_path::KeyPath;
pub use keys::MAX_SEEDS;
pub use model::Scenario;
pub use normalised::resolved_json;
pub use quantity::{
    InvalidQuantity, parse_packets, parse_rate, parse_share, parse_size, parse_time,
};
pub use reference::reference;
pub use schema::json_schema;
pub use sources::{NoFiles, Sources, TraceRow};
pub use spans::{is_json, recorded};
pub use sweep::Axis;
pub use text::decode;
pub use transports::{About, ProfileOverride, SPELLINGS, TRANSPORTS};

/// Reads a scenario from `text`. Errors call the file `file_name`. `overrides` are (key path, value) pairs that are set
/// in order (see [`Document::set`]). `sources` reads the files that the scenario names.
pub fn load(
    text: &str,
    file_name: &str,
    overrides: &[(String, String)],
    sources: &dyn Sources,
) -> Result<Scenario, Diagnostic> {
    let mut document = Document::parse(text, file_name)?;
    for (key, value) in overrides {
        document.set(key, value)?;
    }
    document.resolve(sources)
}

impl Document {
    /// Resolves all defaults and checks the scenario.
    pub fn resolve(&self, sources: &dyn Sources) -> Result<Scenario, Diagnostic> {
        resolve::scenario(self, sources)
    }

    /// Returns the keys of transports that change what a `profile` of the same or a more general table sets. The keys
    /// win. Fails on tables of transports that [`resolve`](Self::resolve) refuses.
    pub fn profile_overrides(&self) -> Result<Vec<ProfileOverride>, Diagnostic> {
        resolve::profile_overrides(self)
    }
}
