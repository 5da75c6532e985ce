//! Whole runs against what they must be: arithmetic to the picosecond, equal transports, conservation, determinism.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the numbers of a test are small"
)]

#[path = "../bare/mod.rs"]
mod bare;
#[path = "../common/mod.rs"]
mod common;

mod again;
mod bytes;
mod causes;
mod classes;
mod d3_counters;
mod determinism;
mod equal_transports;
mod line;
mod lone_d3;
mod lone_tcp;
mod long_flows;
mod own_transports;
mod policed;
mod queries;
mod reception;
mod scaling;
mod servers;
mod spares;
mod watched;
