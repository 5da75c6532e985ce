//! The integration tests in one binary, which takes less time to build and run than one for each.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers in tests are small"
)]
#![allow(clippy::print_stdout, reason = "tests print their measurements")]

mod common;
mod contract;
#[path = "../../../../tests/counts.rs"]
mod counts;
mod cubic;
mod d3_backoff;
mod d3_conservation;
mod d3_downlink;
mod d3_endpoint;
mod d3_fairness;
mod d3_host;
mod d3_late;
mod d3_loopback;
mod d3_plain;
mod d3_repair;
mod d3_router;
mod d3_wire;
mod d3_world;
mod due;
mod due_endpoint;
mod due_wire;
mod homa;
mod pfabric;
mod sird;
mod tcp_faults;
mod tcp_marks;
mod tcp_traces;
mod virtual_network;
