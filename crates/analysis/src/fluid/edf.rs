//! Preemptive earliest deadline first.

use super::{Job, by_arrival};
use duetime_core::{Rate, Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub(crate) fn finish(rate: Rate, jobs: &[Job]) -> Vec<Option<Time>> {
    let mut finishes = vec![None; jobs.len()];
    let mut left: Vec<Span> = jobs.iter().map(|job| job.work(rate)).collect();
    // (deadline, arrival, index)
    let mut ready: BinaryHeap<Reverse<(Time, Time, usize)>> = BinaryHeap::new();
    let mut now = Time::ZERO;
    let order = by_arrival(jobs);
    let mut next = 0;
    while next < order.len() || !ready.is_empty() {
        let arrival = order.get(next).map_or(Time::MAX, |&i| jobs[i].arrival);
        let Some(&Reverse((_, _, i))) = ready.peek() else {
            now = arrival;
            ready.push(entry(jobs, order[next]));
            next += 1;
            continue;
        };
        let end = now + left[i];
        if end <= arrival {
            now = end;
            finishes[i] = Some(end);
            ready.pop();
        } else {
            left[i] = left[i].saturating_sub(arrival.since(now));
            now = arrival;
            ready.push(entry(jobs, order[next]));
            next += 1;
        }
    }
    finishes
}

fn entry(jobs: &[Job], i: usize) -> Reverse<(Time, Time, usize)> {
    Reverse((jobs[i].deadline.unwrap_or(Time::MAX), jobs[i].arrival, i))
}
