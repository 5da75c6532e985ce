//! `duetime capacity`

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use duetime_store::{IfExists, StoreError};
use duetime_study::bound::NO_TRANSPORT;
use duetime_study::capacity::{
    BestCapacity, Capacity, Check, On, Prober, Quantity, Search, Stopped, Subject, Tried,
    best_possible,
};
use duetime_study::{Simulator, text};
use serde_json::{Value, json};

use super::{execution, request};
use crate::args;
use crate::failure::Failure;
use crate::progress;
use crate::progress::Detail;
use crate::table::{Align, Table};

/// What was found for a transport, or for the best that any could do.
struct Found {
    /// `None`: the best possible.
    transport: Option<usize>,
    capacity: Capacity,
    /// Of the best possible: it holds for transports that deliver queries at once.
    if_prompt: bool,
}

impl Found {
    fn name<'a>(&self, subject: &'a Subject) -> &'a str {
        match self.transport {
            Some(transport) => &subject.base().transports[transport].name,
            None => NO_TRANSPORT,
        }
    }

    /// The value tried at this position.
    fn at(&self, position: u32) -> Option<&Tried> {
        let mut curve = self.capacity.curve.iter();
        curve.find(|tried| tried.x == position)
    }
}

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
    duetime_study::prefer_huge_pages(subject.base());
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
    let mut found = Vec::new();
    let mut failed = None;
    for transport in 0..subject.base().transports.len() {
        match prober.find(&subject, transport, &of) {
            Ok(capacity) => found.push(Found {
                transport: Some(transport),
                capacity,
                if_prompt: false,
            }),
            Err(stopped) => {
                failed = Some(stopped);
                break;
            }
        }
    }
    if failed.is_none() {
        match best_possible(&subject, &of, execution.jobs, &execution.cancel) {
            Ok(best) => found.extend(best.map(
                |BestCapacity {
                     capacity,
                     if_prompt,
                 }| Found {
                    transport: None,
                    capacity,
                    if_prompt,
                },
            )),
            Err(stopped) => failed = Some(stopped),
        }
    }
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
            row.name(subject).to_owned(),
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
    let (name, capacity) = (row.name(subject), &row.capacity);
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

/// Two positions, that of the smaller number first: tighter deadlines are smaller numbers.
fn rising(subject: &Subject, (one, other): (u32, u32)) -> (u32, u32) {
    if subject.value(one) <= subject.value(other) {
        (one, other)
    } else {
        (other, one)
    }
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
        let capacity = &found.capacity;
        let ends = capacity.interval.map(|ends| rising(subject, ends));
        let curve: Vec<Value> = capacity
            .curve
            .iter()
            .map(|tried| {
                json!({
                    "value": subject.value(tried.x),
                    "deadlines_ms": subject.deadlines_ms(tried.x),
                    "loads": subject.loads(tried.x),
                    "met": tried.deadlines.met,
                    "measured": tried.deadlines.measured,
                    "throughput": tried.throughput.value,
                    "low": tried.throughput.interval.map(|interval| interval.low),
                    "high": tried.throughput.interval.map(|interval| interval.high),
                    "reached": tried.reached,
                })
            })
            .collect();
        let row = json!({
            "event": if found.transport.is_some() { "capacity" } else { "best-capacity" },
            "transport": found.transport.map(|_| found.name(subject)),
            "if_prompt": found.if_prompt,
            "keys": subject.keys(),
            "unit": subject.unit(),
            "target": of.target.share(),
            "on": match subject.judges() {
                On::Queries => "queries",
                On::Answers => "answers",
            },
            "runs": subject.base().seeds,
            "value": subject.value(capacity.value),
            "deadlines_ms": subject.deadlines_ms(capacity.value),
            "loads": subject.loads(capacity.value),
            "low": ends.map(|ends| subject.value(ends.0)),
            "high": ends.map(|ends| subject.value(ends.1)),
            "at_limit": capacity.at_limit,
            "untried": capacity.untried,
            "curve": curve,
        });
        writeln!(to, "{row}")?;
    }
    writeln!(to, "{}", json!({ "event": "done", "journal": journal }))?;
    Ok(())
}
