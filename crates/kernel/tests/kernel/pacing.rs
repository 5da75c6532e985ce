//! The controllers respect the socket's limit of the pacing rate.

use crate::attach::wait_until_clean;
use crate::machine::Machine;
use crate::wire::attach;
use duetime_kernel::Options;
use std::path::Path;
use std::process::Command;

#[test]
fn max_pacing_rate_is_respected() {
    let Some(_machine) = Machine::take("pacing") else {
        return;
    };
    let attachment = attach(&Options::default());
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernel/pacing.py");
    for control in ["duetime_dctcp", "duetime_d2tcp"] {
        let output = Command::new("python3").arg(&program).arg(control).output();
        let output = output.expect("python3 runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{control}: {errors}");
    }
    drop(attachment);
    wait_until_clean();
}
