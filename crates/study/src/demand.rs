//! Memory that the flows of a study need, checked before anything runs or is written.

use duetime_analysis::{Description, describe};
use duetime_scenario::model::{Scenario, WorkloadKind};

use crate::error::StudyError;
use crate::text;

/// Upper bound on the memory of a flow in bytes: its record and, while it is open, its sender, receiver and timers.
/// Measured: 1,030 B per flow of a burst of 300,000 under TCP; 790 B per flow of 6 million Poisson flows.
pub const BYTES_PER_FLOW: f64 = 1_300.0;

/// Environment variable that sets the memory limit in bytes, instead of the memory that the system reports as
/// available.
pub const LIMIT: &str = "DUETIME_MEMORY_BYTES";

/// Describes the points of a study before they run and checks that `at_once` concurrent runs fit into memory. `points`
/// pairs each scenario with its label. [`crate::warnings::of_points`] derives warnings from the descriptions.
///
/// # Errors
/// If a point cannot be simulated, or does not fit into memory. The message gives the number of flows that fit.
pub fn describe_checked<'a>(
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

/// Checks that `at_once` concurrent runs of the largest point fit into memory, by their expected flows.
fn check(
    points: &[(&Scenario, &Description)],
    at_once: usize,
    available: Option<f64>,
) -> Result<(), StudyError> {
    let Some(available) = available else {
        return Ok(());
    };
    let flows = |point: &Description| -> f64 {
        let workloads = point.workloads.iter();
        workloads
            .filter_map(|workload| workload.expected_flows)
            .sum()
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
        "a run takes about {} for {} flows, and {} is available",
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
            "{at_once} concurrent runs do not fit into memory: {needs}; allowed: `--jobs {jobs}`"
        )));
    }
    let (name, key) = largest(scenario, most);
    Err(StudyError::Choice(format!(
        "the run does not fit into memory: {needs}; about {} flows fit: lower {key} of the workload `{name}`, or set \
         another limit in {LIMIT}",
        text::count(fit)
    )))
}

/// Returns the workload with the most flows and the key that sets their number.
fn largest<'a>(scenario: &'a Scenario, description: &Description) -> (&'a str, &'static str) {
    let expected = |index: usize| {
        let workload = description.workloads.get(index);
        workload
            .and_then(|workload| workload.expected_flows)
            .unwrap_or(0.0)
    };
    let most = (0..scenario.workloads.len()).max_by(|&a, &b| expected(a).total_cmp(&expected(b)));
    let Some(workload) = most.map(|index| &scenario.workloads[index]) else {
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

/// Returns the memory that a study may use in bytes: the value of [`LIMIT`], or nine tenths of the memory that the
/// system reports as available, or `None` if that is unknown.
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
    // A container's limit may be lower.
    let group = read("/sys/fs/cgroup/memory.max").and_then(|text| text.trim().parse::<f64>().ok());
    Some(0.9 * group.map_or(system, |group| group.min(system)))
}
