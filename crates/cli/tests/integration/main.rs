//! The integration tests in one binary, which takes less time to build and run than one for each.

#![allow(
    clippy::cast_possible_truncation,
    reason = "numbers in tests are small"
)]
#![allow(clippy::print_stderr, reason = "tests print why they are skipped")]

mod bad_input;
mod bound;
mod capacity;
mod check;
mod compare;
mod events;
mod explain;
mod fit;
mod full_disk;
mod help;
mod load;
mod new;
mod paper;
mod play;
mod questions;
mod sandbox;
mod study;
mod switch;
mod terminal;
mod wireshark;
