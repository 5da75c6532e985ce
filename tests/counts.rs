//! Counts of fault tests, which `script/faults --soak` adds up.

use std::io::Write;

/// Appends one line of `KIND=NUMBER` to the file that the environment variable `FAULT_COUNTS` names, if any.
#[allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the environment names the file, which only tests write"
)]
pub fn report(counts: &[(&str, u64)]) {
    let Some(path) = std::env::var_os("FAULT_COUNTS") else {
        return;
    };
    let counts: Vec<String> = counts
        .iter()
        .map(|(kind, number)| format!("{kind}={number}"))
        .collect();
    let line = counts.join(" ");
    // In one call, so that lines of several threads do not mix.
    std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()))
        .expect("a writable file");
}
