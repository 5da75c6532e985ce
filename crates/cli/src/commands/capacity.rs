//! `duetime capacity`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use clap::builder::PossibleValue;
use duetime_store::{IfExists, StoreError, replace_file};
use duetime_study::capacity::{
    Check, Found, On, Prober, Quantity, Search, Stopped, Subject, answers,
};
use duetime_study::tables::{capacities, capacity_sentence};
use duetime_study::{Simulator, capacity_page};
use serde_json::json;

use super::{execution, request};
use crate::args;
use crate::failure::Failure;
use crate::progress;
use crate::progress::Detail;
use crate::table::Table;
use crate::terminal::{Widths, stdout};

/// Runs the search for each transport in turn and prints the results.
pub fn capacity(args: &args::Capacity) -> Result<(), Failure> {
    let request = request(&args.scenario, &args.choice)?;
    let quantity = match args.of {
        args::Quantity::Senders => Quantity::Senders,
        args::Quantity::FanIn => Quantity::FanIn(args.layer),
        args::Quantity::Rate => Quantity::Rate,
        args::Quantity::Load => Quantity::Load,
        args::Quantity::Deadline => Quantity::Deadline,
        args::Quantity::Budget => Quantity::Budget,
    };
    if args.layer.is_some() && args.of != args::Quantity::FanIn {
        let why = "--layer requires --of fan-in";
        return Err(Failure::Input(why.to_owned()));
    }
    let mut subject = Subject::new(request, quantity, &args.workload, args.step.as_deref())?;
    if let Some(on) = args.on {
        subject = subject.on(match on {
            args::Criterion::Queries => On::Queries,
            args::Criterion::Answers => On::Answers,
        })?;
    }
    let subject = subject;
    let search = Search {
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
                " (journal files of earlier versions are not supported)"
            }
            _ => "",
        };
        Failure::from(error).and(more)
    })?;
    let (found, failed) = answers(&prober, &subject, &search, &execution);
    let warnings = prober.warnings();
    drop(prober);
    drop(listener);
    let page = if args.no_report || failed.is_some() {
        None
    } else {
        let command = command(args, &subject, &search);
        let html = capacity_page(&subject, &search, &found, &warnings, &command)?;
        let path = journal.join("capacity.html");
        replace_file(&path, html.as_bytes())?;
        Some(path)
    };
    if args.json {
        json_rows(&subject, &search, &found, &journal, page.as_deref())?;
    } else if !found.is_empty() {
        let widths = Widths::of_stdout(args.tables.wide);
        human(&subject, &search, &found, &journal, page.as_deref(), widths)?;
    }
    match failed {
        None => Ok(()),
        Some(Stopped::Cancelled) => Err(Failure::Runs(format!(
            "stopped: finished runs are in {}; repeat the command to continue",
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

fn human(
    subject: &Subject,
    search: &Search,
    found: &[Found],
    journal: &Path,
    page: Option<&Path>,
    widths: Widths,
) -> Result<(), Failure> {
    let mut to = stdout();
    writeln!(to)?;
    for row in found {
        let sentence = capacity_sentence(subject, search, row);
        writeln!(to, "{}", widths.wrapped(&sentence))?;
    }
    let table = capacities(subject, search, found);
    writeln!(to, "\n{}", widths.wrapped(&table.title))?;
    writeln!(to, "{}", Table::from_results(&table).within(widths.tables))?;
    writeln!(to, "runs    {}", journal.display())?;
    if let Some(page) = page {
        writeln!(to, "report  {}", page.display())?;
    }
    Ok(())
}

/// Returns the command line that reproduces the search.
fn command(args: &args::Capacity, subject: &Subject, search: &Search) -> String {
    let file = args.scenario.file_name().unwrap_or_default();
    let mut words = vec![
        "duetime capacity".to_owned(),
        duetime_study::text::quoted(&file.to_string_lossy()),
    ];
    let mut option = |name: &str, value: &str| {
        words.push(format!("--{name} {}", duetime_study::text::quoted(value)));
    };
    let name = |value: &dyn Fn() -> Option<PossibleValue>| {
        value().map_or(String::new(), |value| value.get_name().to_owned())
    };
    option("of", &name(&|| args.of.to_possible_value()));
    if let Some(layer) = args.layer {
        option("layer", &layer.to_string());
    }
    if let Some(on) = args.on {
        option("on", &name(&|| on.to_possible_value()));
    }
    option("target", &search.target.to_string().replace(' ', ""));
    if !args.workload.is_empty() {
        option("workload", &args.workload.join(","));
    }
    if let Some(step) = &args.step {
        option("step", step);
    }
    option("transport", &subject.base().transport_names().join(","));
    for (key, value) in &subject.request().settings {
        match key.as_str() {
            "seeds" | "seed" => option(key, value),
            _ => option("set", &format!("{key}={value}")),
        }
    }
    if args.check_all {
        words.push("--check-all".to_owned());
    }
    words.join(" ")
}

fn json_rows(
    subject: &Subject,
    search: &Search,
    found: &[Found],
    journal: &Path,
    page: Option<&Path>,
) -> Result<(), Failure> {
    let mut to = stdout();
    for found in found {
        writeln!(to, "{}", found.row(subject, search))?;
    }
    let done = json!({ "event": "done", "journal": journal, "report": page });
    writeln!(to, "{done}")?;
    Ok(())
}
