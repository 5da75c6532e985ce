//! One file per family of subcommands.

pub mod bound;
pub mod capacity;
pub mod check;
pub mod compare;
pub mod explain;
pub mod export;
pub mod fit;
#[cfg(all(feature = "lab", target_os = "linux"))]
pub mod kernel;
#[cfg(all(feature = "lab", target_os = "linux"))]
pub mod lab;
#[cfg(all(feature = "lab", target_os = "linux"))]
pub mod load;
pub mod new;
pub mod paper;
pub mod play;
pub mod report;
pub mod run;
pub mod show;
#[cfg(all(feature = "lab", target_os = "linux"))]
pub mod switch;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use duetime_store::IfExists;
use duetime_study::{Execution, Request};
use serde::Serialize;

use crate::args::Choice;
use crate::failure::Failure;
use crate::interrupt;

/// Builds the request for the scenario at `path`, with the settings of the command line.
fn request(path: &Path, choice: &Choice) -> Result<Request, Failure> {
    let (text, file) = scenario_text(path)?;
    let mut settings = choice.settings.clone();
    let seeds = choice.seeds.map(u64::from);
    for (key, value) in [("seeds", seeds), ("seed", choice.seed)] {
        settings.extend(value.map(|value| (key.to_owned(), value.to_string())));
    }
    Ok(Request {
        text,
        file,
        settings,
        transports: choice.transport.clone(),
        points: Vec::new(),
    })
}

/// Returns the text of the scenario at `path` and the file's name for messages. `-` reads standard input.
fn scenario_text(path: &Path) -> Result<(String, PathBuf), Failure> {
    let file = match path.to_str() {
        Some("-") => PathBuf::from("<stdin>"),
        _ => path.to_path_buf(),
    };
    let mut bytes = Vec::new();
    let read = if path.as_os_str() == "-" {
        std::io::stdin()
            .lock()
            .read_to_end(&mut bytes)
            .map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    let shown = file.display().to_string();
    let bytes =
        read.map_err(|why| Failure::Input(format!("{shown}: cannot read the scenario: {why}")))?;
    Ok((duetime_scenario::decode(bytes, &shown)?, file))
}

/// Returns the execution options of all runs, which Ctrl-C can cancel.
fn execution(jobs: Option<u16>, threads: u16, if_exists: IfExists) -> Execution {
    Execution {
        jobs: at_once(jobs, threads),
        threads: usize::from(threads),
        if_exists,
        cancel: interrupt::flag(),
    }
}

/// Returns the number of parallel runs: `jobs`, or as many runs with `threads` threads as the cores allow.
fn at_once(jobs: Option<u16>, threads: u16) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    jobs.map_or((cores / usize::from(threads)).max(1), usize::from)
}

/// Prints a value as one line of JSON.
fn json_line(to: &mut impl Write, value: &impl Serialize) -> Result<(), Failure> {
    let line = serde_json::to_string(value).expect("plain data");
    Ok(writeln!(to, "{line}")?)
}

/// Prints a value as one line of JSON, with its `event` field.
fn json_event(to: &mut impl Write, event: &str, value: &impl Serialize) -> Result<(), Failure> {
    let mut value = serde_json::to_value(value).expect("plain data");
    value["event"] = event.into();
    json_line(to, &value)
}
