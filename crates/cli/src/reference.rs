//! The page of all commands and options in `docs/`, made from what the command itself declares.

use std::fmt::Write as _;
use std::path::Path;

use clap::{Arg, Command, CommandFactory, Parser};

use crate::args::Cli;

/// What a build with the feature `lab` has beside the others: the page is the same for every build.
const REAL_STACKS: [&str; 4] = ["switch", "kernel", "lab", "load"];

/// Every command but those on real stacks.
fn page() -> String {
    let mut page = "# The commands\n\n\
        <!-- Made from the declarations in `crates/cli/src/args.rs` by a test; after a change run UPDATE=1 cargo test -p \
        duetime-cli --lib. -->\n\n\
        `duetime COMMAND --help` says the same on a terminal. A build with the feature `lab` has more commands, with pages of \
        their own: [`switch`](switch.md), [`kernel`](d2tcp.md), [`lab`](lab.md) and [`load`](load.md).\n"
        .to_owned();
    let cli = built();
    let _ = write!(page, "\n{}\n", after_help(&cli));
    for command in cli.get_subcommands() {
        if command.get_name() != "help" && !REAL_STACKS.contains(&command.get_name()) {
            section(&mut page, 2, &["duetime"], command);
        }
    }
    page
}

/// Everything that clap adds itself is in place.
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

/// One command: what it does, how it is called, its arguments, its examples, its own commands.
fn section(page: &mut String, level: usize, above: &[&str], command: &Command) {
    let path = [above, &[command.get_name()]].concat();
    let about = command
        .get_long_about()
        .or_else(|| command.get_about())
        .map(ToString::to_string)
        .unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    let _ = write!(
        page,
        "\n{} `{}`\n\n{}\n\n<!-- not compared: how it is called -->\n```text\n{}\n```\n",
        "#".repeat(level),
        path.join(" "),
        cell(&about),
        usage.trim_start_matches("Usage: ").trim()
    );
    let rows: Vec<String> = command
        .get_arguments()
        .filter(|arg| !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str()))
        .map(row)
        .collect();
    if !rows.is_empty() {
        let _ = write!(
            page,
            "\n| argument | meaning |\n|---|---|\n{}\n",
            rows.join("\n")
        );
    }
    let examples = command
        .get_after_long_help()
        .or_else(|| command.get_after_help())
        .map(ToString::to_string);
    if let Some(examples) = examples {
        let _ = write!(
            page,
            "\n<!-- not compared: a test reads each of these commands -->\n```text\n{}\n```\n",
            examples.trim()
        );
    }
    for below in command.get_subcommands() {
        if below.get_name() != "help" {
            section(page, level + 1, &path, below);
        }
    }
}

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

/// On one line, and with nothing that ends a cell of a table.
fn cell(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}

/// The page at `path` is `wanted`; with UPDATE=1 it becomes so.
fn hold(path: &str, wanted: &str) {
    let place = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&place, wanted).expect("the page can be written");
    }
    let found = std::fs::read_to_string(&place).unwrap_or_default();
    assert!(
        found == wanted,
        "{path} is out of date: run this test with UPDATE=1"
    );
}

#[test]
fn the_page_of_commands_is_up_to_date() {
    hold("docs/cli.md", &page());
}

/// The commands in a help text: lines that start with `duetime`, without what a pipe or a comment adds.
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

/// The words of a command line: quotes hold together, and a pipe, a redirection or two spaces end it.
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
fn every_example_of_the_help_can_be_read() {
    let examples = examples(&built());
    assert!(examples.len() > 20, "{examples:?}");
    for line in examples {
        let words = words(&line);
        if let Err(error) = Cli::try_parse_from(&words) {
            // `duetime new` without arguments, and such, are good; help is asked for by nobody here.
            panic!("{line}\n{words:?}\n{error}");
        }
    }
}
