//! Random scenarios with faults: every run ends, conserves bytes, and delivers no flow faster than physically possible.
//!
//! `DUETIME_SEEDS=from..to` selects the seeds; the default is 0..2000. A failure prints the command that replays it.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers in tests are small"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "the environment selects the seeds; each runs on its own thread"
)]

#[path = "../../../tests/counts.rs"]
mod counts;
mod generator;
mod laws;

use duetime_results::digest;
use duetime_sim::{Options, RunOutput, Watch, run};
use generator::Case;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

/// Time after which a case is considered hung. Typical cases take milliseconds; those of two threads take half a minute,
/// longer on a busy machine, and all others wait for them.
const HANG_TIMEOUT: Duration = Duration::from_mins(10);
/// Number of tests that share the seeds, so that the test runner spreads them over the processors.
const SHARDS: u64 = 4;

#[test]
fn invariants_hold_in_shard_0() {
    run_shard(0);
}

#[test]
fn invariants_hold_in_shard_1() {
    run_shard(1);
}

#[test]
fn invariants_hold_in_shard_2() {
    run_shard(2);
}

#[test]
fn invariants_hold_in_shard_3() {
    run_shard(3);
}

fn run_shard(shard: u64) {
    let (from, to) = seeds();
    let failures: Vec<String> = (from..to)
        .filter(|seed| seed % SHARDS == shard)
        .filter_map(failure)
        .collect();
    assert!(failures.is_empty(), "\n{}\n", failures.join("\n"));
}

fn seeds() -> (u64, u64) {
    let Ok(text) = std::env::var("DUETIME_SEEDS") else {
        return (0, 2_000);
    };
    let ends = text
        .split_once("..")
        .and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
    ends.unwrap_or_else(|| {
        panic!("DUETIME_SEEDS is `{text}`; allowed is from..to, such as 0..2000")
    })
}

/// Returns the failure of a seed and the command that replays it, or `None`.
fn failure(seed: u64) -> Option<String> {
    let (sender, receiver) = channel();
    let worker = std::thread::spawn(move || {
        let outcome = check(seed);
        sender.send(()).ok();
        outcome
    });
    let reason = match receiver.recv_timeout(HANG_TIMEOUT) {
        Err(RecvTimeoutError::Timeout) => format!("not finished after {HANG_TIMEOUT:?}"),
        Ok(()) | Err(RecvTimeoutError::Disconnected) => match worker.join() {
            Ok(Ok(())) => return None,
            Ok(Err(reason)) => reason,
            Err(panic) => format!("panic: {}", message(panic.as_ref())),
        },
    };
    let case = std::panic::catch_unwind(|| Case::new(seed).summary()).unwrap_or_default();
    let next = seed + 1;
    Some(format!(
        "seed {seed}: {reason}\n  ({case})\n  DUETIME_SEEDS={seed}..{next} cargo test -p duetime-sim --test faults"
    ))
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string))
        .unwrap_or_default()
}

/// Runs a seed, and repeats some seeds split over threads and sub-partitions, or with captures and a traced flow.
fn check(seed: u64) -> Result<(), String> {
    let case = Case::new(seed);
    let output = outcome(&case, &options())?;
    laws::check(&case, &output)?;
    if case.threads > 1 || case.subpartitions > 1 {
        let split = outcome(
            &case,
            &Options {
                threads: case.threads,
                subpartitions: case.subpartitions,
                ..options()
            },
        )?;
        laws::check(&case, &split)?;
        same(&output, &split, "threads and sub-partitions")?;
    } else if case.watched {
        let mut watched = Case::new(seed);
        let links = 0..case.network.links.len() as u32;
        watched.scenario.record.pcap = links.map(|link| case.network.link_name(link)).collect();
        let flows = &output.records.flows;
        let traced = flows
            .get(seed as usize % flows.len().max(1))
            .map(|flow| flow.flow);
        let seen = outcome(
            &watched,
            &Options {
                watch: traced.map_or(Watch::Nothing, Watch::flow),
                ..options()
            },
        )?;
        same(&output, &seen, "captures and a traced flow")?;
        laws::check_captures(&case, &seen)?;
    }
    report(&output);
    Ok(())
}

/// Reports a run that obeyed the laws.
fn report(output: &RunOutput) {
    let (ports, flows) = (&output.whole_ports, &output.records.flows);
    counts::report(&[
        ("executions", 1),
        ("losses", ports.iter().map(|port| port.losses).sum()),
        ("drops", ports.iter().map(|port| port.drops).sum()),
        ("messages", flows.len() as u64),
        (
            "delivered",
            flows.iter().filter(|flow| flow.finish.is_some()).count() as u64,
        ),
        ("bytes", flows.iter().map(|flow| flow.delivered_bytes).sum()),
    ]);
}

fn options() -> Options {
    Options {
        threads: 1,
        ..Options::default()
    }
}

fn outcome(case: &Case, options: &Options) -> Result<RunOutput, String> {
    // The threads of a run wait for each other constantly, so a run on two threads excludes all others.
    static PROCESSORS: RwLock<()> = RwLock::new(());
    let (mut alone, mut shared) = (None, None);
    if options.threads > 1 {
        alone = Some(PROCESSORS.write().unwrap_or_else(PoisonError::into_inner));
    } else {
        shared = Some(PROCESSORS.read().unwrap_or_else(PoisonError::into_inner));
    }
    let result = run(&case.scenario, 0, 0, options);
    drop((alone.take(), shared.take()));
    result.map_err(|error| format!("refused: {error}"))
}

/// Returns an error with the first record that differs.
fn same(a: &RunOutput, b: &RunOutput, change: &str) -> Result<(), String> {
    let (a, b) = (&a.records, &b.records);
    if digest(a) == digest(b) {
        return Ok(());
    }
    let first = |pairs: Vec<(String, String)>| pairs.into_iter().find(|(a, b)| a != b);
    let flows = a
        .flows
        .iter()
        .zip(&b.flows)
        .map(|(a, b)| (format!("{a:?}"), format!("{b:?}")))
        .collect();
    let queries = a
        .queries
        .iter()
        .zip(&b.queries)
        .map(|(a, b)| (format!("{a:?}"), format!("{b:?}")))
        .collect();
    let ports = a
        .ports
        .iter()
        .zip(&b.ports)
        .map(|(a, b)| (format!("{a:?}"), format!("{b:?}")))
        .collect();
    let totals = vec![(format!("{:?}", a.totals), format!("{:?}", b.totals))];
    let lengths = |r: &duetime_results::RunRecords| {
        format!(
            "{} flows, {} ports, {} samples",
            r.flows.len(),
            r.ports.len(),
            r.series.len()
        )
    };
    let difference = first(flows)
        .or_else(|| first(queries))
        .or_else(|| first(ports))
        .or_else(|| first(totals));
    let (a, b) = difference.unwrap_or_else(|| (lengths(a), lengths(b)));
    Err(format!("with {change}, {a}\n  became {b}"))
}
