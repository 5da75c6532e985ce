//! Runs one workload on the minimal event loop and prints its cost.

#![forbid(unsafe_code)]

use duetime_floor::{FatTree, Floor, Nic, Outcome, Rounds, Traffic, Work};
use std::process::ExitCode;
use std::time::Instant;

#[global_allocator]
static ALLOCATOR: duetime_memory::Allocator = duetime_memory::Allocator;

const USAGE: &str = "usage: floor w1|w2 [fifo|pull] | w4|w5 [K]
K is the number of ports of a fat tree's switches, even and from 4 to 64; by default 32 (w4) or 40 (w5)";

#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this program prints its results"
)]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let timed = match arguments[..] {
        ["w1"] | ["w1", "fifo"] => Some(floor(Work::Incast, Nic::Fifo)),
        ["w1", "pull"] => Some(floor(Work::Incast, Nic::Pull)),
        ["w2"] | ["w2", "fifo"] => Some(floor(Work::Permutation, Nic::Fifo)),
        ["w2", "pull"] => Some(floor(Work::Permutation, Nic::Pull)),
        ["w4"] => permutation("32"),
        ["w4", k] => permutation(k),
        ["w5"] => hadoop("40"),
        ["w5", k] => hadoop(k),
        _ => None,
    };
    let Some((outcome, nanoseconds)) = timed else {
        eprintln!("{USAGE}");
        return ExitCode::FAILURE;
    };
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

fn floor(work: Work, nic: Nic) -> (Outcome, f64) {
    let floor = Floor::new(work, nic);
    time(|| floor.run())
}

/// W4: a flow of 1 MiB from each host.
fn permutation(k: &str) -> Option<(Outcome, f64)> {
    rounds(k, 100, Traffic::Permutation { bytes: 1 << 20 })
}

/// W5: as many flows per host and second as in the simulator's benchmark, for 52 ms.
fn hadoop(k: &str) -> Option<(Outcome, f64)> {
    let (flows, rate) = (65, 1_250);
    rounds(k, 10, Traffic::Hadoop { flows, rate })
}

fn rounds(k: &str, gbps: u32, traffic: Traffic) -> Option<(Outcome, f64)> {
    let k = k
        .parse()
        .ok()
        .filter(|k| (4..=64).contains(k) && k % 2 == 0)?;
    // The simulator also has huge pages on large networks.
    duetime_memory::prefer_huge_pages();
    let rounds = Rounds::new(FatTree { k, gbps }, traffic);
    Some(time(|| rounds.run()))
}

/// Returns the outcome of a run with its time in nanoseconds.
fn time(run: impl FnOnce() -> Outcome) -> (Outcome, f64) {
    let started = Instant::now();
    let outcome = run();
    (outcome, started.elapsed().as_nanos() as f64)
}

/// Returns the peak resident memory of this process in KiB, or 0 if the system does not report it.
fn peak_resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}
