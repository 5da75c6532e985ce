//! `duetime new` on a terminal: its prompts, invalid answers and the resulting file.
#![cfg(target_os = "linux")]

use std::process::Command;

use crate::sandbox::Sandbox;
use rexpect::process::WaitStatus;
use rexpect::reader::Options;
use rexpect::session::{PtySession, spawn_with_options};

/// Timeout of each output, generous because the machine may be busy.
const TIMEOUT_MS: u64 = 120_000;

/// Starts `duetime new` on a terminal.
fn new_on_a_terminal(sandbox: &Sandbox, arguments: &[&str]) -> PtySession {
    let mut command = Command::new(env!("CARGO_BIN_EXE_duetime"));
    command
        .arg("new")
        .args(arguments)
        .current_dir(&sandbox.0)
        .env("NO_COLOR", "1")
        .env("TERM", "xterm");
    let options = Options::new()
        .timeout_ms(Some(TIMEOUT_MS))
        .strip_ansi_escape_codes(true);
    spawn_with_options(command, options).expect("a terminal")
}

/// Waits for this output.
#[track_caller]
fn wait_for(terminal: &mut PtySession, text: &str) {
    if let Err(why) = terminal.exp_string(text) {
        panic!("waiting for `{text}`: {why}");
    }
}

/// Waits for the question and types a line.
#[track_caller]
fn answer(terminal: &mut PtySession, question: &str, line: &str) {
    wait_for(terminal, question);
    terminal.send_line(line).expect("a line can be typed");
}

/// Waits for the program to exit.
#[track_caller]
fn ended(mut terminal: PtySession) -> WaitStatus {
    terminal.exp_eof().expect("an end");
    terminal.process().wait().expect("a status")
}

const SERVERS: &str = "How many servers does a query contact";
const BUDGET: &str = "What is the time budget of a query?";

#[test]
fn prompts_and_flags_write_the_same_file() {
    let sandbox = Sandbox::new("new-questions");
    let mut terminal = new_on_a_terminal(&sandbox, &["--out", "mine.toml"]);
    // Select storage, two below the first.
    answer(&mut terminal, "Which service?", "jj");
    answer(&mut terminal, SERVERS, "6");
    answer(&mut terminal, BUDGET, "50");
    wait_for(&mut terminal, "the unit of this time is missing");
    answer(&mut terminal, BUDGET, "30 ms");
    answer(&mut terminal, "How large is each answer?", "");
    answer(
        &mut terminal,
        "How many queries arrive per second in total?",
        "800 /s",
    );
    answer(&mut terminal, "How many hosts does the network have?", "");
    answer(&mut terminal, "How fast is the link of each host?", "");
    wait_for(&mut terminal, "wrote mine.toml");
    let status = ended(terminal);
    assert!(matches!(status, WaitStatus::Exited(_, 0)), "{status:?}");

    let prompted = sandbox.read("mine.toml");
    assert!(prompted.starts_with("# A storage service"), "{prompted}");
    sandbox.duetime("check mine.toml").ok();
    let flags = "--fan-in 6 --budget 30ms --rate 800/s --defaults";
    let new = format!("new storage {flags} --overwrite --out mine.toml");
    sandbox.duetime(&new).ok();
    assert_eq!(prompted, sandbox.read("mine.toml"));
}

#[test]
fn flags_suppress_prompts() {
    let sandbox = Sandbox::new("new-questions-flags");
    let given = [
        "feed", "--fan-in", "2,3", "--answer", "10KB", "--rate", "50/s", "--hosts", "20",
    ];
    let arguments = [&given[..], &["--out", "mine.toml"]].concat();
    let mut terminal = new_on_a_terminal(&sandbox, &arguments);
    let before = terminal
        .exp_string(BUDGET)
        .expect("a prompt for the budget");
    assert!(!before.contains('?'), "the first question: {before}");
    terminal.send_line("").expect("a line can be typed");
    answer(
        &mut terminal,
        "How fast is the link of each host?",
        "25 Gbps",
    );
    wait_for(&mut terminal, "wrote mine.toml");
    assert!(matches!(ended(terminal), WaitStatus::Exited(_, 0)));
    let prompted = sandbox.read("mine.toml");
    let flags = "feed --fan-in 2,3 --answer 10KB --rate 50/s --hosts 20 --link 25Gbps";
    let new = format!("new {flags} --defaults --overwrite --out mine.toml");
    sandbox.duetime(&new).ok();
    assert_eq!(prompted, sandbox.read("mine.toml"));
}

#[test]
fn ctrl_c_leaves_no_file() {
    let sandbox = Sandbox::new("new-questions-stopped");
    let flags = [
        &["--out", "mine.toml"][..],
        &["search", "--out", "mine.toml"],
    ];
    for (arguments, question) in flags.into_iter().zip(["Which service?", SERVERS]) {
        let mut terminal = new_on_a_terminal(&sandbox, arguments);
        wait_for(&mut terminal, question);
        terminal.send_control('c').expect("a key can be typed");
        let status = ended(terminal);
        assert!(!matches!(status, WaitStatus::Exited(_, 0)), "{status:?}");
        assert!(sandbox.names().is_empty(), "{:?}", sandbox.names());
    }
}
