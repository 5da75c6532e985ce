//! The packet-level simulator.

pub mod describe;
mod error;
pub mod routing;
pub mod topology;
pub mod workload;

pub use error::SetupError;
