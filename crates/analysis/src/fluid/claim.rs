//! Claims of a flow or a batch of flows on a link. All times and amounts of work are in picoseconds.

use std::collections::BinaryHeap;

/// Work that a link must complete by a deadline.
pub(crate) trait Claim {
    /// Returns the earliest time at which the work can begin.
    fn from(&self) -> u64;

    /// Returns the deadline.
    fn due(&self) -> u64;

    /// Returns the minimum work needed to be in time.
    fn work(&self) -> u64;

    /// Returns the minimum work that remains at `start` under any earlier schedule.
    fn work_after(&self, start: u64) -> u64;

    /// Returns the number of parts, which determines the cost of `work_after`.
    fn parts(&self) -> usize;
}

/// Returns the number of late claims by Moore's algorithm. All claims start together and are given as (time to the
/// deadline, work), sorted by deadline.
pub(crate) fn moore(by_deadline: impl Iterator<Item = (u64, u64)>) -> usize {
    let mut taken = Taken::default();
    by_deadline.for_each(|(time, work)| taken.take(time, work));
    taken.late
}

/// Claims accepted so far by Moore's algorithm.
#[derive(Default)]
pub(crate) struct Taken {
    works: BinaryHeap<u64>,
    sum: u128,
    /// Number of claims dropped.
    pub(crate) late: usize,
}

impl Taken {
    /// Accepts the claim with the next deadline, `time` after the common start. Drops the largest claim if they do not
    /// all fit.
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

/// Splits the claims into busy periods, each sorted by start: a work-conserving link is idle between them.
///
/// The split does not weaken the bound: claims of one period can be scheduled within it, and any sum over disjoint sets
/// of claims is a bound for all of them.
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
