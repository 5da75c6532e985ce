//! Whole runs compared with exact expectations: arithmetic to the picosecond, equal transports, conservation,
//! determinism.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers in tests are small"
)]

#[path = "../bare/mod.rs"]
mod bare;
#[path = "../common/mod.rs"]
mod common;

mod bytes;
mod captures;
mod classes;
mod d3_counters;
mod determinism;
mod equal_transports;
mod line;
mod lone_d3;
mod lone_tcp;
mod long_flows;
mod policed;
mod reception;
mod retries;
mod scaling;
mod servers;
mod spares;
mod workload_transports;
