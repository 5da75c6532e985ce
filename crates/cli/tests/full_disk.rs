//! A disk that is full is no bad input: something has been written.

#![cfg(unix)]

mod room;

use std::process::Command;

use room::{Room, TINY};

/// Runs `duetime` where no file may grow beyond so many KB, which is refused as a full disk is.
fn with_files_up_to(room: &Room, kilobytes: u32, arguments: &str) -> (i32, String) {
    let script = format!(
        "trap '' XFSZ; ulimit -f {kilobytes}; exec '{}' {arguments}",
        env!("CARGO_BIN_EXE_duetime")
    );
    let output = Command::new("bash")
        .args(["-c", &script])
        .current_dir(&room.0)
        .output()
        .expect("bash starts");
    let code = output.status.code().unwrap_or(-1);
    (code, String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_page_that_does_not_fit_leaves_the_runs_and_exits_with_1() {
    let room = Room::new("full-page");
    room.file("tiny.toml", TINY);
    let (code, err) = with_files_up_to(&room, 16, "run tiny.toml");
    assert_eq!(code, 1, "{err}");
    assert!(
        err.contains("cannot write `out/tiny/") && err.contains("what was written before is left"),
        "{err}"
    );
    assert!(room.0.join("out/tiny/runs/d2tcp/1/flows.parquet").is_file());
    // With room for it, what is there is kept.
    let again = room.duetime("run tiny.toml --resume");
    assert!(again.err.contains("4 there already"), "{}", again.err);
    assert_eq!(again.code, 0);
}

#[test]
fn tables_that_do_not_fit_are_failed_runs() {
    let room = Room::new("full-runs");
    room.file("tiny.toml", TINY);
    let (code, err) = with_files_up_to(&room, 8, "run tiny.toml --no-report");
    assert_eq!(code, 1, "{err}");
    assert!(!err.contains("nothing was written"), "{err}");
}

#[test]
fn a_place_that_cannot_be_used_is_bad_input() {
    let room = Room::new("full-place");
    room.file("tiny.toml", TINY);
    room.file("file", "");
    let said = room.duetime("run tiny.toml --out file");
    assert_eq!(said.code, 2, "{said:?}");
}
