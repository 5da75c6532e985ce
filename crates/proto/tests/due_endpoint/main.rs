//! Endpoints of `due` on a virtual network: guarantees that hold under any network behaviour.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "test values are small"
)]

mod addresses;
mod endings;
mod faults;
mod flood;
mod forged;
mod hostile;
mod limits;
mod messages;
mod world;
