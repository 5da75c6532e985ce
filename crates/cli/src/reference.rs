//! Generator of `docs/cli.md`, the reference of all commands and options, from the declarations in `args`.

use std::fmt::Write as _;
use std::path::Path;

use clap::{Arg, Command, CommandFactory, Parser};

use crate::args::Cli;

/// Commands that require the feature `lab`. The page omits them so that it does not depend on the build.
const LAB_COMMANDS: [&str; 4] = ["switch", "kernel", "lab", "load"];

/// Arguments are documented once if at least this many commands share them.
const SHARED_BY: usize = 2;

/// Documents with more about a command, which then lists only its examples here, without the notes below them.
const DOCUMENTS: [(&str, &str); 12] = [
    ("new", "new.md"),
    ("fit", "fit.md"),
    ("sweep", "sweeps.md"),
    ("capacity", "capacity.md"),
    ("bound", "bound.md"),
    ("explain", "explain.md"),
    ("compare", "compare.md"),
    ("report", "report.md"),
    ("export", "spans.md"),
    ("paper", "papers.md"),
    ("play", "playground.md"),
    ("schema", "scenario.md"),
];

/// Renders the page.
fn page() -> String {
    let mut page = "# Command reference\n\n\
        <!-- Generated from `crates/cli/src/args.rs`; to update, run UPDATE=1 cargo test -p duetime-cli --lib. -->\n\n\
        `duetime COMMAND --help` prints this information and further notes. Builds with the feature `lab` add \
        [`switch`](switch.md), [`kernel`](d2tcp.md), [`lab`](lab.md) and [`load`](load.md).\n"
        .to_owned();
    let cli = built();
    let _ = write!(page, "\n{}\n", after_help(&cli));
    let shared = shared_arguments(&cli);
    let rows: Vec<String> = shared.iter().map(row).collect();
    let _ = write!(
        page,
        "\n## Shared arguments\n\n| argument | meaning |\n|---|---|\n{}\n",
        rows.join("\n")
    );
    for command in cli.get_subcommands() {
        if command.get_name() != "help" && !LAB_COMMANDS.contains(&command.get_name()) {
            section(&mut page, 2, &["duetime"], command, &shared);
        }
    }
    page
}

/// Returns the command line with everything that clap adds while building it.
fn built() -> Command {
    let mut cli = Cli::command();
    cli.build();
    cli
}

fn after_help(command: &Command) -> String {
    command
        .get_after_help()
        .map(ToString::to_string)
        .unwrap_or_default()
}

/// Returns true if the page lists the argument.
fn is_listed(arg: &Arg) -> bool {
    !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str())
}

/// Returns the arguments that [`SHARED_BY`] or more commands declare identically, in the most frequent form of each name.
fn shared_arguments(cli: &Command) -> Vec<Arg> {
    let commands = cli
        .get_subcommands()
        .filter(|command| !LAB_COMMANDS.contains(&command.get_name()));
    let all: Vec<&Arg> = commands
        .flat_map(Command::get_arguments)
        .filter(|arg| is_listed(arg))
        .collect();
    let count = |arg: &Arg| all.iter().filter(|other| row(other) == row(arg)).count();
    let mut shared: Vec<Arg> = Vec::new();
    for &arg in &all {
        let same_name = all.iter().filter(|other| name(other) == name(arg));
        let most = same_name.map(|other| count(other)).max();
        if count(arg) >= SHARED_BY
            && most == Some(count(arg))
            && !shared.iter().any(|other| name(other) == name(arg))
        {
            shared.push(arg.clone());
        }
    }
    shared.sort_by_key(|arg| std::cmp::Reverse(count(arg)));
    shared
}

/// Renders the section of a command: description, usage, arguments, examples and subcommands.
fn section(page: &mut String, level: usize, above: &[&str], command: &Command, shared: &[Arg]) {
    let path = [above, &[command.get_name()]].concat();
    let about = command
        .get_long_about()
        .or_else(|| command.get_about())
        .map(ToString::to_string)
        .unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    let document = DOCUMENTS
        .iter()
        .find(|(name, _)| *name == command.get_name());
    let more = document.map_or(String::new(), |(_, file)| format!(" ([{file}]({file}))"));
    let _ = write!(
        page,
        "\n{} `{}`\n\n{}{more}\n\n`{}`\n",
        "#".repeat(level),
        path.join(" "),
        cell(&about),
        usage.trim_start_matches("Usage: ").trim()
    );
    let (common, specific): (Vec<&Arg>, Vec<&Arg>) = command
        .get_arguments()
        .filter(|arg| is_listed(arg))
        .partition(|arg| shared.iter().any(|other| row(other) == row(arg)));
    let rows: Vec<String> = specific.into_iter().map(row).collect();
    if !rows.is_empty() {
        let _ = write!(
            page,
            "\n| argument | meaning |\n|---|---|\n{}\n",
            rows.join("\n")
        );
    }
    if !common.is_empty() {
        let names: Vec<String> = common
            .iter()
            .map(|arg| format!("`{}`", name(arg)))
            .collect();
        let _ = write!(
            page,
            "\n[Shared](#shared-arguments): {}\n",
            names.join(", ")
        );
    }
    let examples = command
        .get_after_long_help()
        .or_else(|| command.get_after_help())
        .map(ToString::to_string);
    if let Some(examples) = examples {
        let commands = match (document, examples.split_once("\n\n")) {
            (Some(_), Some((commands, _))) => commands,
            _ => &examples,
        };
        let _ = write!(
            page,
            "\n<!-- not compared: parsed by a test -->\n```text\n{}\n```\n",
            commands.trim_start_matches("Examples:\n").trim_end()
        );
    }
    for below in command.get_subcommands() {
        if below.get_name() != "help" {
            section(page, level + 1, &path, below, shared);
        }
    }
}

/// Returns the long option of an argument, or its value's name.
fn name(arg: &Arg) -> String {
    let value = || arg.get_value_names().and_then(|names| names.first());
    match arg.get_long() {
        Some(long) => format!("--{long}"),
        None => format!("<{}>", value().map_or("", |name| name.as_str())),
    }
}

/// Renders an argument as a row of the table.
fn row(arg: &Arg) -> String {
    let values: Vec<String> = arg
        .get_value_names()
        .unwrap_or_default()
        .iter()
        .map(|name| format!("<{name}>"))
        .collect();
    let values = if arg.get_action().takes_values() {
        values.join(" ")
    } else {
        String::new()
    };
    let names: Vec<String> = [
        arg.get_short().map(|short| format!("-{short}")),
        arg.get_long().map(|long| format!("--{long}")),
    ]
    .into_iter()
    .flatten()
    .collect();
    let call = if arg.is_positional() {
        format!("`{values}`")
    } else {
        let named = names.join("`, `");
        if values.is_empty() {
            format!("`{named}`")
        } else {
            format!("`{named} {values}`")
        }
    };
    let help = arg
        .get_long_help()
        .or_else(|| arg.get_help())
        .map(ToString::to_string)
        .unwrap_or_default();
    let mut meaning = cell(&help);
    let allowed: Vec<String> = arg
        .get_possible_values()
        .iter()
        .map(|value| match value.get_help() {
            Some(help) => format!("`{}`: {}", value.get_name(), cell(&help.to_string())),
            None => format!("`{}`", value.get_name()),
        })
        .collect();
    if arg.get_action().takes_values() && !allowed.is_empty() {
        let _ = write!(meaning, " [allowed: {}]", allowed.join(", "));
    }
    let defaults: Vec<String> = arg
        .get_default_values()
        .iter()
        .map(|value| format!("`{}`", value.to_string_lossy()))
        .collect();
    if arg.get_action().takes_values() && !defaults.is_empty() {
        let _ = write!(meaning, " [default: {}]", defaults.join(", "));
    }
    format!("| {call} | {meaning} |")
}

/// Formats text for a table cell: on one line, with escaped pipes.
fn cell(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}

/// Checks that the file at `path` is `wanted`, or writes it if UPDATE is set.
fn check_or_update(path: &str, expected: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&file, expected).expect("the page is writable");
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        found == expected,
        "{path} is out of date: run this test with UPDATE=1"
    );
}

#[test]
fn command_reference_is_up_to_date() {
    check_or_update("docs/cli.md", &page());
}

#[test]
fn columns_in_results_page_are_up_to_date() {
    let page = include_str!("../../../docs/results.md");
    let (by_hand, _) = page.split_once("\n### ").expect("a generated part");
    let generated = duetime_results::schema::markdown();
    check_or_update("docs/results.md", &format!("{by_hand}\n{generated}"));
}

/// Returns the commands in the help texts: lines that start with `duetime`.
fn examples(command: &Command) -> Vec<String> {
    let texts = [command.get_after_help(), command.get_after_long_help()];
    let mut found: Vec<String> = texts
        .into_iter()
        .flatten()
        .flat_map(|text| {
            let text = text.to_string().replace("\\\n", " ");
            text.lines()
                .map(|line| line.trim().trim_start_matches("Example: ").to_owned())
                .collect::<Vec<_>>()
        })
        .filter(|line| line.starts_with("duetime "))
        .collect();
    found.extend(command.get_subcommands().flat_map(examples));
    found
}

/// Splits a command line into words. Quotes group words; a pipe, a redirection or two spaces end the command.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for character in format!("{line} ").chars() {
        match character {
            '\'' => quoted = !quoted,
            '|' | '>' | '&' if !quoted => break,
            ' ' if !quoted && word.is_empty() => break,
            ' ' if !quoted => words.push(std::mem::take(&mut word)),
            other => word.push(other),
        }
    }
    words
}

#[test]
fn examples_in_help_parse() {
    let examples = examples(&built());
    assert!(examples.len() > 20, "{examples:?}");
    for line in examples {
        let words = words(&line);
        if let Err(error) = Cli::try_parse_from(&words) {
            panic!("{line}\n{words:?}\n{error}");
        }
    }
}
