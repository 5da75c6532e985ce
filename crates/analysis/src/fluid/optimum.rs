//! Minimum number of late flows over all schedules, including those that know the future.

use super::claim::{Claim, moore, periods};
use super::{Job, search, windows};
use duetime_core::{Rate, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Minimum number of late flows over all schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FewestLate {
    /// Lower bound: no schedule has fewer late flows.
    pub late: usize,
    /// True if some schedule attains the bound.
    pub exact: bool,
}

/// Returns the minimum number of late flows among `jobs` on a link of `rate`. Flows without a deadline are ignored,
/// because they can always wait.
///
/// Flows that would be late even alone are counted first. The others are split into busy periods of a work-conserving
/// link, which are independent of each other. The result for a period is
///
/// - zero, if earliest deadline first meets all deadlines, because it is then optimal (Dertouzos 1974);
/// - the optimum by Moore's algorithm (1968), if all flows start together: accept flows by deadline, and whenever one
///   would be late, drop the largest accepted so far; in reversed time, if all flows are due together;
/// - the optimum by search, for up to 12 flows;
/// - otherwise the lower bound of the module `windows`.
///
/// Work is rounded down to a picosecond, so the result remains a lower bound.
pub fn fewest_late(rate: Rate, jobs: &[Job]) -> FewestLate {
    let mut flows: Vec<Flow> = jobs.iter().filter_map(|job| Flow::new(rate, job)).collect();
    let all = flows.len();
    flows.retain(Flow::is_possible);
    let infeasible = FewestLate {
        late: all - flows.len(),
        exact: true,
    };
    let periods_late = periods(&mut flows).into_iter().map(late_in_period);
    periods_late.fold(infeasible, |sum, period| FewestLate {
        late: sum.late + period.late,
        exact: sum.exact && period.exact,
    })
}

fn late_in_period(flows: &mut [Flow]) -> FewestLate {
    let exact = |late| FewestLate { late, exact: true };
    flows.sort_unstable_by_key(|flow| (flow.due, flow.from));
    if flows.len() == 1 || earliest_deadline_meets(flows) {
        return exact(0);
    }
    let (first, last) = (flows[0], flows[flows.len() - 1]);
    let start_together = flows.iter().all(|flow| flow.from == first.from);
    if start_together || first.due == last.due {
        if !start_together {
            // In reversed time, all flows start at their common deadline.
            flows.sort_unstable_by_key(|flow| Reverse(flow.from));
        }
        return exact(moore(
            flows.iter().map(|flow| (flow.due - flow.from, flow.work)),
        ));
    }
    if flows.len() <= search::MAX_FLOWS {
        return exact(search::fewest_late(flows));
    }
    FewestLate {
        late: windows::fewest_late(flows),
        exact: false,
    }
}

/// Flow with a deadline; times and work are in picoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flow {
    pub(crate) from: u64,
    pub(crate) due: u64,
    pub(crate) work: u64,
}

impl Flow {
    fn new(rate: Rate, job: &Job) -> Option<Self> {
        Some(Self {
            from: job.arrival.as_ps(),
            due: job.deadline?.as_ps(),
            work: job.least_work(rate),
        })
    }

    /// Returns true if the flow can be in time when it is alone.
    fn is_possible(&self) -> bool {
        self.from <= self.due && self.work <= self.due - self.from
    }
}

impl Claim for Flow {
    fn from(&self) -> u64 {
        self.from
    }

    fn due(&self) -> u64 {
        self.due
    }

    fn work(&self) -> u64 {
        self.work
    }

    fn work_after(&self, start: u64) -> u64 {
        self.work.saturating_sub(start.saturating_sub(self.from))
    }

    fn parts(&self) -> usize {
        1
    }
}

/// Returns true if preemptive earliest deadline first meets all deadlines.
fn earliest_deadline_meets(flows: &[Flow]) -> bool {
    let mut by_arrival: Vec<&Flow> = flows.iter().collect();
    by_arrival.sort_unstable_by_key(|flow| flow.from);
    // (deadline, remaining work)
    let mut ready: BinaryHeap<Reverse<(u64, u64)>> = BinaryHeap::new();
    let mut now = 0;
    let mut serve_until = |until: u64, ready: &mut BinaryHeap<Reverse<(u64, u64)>>| {
        while now < until
            && let Some(Reverse((due, left))) = ready.pop()
        {
            let served = left.min(until - now);
            now += served;
            if now > due {
                return false;
            }
            if left > served {
                ready.push(Reverse((due, left - served)));
            }
        }
        now = until;
        true
    };
    for flow in by_arrival {
        if !serve_until(flow.from, &mut ready) {
            return false;
        }
        ready.push(Reverse((flow.due, flow.work)));
    }
    serve_until(u64::MAX, &mut ready)
}

/// Returns true if some schedule meets every deadline, by the demand bound: in no time window is more work both
/// released and due than fits. This test does not depend on any scheduler.
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
