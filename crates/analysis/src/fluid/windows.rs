//! Lower bound on the number of late claims, from time windows.
//!
//! Consider a window and the claims that are due within it. Their work that cannot have been completed before the
//! window begins must be done inside it. Assume that all of this work is available when the window begins, which can
//! only help; Moore's algorithm then gives the number of claims that must be late. Disjoint windows contain claims with
//! different deadlines, so their numbers add up, and the bound is the largest sum over all sets of disjoint windows.
//! Windows begin at the start of a claim and end at a deadline.

use super::claim::{Claim, Taken};
use std::collections::BTreeMap;

/// Maximum number of claims to examine over all windows of a busy period. Long periods try fewer window starts, which
/// weakens the bound but keeps it valid.
const MAX_EXAMINED: usize = 1 << 20;
/// Minimum number of window starts to try.
const MIN_STARTS: usize = 32;

/// Returns a lower bound on the number of late claims in one busy period, given the claims sorted by deadline.
pub(crate) fn fewest_late<C: Claim>(by_deadline: &[C]) -> usize {
    // Largest sum over disjoint windows that end at or before each time.
    let mut best: BTreeMap<u64, usize> = BTreeMap::from([(0, 0)]);
    let mut taken = Taken::default();
    for start in starts(by_deadline) {
        let before = best.range(..=start).next_back().map_or(0, |(_, &sum)| sum);
        let first = by_deadline.partition_point(|claim| claim.due() <= start);
        taken.clear();
        for claim in &by_deadline[first..] {
            let work = claim.work_after(start);
            if work == 0 {
                continue;
            }
            let late = taken.late;
            taken.take(claim.due() - start, work);
            if taken.late > late {
                raise(&mut best, claim.due(), before + taken.late);
            }
        }
    }
    best.last_key_value().map_or(0, |(_, &sum)| sum)
}

/// Returns the window starts to try.
fn starts<C: Claim>(claims: &[C]) -> Vec<u64> {
    let mut starts: Vec<u64> = claims.iter().map(Claim::from).collect();
    starts.sort_unstable();
    starts.dedup();
    let parts: usize = claims.iter().map(Claim::parts).sum();
    let max = (MAX_EXAMINED / parts.max(1)).max(MIN_STARTS);
    if starts.len() > max {
        // Pick evenly spaced starts, including the first.
        let all = starts.len();
        starts = (0..max).map(|i| starts[i * all / max]).collect();
    }
    starts
}

/// Records a sum at `at`, keeping `best` strictly increasing over time.
fn raise(best: &mut BTreeMap<u64, usize>, at: u64, sum: usize) {
    if best
        .range(..=at)
        .next_back()
        .is_some_and(|(_, &earlier)| earlier >= sum)
    {
        return;
    }
    let overtaken: Vec<u64> = best
        .range(at..)
        .take_while(|&(_, &later)| later <= sum)
        .map(|(&time, _)| time)
        .collect();
    for time in overtaken {
        best.remove(&time);
    }
    best.insert(at, sum);
}
