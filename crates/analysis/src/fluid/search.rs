//! The optimum for a few flows, by search.

use super::optimum::Flow;
use std::collections::BTreeSet;

/// Maximum number of flows to search: at most 2¹² sets.
pub(crate) const MAX_FLOWS: usize = 12;

/// Returns the minimum number of late flows among at most [`MAX_FLOWS`] flows sorted by deadline.
///
/// If more work is released and due within a window than fits, one of the window's flows must be late. The search tries
/// all sets that omit one of them, then those that omit two, and so on, until a set has no such window and is therefore
/// feasible.
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

/// Returns the smallest overloaded window found, as its set of flows, or `None` if all flows of the set can be in time.
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
    (0..MAX_FLOWS).filter(move |flow| set >> flow & 1 == 1)
}
