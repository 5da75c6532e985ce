//! Fair share, in virtual time. With n active flows virtual time passes n times slower, so each flow needs exactly its
//! work of it, and its end is known when it begins.

use crate::{Job, by_arrival};
use duetime_core::{Rate, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Both times are kept in units of 2⁻³² ps.
const FRACTION: u32 = 32;

pub(crate) fn finish(rate: Rate, jobs: &[Job]) -> Vec<Option<Time>> {
    let mut finishes = vec![None; jobs.len()];
    // (virtual end, index)
    let mut active: BinaryHeap<Reverse<(u128, usize)>> = BinaryHeap::new();
    let (mut real, mut virtually) = (0u128, 0u128);
    let mut run_until =
        |limit: u128, active: &mut BinaryHeap<Reverse<(u128, usize)>>, virtually: &mut u128| {
            while let Some(&Reverse((end, i))) = active.peek() {
                let sharing = active.len() as u128;
                let ends_at = real + (end - *virtually) * sharing;
                if ends_at > limit {
                    *virtually += (limit - real) / sharing;
                    break;
                }
                (real, *virtually) = (ends_at, end);
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
            &mut virtually,
        );
        let work = u128::from(jobs[i].work(rate).as_ps()) << FRACTION;
        active.push(Reverse((virtually + work, i)));
    }
    run_until(u128::MAX, &mut active, &mut virtually);
    finishes
}
