//! Batches of flows that share a deadline and count as one, such as a query that needs some of its answers in time.

use super::claim::{Claim, moore, periods};
use super::windows;
use duetime_core::{Rate, Time};
use std::cmp::Reverse;

/// Flows of which `needed` must finish by a common deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Arrival of each flow and its bytes on the link.
    pub flows: Vec<(Time, u64)>,
    /// Minimum number of flows that must finish in time; otherwise the batch is late.
    pub needed: usize,
    /// Absolute deadline of the batch.
    pub deadline: Time,
}

/// Returns a lower bound on the number of late batches on a link of `rate`, over all schedules.
///
/// Batches that would be late even alone are counted first. This test is exact: Moore's algorithm in reversed time,
/// since all flows of a batch are due together. For the others the bound is a relaxation: in each time window a batch
/// claims only the smallest flows that would suffice, and these may differ between windows.
pub fn fewest_late_batches(rate: Rate, batches: &[Batch]) -> usize {
    let mut claims: Vec<Needs> = batches
        .iter()
        .filter_map(|batch| Needs::new(rate, batch))
        .collect();
    let infeasible = batches.len() - claims.len();
    let each = periods(&mut claims).into_iter().map(|period| {
        period.sort_unstable_by_key(|claim| (claim.due, claim.first()));
        windows::fewest_late(period)
    });
    infeasible + each.sum::<usize>()
}

/// Batch that can be in time when it is alone, reduced to the flows that can finish by the deadline.
#[derive(Debug)]
struct Needs {
    /// (arrival, work), sorted by arrival.
    flows: Vec<(u64, u64)>,
    needed: usize,
    due: u64,
    /// Total work of the smallest flows that suffice.
    work: u64,
}

impl Needs {
    /// Returns `None` if the batch cannot be in time.
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

    /// Returns the total work of the smallest flows that arrive at or after `start`, as many as are needed in addition
    /// to all earlier flows.
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
        // Before the window, the link completed at most the work that fits between the first arrival and the window's
        // start.
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

/// Returns the transmission time of `bytes` in picoseconds, rounded down so that a sum of many never exceeds the true
/// total.
pub(crate) fn least_work(rate: Rate, bytes: u64) -> u64 {
    const PS_BITS_PER_BYTE: u128 = 8_000_000_000_000;
    let ps = u128::from(bytes) * PS_BITS_PER_BYTE / u128::from(rate.as_bps().max(1));
    u64::try_from(ps).unwrap_or(u64::MAX)
}
