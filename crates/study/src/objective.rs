//! What the owner of a service wants of a query, in words.

use duetime_scenario::Scenario;
use duetime_scenario::model::{Oldi, Workload};

use crate::text;

/// What is wanted of a query of this workload, such as `99 of 100 answers within 5 ms`; `None` for one without queries
/// that can be late.
pub fn objective(scenario: &Scenario, workload: u16) -> Option<String> {
    let oldi = scenario.oldi(usize::from(workload))?;
    is_judged(oldi).then(|| of(oldi))
}

/// What is wanted of a query of all workloads: theirs where they agree.
pub fn objective_of_all(scenario: &Scenario) -> Option<String> {
    let all = (0..)
        .take(scenario.workloads.len())
        .filter_map(|at| objective(scenario, at));
    let mut all: Vec<String> = all.collect();
    all.dedup();
    match all.len() {
        0 => None,
        1 => all.pop(),
        _ => Some("enough answers in time, by each workload's objective".to_owned()),
    }
}

/// The share of the queries that shall be in time: the strictest of all workloads.
pub fn target(scenario: &Scenario) -> Option<f64> {
    let trees = scenario.workloads.iter().filter_map(Workload::oldi);
    let shares = trees.filter_map(|oldi| oldi.objective.share);
    shares.max_by(f64::total_cmp)
}

fn is_judged(oldi: &Oldi) -> bool {
    (0..oldi.applications as usize).any(|application| oldi.is_judged(application))
}

fn of(oldi: &Oldi) -> String {
    let leaves: u64 = oldi
        .fan_in
        .iter()
        .map(|&children| u64::from(children))
        .product();
    let needed = u64::from(duetime_sim::workload::needed(
        u32::try_from(leaves).unwrap_or(u32::MAX),
        oldi.objective.answers,
    ));
    let answers = match (needed == leaves, leaves) {
        (true, 1) => "its answer".to_owned(),
        (true, _) => format!("all {leaves} answers"),
        (false, _) => format!("{needed} of {leaves} answers"),
    };
    let mut times: Vec<String> = oldi
        .objective
        .within
        .iter()
        .map(|within| text::seconds(within.as_secs_f64()))
        .collect();
    times.dedup();
    match times.as_slice() {
        [] => format!("{answers} by their own deadlines"),
        [one] => format!("{answers} within {one}"),
        [first, .., last] => format!("{answers} within {first} to {last}, by application"),
    }
}
