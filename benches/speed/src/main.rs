//! Benchmarks of the simulator: `speed` compares it with the floor on the standard workloads, `scale` runs it on
//! growing networks, `threads` measures and models its speed-up with several threads. Each measurement runs in a separate
//! process (`child`), so that its memory can be measured and runs can alternate.

#![forbid(unsafe_code)]

mod account;
#[path = "../../../crates/sim/src/parallel/barrier.rs"]
#[allow(dead_code, reason = "the guard is for threads that may panic")]
mod barrier;
mod child;
mod memory;
mod process;
mod queue;
mod scale;
mod speed;
mod threads;

/// Primitives of the barrier, as in `crates/sim/src/parallel/mod.rs`.
mod sync {
    pub use std::hint::spin_loop;
    pub use std::sync::atomic::{AtomicBool, AtomicUsize};
    pub use std::thread::yield_now;
}

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: duetime_memory::Allocator = duetime_memory::Allocator;

const USAGE: &str =
    "usage: duetime-bench speed [--json] [--pairs N] | scale [--json] [--hosts N]... | threads [--json]
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
        Some(("threads", rest)) => threads::run(rest),
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
