//! Mean waits for servers against queueing theory.

use crate::queueing::{MEAN_S, md1, mmc, service};
use duetime_results::{RunRecords, ServerRecord};
use duetime_scenario::model::Scenario;
use duetime_scenario::{NoFiles, load};
use duetime_sim::{Options, run};

/// Returns a scenario of queries to one leaf each, which arrive at the leaf 20 us after the root.
fn scenario(slots: u32, utilisation: f64, compute: &str, duration_s: f64) -> Scenario {
    let text = service(slots, utilisation, compute, 20.0, duration_s);
    load(&text, "servers.toml", &[], &NoFiles).unwrap_or_else(|error| panic!("{error}"))
}

fn records(scenario: &Scenario, seed: u64) -> RunRecords {
    let options = Options::default();
    let output = run(scenario, 0, seed, &options).expect("a valid scenario");
    output.records
}

/// Returns the mean wait in units of the mean computation time, and the utilisation, over `runs` of `duration_s` each.
fn measured(slots: u32, utilisation: f64, compute: &str, duration_s: f64, runs: u64) -> (f64, f64) {
    let scenario = scenario(slots, utilisation, compute, duration_s);
    let (mut waited, mut count, mut busy) = (0.0, 0.0, 0.0);
    for seed in 0..runs {
        let records = records(&scenario, seed);
        let [
            ServerRecord {
                computations,
                wait_mean_ps,
                utilisation,
                ..
            },
        ] = records.servers[..]
        else {
            panic!("expected one server record: {:?}", records.servers)
        };
        waited += wait_mean_ps as f64 * computations as f64;
        count += computations as f64;
        busy += utilisation / runs as f64;
    }
    (waited / count / 1e12 / MEAN_S, busy)
}

fn compare(
    name: &str,
    (wait, busy): (f64, f64),
    (theory, utilisation): (f64, f64),
    tolerance: f64,
) {
    let error = wait / theory - 1.0;
    println!(
        "{name} at {utilisation}: mean wait {wait:.4} service times, theory {theory:.4} ({:+.2} %); utilisation {busy:.4}",
        100.0 * error
    );
    assert!(error.abs() < tolerance, "{name}: {error}");
    assert!(
        (busy / utilisation - 1.0).abs() < tolerance,
        "{name}: {busy}"
    );
}

#[test]
fn mean_waits_follow_queueing_theory() {
    assert!((mmc(1, 0.5) - 1.0).abs() < 1e-12 && (mmc(2, 0.5) - 1.0 / 3.0).abs() < 1e-12);
    for (slots, utilisation, duration_s, tolerance) in [(4, 0.5, 8.0, 0.03), (4, 0.8, 8.0, 0.03)] {
        let compute = "exponential 100 us";
        let measured = measured(slots, utilisation, compute, duration_s, 1);
        let theory = (mmc(slots, utilisation), utilisation);
        compare("M/M/4", measured, theory, tolerance);
    }
    for (utilisation, duration_s, tolerance) in [(0.5, 20.0, 0.02), (0.8, 30.0, 0.03)] {
        let measured = measured(1, utilisation, "100 us", duration_s, 1);
        compare(
            "M/D/1",
            measured,
            (md1(utilisation), utilisation),
            tolerance,
        );
    }
}

/// Compares waits with the recursion of Kiefer and Wolfowitz, using arrivals of the same run and computation times of a
/// run with unlimited servers.
#[test]
fn waits_match_the_recursion() {
    for (slots, compute) in [(1, "100 us"), (3, "exponential 100 us")] {
        let limited = scenario(slots, 0.85, compute, 0.3);
        let mut unlimited = limited.clone();
        unlimited.host.servers = duetime_scenario::model::Servers::Unlimited;
        let answers = |scenario: &Scenario| {
            use duetime_results::Class::{Query, Response};
            let records = records(scenario, 0);
            let of_class = |class| {
                let flows = records.flows.iter();
                let mut flows: Vec<_> = flows.filter(|flow| flow.class == class).collect();
                flows.sort_by_key(|flow| flow.query);
                flows.into_iter()
            };
            let pairs = of_class(Query).zip(of_class(Response));
            let pairs = pairs.map(|(query, answer)| {
                let arrived = query.finish.expect("the query arrives");
                (arrived, answer.start.since(arrived))
            });
            pairs.collect::<Vec<_>>()
        };
        let (limited, unlimited) = (answers(&limited), answers(&unlimited));
        let mut jobs: Vec<usize> = (0..unlimited.len()).collect();
        jobs.sort_by_key(|&job| limited[job].0);
        let mut free = vec![duetime_core::Time::ZERO; slots as usize];
        let mut waits = 0;
        for job in jobs {
            let ((arrived, response_time), (_, compute)) = (limited[job], unlimited[job]);
            free.sort_unstable();
            let start = free[0].max(arrived);
            free[0] = start + compute;
            assert_eq!(arrived + response_time, free[0], "query {job}");
            waits += u32::from(start > arrived);
        }
        assert!(waits > 1_000, "{waits}");
    }
}
