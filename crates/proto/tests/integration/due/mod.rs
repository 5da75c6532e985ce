//! `due`: sources send messages to one host over a link that can lose, duplicate and delay packets.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "numbers in tests are small"
)]

mod behaviour;
mod delays;
mod faults;
mod forged;
mod network;
mod shared_link;
