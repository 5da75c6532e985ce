//! Expected number of measured flows or queries: those that start within the measurement window, [warm-up, duration).

use duetime_core::Span;
use duetime_scenario::model::{Scenario, WorkloadKind};
use duetime_sim::workload::Trees;

/// Returns the number of flows, or queries of trees, expected in the measurement window, or `None` if it depends on the
/// network.
pub(super) fn expected(
    scenario: &Scenario,
    kind: &WorkloadKind,
    trees: Option<&Trees>,
    expected_flows: Option<f64>,
) -> Option<f64> {
    let (from, until) = (scenario.warm_up, scenario.duration);
    let measured = until.saturating_sub(from).as_secs_f64();
    // Share of a round's flows that start in the window, if they start uniformly within `jitter` of `at`.
    let share = |at: Span, jitter: Span| {
        if jitter == Span::ZERO {
            return f64::from(at >= from && at < until);
        }
        let (first, last) = (at.max(from), (at + jitter).min(until));
        last.saturating_sub(first).as_ps() as f64 / jitter.as_ps() as f64
    };
    Some(match kind {
        WorkloadKind::Oldi(_) => trees?
            .mean_gaps()
            .map(|(_, gap)| gap.map(|gap| measured / gap.as_secs_f64()))
            .sum::<Option<f64>>()?,
        WorkloadKind::Poisson { .. } | WorkloadKind::Background { .. } => {
            expected_flows? * measured / until.as_secs_f64().max(f64::MIN_POSITIVE)
        }
        WorkloadKind::Burst {
            senders,
            at,
            repeat,
            every,
            jitter,
            ..
        } => {
            // Skip the rounds that are certainly before the window, and stop after it.
            let skipped = from
                .saturating_sub(*at + *jitter)
                .as_ps()
                .checked_div(every.as_ps())
                .unwrap_or(0);
            let rounds = (skipped..u64::from((*repeat).max(1)))
                .map(|round| *at + Span::from_ps(every.as_ps().saturating_mul(round)))
                .take_while(|start| *start < until);
            f64::from(*senders) * rounds.map(|start| share(start, *jitter)).sum::<f64>()
        }
        WorkloadKind::Permutation { at, .. } => {
            f64::from(scenario.topology.hosts()) * share(*at, Span::ZERO)
        }
        WorkloadKind::Long { pairs, at, jitter } => pairs.len() as f64 * share(*at, *jitter),
        WorkloadKind::Trace { flows } => {
            let measured = flows
                .iter()
                .filter(|flow| flow.start >= from && flow.start < until);
            measured.count() as f64
        }
        WorkloadKind::Spans(spans) => {
            let queries = spans.queries.iter();
            queries
                .filter(|query| query.start >= from && query.start < until)
                .count() as f64
        }
    })
}
