//! Strict-priority classes of messages: shorter deadlines first, by quantiles of the deadlines that the workload draws
//! (D3's `TCPpr`, §6.1).

use super::draw::deadline_at_most;
use super::oldi::recorded_share;
use duetime_core::Span;
use duetime_results::record::Class;
use duetime_scenario::model::{Deadline, Spans, WorkloadKind};
use std::collections::BTreeMap;

/// Quartiles of a workload's deadlines.
#[derive(Clone, Debug)]
pub(super) struct Priorities {
    /// Quartiles, or `None` without deadlines.
    quartiles: Option<[Span; 3]>,
}

impl Priorities {
    pub(super) fn new(kind: &WorkloadKind) -> Self {
        let parts = mixture(kind);
        let quartiles = match kind {
            WorkloadKind::Trace { flows } => {
                let mut deadlines: Vec<Span> =
                    flows.iter().filter_map(|flow| flow.deadline).collect();
                deadlines.sort_unstable();
                let rank = |quarter: usize| (deadlines.len() * quarter).div_ceil(4).max(1) - 1;
                (!deadlines.is_empty()).then(|| [1, 2, 3].map(|quarter| deadlines[rank(quarter)]))
            }
            _ => {
                (!parts.is_empty()).then(|| [0.25, 0.5, 0.75].map(|share| quantile(&parts, share)))
            }
        };
        Self { quartiles }
    }

    /// Returns the class of a message with this drawn deadline. With three classes, deadlines use only two, so that the
    /// lowest class is left to flows without a deadline.
    pub(super) fn class(&self, class: Class, deadline: Option<Span>, classes: u8) -> u8 {
        let Some(deadline) = deadline else {
            // A query without its own deadline leads to answers with one, so it is not background traffic.
            let urgent = matches!(class, Class::Query | Class::Cancel) && self.quartiles.is_some();
            return if urgent { 0 } else { classes.max(1) - 1 };
        };
        let above = |quartile: usize| {
            u8::from(
                self.quartiles
                    .is_some_and(|quartiles| deadline > quartiles[quartile]),
            )
        };
        match classes {
            0 | 1 => 0,
            2 | 3 => above(1),
            _ => above(0) + above(1) + above(2),
        }
    }
}

/// A distribution of deadlines as a weighted mixture of (weight, deadline, share of the deadline that counts).
pub(crate) type Mixture = Vec<(f64, Deadline, f64)>;

/// Returns the distribution of the deadlines of a workload's flows, queries excluded. Weights sum to 1.
pub(crate) fn mixture(kind: &WorkloadKind) -> Mixture {
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

/// Returns the smallest deadline that at least `share` of the draws do not exceed, found by bisection to a picosecond.
pub(crate) fn quantile(parts: &Mixture, share: f64) -> Span {
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
