//! Query rate of trees whose queries arrive at gaps, and the resulting load.

use duetime_analysis::describe;
use duetime_core::Span;
use duetime_scenario::Scenario;
use duetime_scenario::model::{Gap, Oldi, QueryArrival, Workload, WorkloadKind};
use duetime_sim::workload::draw::mean_gap;

use super::step::{MICRO, decimal};
use crate::text;

/// Returns the queries per second of all trees together.
pub(super) fn query_rate(oldi: &Oldi, gap: &Gap) -> f64 {
    trees(oldi) / mean_gap(gap).as_secs_f64()
}

fn trees(oldi: &Oldi) -> f64 {
    f64::from(oldi.applications) * f64::from(oldi.trees)
}

/// Shortest mean gap between the queries of a tree that a scenario file allows.
const SHORTEST: Span = Span::from_ns(1);

/// Sets the rate of queries that arrive at gaps, in millionths per second of all trees together. The distribution of
/// the gaps is kept.
pub(super) fn set_query_rate(workload: &mut Workload, micros: u64) -> Result<(), String> {
    let WorkloadKind::Oldi(oldi) = &mut workload.kind else {
        return Err(format!("{}: no queries", workload.name));
    };
    let trees = trees(oldi);
    let QueryArrival::Every(gap) = &mut oldi.arrival else {
        return Err(format!("{}: no gaps between queries", workload.name));
    };
    let mean = picoseconds(trees * 1e12 / (micros as f64 / MICRO as f64));
    if mean < SHORTEST {
        return Err(format!(
            "{}: {} queries per second at {trees} trees; allowed: at most one per tree in {SHORTEST}",
            workload.name,
            decimal(micros)
        ));
    }
    let factor = mean.as_ps() as f64 / mean_gap(gap).as_ps() as f64;
    let scale = |span: &mut Span| *span = picoseconds(span.as_ps() as f64 * factor);
    match gap {
        Gap::Fixed(all) | Gap::Exponential(all) => *all = mean,
        Gap::Uniform(low, high) => [low, high].into_iter().for_each(scale),
        Gap::LogNormal { median, .. } => scale(median),
        Gap::Pareto { least, most, .. } => {
            scale(least);
            most.as_mut().into_iter().for_each(scale);
        }
        Gap::Cdf { points, .. } => points.iter_mut().for_each(|(ps, _)| *ps *= factor),
    }
    Ok(())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times are positive, and casts from floats saturate"
)]
fn picoseconds(ps: f64) -> Span {
    Span::from_ps((ps.round() as u64).max(1))
}

/// Returns the smallest and the largest load of the workloads at one query per second: the mean share of each root's
/// link that answers take. Returns `None` if it is unknown.
pub(super) fn loads_of_a_query(scenario: &Scenario, workloads: &[usize]) -> Option<(f64, f64)> {
    let described = describe(scenario).ok()?.workloads;
    let seconds = scenario.duration.as_secs_f64();
    let load = |&index: &usize| {
        let workload = &described[index];
        Some(workload.offered_load? * seconds / workload.expected_queries?)
    };
    let loads: Vec<f64> = workloads.iter().map(load).collect::<Option<_>>()?;
    let least = loads.iter().copied().reduce(f64::min)?;
    Some((least, loads.into_iter().reduce(f64::max)?))
}

/// Formats a range of loads: `15.2 %`, or `7.60 % to 15.2 %`.
pub(super) fn between_loads(low: f64, high: f64) -> String {
    let (low, high) = (text::percent(low), text::percent(high));
    if low == high {
        low
    } else {
        format!("{low} to {high}")
    }
}
