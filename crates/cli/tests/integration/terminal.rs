//! Output on a terminal: its width, and escaped control characters.
#![cfg(target_os = "linux")]

use std::process::Command;

use crate::sandbox::{Sandbox, TINY};
use rexpect::reader::Options;
use rexpect::session::spawn_with_options;

/// Timeout of the program, generous because the machine may be busy.
const TIMEOUT_MS: u64 = 120_000;

/// Returns the output of a command on a terminal with this number of columns.
fn on_a_terminal(sandbox: &Sandbox, columns: u32, arguments: &str) -> String {
    let program = env!("CARGO_BIN_EXE_duetime");
    let mut command = Command::new("sh");
    command
        .args([
            "-c",
            &format!("stty rows 24 cols {columns}; exec {program} {arguments}"),
        ])
        .current_dir(&sandbox.0)
        .env("TERM", "xterm");
    let options = Options::new()
        .timeout_ms(Some(TIMEOUT_MS))
        .strip_ansi_escape_codes(true);
    let mut terminal = spawn_with_options(command, options).expect("a terminal");
    let read = terminal.exp_eof().expect("an end");
    // The library decodes each byte as a character.
    let bytes: Vec<u8> = read
        .chars()
        .map(|c| u8::try_from(c).expect("a byte"))
        .collect();
    let text = String::from_utf8(bytes).expect("text");
    text.replace('\r', "")
}

fn widest(text: &str) -> usize {
    let lines = text.lines().map(|line| line.chars().count());
    lines.max().expect("a line")
}

#[test]
fn tables_fit_the_terminal() {
    let sandbox = Sandbox::new("terminal-width");
    sandbox.file("tiny.toml", TINY);
    let elsewhere = sandbox
        .duetime("run tiny.toml --seeds 4 --quiet --transport dctcp,d3")
        .ok();
    assert!(widest(&elsewhere) <= 100, "{elsewhere}");
    let run = "run tiny.toml --seeds 4 --quiet --transport dctcp,d3 --resume";
    let narrow = on_a_terminal(&sandbox, 80, run);
    assert!(widest(&narrow) <= 80, "{narrow}");
    let wide = on_a_terminal(&sandbox, 80, &format!("{run} --wide"));
    assert!(widest(&wide) > 100, "{wide}");
    for (text, hides) in [(&elsewhere, true), (&narrow, true), (&wide, false)] {
        assert_eq!(text.contains("not shown: "), hides, "{text}");
        assert!(text.contains("missed"), "the main column is kept: {text}");
    }
    let huge = on_a_terminal(&sandbox, 400, run);
    assert!(!huge.contains("not shown: "), "there is room: {huge}");
}

#[test]
fn control_characters_are_escaped() {
    let sandbox = Sandbox::new("terminal-escapes");
    sandbox.file("tiny.toml", TINY);
    let named = |name: &str| TINY.replacen("name = \"tiny\"", name, 1);
    sandbox.file("red.toml", &named(r#"name = "\u001b[31m""#));
    sandbox.file("raw.toml", &named("name = \"\u{1b}[31m\""));
    let workload = "kind = \"burst\"\nname = \"\\u001b[31m\"";
    sandbox.file(
        "workload.toml",
        &TINY.replacen("kind = \"burst\"", workload, 1),
    );
    for command in [
        "run red.toml",
        "run raw.toml",
        "check workload.toml",
        "run \u{1b}[31m.toml",
        "run tiny.toml --transport \u{1b}[31m",
        "run tiny.toml --set name=\u{1b}[31m",
        "capacity tiny.toml --of senders --workload \u{1b}[31m",
        "report \u{1b}[31m",
        "run tiny.toml --seeds 1 --quiet --out \u{1b}[31m",
    ] {
        let output = sandbox.duetime(command);
        let all = format!("{}{}", output.out, output.err);
        assert!(!all.contains('\u{1b}'), "{command}: {all:?}");
        assert!(all.contains("[31m"), "it is named: {command}: {all:?}");
    }
}
