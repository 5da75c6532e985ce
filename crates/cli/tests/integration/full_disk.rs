//! Exit codes on a full disk, which is not invalid input since output has been written.

#![cfg(unix)]

use std::process::Command;

use crate::sandbox::{Sandbox, TINY};

/// Runs `duetime` with a limit on the size of files, which fails like a full disk. Returns the exit code and standard
/// error.
fn run_with_file_limit(sandbox: &Sandbox, kilobytes: u32, arguments: &str) -> (i32, String) {
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
fn unwritable_report_keeps_runs() {
    let sandbox = Sandbox::new("full-page");
    sandbox.file("tiny.toml", TINY);
    let (code, err) = run_with_file_limit(&sandbox, 16, "run tiny.toml");
    assert_eq!(code, 1, "{err}");
    assert!(
        err.contains("cannot write `out/tiny/") && err.contains("partial output was kept"),
        "{err}"
    );
    assert!(
        sandbox
            .0
            .join("out/tiny/runs/d2tcp/1/flows.parquet")
            .is_file()
    );
    // Without the limit, the finished runs are reused.
    let again = sandbox.duetime("run tiny.toml --resume");
    assert!(again.err.contains("4 already finished"), "{}", again.err);
    assert_eq!(again.code, 0);
}

#[test]
fn unwritable_tables_fail_runs() {
    let sandbox = Sandbox::new("full-runs");
    sandbox.file("tiny.toml", TINY);
    let (code, err) = run_with_file_limit(&sandbox, 8, "run tiny.toml --no-report");
    assert_eq!(code, 1, "{err}");
    assert!(!err.contains("nothing was written"), "{err}");
}

#[test]
fn unusable_folder_is_invalid_input() {
    let sandbox = Sandbox::new("full-place");
    sandbox.file("tiny.toml", TINY);
    sandbox.file("file", "");
    let output = sandbox.duetime("run tiny.toml --out file");
    assert_eq!(output.code, 2, "{output:?}");
}
