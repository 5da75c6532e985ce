//! Benchmarks of the simulator: `speed` compares it with the floor on the standard workloads, `scale` runs it on
//! growing networks. Each measurement runs in a separate process (`child`), so that its memory can be measured and runs
//! can alternate.

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
The gates are printed as met or not met; the exit code is 1 if any gate is not met.";

#[expect(clippy::print_stderr, reason = "this program prints its results")]
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
