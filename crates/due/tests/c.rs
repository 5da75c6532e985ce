//! C interface, used from C and Python.

#![expect(clippy::print_stderr, reason = "tests print why they are skipped")]

#[path = "../../udp/tests/clibrary/mod.rs"]
mod clibrary;

use std::path::Path;

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");
const SCRATCH: &str = env!("CARGO_TARGET_TMPDIR");

#[test]
fn c_programs_exchange_messages() {
    let library = clibrary::build("due", "c-due");
    library.check_symbols();
    let output = library.run(&Path::new(FOLDER).join("tests/exchange.c"));
    assert_eq!(output, "300000 bytes, in order\n");
    let output = library.run(&Path::new(FOLDER).join("tests/messages.c"));
    assert_eq!(output, "50 queries each\n");
}

#[test]
fn python_programs_exchange_messages() {
    let program = Path::new(FOLDER).join("tests/messages.py");
    let Some(mut python) = clibrary::python(&program, Path::new(SCRATCH)) else {
        eprintln!("skipped: Python is not installed");
        return;
    };
    python.env("DUETIME_DUE", clibrary::build("due", "python-due").path());
    let run = python.output().expect("python3 runs");
    let error = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{error}");
}
