//! Comparison of the computed demand with runs: under no transport is a message submitted or delivered earlier than the
//! demand states.
//!
//! `DUETIME_SEEDS=from..to` selects the seeds of the random scenarios; the default is 0..1000.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers in tests are small"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "the environment selects the seeds"
)]

#[expect(dead_code, reason = "other tests also use its balance checks")]
#[path = "../../sim/tests/generator/mod.rs"]
mod generator;

use duetime_analysis::demand::{Clock, Demand, DemandFlow};
use duetime_results::{Class, FlowRecord};
use duetime_sim::{Options, run};
use generator::Case;
use std::collections::BTreeMap;

/// Fields of a message that are equal under every transport.
type Key = (u16, Class, Option<u64>, u32, u32, u64);

#[test]
fn nothing_is_earlier_than_the_demand() {
    let (from, to) = seeds();
    let (mut flows, mut queries, mut trees) = (0, 0, 0);
    for seed in from..to {
        let case = Case::new(seed);
        let seen = check(&case).unwrap_or_else(|error| {
            panic!(
                "DUETIME_SEEDS={seed}..{} ({}): {error}",
                seed + 1,
                case.summary()
            )
        });
        flows += seen.0;
        queries += seen.1;
        trees += seen.2;
    }
    if (from, to) == (0, 1000) {
        assert!(
            flows > 30_000 && queries > 600 && trees > 2_000,
            "{flows} flows, {queries} queries, {trees} answers"
        );
    }
}

/// Checks one case. Returns the numbers of flows, queries and answers compared.
fn check(case: &Case) -> Result<(usize, usize, usize), String> {
    let scenario = &case.scenario;
    let demand = Demand::new(scenario, 0, &case.network).map_err(|error| error.to_string())?;
    let records = run(scenario, 0, 0, &Options::default())
        .map_err(|error| error.to_string())?
        .records;
    let mut expected: BTreeMap<Key, Vec<&DemandFlow>> = BTreeMap::new();
    for flow in &demand.flows {
        let key = key(&flow.message.record());
        expected.entry(key).or_default().push(flow);
    }
    let mut seen: BTreeMap<Key, Vec<&FlowRecord>> = BTreeMap::new();
    let known = |flow: &&FlowRecord| !demand.unknown.contains(&flow.workload);
    for flow in records.flows.iter().filter(known) {
        seen.entry(key(flow)).or_default().push(flow);
    }
    for (key, flows) in &mut seen {
        let Some(expected) = expected.get(key).filter(|found| found.len() >= flows.len()) else {
            return Err(format!(
                "the demand lacks flows {key:?}, which the run has {} times",
                flows.len()
            ));
        };
        flows.sort_by_key(|flow| (flow.start, flow.flow));
        for (flow, expected) in flows.iter().zip(expected) {
            check_submission(flow, expected)?;
        }
        // A host with several roles may send several equal messages, which cannot be matched.
        if let ([flow], [expected]) = (&flows[..], &expected[..]) {
            compare(flow, expected)?;
        }
    }
    let queries: BTreeMap<u64, _> = records
        .queries
        .iter()
        .map(|query| (query.query, query))
        .collect();
    for expected in &demand.queries {
        let Some(query) = queries.get(&expected.query) else {
            continue;
        };
        let same = (query.root, query.measured, query.needed, query.due)
            == (
                expected.root,
                expected.measured,
                expected.needed,
                expected.due,
            );
        // No transport delivers more leaves' answers in time than if each answer were alone in the network.
        let alone = query.leaves_in_time <= expected.reachable;
        let bounded = query.leaves_answered <= expected.leaves_per_answer * query.answered;
        if !(query.judged && same && alone && bounded) {
            return Err(format!("demand {expected:?}, but run {query:?}"));
        }
    }
    let answers = seen.keys().filter(|key| key.1 == Class::Response);
    Ok((
        seen.values().map(Vec::len).sum(),
        demand.queries.len(),
        answers.count(),
    ))
}

fn key(flow: &FlowRecord) -> Key {
    let FlowRecord {
        workload,
        class,
        query,
        source,
        destination,
        size_bytes,
        ..
    } = *flow;
    (workload, class, query, source, destination, size_bytes)
}

fn check_submission(flow: &FlowRecord, expected: &DemandFlow) -> Result<(), String> {
    if flow.start < expected.message.submitted {
        return Err(format!(
            "submitted too early: {flow:?}, demand {expected:?}"
        ));
    }
    Ok(())
}

fn compare(flow: &FlowRecord, expected: &DemandFlow) -> Result<(), String> {
    let error = |reason: &str| Err(format!("{reason}: {flow:?}, demand {expected:?}"));
    let message = &expected.message;
    let min = expected.earliest.since(message.submitted);
    if flow.completion().is_some_and(|span| span < min) {
        return error("delivered too fast");
    }
    if flow.deadline.is_some() != message.deadline.is_some() {
        return error("deadline on one side only");
    }
    let (Some(deadline), Some(known)) = (flow.deadline, message.deadline) else {
        return Ok(());
    };
    let moved = deadline != known;
    match expected.clock {
        Clock::Fixed if moved => error("different deadline"),
        // If the clock starts with the query or the answers, the relative deadline must not be shorter than known.
        Clock::Query | Clock::Answers if deadline < known => error("earlier deadline"),
        _ if expected.is_infeasible() && flow.met() == Some(true) => {
            error("deadline met although infeasible")
        }
        _ => Ok(()),
    }
}

fn seeds() -> (u64, u64) {
    let Ok(text) = std::env::var("DUETIME_SEEDS") else {
        return (0, 1000);
    };
    let ends = text
        .split_once("..")
        .and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
    ends.unwrap_or_else(|| {
        panic!("DUETIME_SEEDS is `{text}`; allowed is from..to, such as 0..1000")
    })
}
