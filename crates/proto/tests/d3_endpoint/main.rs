//! Endpoints against each other on a virtual network: what they promise, whatever the network does.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the numbers of a test are small"
)]

mod exchange;
mod faults;
mod hostile;
mod limits;
mod rules;
mod world;
