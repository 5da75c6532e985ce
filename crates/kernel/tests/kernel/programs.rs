//! Socket options of the controllers' sockets, in Python, because Rust's standard library lacks them.

use crate::attach::wait_until_clean;
use crate::machine::Machine;
use crate::wire::attach;
use duetime_kernel::Options;
use std::path::Path;
use std::process::Command;

/// Runs a program of this folder with each controller.
fn run(name: &str) {
    let Some(_machine) = Machine::take(name) else {
        return;
    };
    let attachment = attach(&Options::default());
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernel");
    for control in ["duetime_dctcp", "duetime_d2tcp"] {
        let output = Command::new("python3")
            .arg(program.join(name))
            .arg(control)
            .output();
        let output = output.expect("python3 runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{control}: {errors}");
    }
    drop(attachment);
    wait_until_clean();
}

#[test]
fn max_pacing_rate_is_respected() {
    run("pacing.py");
}

#[test]
fn connections_without_ecn_use_reno() {
    run("ecn.py");
}
