//! The integration tests in one binary, which takes less time to build and run than one for each; `faults` has its own,
//! since its runs on several threads exclude others.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers in tests are small"
)]
#![allow(clippy::print_stdout, reason = "tests print their measurements")]

mod bare;
mod common;
mod counters_heal;
mod d3_alone;
mod dctcp_theory;
mod exact;
mod fairness;
mod hedging;
mod homa;
mod incast_timeouts;
mod lab;
mod lone_flow;
mod measured;
mod misbehaving_hosts;
mod modern_tcp;
mod own_nics;
mod pfabric;
mod queueing;
mod regular_shapes;
mod routing;
mod servers;
mod sird;
mod spans;
mod spraying;
mod topologies;
mod workloads;
mod worst_case;
mod wrong_announcements;
