//! Tests of the switch without I/O or clock, with exact bytes and times.
#![allow(clippy::cast_possible_truncation, reason = "test values are small")]
#![allow(clippy::print_stdout, reason = "tests print their coverage")]

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
