//! The packet-level simulator.

mod error;
pub mod routing;
pub mod topology;
pub mod workload;

pub use error::SetupError;
