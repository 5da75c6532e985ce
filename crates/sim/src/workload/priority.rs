//! Strict-priority classes of messages: shorter deadlines first, by quantiles of the deadlines that the workload draws
//! (D3's `TCPpr`, §6.1).

use super::deadlines::{mixture, quantile};
use duetime_core::Span;
use duetime_results::record::Class;
use duetime_scenario::model::WorkloadKind;

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
