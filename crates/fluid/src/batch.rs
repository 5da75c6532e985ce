//! Batches of flows that count as one: a query, which needs some of its answers by one deadline.

use crate::claim::{Claim, moore, periods};
use crate::windows;
use duetime_core::{Rate, Time};
use std::cmp::Reverse;

/// Flows of which `needed` must be done by one deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Each flow's arrival, and its bytes on the link.
    pub flows: Vec<(Time, u64)>,
    /// How many of them it takes; it is late if there are fewer.
    pub needed: usize,
    /// The batch's absolute deadline.
    pub deadline: Time,
}

/// A lower bound on the batches that must be late on a link of `rate`, whatever the schedule.
///
/// A batch that would be late even alone is counted first; whether it would is exact (Moore's algorithm in reversed
/// time, as all its flows are due together). For the others it is a relaxation: in each window of time a batch claims no
/// more than the smallest flows that would do, whichever flows those are in another window.
pub fn fewest_late_batches(rate: Rate, batches: &[Batch]) -> usize {
    let mut claims: Vec<Needs> = batches
        .iter()
        .filter_map(|batch| Needs::new(rate, batch))
        .collect();
    let hopeless = batches.len() - claims.len();
    let each = periods(&mut claims).into_iter().map(|period| {
        period.sort_unstable_by_key(|claim| (claim.due, claim.first()));
        windows::fewest_late(period)
    });
    hopeless + each.sum::<usize>()
}

/// A batch that can be in time when it is alone. Its flows are those that can be done by then.
#[derive(Debug)]
struct Needs {
    /// (arrival, work), by arrival.
    flows: Vec<(u64, u64)>,
    needed: usize,
    due: u64,
    /// The works of the smallest that it needs.
    work: u64,
}

impl Needs {
    /// `None`: it cannot be in time.
    fn new(rate: Rate, batch: &Batch) -> Option<Self> {
        let due = batch.deadline.as_ps();
        let works = batch
            .flows
            .iter()
            .map(|&(at, bytes)| (at.as_ps(), least_work(rate, bytes)));
        let mut flows: Vec<(u64, u64)> = works
            .filter(|&(at, work)| at <= due && work <= due - at)
            .collect();
        flows.sort_unstable_by_key(|&(at, work)| (Reverse(at), work));
        let late = moore(flows.iter().map(|&(at, work)| (due - at, work)));
        if flows.len() - late < batch.needed {
            return None;
        }
        flows.reverse();
        let mut needs = Self {
            flows,
            needed: batch.needed,
            due,
            work: 0,
        };
        needs.work = needs.smallest_after(0);
        Some(needs)
    }

    fn first(&self) -> u64 {
        self.flows.first().map_or(self.due, |flow| flow.0)
    }

    /// The smallest works of flows that arrive from `start` on, as many as are needed beside all earlier ones.
    fn smallest_after(&self, start: u64) -> u64 {
        let before = self.flows.partition_point(|&(at, _)| at < start);
        let mut later: Vec<u64> = self.flows[before..].iter().map(|flow| flow.1).collect();
        later.sort_unstable();
        later.iter().take(self.needed.saturating_sub(before)).sum()
    }
}

impl Claim for Needs {
    fn from(&self) -> u64 {
        self.first()
    }

    fn due(&self) -> u64 {
        self.due
    }

    fn work(&self) -> u64 {
        self.work
    }

    fn work_after(&self, start: u64) -> u64 {
        let first = self.first();
        if start <= first {
            return self.work;
        }
        // Before the window the link did no more than fits between the first arrival and its beginning.
        let left = self.work.saturating_sub(start - first);
        let last = self.flows.last().map_or(first, |flow| flow.0);
        if start > last {
            left
        } else {
            left.max(self.smallest_after(start))
        }
    }

    fn parts(&self) -> usize {
        self.flows.len().max(1)
    }
}

/// The time that `bytes` take, rounded down to a picosecond, so that a sum of many is no longer than it can be.
pub(crate) fn least_work(rate: Rate, bytes: u64) -> u64 {
    const PS_BITS_PER_BYTE: u128 = 8_000_000_000_000;
    let ps = u128::from(bytes) * PS_BITS_PER_BYTE / u128::from(rate.as_bps().max(1));
    u64::try_from(ps).unwrap_or(u64::MAX)
}
