//! `duetime fit`

use std::io::Write;

use duetime_fit::{Fit, FitError, Kind, Known, Request};
use duetime_scenario::{NotQuantity, parse_rate, parse_share, parse_time};
use serde_json::json;

use super::new::{keep, name};
use super::{json_event, json_line};
use crate::args::{self, InputKind};
use crate::failure::Failure;
use crate::interrupt;
use crate::progress::Pieces;
use crate::terminal::stdout;

/// Fits a scenario, and says how well it reproduces its input.
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
            "{} exists already: choose another file, or --overwrite to replace it",
            out.display()
        )));
    }
    let stop = interrupt::flag_saying("stopping; nothing is written (again to leave at once)");
    let bar = Pieces::new(!args.json);
    let begun = |runs: usize, all: usize| bar.set(runs, all);
    let fit = duetime_fit::fit(&args.input, &request, &stop, &begun).map_err(failure)?;
    drop(bar);
    if let Some(out) = &args.out {
        keep(out, &fit.toml, args.overwrite)?;
    }
    if args.json {
        return events(&fit);
    }
    let mut to = stdout();
    write!(to, "{}", fit.text)?;
    match &args.out {
        Some(out) => writeln!(to, "\n{0} is written; next: duetime run {0}", out.display())?,
        None => writeln!(to, "\n-o FILE.toml writes the scenario.")?,
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
    parse: impl Fn(&str) -> Result<T, NotQuantity>,
) -> Result<Option<T>, Failure> {
    let Some(text) = text else { return Ok(None) };
    parse(text).map(Some).map_err(|wrong| {
        let NotQuantity { message, allowed } = wrong;
        Failure::Input(format!("--{flag} {text}: {message}; allowed: {allowed}"))
    })
}

fn failure(error: FitError) -> Failure {
    match error {
        FitError::Stopped => Failure::Runs("stopped; nothing was written".to_owned()),
        error => Failure::Input(error.to_string()),
    }
}
