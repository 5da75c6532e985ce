//! The one binary, `duetime`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(duetime_cli::main(std::env::args_os()))
}
