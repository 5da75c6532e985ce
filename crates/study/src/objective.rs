//! Objectives of queries as text.

use duetime_scenario::Scenario;
use duetime_scenario::model::{Objective, Oldi, Workload, WorkloadKind};

use crate::text;

/// Returns the objective of the workload's queries, such as `99 of 100 answers within 5 ms`, or `None` if the workload
/// has no queries that can be late.
pub fn objective(scenario: &Scenario, workload: u16) -> Option<String> {
    let workload = scenario.workloads.get(usize::from(workload))?;
    let answers = match &workload.kind {
        WorkloadKind::Oldi(oldi) => answers(oldi),
        WorkloadKind::Spans(spans) => share(&spans.objective),
        _ => return None,
    };
    let objective = workload.objective().filter(|_| workload.can_be_late());
    objective.map(|objective| with_times(&answers, objective))
}

/// Returns the common objective of all workloads' queries, a general sentence if they differ, or `None` without queries
/// that can be late.
pub fn objective_of_all(scenario: &Scenario) -> Option<String> {
    let all = (0..)
        .take(scenario.workloads.len())
        .filter_map(|index| objective(scenario, index));
    let mut all: Vec<String> = all.collect();
    all.dedup();
    match all.len() {
        0 => None,
        1 => all.pop(),
        _ => Some("enough answers in time, by each workload's objective".to_owned()),
    }
}

/// Returns the share of a workload's queries that must be in time, or `None` if none is set.
pub fn target_of(scenario: &Scenario, workload: u16) -> Option<f64> {
    scenario.objective(usize::from(workload))?.share
}

/// Returns the largest share of queries that any workload requires in time, or `None` if no workload sets one.
pub fn target(scenario: &Scenario) -> Option<f64> {
    let all = scenario.workloads.iter().filter_map(Workload::objective);
    let shares = all.filter_map(|objective| objective.share);
    shares.max_by(f64::total_cmp)
}

/// Formats the required answers of queries whose trees differ.
fn share(objective: &Objective) -> String {
    if objective.answers < 1.0 {
        format!("{} of its answers", text::percent(objective.answers))
    } else {
        "all its answers".to_owned()
    }
}

/// Formats the required answers of queries whose trees have the same shape.
fn answers(oldi: &Oldi) -> String {
    let leaves: u64 = oldi
        .fan_in
        .iter()
        .map(|&children| u64::from(children))
        .product();
    let needed = u64::from(duetime_sim::workload::needed(
        u32::try_from(leaves).unwrap_or(u32::MAX),
        oldi.objective.answers,
    ));
    match (needed == leaves, leaves) {
        (true, 1) => "its answer".to_owned(),
        (true, _) => format!("all {leaves} answers"),
        (false, _) => format!("{needed} of {leaves} answers"),
    }
}

fn with_times(answers: &str, objective: &Objective) -> String {
    let mut times: Vec<String> = objective
        .within
        .iter()
        .map(|within| text::seconds(within.as_secs_f64()))
        .collect();
    times.dedup();
    match times.as_slice() {
        [] => format!("{answers} by their own deadlines"),
        [one] => format!("{answers} within {one}"),
        [first, .., last] => {
            format!("{answers} within {first} to {last}, depending on the application")
        }
    }
}
