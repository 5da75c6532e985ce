//! Distribution of the deadlines of a workload.

use super::draw::deadline_at_most;
use duetime_core::Span;
use duetime_scenario::model::{Deadline, Spans, WorkloadKind};
use std::collections::BTreeMap;

/// A distribution of deadlines as a weighted mixture of (weight, deadline, share of the deadline that counts).
pub type Mixture = Vec<(f64, Deadline, f64)>;

/// Returns the distribution of the deadlines of a workload's flows, queries excluded. Weights sum to 1.
pub fn mixture(kind: &WorkloadKind) -> Mixture {
    let mut parts: Mixture = match kind {
        WorkloadKind::Oldi(oldi) => {
            let mut parts = Vec::new();
            for application in 0..oldi.applications as usize {
                let mut answers = 1.0;
                for (layer, &fan_in) in oldi.fan_in.iter().enumerate() {
                    answers *= f64::from(fan_in);
                    let share = oldi.layer_share.get(layer).copied().unwrap_or(1.0);
                    parts.push((
                        answers,
                        oldi.deadline[application % oldi.deadline.len()],
                        share,
                    ));
                }
            }
            parts
        }
        WorkloadKind::Burst { deadline, .. }
        | WorkloadKind::Poisson { deadline, .. }
        | WorkloadKind::Background { deadline, .. }
        | WorkloadKind::Permutation { deadline, .. } => vec![(1.0, *deadline, 1.0)],
        WorkloadKind::Spans(spans) => recorded(spans),
        WorkloadKind::Long { .. } | WorkloadKind::Trace { .. } => Vec::new(),
    };
    parts.retain(|(weight, deadline, share)| {
        *deadline != Deadline::None && *weight > 0.0 && *share > 0.0
    });
    let total: f64 = parts.iter().map(|part| part.0).sum();
    for part in &mut parts {
        part.0 /= total;
    }
    parts
}

/// Returns one part per depth and number of layers.
fn recorded(spans: &Spans) -> Mixture {
    let mut answers: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for query in &spans.queries {
        let mut depths = vec![0usize; query.nodes.len()];
        for (position, node) in query.nodes.iter().enumerate().skip(1) {
            depths[position] = depths[node.parent as usize] + 1;
        }
        let layers = depths.last().copied().unwrap_or(0);
        for &depth in &depths[1..] {
            *answers.entry((layers, depth)).or_default() += 1.0;
        }
    }
    let part = |((layers, depth), count)| (count, spans.deadline, recorded_share(layers, depth));
    answers.into_iter().map(part).collect()
}

/// Returns the share of the deadline that answers at `depth` links below the root may use, in a recorded tree with
/// `layers` layers.
pub fn recorded_share(layers: usize, depth: usize) -> f64 {
    (layers + 1 - depth) as f64 / layers as f64
}

/// Returns the smallest deadline that at least `share` of the draws do not exceed, found by bisection to a picosecond.
pub fn quantile(parts: &Mixture, share: f64) -> Span {
    let at_most = |ps: u64| -> f64 {
        let part = |(weight, deadline, scale): &(f64, Deadline, f64)| {
            weight * deadline_at_most(deadline, Span::from_ps((ps as f64 / scale) as u64))
        };
        parts.iter().map(part).sum()
    };
    let (mut low, mut high) = (0, 1);
    // Rounding may keep the sum of the weights slightly below 1.
    let share = share.min(1.0 - 1e-9);
    while at_most(high) < share && high < u64::MAX / 2 {
        (low, high) = (high, high * 2);
    }
    while high - low > 1 {
        let middle = low.midpoint(high);
        if at_most(middle) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    Span::from_ps(high)
}
