//! Endpoints against each other on a virtual network: what they promise, whatever the network does.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the numbers of a test are small"
)]

mod content;
mod exchange;
mod faults;
mod flood;
mod hostile;
mod limits;
mod router;
mod rules;
mod world;
