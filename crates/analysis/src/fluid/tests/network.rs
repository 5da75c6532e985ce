//! The schedule of several links: examples by hand, the exact optimum on one link, and the bound on several.

use super::*;

/// Returns a flow that answers no query.
fn path(job: Job, links: &[usize]) -> PathJob {
    PathJob {
        job,
        links: links.to_vec(),
        query: None,
    }
}

fn schedule(jobs: &[PathJob]) -> Vec<bool> {
    online_network(&[RATE; 3], jobs, &[])
}

#[test]
fn different_receivers_share_the_link_between_racks() {
    // Link 0 is between the racks, 1 and 2 lead to the receivers. Each flow alone needs 4 us, both need 8.
    let flows = |deadline| [1, 2].map(|receiver| path(job(0, 4, Some(deadline)), &[0, receiver]));
    assert_eq!(schedule(&flows(8)), [true, true]);
    assert_eq!(schedule(&flows(7)).iter().filter(|&&met| met).count(), 1);
}

#[test]
fn a_later_flow_uses_what_the_earlier_leaves() {
    // The first flow's receiver has an eighth of the rate, so the second has seven eighths of the shared link: 7 KB take
    // 8 us.
    let rates = [RATE, Rate::from_gbps(1)];
    let second = |deadline| path(job(0, 7, Some(deadline)), &[0]);
    let flows = |deadline| [path(job(0, 1, Some(8)), &[0, 1]), second(deadline)];
    assert_eq!(online_network(&rates, &flows(8), &[]), [true, true]);
    // If the order of the deadlines is the other way around, the second uses the whole link.
    assert_eq!(online_network(&rates, &flows(7), &[]), [false, true]);
}

#[test]
fn overload_postpones_late_queries_and_longest_flows() {
    let mut flows = [
        path(job(0, 8, Some(10)), &[0]),
        path(job(0, 4, Some(11)), &[0]),
        path(job(0, 4, Some(12)), &[0]),
    ];
    assert_eq!(schedule(&flows), [false, true, true]);
    // The query of the two short flows has lost an answer that it needed: the last of these flows, of a link that is too
    // slow. So the long flow is in time instead.
    let mut hopeless = path(job(0, 90, Some(9)), &[1]);
    for flow in flows.iter_mut().skip(1).chain([&mut hopeless]) {
        flow.query = Some(0);
    }
    let flows: Vec<PathJob> = [hopeless].into_iter().chain(flows).collect();
    let met = online_network(&[RATE; 2], &flows, &[0]);
    assert_eq!(met, [false, true, false, true]);
    // With an answer to spare, the query is not late.
    let met = online_network(&[RATE; 2], &flows, &[1]);
    assert_eq!(met, [false, false, true, true]);
}

fn together(max: usize) -> impl Strategy<Value = Vec<Job>> {
    let one = (1..20u64, 1..60u64).prop_map(|(size, deadline)| job(0, size, Some(deadline)));
    proptest::collection::vec(one, 0..max)
}

proptest! {
    /// Moore's algorithm is exact if all flows of a link arrive together.
    #[test]
    fn one_link_has_the_fewest_late(jobs in together(30)) {
        let flows: Vec<PathJob> = jobs.iter().map(|&job| path(job, &[0])).collect();
        let late = schedule(&flows).iter().filter(|&&met| !met).count();
        prop_assert_eq!(late, fewest_late(RATE, &jobs).late);
    }

    /// A schedule is possible, so at least as many flows are late on each link as the bound says.
    #[test]
    fn no_link_beats_its_bound(jobs in jobs(12, 30), routes in proptest::collection::vec(0..7usize, 12)) {
        let routes = routes.into_iter().map(|route| -> Vec<usize> {
            (0..3).filter(|link| (route + 1) >> link & 1 == 1).collect()
        });
        let flows: Vec<PathJob> = jobs.iter().zip(routes).map(|(&job, links)| path(job, &links)).collect();
        let met = schedule(&flows);
        for link in 0..3 {
            let here = || flows.iter().zip(&met).filter(|(flow, _)| flow.links.contains(&link));
            let jobs: Vec<Job> = here().map(|(flow, _)| flow.job).collect();
            let late = here().filter(|(_, met)| !**met).count();
            prop_assert!(late >= fewest_late(RATE, &jobs).late);
        }
    }
}
