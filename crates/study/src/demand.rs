//! Whether the flows of a study fit into memory: said before anything runs or is written.

use duetime_scenario::model::{Scenario, WorkloadKind};
use duetime_sim::describe::{Description, describe};

use crate::error::StudyError;
use crate::text;

/// Memory that a flow takes at most, B: its record, and while it is open its sender, receiver and timers. Measured:
/// 1,030 B per flow of a burst of 300,000 under TCP; 790 B per flow of 6 million Poisson flows.
pub const BYTES_PER_FLOW: f64 = 1_300.0;

/// Names the memory that may be used, in bytes, instead of what the system says is available.
pub const LIMIT: &str = "DUETIME_MEMORY_BYTES";

/// What the points of a study contain, each with its label, told before any of them runs: the `at_once` runs at work at
/// one time are checked to fit into memory. [`crate::warnings::of_points`] says what else to know of them.
///
/// # Errors
/// If a point cannot be simulated, or does not fit: the message says how many flows would.
pub fn before_runs<'a>(
    points: impl IntoIterator<Item = (String, &'a Scenario)>,
    at_once: usize,
) -> Result<Vec<(String, Description)>, StudyError> {
    let (labels, scenarios): (Vec<_>, Vec<_>) = points.into_iter().unzip();
    let described = scenarios.iter().copied().map(describe);
    let described: Vec<Description> = described.collect::<Result<_, _>>()?;
    let points: Vec<_> = scenarios.into_iter().zip(&described).collect();
    check(&points, at_once, available())?;
    Ok(labels.into_iter().zip(described).collect())
}

/// Checks that the runs at work at one time fit, by the flows that are expected of each.
fn check(
    points: &[(&Scenario, &Description)],
    at_once: usize,
    available: Option<f64>,
) -> Result<(), StudyError> {
    let Some(available) = available else {
        return Ok(());
    };
    let flows = |of: &Description| -> f64 {
        let expected = of.workloads.iter().filter_map(|of| of.expected_flows);
        expected.sum()
    };
    let Some((scenario, most)) = points
        .iter()
        .max_by(|a, b| flows(a.1).total_cmp(&flows(b.1)))
    else {
        return Ok(());
    };
    let (flows, fit) = (flows(most), available / BYTES_PER_FLOW);
    if flows * at_once as f64 <= fit {
        return Ok(());
    }
    let needed = flows * BYTES_PER_FLOW;
    let needs = format!(
        "a run takes about {} for {} flows, and {} are available",
        text::bytes(needed),
        text::count(flows),
        text::bytes(available)
    );
    if needed <= available {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a number of jobs; casts from floats saturate"
        )]
        let jobs = (fit / flows) as usize;
        return Err(StudyError::Choice(format!(
            "{at_once} runs at the same time do not fit into memory: {needs}; allowed: `--jobs {jobs}`"
        )));
    }
    let (name, key) = largest(scenario, most);
    Err(StudyError::Choice(format!(
        "the run does not fit into memory: {needs}; about {} flows fit: lower {key} of the workload `{name}` (or name \
         another limit in {LIMIT})",
        text::count(fit)
    )))
}

/// The workload with most flows, and the key that says how many they are.
fn largest<'a>(scenario: &'a Scenario, of: &Description) -> (&'a str, &'static str) {
    let expected = |at: usize| {
        let described = of.workloads.get(at);
        described.and_then(|of| of.expected_flows).unwrap_or(0.0)
    };
    let most = (0..scenario.workloads.len()).max_by(|&a, &b| expected(a).total_cmp(&expected(b)));
    let Some(workload) = most.map(|at| &scenario.workloads[at]) else {
        return ("", "`duration`");
    };
    let key = match &workload.kind {
        WorkloadKind::Burst {
            senders, repeat, ..
        } if repeat > senders => "`repeat`",
        WorkloadKind::Burst { .. } => "`senders`",
        WorkloadKind::Trace { .. } | WorkloadKind::Spans(_) => "`file`",
        WorkloadKind::Long { .. } => "`pairs`",
        _ => return (&workload.name, "`duration` of the scenario, or the rate"),
    };
    (&workload.name, key)
}

/// Memory that a study may use, in bytes: as [`LIMIT`] says, else nine tenths of what the system has available; `None`
/// where that is not known.
fn available() -> Option<f64> {
    if let Some(limit) = std::env::var(LIMIT).ok().and_then(|text| text.parse().ok()) {
        return Some(limit);
    }
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let system = read("/proc/meminfo").and_then(|text| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("MemAvailable:"))?;
        let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kilobytes * 1024.0)
    })?;
    // A container may have less.
    let group = read("/sys/fs/cgroup/memory.max").and_then(|text| text.trim().parse::<f64>().ok());
    Some(0.9 * group.map_or(system, |group| group.min(system)))
}
