//! The optimum for a few flows, by search.

use crate::optimum::Flow;
use std::collections::BTreeSet;

/// Up to this many flows are searched: 2¹² sets at most.
pub(crate) const MOST: usize = 12;

/// The fewest of at most [`MOST`] flows, given by deadline, that must be late.
///
/// Where more work is started and due within a window than fits, one of the window's flows must be late. Every set that
/// lacks one of them is tried, then those that lack two, and so on, until one has no such window: it is feasible.
pub(crate) fn fewest_late(by_deadline: &[Flow]) -> usize {
    let mut sets = BTreeSet::from([(1u16 << by_deadline.len()) - 1]);
    for late in 0.. {
        let mut smaller = BTreeSet::new();
        for &set in &sets {
            let Some(conflict) = conflict(by_deadline, set) else {
                return late;
            };
            smaller.extend(members(conflict).map(|flow| set & !(1 << flow)));
        }
        sets = smaller;
    }
    unreachable!("the empty set is feasible")
}

/// The fewest flows of the set that do not fit into the window that they share; `None` if all can be in time.
fn conflict(by_deadline: &[Flow], set: u16) -> Option<u16> {
    let mut smallest: Option<u16> = None;
    for start in members(set).map(|flow| by_deadline[flow].from) {
        let (mut inside, mut work) = (0u16, 0u128);
        for flow in members(set).filter(|&flow| by_deadline[flow].from >= start) {
            inside |= 1 << flow;
            work += u128::from(by_deadline[flow].work);
            if work > u128::from(by_deadline[flow].due - start) {
                if smallest.is_none_or(|known| inside.count_ones() < known.count_ones()) {
                    smallest = Some(inside);
                }
                break;
            }
        }
    }
    smallest
}

fn members(set: u16) -> impl Iterator<Item = usize> {
    (0..MOST).filter(move |flow| set >> flow & 1 == 1)
}
