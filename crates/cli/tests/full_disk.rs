//! A disk that is full is no bad input: something has been written.

#![cfg(unix)]

mod sandbox;

use std::process::Command;

use sandbox::{Sandbox, TINY};

/// Runs `duetime` where no file may grow beyond so many KB, which is refused as a full disk is.
fn with_files_up_to(sandbox: &Sandbox, kilobytes: u32, arguments: &str) -> (i32, String) {
    let script = format!(
        "trap '' XFSZ; ulimit -f {kilobytes}; exec '{}' {arguments}",
        env!("CARGO_BIN_EXE_duetime")
    );
    let output = Command::new("bash")
        .args(["-c", &script])
        .current_dir(&sandbox.0)
        .output()
        .expect("bash starts");
    let code = output.status.code().unwrap_or(-1);
    (code, String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_page_that_does_not_fit_leaves_the_runs_and_exits_with_1() {
    let sandbox = Sandbox::new("full-page");
    sandbox.file("tiny.toml", TINY);
    let (code, err) = with_files_up_to(&sandbox, 16, "run tiny.toml");
    assert_eq!(code, 1, "{err}");
    assert!(
        err.contains("cannot write `out/tiny/") && err.contains("what was written before is left"),
        "{err}"
    );
    assert!(
        sandbox
            .0
            .join("out/tiny/runs/d2tcp/1/flows.parquet")
            .is_file()
    );
    // Where it fits, what is there is kept.
    let again = sandbox.duetime("run tiny.toml --resume");
    assert!(again.err.contains("4 there already"), "{}", again.err);
    assert_eq!(again.code, 0);
}

#[test]
fn tables_that_do_not_fit_are_failed_runs() {
    let sandbox = Sandbox::new("full-runs");
    sandbox.file("tiny.toml", TINY);
    let (code, err) = with_files_up_to(&sandbox, 8, "run tiny.toml --no-report");
    assert_eq!(code, 1, "{err}");
    assert!(!err.contains("nothing was written"), "{err}");
}

#[test]
fn a_place_that_cannot_be_used_is_bad_input() {
    let sandbox = Sandbox::new("full-place");
    sandbox.file("tiny.toml", TINY);
    sandbox.file("file", "");
    let said = sandbox.duetime("run tiny.toml --out file");
    assert_eq!(said.code, 2, "{said:?}");
}
