//! Reservation of size / time to deadline, in order of arrival (D3 §3).

use super::{Job, by_arrival};
use duetime_core::{Rate, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Full capacity of the link, in units of 2⁻⁶⁴ of the link.
const LINK: u128 = 1 << 64;

pub(crate) fn finish(rate: Rate, jobs: &[Job]) -> Vec<Option<Time>> {
    let mut finishes = vec![None; jobs.len()];
    let mut held: BinaryHeap<Reverse<(Time, u128)>> = BinaryHeap::new();
    let mut reserved = 0;
    for i in by_arrival(jobs) {
        let job = &jobs[i];
        while let Some(&Reverse((end, share))) = held.peek()
            && end <= job.arrival
        {
            reserved -= share;
            held.pop();
        }
        let work = u128::from(job.work(rate).as_ps());
        let Some(deadline) = job.deadline.filter(|&deadline| deadline >= job.arrival) else {
            continue;
        };
        let time = u128::from(deadline.since(job.arrival).as_ps());
        if work > time {
            continue;
        }
        let share = (work << 64).checked_div(time).unwrap_or(0);
        if reserved + share <= LINK {
            reserved += share;
            held.push(Reverse((deadline, share)));
            // At its reserved rate, a flow finishes exactly at its deadline.
            finishes[i] = Some(if work == 0 { job.arrival } else { deadline });
        }
    }
    finishes
}
