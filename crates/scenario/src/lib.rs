//! A scenario: one TOML file that describes an experiment once, for the simulator and for the real stacks.
//!
//! [`model`] is what the file means, typed and with every default filled in; the rest of the crate reads the file
//! and says precisely what is wrong with it.

pub mod model;

pub use model::Scenario;
