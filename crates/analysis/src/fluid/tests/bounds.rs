//! Bounds compared with brute force over all sets of flows, and with schedulers.

use super::*;
use crate::fluid::claim::Claim;
use crate::fluid::optimum::Flow;

fn flow(job: &Job) -> Flow {
    Flow {
        from: job.arrival.as_ps(),
        due: job.deadline.expect("has one").as_ps(),
        work: job.least_work(RATE),
    }
}

#[test]
fn moores_algorithm_drops_the_largest() {
    let jobs = [
        job(0, 4, Some(5)),
        job(0, 2, Some(6)),
        job(0, 2, Some(7)),
        job(0, 2, Some(8)),
    ];
    assert_eq!(
        fewest_late(RATE, &jobs),
        FewestLate {
            late: 1,
            exact: true
        }
    );
    assert_eq!(
        fewest_late(RATE, &[]),
        FewestLate {
            late: 0,
            exact: true
        }
    );
}

#[test]
fn overloads_at_different_times_add_up() {
    let jobs = [0, 100, 200]
        .map(|at| [job(at, 5, Some(at + 6)), job(at, 5, Some(at + 7))])
        .concat();
    assert_eq!(
        fewest_late(RATE, &jobs),
        FewestLate {
            late: 3,
            exact: true
        }
    );
    let mut flows: Vec<Flow> = jobs.iter().map(flow).collect();
    flows.sort_by_key(|flow| flow.due);
    assert_eq!(windows::fewest_late(&flows), 3);
}

#[test]
fn window_counts_unavoidable_earlier_work() {
    // Fourteen flows, so that the search is not used. The first has 9 of its 10 left when the others arrive at 1. They
    // use the link until 14, and the first is due at 15.
    let mut jobs = vec![job(0, 10, Some(15))];
    jobs.extend([job(1, 1, Some(14)); 13]);
    let found = fewest_late(RATE, &jobs);
    assert_eq!((found.late, found.exact), (1, false));
}

#[test]
fn query_is_late_without_enough_answers() {
    let at = |arrival: u64, kilobytes: u64| (us(arrival), kilobytes * 1_000);
    let batch = |flows: &[(Time, u64)], needed, deadline| Batch {
        flows: flows.to_vec(),
        needed,
        deadline: us(deadline),
    };
    let three = [at(0, 4), at(1, 2), at(5, 3)];
    for (needed, deadline, late) in [(2, 5, 1), (2, 6, 0), (3, 8, 1), (3, 9, 0), (0, 0, 0)] {
        let batches = [batch(&three, needed, deadline)];
        let label = format!("{needed} by {deadline}");
        assert_eq!(fewest_late_batches(RATE, &batches), late, "{label}");
        assert_eq!(online_batches(RATE, &batches), [late == 0], "{label}");
    }
    // Each batch alone can be in time; together they need 12 within 11.
    let both = [
        batch(&[at(0, 3), at(0, 3), at(0, 9)], 2, 11),
        batch(&[at(0, 2), at(0, 4)], 2, 11),
    ];
    assert_eq!(fewest_late_batches(RATE, &both), 1);
    assert_eq!(online_batches(RATE, &both), [true, false]);
}

#[test]
fn late_flows_use_none_of_the_link() {
    // Plain EDF serves the first until 9 and the second until 14. The third is in time because it preempts.
    let jobs = [
        job(0, 10, Some(9)),
        job(0, 5, Some(10)),
        job(1, 1, Some(3)),
        job(2, 4, None),
    ];
    assert_eq!(late(Scheduler::EarliestDeadline, &jobs), 2);
    assert_eq!(online(RATE, &jobs), [false, true, true, true]);
}

/// Returns the minimum number of late flows, by trying every set of flows to be in time.
fn brute_force(jobs: &[Job]) -> usize {
    let due: Vec<Job> = jobs
        .iter()
        .copied()
        .filter(|job| job.deadline.is_some())
        .collect();
    let sets = 0u32..1 << due.len();
    let best = sets.filter(|set| {
        let chosen: Vec<Job> = (0..due.len())
            .filter(|i| set >> i & 1 == 1)
            .map(|i| due[i])
            .collect();
        is_feasible(RATE, &chosen)
    });
    due.len() - best.map(u32::count_ones).max().unwrap_or(0) as usize
}

/// Returns the minimum number of late batches, by trying every set of flows to be in time.
fn brute_force_batches(batches: &[Batch]) -> usize {
    let flows: Vec<(usize, Job)> = batches
        .iter()
        .enumerate()
        .flat_map(|(index, batch)| {
            batch.flows.iter().map(move |&(arrival, bytes)| {
                let deadline = Some(batch.deadline);
                (
                    index,
                    Job {
                        arrival,
                        bytes,
                        deadline,
                    },
                )
            })
        })
        .collect();
    let late = |set: u32| {
        let chosen = || {
            (0..flows.len())
                .filter(|i| set >> i & 1 == 1)
                .map(|i| flows[i])
        };
        let jobs: Vec<Job> = chosen().map(|(_, job)| job).collect();
        let has = |index| chosen().filter(|(batch, _)| *batch == index).count();
        let late = (0..batches.len()).filter(|&index| has(index) < batches[index].needed);
        is_feasible(RATE, &jobs).then(|| late.count())
    };
    let best = (0u32..1 << flows.len()).filter_map(late).min();
    best.expect("no flow at all is feasible")
}

fn due_jobs(max: usize, spread_us: u64) -> impl Strategy<Value = Vec<Job>> {
    let one = (0..=spread_us, 1u64..12, 0u64..60);
    let job = one.prop_map(|(at, size, allowed)| job(at, size, Some(at + allowed)));
    proptest::collection::vec(job, 0..=max)
}

fn batches(max: usize, flows: usize, spread_us: u64) -> impl Strategy<Value = Vec<Batch>> {
    let flow = (0..=spread_us, 1u64..12);
    let batch = (
        proptest::collection::vec(flow, 0..=flows),
        0..=flows,
        0u64..60,
    );
    let batch = batch.prop_map(|(flows, needed, deadline)| Batch {
        needed: needed.min(flows.len()),
        flows: flows
            .into_iter()
            .map(|(at, size)| (us(at), size * 1_000))
            .collect(),
        deadline: us(deadline),
    });
    proptest::collection::vec(batch, 0..=max)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn up_to_ten_flows_match_brute_force(jobs in due_jobs(10, 40)) {
        prop_assert_eq!(fewest_late(RATE, &jobs), FewestLate { late: brute_force(&jobs), exact: true });
    }

    #[test]
    fn flows_starting_together_match_brute_force(jobs in due_jobs(15, 0)) {
        prop_assert_eq!(fewest_late(RATE, &jobs), FewestLate { late: brute_force(&jobs), exact: true });
    }

    #[test]
    fn flows_due_together_match_brute_force(mut jobs in due_jobs(15, 30), due in 0u64..60) {
        for job in &mut jobs {
            job.deadline = Some(us(due));
        }
        prop_assert_eq!(fewest_late(RATE, &jobs), FewestLate { late: brute_force(&jobs), exact: true });
    }

    #[test]
    fn windows_never_exceed_the_optimum(jobs in due_jobs(10, 40)) {
        let mut flows: Vec<Flow> = jobs.iter().map(flow).collect();
        flows.retain(|flow| flow.work <= flow.due - flow.from);
        flows.sort_by_key(|flow| flow.due);
        let optimum = search::fewest_late(&flows);
        prop_assert!(windows::fewest_late(&flows) <= optimum);
        let first = flows.first().map_or(0, |flow| flow.from);
        if flows.iter().all(|flow| flow.from == first) {
            prop_assert_eq!(windows::fewest_late(&flows), optimum);
        }
    }

    #[test]
    fn no_scheduler_beats_the_bound(jobs in jobs(80, 100)) {
        let bound = fewest_late(RATE, &jobs).late;
        for scheduler in SCHEDULERS {
            prop_assert!(late(scheduler, &jobs) >= bound, "{scheduler:?}");
        }
        let late = online(RATE, &jobs).iter().filter(|&&in_time| !in_time).count();
        prop_assert!(late >= bound);
    }

    #[test]
    fn online_schedule_is_feasible(jobs in due_jobs(30, 60)) {
        let in_time = online(RATE, &jobs);
        let met: Vec<Job> = jobs.iter().zip(&in_time).filter(|(_, met)| **met).map(|(job, _)| *job).collect();
        prop_assert!(is_feasible(RATE, &met));
        if is_feasible(RATE, &jobs) {
            prop_assert_eq!(met.len(), jobs.len());
        }
    }

    #[test]
    fn query_bound_never_exceeds_the_optimum(batches in batches(4, 4, 30)) {
        let bound = fewest_late_batches(RATE, &batches);
        let optimum = brute_force_batches(&batches);
        prop_assert!(bound <= optimum, "{} > {}", bound, optimum);
        if batches.len() == 1 {
            prop_assert_eq!(bound, optimum);
        }
        let online = online_batches(RATE, &batches).iter().filter(|&&in_time| !in_time).count();
        prop_assert!(online >= optimum, "{} < {}", online, optimum);
    }

    #[test]
    fn query_of_one_answer_is_a_flow(jobs in due_jobs(8, 30)) {
        let batches: Vec<Batch> = jobs
            .iter()
            .map(|job| Batch { flows: vec![(job.arrival, job.bytes)], needed: 1, deadline: job.deadline.unwrap() })
            .collect();
        prop_assert!(fewest_late_batches(RATE, &batches) <= fewest_late(RATE, &jobs).late);
        prop_assert_eq!(online_batches(RATE, &batches), online(RATE, &jobs));
    }

    #[test]
    fn busy_periods_keep_every_flow(jobs in due_jobs(40, 400)) {
        let mut flows: Vec<Flow> = jobs.iter().map(flow).collect();
        let all = flows.len();
        let periods = claim::periods(&mut flows);
        prop_assert_eq!(periods.iter().map(|period| period.len()).sum::<usize>(), all);
        let mut free = 0;
        for period in periods {
            prop_assert!(period[0].from() >= free);
            free = period[0].from() + period.iter().map(Claim::work).sum::<u64>();
        }
    }
}
