//! Earliest deadline first as an online scheduler, which knows only the flows that have arrived.

use super::{Batch, Job};
use duetime_core::Rate;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Returns, for each job, true if it is in time on a link of `rate` under preemptive earliest deadline first. A flow
/// that can no longer be in time is dropped immediately and uses no more of the link. Jobs without a deadline come
/// after all others and count as in time.
pub fn online(rate: Rate, jobs: &[Job]) -> Vec<bool> {
    let batch = |job: &Job| {
        job.deadline.map(|deadline| Batch {
            flows: vec![(job.arrival, job.bytes)],
            needed: 1,
            deadline,
        })
    };
    let batches: Vec<Batch> = jobs.iter().filter_map(batch).collect();
    let mut in_time = online_batches(rate, &batches).into_iter();
    jobs.iter()
        .map(|job| job.deadline.is_none_or(|_| in_time.next().unwrap_or(false)))
        .collect()
}

/// Returns, for each batch, true if it is in time: the batch with the earliest deadline goes first, and within it the
/// flow with the least remaining work. After a batch has enough flows, its other flows wait behind all batches. A batch
/// is dropped when the missing flows that have arrived can no longer finish in time.
pub fn online_batches(rate: Rate, batches: &[Batch]) -> Vec<bool> {
    let mut arrivals: Vec<(u64, u64, usize)> = Vec::new();
    for (index, batch) in batches.iter().enumerate() {
        let flows = batch.flows.iter();
        arrivals
            .extend(flows.map(|&(at, bytes)| (at.as_ps(), rate.transmit(bytes).as_ps(), index)));
    }
    arrivals.sort_unstable();
    let mut states: Vec<State> = batches.iter().map(State::new).collect();
    // (deadline, batch) of batches that need more flows and have flows waiting.
    let mut ready: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    let mut now = 0;
    for (position, &(at, work, index)) in arrivals.iter().enumerate() {
        now = now.max(at);
        states[index].add(work);
        if states[index].missing > 0 && states[index].waiting.len() == 1 {
            ready.push(Reverse((states[index].due, index)));
        }
        let next = arrivals.get(position + 1).map_or(u64::MAX, |next| next.0);
        while now < next
            && let Some(&Reverse((_, index))) = ready.peek()
        {
            let state = &mut states[index];
            if !state.is_possible(now) {
                state.drop_flows();
            }
            if !state.serve(&mut now, next) {
                ready.pop();
            }
        }
    }
    states.iter().map(|state| state.in_time).collect()
}

struct State {
    due: u64,
    /// Number of flows still needed; also zero after the batch is dropped.
    missing: usize,
    /// Remaining work of each flow that has arrived, smallest last.
    waiting: Vec<u64>,
    in_time: bool,
}

impl State {
    fn new(batch: &Batch) -> Self {
        Self {
            due: batch.deadline.as_ps(),
            missing: batch.needed,
            waiting: Vec::new(),
            in_time: batch.needed == 0,
        }
    }

    fn add(&mut self, work: u64) {
        if self.missing > 0 {
            let place = self.waiting.partition_point(|&left| left > work);
            self.waiting.insert(place, work);
        }
    }

    /// Returns true if the needed flows that have arrived can still finish by the deadline.
    fn is_possible(&self, now: u64) -> bool {
        let needed = self.waiting.iter().rev().take(self.missing);
        let left: u128 = needed.map(|&left| u128::from(left)).sum();
        u128::from(now) + left <= u128::from(self.due)
    }

    fn drop_flows(&mut self) {
        self.missing = 0;
        self.waiting.clear();
    }

    /// Serves the smallest flow until it finishes or `until` is reached. Returns false if no flows are left waiting.
    fn serve(&mut self, now: &mut u64, until: u64) -> bool {
        let Some(left) = self.waiting.last_mut() else {
            return false;
        };
        let served = (*left).min(until - *now);
        *now += served;
        *left -= served;
        if *left == 0 {
            self.waiting.pop();
            self.missing -= 1;
            if self.missing == 0 {
                self.in_time = true;
                self.drop_flows();
            }
        }
        !self.waiting.is_empty()
    }
}
