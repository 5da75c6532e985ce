//! A lower bound on late claims by windows of time.
//!
//! Take a window and the claims that are due within it. What of them cannot have been done before the window begins
//! must be done inside. Let all that be there when it begins: this only helps, and now Moore's algorithm tells how many
//! of them must be late. Windows that do not overlap hold claims with different deadlines, so their numbers add up; the
//! bound is the largest sum over all sets of disjoint windows. Windows begin where a claim starts and end at a deadline.

use crate::claim::{Claim, Taken};
use std::collections::BTreeMap;

/// Claims looked at, over all windows of a busy period: long periods try fewer beginnings, which weakens the bound and
/// keeps it one.
const MOST_LOOKS: usize = 1 << 20;
/// Beginnings that are tried in any case.
const LEAST_STARTS: usize = 32;

/// How many of the claims of one busy period must be late at least; they are given by deadline.
pub(crate) fn fewest_late<C: Claim>(by_deadline: &[C]) -> usize {
    // The largest sum of windows that end at or before each time.
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

/// Where windows begin.
fn starts<C: Claim>(claims: &[C]) -> Vec<u64> {
    let mut starts: Vec<u64> = claims.iter().map(Claim::from).collect();
    starts.sort_unstable();
    starts.dedup();
    let parts: usize = claims.iter().map(Claim::parts).sum();
    let most = (MOST_LOOKS / parts.max(1)).max(LEAST_STARTS);
    if starts.len() > most {
        // Evenly among them, the first included.
        let all = starts.len();
        starts = (0..most).map(|i| starts[i * all / most]).collect();
    }
    starts
}

/// Enters a sum at `at`, keeping `best` increasing with time.
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
