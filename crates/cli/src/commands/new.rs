//! `duetime new`.

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
    let interactive = !args.defaults && stdin().is_terminal() && std::io::stderr().is_terminal();
    let kind = kind(args.kind.as_deref(), interactive)?;
    let mut service = Service::usual(kind);
    let mut defaults = Vec::new();
    for question in Question::ALL {
        match option(args, question) {
            Some(text) => service
                .take(question, text)
                .map_err(|error| invalid(error.to_string()))?,
            None if interactive => prompt(&mut service, question)?,
            None => defaults.push(question),
        }
    }
    service
        .check()
        .map_err(|error| match option(args, error.question) {
            None if !interactive => invalid(format!("{error} (default value)")),
            _ => invalid(error.to_string()),
        })?;
    if !args.quiet && !defaults.is_empty() {
        let flags = defaults
            .iter()
            .map(|&question| format!("--{} '{}'", question.flag(), service.answer_to(question)));
        let flags: Vec<String> = flags.collect();
        let _ = writeln!(stderr(), "defaults used: {}", flags.join(" "));
    }
    match &args.out {
        None => {
            let file = format!("{}.toml", kind.name());
            Ok(write!(stdout(), "{}", service.to_toml(kind.name(), &file))?)
        }
        Some(path) => {
            let text = service.to_toml(&name(path, kind.name()), &path.display().to_string());
            write_file(path, &text, args.overwrite)?;
            if args.quiet {
                return Ok(());
            }
            let next = text
                .rsplit_once("# Next:\n")
                .expect("the text ends with the next commands")
                .1;
            let next: Vec<&str> = next.lines().map(|line| &line[2..]).collect();
            Ok(writeln!(
                stdout(),
                "wrote {}; next:\n{}",
                path.display(),
                next.join("\n")
            )?)
        }
    }
}

fn invalid(message: impl Into<String>) -> Failure {
    Failure::Input(message.into())
}

fn option(args: &args::New, question: Question) -> Option<&str> {
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

fn kind(argument: Option<&str>, interactive: bool) -> Result<ServiceKind, Failure> {
    let names = ServiceKind::ALL.map(ServiceKind::name).join(", ");
    match argument {
        Some(name) => ServiceKind::named(name)
            .ok_or_else(|| invalid(format!("`{name}`: unknown service; allowed: {names}"))),
        None if !interactive => Err(invalid(format!("missing SERVICE; allowed: {names}"))),
        None => {
            let about = ServiceKind::ALL.map(|kind| format!("{}: {}", kind.name(), kind.about()));
            let chosen = Select::new()
                .with_prompt("Which service?")
                .items(&about)
                .default(0)
                .interact();
            Ok(ServiceKind::ALL[chosen.map_err(|why| prompt_failed(&why))?])
        }
    }
}

/// Prompts for an answer until it is valid.
fn prompt(service: &mut Service, question: Question) -> Result<(), Failure> {
    let current = service.clone();
    let answer: String = Input::new()
        .with_prompt(question.words())
        .default(service.answer_to(question))
        .validate_with(|text: &String| {
            let result = current.clone().take(question, text);
            result.map_err(|error| format!("{}; allowed: {}", error.message, error.allowed))
        })
        .interact_text()
        .map_err(|why| prompt_failed(&why))?;
    service
        .take(question, &answer)
        .map_err(|error| invalid(error.to_string()))
}

fn prompt_failed(why: &dialoguer::Error) -> Failure {
    invalid(format!("cannot prompt: {why}; use options instead"))
}

/// Returns the scenario's name: the file's stem if it is a valid name, or else `otherwise`.
pub fn name(path: &Path, otherwise: &str) -> String {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    let is_valid = |stem: &&str| {
        stem.len() <= 64
            && stem.starts_with(|c: char| c.is_ascii_alphanumeric())
            && stem
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
    };
    stem.filter(is_valid).unwrap_or(otherwise).to_owned()
}

/// Writes a file. Existing files are replaced only if `overwrite` is true.
pub fn write_file(path: &Path, text: &str, overwrite: bool) -> Result<(), Failure> {
    let shown = path.display();
    let mut options = OpenOptions::new();
    options.write(true);
    if overwrite {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    let mut file = options.open(path).map_err(|why| match why.kind() {
        ErrorKind::AlreadyExists => invalid(format!(
            "{shown} already exists: choose another file, or use --overwrite to replace it"
        )),
        _ => invalid(format!("{shown}: cannot write the file: {why}")),
    })?;
    let written = file.write_all(text.as_bytes());
    written.map_err(|why| Failure::Unwritten(format!("{shown}: cannot write the file: {why}")))
}
