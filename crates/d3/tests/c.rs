//! The C interface, from a program in C.

#![expect(clippy::print_stderr, reason = "a test that is skipped says why")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// A library of C's kind, built as the documentation says, and where it is.
fn library() -> PathBuf {
    let cargo = Command::new(env!("CARGO"))
        .args([
            "rustc",
            "--locked",
            "--quiet",
            "-p",
            "duetime-d3",
            "--features",
            "c",
        ])
        .args([
            "--crate-type",
            "cdylib",
            "--message-format",
            "json-render-diagnostics",
        ])
        .output()
        .expect("cargo runs");
    assert!(
        cargo.status.success(),
        "{}",
        String::from_utf8_lossy(&cargo.stderr)
    );
    let messages = String::from_utf8_lossy(&cargo.stdout);
    let mut named = messages
        .split('"')
        .filter(|word| word.ends_with("libduetime_d3.so"));
    PathBuf::from(named.next_back().expect("cargo names what it built"))
}

#[test]
fn a_program_in_c_connects_accepts_sends_and_receives() {
    if Command::new("cc").arg("--version").output().is_err() {
        eprintln!("skipped: there is no C compiler");
        return;
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = library();
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exchange");
    let compiled = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"])
        .arg(here.join("include"))
        .arg("-o")
        .arg(&program)
        .arg(here.join("tests/exchange.c"))
        .arg(&library)
        .output()
        .expect("cc runs");
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let run = Command::new(&program)
        .env("LD_LIBRARY_PATH", library.parent().expect("a folder"))
        .output()
        .expect("the program runs");
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    assert_eq!(
        String::from_utf8_lossy(&run.stdout),
        "300000 bytes, in order\n"
    );
}
