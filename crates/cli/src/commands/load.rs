//! `duetime load`: partition-aggregate load between real hosts.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use duetime_load::{Asker, Interface, Live, Load, Server};
use duetime_store::{IfExists, RunFolder, StoreError};
use duetime_study::{Execution, Plan, Request, StudyError};
use serde_json::json;

use super::json_event;
use super::run::{human, json_rows, verdict};
use crate::args::load::{self, LoadCommand, Query, Serve};
use crate::failure::Failure;
use crate::progress::Detail;
use crate::terminal::stdout;
use crate::{interrupt, progress};

/// Runs a subcommand of `duetime load`.
pub fn load(args: &load::Load) -> Result<(), Failure> {
    match &args.command {
        LoadCommand::Serve(args) => serve(args),
        LoadCommand::Query(args) => query(args),
    }
}

fn interface(options: load::Interface) -> Interface {
    Interface {
        rate: options.rate,
        slowest: options.slowest.unwrap_or(options.rate),
    }
}

fn serve(args: &Serve) -> Result<(), Failure> {
    let stop = interrupt::flag_saying("stopping");
    let failure = |error| Failure::Input(format!("{}: {error}", args.address));
    let server = Server::bind(args.address, interface(args.interface)).map_err(failure)?;
    let address = server.local_addr().map_err(failure)?;
    server
        .start(|error| {
            let _ = writeln!(
                crate::terminal::stderr(),
                "failed to answer a query: {error}"
            );
        })
        .map_err(failure)?;
    let mut to = stdout();
    writeln!(
        to,
        "listening on {address}, over TCP and D3, and on the next port over due; press Ctrl-C to stop"
    )?;
    to.flush()?;
    while !stop.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

fn query(args: &Query) -> Result<(), Failure> {
    let load = load_of(args);
    let plan = Plan::new(Request {
        text: duetime_load::scenario(&load),
        file: PathBuf::from("load.toml"),
        settings: Vec::new(),
        transports: Vec::new(),
        points: Vec::new(),
    })?;
    let report = |name: &str, live: &Live| {
        // A closed standard output is reported after the run.
        let _ = show(args.json, name, live);
    };
    let asker = Asker {
        load,
        servers: args.servers.clone(),
        interface: interface(args.interface),
        on_progress: &report,
    };
    let execution = Execution {
        jobs: 1,
        threads: 1,
        if_exists: if args.overwrite {
            IfExists::Replace
        } else {
            IfExists::Refuse
        },
        cancel: interrupt::flag(),
    };
    let listener = progress::listener(args.json, false, Detail::Runs);
    let outcome = duetime_study::execute(&plan, &args.out, &execution, &asker, &*listener)
        .map_err(|error| {
            let more = match &error {
                StudyError::Store(StoreError::Exists { .. }) => " (--overwrite, --out)",
                _ => "",
            };
            Failure::from(error).and(more)
        })?;
    let folder = RunFolder::open(&args.out)?;
    let (gathered, report) = duetime_study::report(&plan, &folder)?;
    duetime_study::write_summary(&plan, &folder, &gathered)?;
    if args.json {
        json_rows(&plan, &gathered, &args.out, Some(&report))?;
    } else {
        human(
            &plan,
            &gathered,
            &outcome,
            &args.out,
            Some(&report),
            args.tables,
        )?;
    }
    verdict(&outcome, &gathered)
}

/// Converts the options to a load.
fn load_of(args: &Query) -> Load {
    Load {
        carriers: args.transport.clone(),
        fan_in: match args.fan_in {
            Some(fan_in) => fan_in,
            None => u32::try_from(args.servers.len()).unwrap_or(u32::MAX),
        },
        query_bytes: args.bytes.0,
        answer_bytes: args.answer.0,
        deadline: args.deadline,
        every: args.every,
        duration: args.time,
        seeds: u64::from(args.seeds),
        rate: args.interface.rate,
    }
}

/// Prints the current counts.
fn show(is_json: bool, name: &str, live: &Live) -> Result<(), Failure> {
    let mut to = stdout();
    if is_json {
        return json_event(
            &mut to,
            "load",
            &json!({
                "transport": name,
                "elapsed_ms": u64::try_from(live.elapsed.as_millis()).unwrap_or(u64::MAX),
                "queries": live.queries,
                "queries_in_time": live.queries_in_time,
                "answers": live.answers,
                "answers_in_time": live.answers_in_time,
                "failed": live.failed,
            }),
        );
    }
    let share = |part: u64, total: u64| match total {
        0 => "-".to_owned(),
        _ => format!("{:.2} %", part as f64 * 100.0 / total as f64),
    };
    writeln!(
        to,
        "{name} {:.0} s: {} queries, {} in time; {} answers, {} in time, {} failed",
        live.elapsed.as_secs_f64(),
        live.queries,
        share(live.queries_in_time, live.queries),
        live.answers,
        share(live.answers_in_time, live.answers),
        live.failed
    )?;
    Ok(())
}
