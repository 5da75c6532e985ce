//! The switch without I/O or clock: every frame byte by byte, every time to the picosecond.
#![allow(
    clippy::cast_possible_truncation,
    reason = "the numbers of a test are small"
)]
#![allow(clippy::print_stdout, reason = "a test says what it has covered")]

mod d3;
mod forwarding;
mod frames;
mod malformed;
mod networks;
mod plain;
mod police;
mod ports;
mod schedules;
mod world;
