//! `duetime capacity`

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use duetime_store::{IfExists, StoreError};
use duetime_study::capacity::{
    Capacity, Check, Found, On, Prober, Quantity, Search, Stopped, Subject, Tried, answers, rising,
};
use duetime_study::{Simulator, text};
use serde_json::json;

use super::{execution, request};
use crate::args;
use crate::failure::Failure;
use crate::progress;
use crate::progress::Detail;
use crate::table::{Align, Table};

/// Searches for each transport in turn, and prints the table.
pub fn capacity(args: &args::Capacity) -> Result<(), Failure> {
    let request = request(&args.scenario, &args.choice)?;
    let quantity = match args.of {
        args::Of::Senders => Quantity::Senders,
        args::Of::FanIn => Quantity::FanIn(args.layer),
        args::Of::Rate => Quantity::Rate,
        args::Of::Load => Quantity::Load,
        args::Of::Deadline => Quantity::Deadline,
        args::Of::Budget => Quantity::Budget,
    };
    if args.layer.is_some() && args.of != args::Of::FanIn {
        let why = "--layer is for --of fan-in";
        return Err(Failure::Input(why.to_owned()));
    }
    let mut subject = Subject::new(request, quantity, &args.workload, args.step.as_deref())?;
    if let Some(on) = args.on {
        subject = subject.on(match on {
            args::On::Queries => On::Queries,
            args::On::Answers => On::Answers,
        })?;
    }
    let subject = subject;
    let of = Search {
        check: if args.check_all {
            Check::All
        } else {
            Check::Doubtful
        },
        ..subject.search(args.target.unwrap_or(subject.target(quantity)))
    };
    let journal = journal(args, &subject);
    let execution = execution(args.jobs, 1, IfExists::Resume);
    let listener = progress::listener(args.json, args.quiet, Detail::Whole);
    let prober = Prober::new(&Simulator, &execution, &journal, &*listener).map_err(|error| {
        let more = match &error {
            StoreError::NotADirectory(_) => {
                " (journals of earlier versions were files, and are not read)"
            }
            _ => "",
        };
        Failure::from(error).and(more)
    })?;
    let (found, failed) = answers(&prober, &subject, &of, &execution);
    drop(prober);
    drop(listener);
    if args.json {
        json_rows(&subject, &of, &found, &journal)?;
    } else if !found.is_empty() {
        human(&subject, &of, &found, &journal)?;
    }
    match failed {
        None => Ok(()),
        Some(Stopped::Cancelled) => Err(Failure::Runs(format!(
            "stopped: finished runs are in {}; the same command goes on from there",
            journal.display()
        ))),
        Some(Stopped::Failed(error)) => Err(Failure::Runs(format!("error: {error}"))),
    }
}

fn journal(args: &args::Capacity, subject: &Subject) -> PathBuf {
    args.out
        .clone()
        .unwrap_or_else(|| Path::new("out").join(format!("{}-capacity", subject.base().name)))
}

fn human(subject: &Subject, of: &Search, found: &[Found], journal: &Path) -> Result<(), Failure> {
    let mut table = Table::new(&[
        ("transport", Align::Left),
        ("capacity", Align::Right),
        ("95 %", Align::Left),
        ("in time there", Align::Right),
        ("next", Align::Right),
        ("in time there", Align::Right),
        ("tried", Align::Right),
        ("", Align::Left),
    ]);
    for row in found {
        let capacity = &row.capacity;
        let met = |tried: Option<&Tried>| {
            let share = |tried: &Tried| text::with_interval(&tried.throughput, text::percent);
            tried.map_or_else(String::new, share)
        };
        let next = row.at(capacity.value + 1);
        table.row(vec![
            row.name(subject.base()).to_owned(),
            subject.text(capacity.value),
            range(subject, capacity),
            met(row.at(capacity.value)),
            next.map_or_else(String::new, |tried| subject.text(tried.x)),
            met(next),
            capacity.curve.len().to_string(),
            remark(subject, of, row),
        ]);
    }
    let mut to = stdout().lock();
    writeln!(to)?;
    for row in found {
        writeln!(to, "{}", sentence(subject, of, row))?;
    }
    writeln!(
        to,
        "\n{} at {} of {} in time, over {} {}",
        subject.keys().join(", "),
        of.target,
        subject.what(),
        subject.base().seeds,
        if subject.base().seeds == 1 {
            "run (no interval)"
        } else {
            "runs"
        }
    )?;
    writeln!(to, "{}", table.without_empty_columns())?;
    writeln!(to, "runs    {}", journal.display())?;
    Ok(())
}

/// The answer in words: `d2tcp: 37 senders; at 38 senders 98.6 % of the queries are in time`.
fn sentence(subject: &Subject, of: &Search, row: &Found) -> String {
    let (name, capacity) = (row.name(subject.base()), &row.capacity);
    let are = match row.transport {
        Some(_) => "are",
        None => "can be",
    };
    let beyond = match row.at(capacity.value + 1) {
        Some(next) => format!(
            "; at {} {} of the {} {are} in time",
            subject.text(next.x),
            text::percent(next.throughput.value),
            subject.what()
        ),
        None if capacity.at_limit => " or more: nothing harder can be tried".to_owned(),
        None => String::new(),
    };
    let value = match capacity.value {
        0 => format!("never {} of the {}", of.target, subject.what()),
        value => subject.text(value),
    };
    format!("{name}: {value}{beyond}")
}

/// The interval, from the smaller number to the larger; empty where it says nothing.
fn range(subject: &Subject, capacity: &Capacity) -> String {
    let Some((low, high)) = capacity.interval.filter(|(low, high)| low < high) else {
        return String::new();
    };
    let (low, high) = rising(subject, (low, high));
    format!("[{}, {}]", subject.text(low), subject.text(high))
}

fn remark(subject: &Subject, of: &Search, row: &Found) -> String {
    let capacity = &row.capacity;
    let mut parts = Vec::new();
    if row.if_prompt {
        parts.push("of those that deliver queries at once".to_owned());
    }
    if capacity.at_limit {
        parts.push("or more: nothing harder can be tried".to_owned());
    }
    if capacity.value == 0 {
        parts.push(format!("not even {}", subject.text(1)));
    }
    if of.check == Check::Doubtful && capacity.untried > 0 {
        parts.push(format!("{} easier values not tried", capacity.untried));
    }
    parts.join("; ")
}

fn json_rows(
    subject: &Subject,
    of: &Search,
    found: &[Found],
    journal: &Path,
) -> Result<(), Failure> {
    let mut to = stdout().lock();
    for found in found {
        writeln!(to, "{}", found.row(subject, of))?;
    }
    writeln!(to, "{}", json!({ "event": "done", "journal": journal }))?;
    Ok(())
}
