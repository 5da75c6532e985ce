//! The fewest flows that any schedule, knowing the future, must let be late.

use crate::claim::{Claim, moore, periods};
use crate::{Job, search, windows};
use duetime_core::{Rate, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How many flows must be late, whatever the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FewestLate {
    /// No schedule has fewer late flows.
    pub late: usize,
    /// Some schedule has no more.
    pub exact: bool,
}

/// The fewest late flows among `jobs` on a link of `rate`. Flows without a deadline do not matter: they can always wait.
///
/// Flows that would be late even alone are counted first. The others fall into busy periods, in which an ever busy link
/// would serve them all; what happens in one does not matter to the next. For a period it is
///
/// - zero, if earliest deadline first meets all (it then is optimal; Dertouzos 1974);
/// - the optimum by Moore's algorithm (1968), if all flows start together: take flows by deadline, and whenever one
///   would be late, give up the largest taken so far; and by the same in reversed time, if all are due together;
/// - the optimum by search, for up to 12 flows;
/// - otherwise the lower bound of the module `windows`.
///
/// Work is rounded down to a picosecond, so that the bound stays one.
pub fn fewest_late(rate: Rate, jobs: &[Job]) -> FewestLate {
    let mut flows: Vec<Flow> = jobs.iter().filter_map(|job| Flow::new(rate, job)).collect();
    let all = flows.len();
    flows.retain(Flow::is_possible);
    let hopeless = FewestLate {
        late: all - flows.len(),
        exact: true,
    };
    let each = periods(&mut flows).into_iter().map(of_period);
    each.fold(hopeless, |sum, of| FewestLate {
        late: sum.late + of.late,
        exact: sum.exact && of.exact,
    })
}

fn of_period(flows: &mut [Flow]) -> FewestLate {
    let exact = |late| FewestLate { late, exact: true };
    flows.sort_unstable_by_key(|flow| (flow.due, flow.from));
    if flows.len() == 1 || earliest_deadline_meets(flows) {
        return exact(0);
    }
    let (first, last) = (flows[0], flows[flows.len() - 1]);
    let start_together = flows.iter().all(|flow| flow.from == first.from);
    if start_together || first.due == last.due {
        if !start_together {
            // The same in reversed time, where all start at their common deadline.
            flows.sort_unstable_by_key(|flow| Reverse(flow.from));
        }
        return exact(moore(
            flows.iter().map(|flow| (flow.due - flow.from, flow.work)),
        ));
    }
    if flows.len() <= search::MOST {
        return exact(search::fewest_late(flows));
    }
    FewestLate {
        late: windows::fewest_late(flows),
        exact: false,
    }
}

/// A flow with a deadline, in picoseconds.
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

    /// Whether it can be in time when it is alone.
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

/// Whether preemptive earliest deadline first meets all of them.
fn earliest_deadline_meets(flows: &[Flow]) -> bool {
    let mut by_arrival: Vec<&Flow> = flows.iter().collect();
    by_arrival.sort_unstable_by_key(|flow| flow.from);
    // (deadline, what is left)
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
