//! The binary `duetime`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: duetime_memory::Allocator = duetime_memory::Allocator;

fn main() -> ExitCode {
    ExitCode::from(duetime_cli::main(std::env::args_os()))
}
