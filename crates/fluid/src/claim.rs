//! What a flow, or a batch of flows, claims of a link by a deadline. All times and works are in picoseconds.

use std::collections::BinaryHeap;

/// Work that a link must do by a deadline, or else it is late.
pub(crate) trait Claim {
    /// None of it can be done before.
    fn from(&self) -> u64;

    /// All of it must be done by then.
    fn due(&self) -> u64;

    /// The least work that it takes to be in time.
    fn work(&self) -> u64;

    /// The least of that which is left at `start`, however much was done before.
    fn work_after(&self, start: u64) -> u64;

    /// How many pieces it has: the cost of asking for `work_after`.
    fn parts(&self) -> usize;
}

/// Moore's algorithm for claims that all start together, given as (time to the deadline, work) by deadline: how many
/// must be late.
pub(crate) fn moore(by_deadline: impl Iterator<Item = (u64, u64)>) -> usize {
    let mut taken = Taken::default();
    by_deadline.for_each(|(time, work)| taken.take(time, work));
    taken.late
}

/// The claims that Moore's algorithm has taken so far.
#[derive(Default)]
pub(crate) struct Taken {
    works: BinaryHeap<u64>,
    sum: u128,
    /// Those given up.
    pub(crate) late: usize,
}

impl Taken {
    /// Takes the claim with the next deadline, `time` after the common start; gives the largest up if they do not fit.
    pub(crate) fn take(&mut self, time: u64, work: u64) {
        self.works.push(work);
        self.sum += u128::from(work);
        if self.sum > u128::from(time) {
            self.sum -= u128::from(self.works.pop().unwrap_or(0));
            self.late += 1;
        }
    }

    pub(crate) fn clear(&mut self) {
        self.works.clear();
        (self.sum, self.late) = (0, 0);
    }
}

/// Busy periods: a link that does all work as it comes is idle between them. Each is sorted by start.
///
/// To split loses nothing: claims of one period can be kept within it, and any sum over disjoint sets of claims is a
/// bound for all of them.
pub(crate) fn periods<C: Claim>(claims: &mut [C]) -> Vec<&mut [C]> {
    claims.sort_unstable_by_key(|claim| (claim.from(), claim.due()));
    let mut busy_until = 0u128;
    let mut begins = Vec::new();
    for (index, claim) in claims.iter().enumerate() {
        let from = u128::from(claim.from());
        if index == 0 || from >= busy_until {
            begins.push(index);
        }
        busy_until = busy_until.max(from) + u128::from(claim.work());
    }
    let mut rest = claims;
    let mut periods = Vec::with_capacity(begins.len());
    for &begin in begins.iter().rev() {
        let (before, period) = rest.split_at_mut(begin);
        periods.push(period);
        rest = before;
    }
    periods.reverse();
    periods
}
