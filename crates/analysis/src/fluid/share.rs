//! Fair share, computed in virtual time. With n active flows virtual time runs n times slower, so each flow needs
//! exactly its work in virtual time, and its virtual finish time is known when it starts.

use super::{Job, by_arrival};
use duetime_core::{Rate, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Number of fraction bits of both clocks, whose unit is 2⁻³² ps.
const FRACTION: u32 = 32;

pub(crate) fn finish(rate: Rate, jobs: &[Job]) -> Vec<Option<Time>> {
    let mut finishes = vec![None; jobs.len()];
    // (virtual end, index)
    let mut active: BinaryHeap<Reverse<(u128, usize)>> = BinaryHeap::new();
    let (mut real, mut virtual_now) = (0u128, 0u128);
    let mut run_until =
        |limit: u128, active: &mut BinaryHeap<Reverse<(u128, usize)>>, virtual_now: &mut u128| {
            while let Some(&Reverse((end, i))) = active.peek() {
                let sharing = active.len() as u128;
                let ends_at = real + (end - *virtual_now) * sharing;
                if ends_at > limit {
                    *virtual_now += (limit - real) / sharing;
                    break;
                }
                (real, *virtual_now) = (ends_at, end);
                finishes[i] = Some(Time::from_ps(
                    u64::try_from(real >> FRACTION).unwrap_or(u64::MAX),
                ));
                active.pop();
            }
            real = limit.max(real);
        };
    for i in by_arrival(jobs) {
        run_until(
            u128::from(jobs[i].arrival.as_ps()) << FRACTION,
            &mut active,
            &mut virtual_now,
        );
        let work = u128::from(jobs[i].work(rate).as_ps()) << FRACTION;
        active.push(Reverse((virtual_now + work, i)));
    }
    run_until(u128::MAX, &mut active, &mut virtual_now);
    finishes
}
