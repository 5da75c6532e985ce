//! Runs one workload on the minimal event loop and prints its cost.

#![forbid(unsafe_code)]

use duetime_floor::{Floor, Nic, Work};
use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "usage: floor w1|w2 [fifo|pull]";

#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this program prints its results"
)]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (work, nic) = match arguments[..] {
        ["w1"] | ["w1", "fifo"] => (Work::Incast, Nic::Fifo),
        ["w1", "pull"] => (Work::Incast, Nic::Pull),
        ["w2"] | ["w2", "fifo"] => (Work::Permutation, Nic::Fifo),
        ["w2", "pull"] => (Work::Permutation, Nic::Pull),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::FAILURE;
        }
    };
    let floor = Floor::new(work, nic);
    let started = Instant::now();
    let outcome = floor.run();
    let nanoseconds = started.elapsed().as_nanos() as f64;
    println!(
        "packet_hops={} ns_per_packet_hop={:.2} finished_us={:.3} marked={} resident_kib={}",
        outcome.packet_hops,
        nanoseconds / outcome.packet_hops as f64,
        outcome.finished_ps as f64 / 1e6,
        outcome.marked,
        peak_resident_kib(),
    );
    ExitCode::SUCCESS
}

/// Returns the peak resident memory of this process in KiB, or 0 if the system does not report it.
fn peak_resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}
