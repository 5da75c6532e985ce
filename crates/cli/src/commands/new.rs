//! `duetime new`

use std::fs::OpenOptions;
use std::io::{ErrorKind, IsTerminal, Write, stdin};
use std::path::Path;

use dialoguer::{Input, Select};
use duetime_scenario::service::{Question, Service, ServiceKind};

use crate::args;
use crate::failure::Failure;
use crate::terminal::{stderr, stdout};

/// Writes a scenario for a service.
pub fn new(args: &args::New) -> Result<(), Failure> {
    let asks = !args.defaults && stdin().is_terminal() && std::io::stderr().is_terminal();
    let kind = kind(args.kind.as_deref(), asks)?;
    let mut service = Service::usual(kind);
    let mut taken = Vec::new();
    for question in Question::ALL {
        match given(args, question) {
            Some(text) => service
                .take(question, text)
                .map_err(|of| wrong(of.to_string()))?,
            None if asks => ask(&mut service, question)?,
            None => taken.push(question),
        }
    }
    service
        .check()
        .map_err(|of| match given(args, of.question) {
            None if !asks => wrong(format!("{of} (a usual value: no flag says otherwise)")),
            _ => wrong(of.to_string()),
        })?;
    if !args.quiet && !taken.is_empty() {
        let flags = taken
            .iter()
            .map(|&of| format!("--{} '{}'", of.flag(), service.answer_to(of)));
        let flags: Vec<String> = flags.collect();
        let _ = writeln!(stderr(), "usual values taken: {}", flags.join(" "));
    }
    match &args.out {
        None => {
            let file = format!("{}.toml", kind.name());
            Ok(write!(stdout(), "{}", service.to_toml(kind.name(), &file))?)
        }
        Some(path) => {
            let text = service.to_toml(&name(path, kind.name()), &path.display().to_string());
            keep(path, &text, args.overwrite)?;
            if args.quiet {
                return Ok(());
            }
            let next = text.rsplit_once("# Next:\n").expect("the text ends so").1;
            let next: Vec<&str> = next.lines().map(|line| &line[2..]).collect();
            Ok(writeln!(
                stdout(),
                "{} is written; next:\n{}",
                path.display(),
                next.join("\n")
            )?)
        }
    }
}

fn wrong(of: impl Into<String>) -> Failure {
    Failure::Input(of.into())
}

fn given(args: &args::New, question: Question) -> Option<&str> {
    let text = match question {
        Question::FanIn => &args.fan_in,
        Question::Budget => &args.budget,
        Question::Answer => &args.answer,
        Question::Rate => &args.rate,
        Question::Hosts => &args.hosts,
        Question::Link => &args.link,
    };
    text.as_deref()
}

fn kind(given: Option<&str>, asks: bool) -> Result<ServiceKind, Failure> {
    let names = ServiceKind::ALL.map(ServiceKind::name).join(", ");
    match given {
        Some(name) => ServiceKind::named(name)
            .ok_or_else(|| wrong(format!("`{name}`: no such service; allowed: {names}"))),
        None if !asks => Err(wrong(format!("which service? allowed: {names}"))),
        None => {
            let about = ServiceKind::ALL.map(|of| format!("{}: {}", of.name(), of.about()));
            let chosen = Select::new()
                .with_prompt("Which service?")
                .items(&about)
                .default(0)
                .interact();
            Ok(ServiceKind::ALL[chosen.map_err(|why| unasked(&why))?])
        }
    }
}

/// Asks until the answer can be taken.
fn ask(service: &mut Service, question: Question) -> Result<(), Failure> {
    let tried = service.clone();
    let answer: String = Input::new()
        .with_prompt(question.words())
        .default(service.answer_to(question))
        .validate_with(|text: &String| {
            let taken = tried.clone().take(question, text);
            taken.map_err(|of| format!("{}; allowed: {}", of.message, of.allowed))
        })
        .interact_text()
        .map_err(|why| unasked(&why))?;
    service
        .take(question, &answer)
        .map_err(|of| wrong(of.to_string()))
}

fn unasked(why: &dialoguer::Error) -> Failure {
    wrong(format!("cannot ask: {why}; give the flags instead"))
}

/// The scenario's name: the file's where it can be one.
pub fn name(path: &Path, otherwise: &str) -> String {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    let can_be = |stem: &&str| {
        stem.len() <= 64
            && stem.starts_with(|c: char| c.is_ascii_alphanumeric())
            && stem
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
    };
    stem.filter(can_be).unwrap_or(otherwise).to_owned()
}

/// Writes the file; one that is there stays, unless `overwrite` says otherwise.
pub fn keep(path: &Path, text: &str, overwrite: bool) -> Result<(), Failure> {
    let shown = path.display();
    let mut options = OpenOptions::new();
    options.write(true);
    if overwrite {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    let mut file = options.open(path).map_err(|why| match why.kind() {
        ErrorKind::AlreadyExists => wrong(format!(
            "{shown} exists already: choose another file, or --overwrite to replace it"
        )),
        _ => wrong(format!("{shown}: cannot write it: {why}")),
    })?;
    let written = file.write_all(text.as_bytes());
    written.map_err(|why| Failure::Unwritten(format!("{shown}: cannot write it: {why}")))
}
