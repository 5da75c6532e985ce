//! Messages and timing of workloads, for any split of the hosts.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the numbers of a test are small"
)]

#[path = "../bare/mod.rs"]
mod bare;
mod fake;
mod invalid;
mod loads;
mod objective;
mod oldi;
mod plain;
mod priorities;
mod retries;
mod setup;
mod trace;
