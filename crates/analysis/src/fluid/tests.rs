mod bounds;
mod network;

use super::*;
use proptest::prelude::*;

/// 1 KB at 8 Gbps takes 1 µs.
const RATE: Rate = Rate::from_gbps(8);

const SCHEDULERS: [Scheduler; 3] = [
    Scheduler::FairShare,
    Scheduler::EarliestDeadline,
    Scheduler::Reservation,
];

/// Returns the number of jobs with a deadline that miss it.
fn late(scheduler: Scheduler, jobs: &[Job]) -> usize {
    let missed = |(job, finish): &(&Job, Option<Time>)| {
        job.deadline
            .is_some_and(|deadline| finish.is_none_or(|finish| finish > deadline))
    };
    let finishes = scheduler.finish(RATE, jobs);
    jobs.iter().zip(finishes).filter(missed).count()
}

fn job(arrival_us: u64, kilobytes: u64, deadline_us: Option<u64>) -> Job {
    Job {
        arrival: us(arrival_us),
        bytes: kilobytes * 1_000,
        deadline: deadline_us.map(us),
    }
}

fn us(at: u64) -> Time {
    Time::ZERO + Span::from_us(at)
}

#[test]
fn fair_share_by_hand() {
    // One flow until 2; two until 4 (the first has 8 left); three until 7, when the second (1 left) ends; two until 15,
    // when the third (4 left) ends, and the first has 3 left.
    let jobs = [job(0, 11, None), job(2, 2, None), job(4, 5, None)];
    let expected = [us(18), us(7), us(15)].map(Some).to_vec();
    assert_eq!(Scheduler::FairShare.finish(RATE, &jobs), expected);
}

#[test]
fn equal_flows_share_to_the_picosecond() {
    let jobs = [job(5, 7, None); 3];
    assert_eq!(Scheduler::FairShare.finish(RATE, &jobs), [Some(us(26)); 3]);
}

#[test]
fn earliest_deadline_preempts() {
    let jobs = [job(0, 10, Some(30)), job(3, 4, Some(8)), job(4, 1, None)];
    let expected = [us(14), us(7), us(15)].map(Some).to_vec();
    assert_eq!(Scheduler::EarliestDeadline.finish(RATE, &jobs), expected);
}

#[test]
fn expired_flows_keep_their_place() {
    // The first flow cannot meet its deadline and delays the second, which is why EDF collapses under overload (D3 Fig
    // 5c).
    let jobs = [job(0, 10, Some(9)), job(0, 5, Some(10))];
    assert_eq!(late(Scheduler::EarliestDeadline, &jobs), 2);
    assert_eq!(
        fewest_late(RATE, &jobs),
        FewestLate {
            late: 1,
            exact: true
        }
    );
}

#[test]
fn reservations_in_order_of_arrival() {
    // Half the link is reserved until 20. Then 0.6 does not fit but 0.5 does. At 20 the first half is free again.
    let jobs = [
        job(0, 10, Some(20)),
        job(1, 6, Some(11)),
        job(1, 5, Some(11)),
        job(20, 10, Some(30)),
        job(20, 1, None),
        job(30, 0, Some(30)),
    ];
    let expected = vec![
        Some(us(20)),
        None,
        Some(us(11)),
        Some(us(30)),
        None,
        Some(us(30)),
    ];
    assert_eq!(Scheduler::Reservation.finish(RATE, &jobs), expected);
    assert_eq!(late(Scheduler::Reservation, &jobs), 1);
}

#[test]
fn three_thirds_fit_into_a_link() {
    let jobs = [job(0, 1, Some(3)); 3];
    assert_eq!(late(Scheduler::Reservation, &jobs), 0);
}

#[test]
fn a_deadline_before_the_start_is_late() {
    let jobs = [job(10, 1, Some(5))];
    for scheduler in SCHEDULERS {
        assert_eq!(late(scheduler, &jobs), 1, "{scheduler:?}");
    }
    assert_eq!(fewest_late(RATE, &jobs).late, 1);
    assert!(!is_feasible(RATE, &jobs));
}

fn jobs(max: usize, spread_us: u64) -> impl Strategy<Value = Vec<Job>> {
    let one = (
        0..=spread_us,
        0u64..12,
        proptest::option::weighted(0.9, 0u64..60),
    );
    let job =
        one.prop_map(|(at, size, allowed)| job(at, size, allowed.map(|allowed| at + allowed)));
    proptest::collection::vec(job, 0..max)
}

/// Returns the time at which a work-conserving link finishes all jobs.
fn end_of_work(jobs: &[Job]) -> Time {
    by_arrival(jobs).into_iter().fold(Time::ZERO, |free, i| {
        free.max(jobs[i].arrival) + jobs[i].work(RATE)
    })
}

proptest! {
    #[test]
    fn edf_meets_every_feasible_set(jobs in jobs(9, 30)) {
        let met = late(Scheduler::EarliestDeadline, &jobs) == 0;
        prop_assert_eq!(met, is_feasible(RATE, &jobs));
    }

    #[test]
    fn work_is_conserved(jobs in jobs(40, 100)) {
        for scheduler in [Scheduler::FairShare, Scheduler::EarliestDeadline] {
            let finishes = scheduler.finish(RATE, &jobs);
            let last = finishes.iter().flatten().max().copied().unwrap_or_default();
            // Fair share rounds by less than a picosecond.
            let end = end_of_work(&jobs);
            prop_assert!(last <= end && end.since(last) <= Span::from_ps(1), "{last:?} {end:?}");
            for (job, finish) in jobs.iter().zip(&finishes) {
                let earliest = job.arrival + job.work(RATE);
                prop_assert!(earliest.since(finish.unwrap()) <= Span::from_ps(1));
            }
        }
    }

    #[test]
    fn fair_share_keeps_the_order_of_sizes(jobs in jobs(20, 0)) {
        let finishes = Scheduler::FairShare.finish(RATE, &jobs);
        for (a, fa) in jobs.iter().zip(&finishes) {
            for (b, fb) in jobs.iter().zip(&finishes) {
                prop_assert!(a.bytes > b.bytes || fa <= fb);
            }
        }
        // The smallest of n flows gets 1/n of the link until it ends.
        if let Some(smallest) = jobs.iter().map(|job| job.work(RATE)).min() {
            prop_assert_eq!(*finishes.iter().flatten().min().unwrap(), Time::ZERO + smallest * jobs.len() as u64);
        }
    }

    #[test]
    fn reservations_never_exceed_the_link(jobs in jobs(30, 60)) {
        let finishes = Scheduler::Reservation.finish(RATE, &jobs);
        let admitted: Vec<&Job> =
            jobs.iter().zip(&finishes).filter(|(_, finish)| finish.is_some()).map(|(job, _)| job).collect();
        let share = |job: &Job| {
            let time = job.deadline.unwrap().since(job.arrival).as_ps();
            if time == 0 { 0.0 } else { job.work(RATE).as_ps() as f64 / time as f64 }
        };
        for at in jobs.iter().map(|job| job.arrival) {
            let held = admitted.iter().filter(|job| job.arrival <= at && at < job.deadline.unwrap());
            prop_assert!(held.map(|job| share(job)).sum::<f64>() <= 1.0 + 1e-9);
        }
        let set: Vec<Job> = admitted.into_iter().copied().collect();
        prop_assert!(is_feasible(RATE, &set));
    }
}
