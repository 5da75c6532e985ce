//! `duetime fit`.

use std::io::Write;

use duetime_fit::{Fit, FitError, Kind, Known, Request};
use duetime_scenario::{InvalidQuantity, parse_rate, parse_share, parse_time};
use serde_json::json;

use super::new::{name, write_file};
use super::{json_event, json_line};
use crate::args::{self, InputKind};
use crate::failure::Failure;
use crate::interrupt;
use crate::progress::Pieces;
use crate::terminal::stdout;

/// Fits a scenario and prints how well it reproduces the input.
pub fn fit(args: &args::Fit) -> Result<(), Failure> {
    let named = args.out.as_deref().unwrap_or(&args.input);
    let request = Request {
        kind: args.kind.map(|kind| match kind {
            InputKind::Pcap => Kind::Pcap,
            InputKind::Spans => Kind::Spans,
            InputKind::Csv => Kind::Csv,
        }),
        burst: quantity("burst", args.burst.as_deref(), parse_time)?,
        name: name(named, "fitted"),
        known: Known {
            budget: quantity("budget", args.budget.as_deref(), parse_time)?,
            link: quantity("link", args.link.as_deref(), parse_rate)?,
            hosts: args.hosts,
            buffer: args.buffer.clone(),
            other_load: quantity("other-load", args.other_load.as_deref(), parse_share)?,
            transports: args.transport.clone(),
        },
    };
    if let Some(out) = args
        .out
        .as_deref()
        .filter(|out| !args.overwrite && out.exists())
    {
        return Err(Failure::Input(format!(
            "{} already exists: choose another file, or use --overwrite to replace it",
            out.display()
        )));
    }
    let stop = interrupt::flag_saying(
        "stopping; nothing is written (press Ctrl-C again to exit immediately)",
    );
    let bar = Pieces::new(!args.json);
    let on_progress = |runs: usize, all: usize| bar.set(runs, all);
    let fit = duetime_fit::fit(&args.input, &request, &stop, &on_progress).map_err(failure)?;
    drop(bar);
    if let Some(out) = &args.out {
        write_file(out, &fit.toml, args.overwrite)?;
    }
    if args.json {
        return events(&fit);
    }
    let mut to = stdout();
    write!(to, "{}", fit.text)?;
    match &args.out {
        Some(out) => writeln!(to, "\nwrote {0}; next: duetime run {0}", out.display())?,
        None => writeln!(to, "\nTo write the scenario, use -o FILE.toml.")?,
    }
    Ok(())
}

fn events(fit: &Fit) -> Result<(), Failure> {
    let mut to = stdout();
    for row in &fit.rows {
        json_event(&mut to, "fitted", row)?;
    }
    json_line(
        &mut to,
        &json!({
            "event": "fit",
            "answer": fit.answer,
            "reproduces": fit.reproduces,
            "reasons": fit.reasons,
            "notes": fit.notes,
            "scenario": fit.toml,
        }),
    )
}

fn quantity<T>(
    flag: &str,
    text: Option<&str>,
    parse: impl Fn(&str) -> Result<T, InvalidQuantity>,
) -> Result<Option<T>, Failure> {
    let Some(text) = text else { return Ok(None) };
    parse(text).map(Some).map_err(|wrong| {
        let InvalidQuantity { message, allowed } = wrong;
        Failure::Input(format!("--{flag} {text}: {message}; allowed: {allowed}"))
    })
}

fn failure(error: FitError) -> Failure {
    match error {
        FitError::Stopped => Failure::Runs("stopped; nothing was written".to_owned()),
        error => Failure::Input(error.to_string()),
    }
}
