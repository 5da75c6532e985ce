//! Sending host of D3, packet by packet.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "test values are small"
)]

mod bursts;
#[path = "../d3_world/mod.rs"]
mod d3_world;
mod deadlines;
mod host;
mod losses;
mod pace;
mod worlds;
