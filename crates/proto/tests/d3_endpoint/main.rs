//! Endpoints on a virtual network: guarantees that hold under any network behaviour.

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
