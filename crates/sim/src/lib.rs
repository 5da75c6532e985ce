//! The packet-level simulator.

pub mod queue;
