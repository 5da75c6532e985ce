//! Harnesses of everything that reads bytes from outside. Each is a test, with its corpus and seeded random inputs, and
//! a target of libFuzzer (`script/fuzz`).

#![allow(clippy::cast_possible_truncation, reason = "test values are small")]

mod d3_datagram;
mod d3_endpoint;
mod d3_header;
mod d3_port;
mod d3_wire;
mod due_endpoint;
mod due_wire;
mod fit_file;
mod policy_file;
mod scenario_files;
mod scenario_toml;
#[cfg_attr(fuzzing, allow(dead_code, reason = "libFuzzer makes the inputs"))]
mod seeded;
mod spans_file;
mod switch_frames;

/// Declares a test for each module, which passes inputs to its function `check`.
macro_rules! harnesses {
    ($($name:ident,)*) => { $(
        #[test]
        fn $name() {
            #[cfg(fuzzing)]
            bolero::check!().for_each($name::check);
            #[cfg(not(fuzzing))]
            bolero::TestTarget::new(seeded::Seeded(stringify!($name))).for_each($name::check);
        }
    )* };
}

harnesses! {
    d3_datagram,
    d3_endpoint,
    d3_header,
    d3_port,
    d3_wire,
    due_endpoint,
    due_wire,
    fit_file,
    policy_file,
    scenario_files,
    scenario_toml,
    spans_file,
    switch_frames,
}
