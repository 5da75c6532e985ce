//! The fewest flows that any schedule, knowing the future, must let be late.

use crate::Job;
use duetime_core::{Rate, Time};
use std::collections::{BTreeMap, BinaryHeap};

/// How many flows must be late, whatever the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FewestLate {
    /// No schedule has fewer late flows.
    pub late: usize,
    /// Some schedule has no more: all flows start together, so Moore's algorithm gives the optimum itself.
    pub exact: bool,
}

/// The fewest late flows among `jobs` on a link of `rate`. Flows without a deadline do not matter: they can always wait.
///
/// When all start together, this is Moore's algorithm (1968): take flows by deadline, and whenever one would be late,
/// give up the largest taken so far.
///
/// Otherwise it is a lower bound. Take a window of time, and the flows that both start and are due within it. Let them
/// all start with the window: this only helps, and now Moore's algorithm tells how many of them must be late. Windows
/// that do not overlap hold different flows, so their numbers add up; the bound is the largest sum over all sets of
/// disjoint windows. Windows begin at a flow's start and end at a flow's deadline, which loses nothing.
pub fn fewest_late(rate: Rate, jobs: &[Job]) -> FewestLate {
    let mut due: Vec<(Time, Time, u64)> = jobs
        .iter()
        .filter_map(|job| Some((job.deadline?, job.arrival, job.work(rate).as_ps())))
        .collect();
    due.sort_unstable();
    let mut starts: Vec<Time> = due.iter().map(|&(_, arrival, _)| arrival).collect();
    starts.sort_unstable();
    starts.dedup();
    // The largest sum of windows that end at or before each time.
    let mut best: BTreeMap<Time, usize> = BTreeMap::from([(Time::ZERO, 0)]);
    let mut hopeless = 0;
    due.retain(|&(deadline, arrival, work)| {
        // Late even alone. Taken out first, for its window may be empty or reversed.
        let possible = deadline >= arrival && work <= deadline.since(arrival).as_ps();
        hopeless += usize::from(!possible);
        possible
    });
    for &start in &starts {
        let before = best.range(..=start).next_back().map_or(0, |(_, &sum)| sum);
        let inside = due.iter().filter(|&&(_, arrival, _)| arrival >= start);
        for (deadline, late) in
            late_by_deadline(start, inside.map(|&(deadline, _, work)| (deadline, work)))
        {
            raise(&mut best, deadline, before + late);
        }
    }
    FewestLate {
        late: hopeless + best.last_key_value().map_or(0, |(_, &sum)| sum),
        exact: starts.len() <= 1,
    }
}

/// Moore's algorithm for flows that all start at `start`, given by deadline: after each of them, how many of those so
/// far must be late.
fn late_by_deadline(
    start: Time,
    by_deadline: impl Iterator<Item = (Time, u64)>,
) -> Vec<(Time, usize)> {
    let mut taken: BinaryHeap<u64> = BinaryHeap::new();
    let (mut work, mut late) = (0u128, 0);
    by_deadline
        .map(|(deadline, size)| {
            taken.push(size);
            work += u128::from(size);
            if work > u128::from(deadline.since(start).as_ps()) {
                work -= u128::from(taken.pop().unwrap_or(0));
                late += 1;
            }
            (deadline, late)
        })
        .collect()
}

/// Enters a sum at `at`, keeping `best` increasing with time.
fn raise(best: &mut BTreeMap<Time, usize>, at: Time, sum: usize) {
    if best
        .range(..=at)
        .next_back()
        .is_some_and(|(_, &earlier)| earlier >= sum)
    {
        return;
    }
    let overtaken: Vec<Time> = best
        .range(at..)
        .take_while(|&(_, &later)| later <= sum)
        .map(|(&time, _)| time)
        .collect();
    for time in overtaken {
        best.remove(&time);
    }
    best.insert(at, sum);
}

/// Whether some schedule meets every deadline: in no window of time is more work both started and due than fits. This
/// is the demand bound; it knows nothing of any scheduler.
pub fn is_feasible(rate: Rate, jobs: &[Job]) -> bool {
    let due: Vec<(Time, Time, u64)> = jobs
        .iter()
        .filter_map(|job| Some((job.arrival, job.deadline?, job.work(rate).as_ps())))
        .collect();
    due.iter().all(|&(from, _, _)| {
        due.iter().all(|&(_, to, _)| {
            let inside = due
                .iter()
                .filter(|&&(arrival, deadline, _)| arrival >= from && deadline <= to);
            let demand: u128 = inside.map(|&(_, _, work)| u128::from(work)).sum();
            demand <= u128::from(to.since(from).as_ps())
        })
    })
}
