//! Benchmarks of D3 and `due`: `router` measures the cost of a rate request, `host` the goodput over UDP and its cost at
//! the hosts. Each measurement runs in a separate process.

#![forbid(unsafe_code)]

mod host;
mod router;

use std::process::ExitCode;

const USAGE: &str =
    "usage: duetime-bench-d3 router [--json] | host [--json] [--rounds N] [--milliseconds N]
The gates are printed as met or not met; the exit code is 1 if any gate is not met.";

#[expect(clippy::print_stderr, reason = "this program prints its results")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["router"] => router::run(false),
        ["router", "--json"] => router::run(true),
        ["host", ref rest @ ..] => host::run(rest),
        ["host-child", ref rest @ ..] => host::child(rest).map(|()| true),
        ["router-child", what, bytes, rounds] => router::child(what, bytes, rounds).map(|()| true),
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
