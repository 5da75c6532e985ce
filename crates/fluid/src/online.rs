//! Earliest deadline first as a scheduler can do it that knows only what has arrived.

use crate::{Batch, Job};
use duetime_core::Rate;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Which of the jobs are in time when a link of `rate` is scheduled by preemptive earliest deadline first, and a flow
/// that can no longer be in time is given up at once, so that it takes no more of the link. Jobs without a deadline come
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

/// The same for batches: the batch with the earliest deadline goes first, of its flows the one with the least left. Once
/// it has what it needs, its other flows wait behind everything; a batch is given up when the flows that it lacks, as
/// far as they have arrived, can no longer be done in time.
pub fn online_batches(rate: Rate, batches: &[Batch]) -> Vec<bool> {
    let mut arrivals: Vec<(u64, u64, usize)> = Vec::new();
    for (index, batch) in batches.iter().enumerate() {
        let flows = batch.flows.iter();
        arrivals
            .extend(flows.map(|&(at, bytes)| (at.as_ps(), rate.transmit(bytes).as_ps(), index)));
    }
    arrivals.sort_unstable();
    let mut states: Vec<State> = batches.iter().map(State::new).collect();
    // (deadline, batch): batches that lack something and have something waiting.
    let mut ready: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    let mut now = 0;
    for (position, &(at, work, index)) in arrivals.iter().enumerate() {
        now = now.max(at);
        states[index].arrives(work);
        if states[index].lacks > 0 && states[index].waiting.len() == 1 {
            ready.push(Reverse((states[index].due, index)));
        }
        let next = arrivals.get(position + 1).map_or(u64::MAX, |next| next.0);
        while now < next
            && let Some(&Reverse((_, index))) = ready.peek()
        {
            let state = &mut states[index];
            if !state.is_possible(now) {
                state.give_up();
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
    /// Flows that it still needs; zero too when it has been given up.
    lacks: usize,
    /// What is left of each flow that has arrived, the least last.
    waiting: Vec<u64>,
    in_time: bool,
}

impl State {
    fn new(batch: &Batch) -> Self {
        Self {
            due: batch.deadline.as_ps(),
            lacks: batch.needed,
            waiting: Vec::new(),
            in_time: batch.needed == 0,
        }
    }

    fn arrives(&mut self, work: u64) {
        if self.lacks > 0 {
            let place = self.waiting.partition_point(|&left| left > work);
            self.waiting.insert(place, work);
        }
    }

    /// Whether what it lacks, as far as it has arrived, can be done by the deadline.
    fn is_possible(&self, now: u64) -> bool {
        let lacking = self.waiting.iter().rev().take(self.lacks);
        let left: u128 = lacking.map(|&left| u128::from(left)).sum();
        u128::from(now) + left <= u128::from(self.due)
    }

    fn give_up(&mut self) {
        self.lacks = 0;
        self.waiting.clear();
    }

    /// Does one flow, or as much of it as fits before `until`; false when nothing of it waits any more.
    fn serve(&mut self, now: &mut u64, until: u64) -> bool {
        let Some(left) = self.waiting.last_mut() else {
            return false;
        };
        let served = (*left).min(until - *now);
        *now += served;
        *left -= served;
        if *left == 0 {
            self.waiting.pop();
            self.lacks -= 1;
            if self.lacks == 0 {
                self.in_time = true;
                self.give_up();
            }
        }
        !self.waiting.is_empty()
    }
}
