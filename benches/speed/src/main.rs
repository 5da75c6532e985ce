//! Measures the simulator: `speed` against the floor on the standard works, `scale` over growing networks. Each
//! measurement is a process of its own (`child`), so that its memory is its own and runs can alternate.

#![forbid(unsafe_code)]

mod child;
mod process;
mod queue;
mod scale;
mod speed;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: duetime_memory::Allocator = duetime_memory::Allocator;

const USAGE: &str =
    "usage: duetime-bench speed [--json] [--pairs N] | scale [--json] [--hosts N]...
The gates are printed as met or not met; the exit code is 1 if one is not met.";

#[expect(clippy::print_stderr, reason = "a program whose output is its purpose")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments
        .split_first()
        .map(|(first, rest)| (first.as_str(), rest))
    {
        Some(("speed", rest)) => speed::run(rest),
        Some(("scale", rest)) => scale::run(rest),
        Some(("child", rest)) => child::run(rest).map(|()| true),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::from(2)
        }
    }
}
