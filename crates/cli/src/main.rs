//! The one binary, `duetime`.

#![forbid(unsafe_code)]

mod args;
mod commands;
mod failure;
mod interrupt;
#[cfg(all(feature = "lab", target_os = "linux"))]
mod metrics;
mod progress;
mod table;

use std::io::Write;
use std::process::ExitCode;

use args::{Cli, Command};
use clap::{CommandFactory, Parser};
use failure::Failure;

fn main() -> ExitCode {
    match command(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads our output has seen enough.
        Err(Failure::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(failure) => {
            let _ = writeln!(std::io::stderr(), "{failure}");
            failure.code()
        }
    }
}

fn command(cli: Cli) -> Result<(), Failure> {
    match cli.command {
        Command::New(args) => commands::new::new(&args),
        Command::Run(args) => commands::run::run(&args),
        Command::Sweep(args) => commands::run::sweep(&args),
        Command::Capacity(args) => commands::capacity::capacity(&args),
        Command::Bound(args) => commands::bound::bound(&args),
        Command::Explain(args) => commands::explain::explain(&args),
        Command::Compare(args) => commands::compare::compare(&args),
        Command::Report(args) => commands::report::report(&args),
        Command::Check(args) => commands::check::check(&args),
        Command::Topology(args) => commands::show::topology(&args),
        Command::Workload(args) => commands::show::workload(&args),
        Command::Export(args) => commands::export::export(&args),
        Command::Paper(args) => commands::paper::paper(&args),
        #[cfg(all(feature = "lab", target_os = "linux"))]
        Command::Switch(args) => commands::switch::switch(&args),
        #[cfg(all(feature = "lab", target_os = "linux"))]
        Command::Kernel(args) => commands::kernel::kernel(&args),
        #[cfg(all(feature = "lab", target_os = "linux"))]
        Command::Lab(args) => commands::lab::lab(&args),
        #[cfg(all(feature = "lab", target_os = "linux"))]
        Command::Load(args) => commands::load::load(&args),
        Command::Schema => commands::show::schema(),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "duetime", &mut script);
            Ok(std::io::stdout().write_all(&script)?)
        }
    }
}
