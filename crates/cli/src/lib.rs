//! The command `duetime`. The binary and the script of the Python package both call [`main`]. [`results`] and
//! [`compared_text`] return the tables that the command prints; [`compared_events`] returns the events of
//! `compare --json`.

#![forbid(unsafe_code)]

mod args;
mod commands;
mod failure;
mod interrupt;
#[cfg(all(feature = "lab", target_os = "linux"))]
mod metrics;
mod progress;
#[cfg(test)]
mod reference;
mod table;
mod terminal;

use std::ffi::OsString;
use std::io::Write;

use args::{Cli, Command};
use clap::{CommandFactory, Parser};
use failure::Failure;

pub use commands::compare::{compared_events, compared_text};
pub use commands::run::results;

/// Runs the command with `arguments`, which start with the program's name, and returns the exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(help_or_error) => {
            // The reader of the output may have exited.
            let _ = help_or_error.print();
            return u8::try_from(help_or_error.exit_code()).unwrap_or(2);
        }
    };
    match command(cli) {
        Ok(()) => 0,
        // Readers such as `head` close the pipe early.
        Err(Failure::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => 0,
        Err(failure) => {
            let _ = writeln!(terminal::stderr(), "{failure}");
            failure.code()
        }
    }
}

fn command(cli: Cli) -> Result<(), Failure> {
    match cli.command {
        Command::New(args) => commands::new::new(&args),
        Command::Fit(args) => commands::fit::fit(&args),
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
        Command::Play(args) => commands::play::play(&args),
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
            Ok(terminal::stdout().write_all(&script)?)
        }
    }
}
