//! Checks that the parts of explained random queries sum to their completion times.
//!
//! `DUETIME_QUERIES` sets the number of queries, 300 by default. The scenarios are those of `faults`, from the seed
//! `DUETIME_SEED` on, 0 by default. A failure names the seed and the query.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers in tests are small"
)]
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "the environment sets the number of queries; totals are printed"
)]

#[allow(dead_code, reason = "shared with `faults`")]
#[path = "../../sim/tests/generator/mod.rs"]
mod generator;

use duetime_analysis::explain::{
    Activity, Cause, Explanation, QueryStep, Stage, Step, Tree, explain_flow,
};
use duetime_core::{Span, Time};
use duetime_results::{FlowTrace, QueryRecord};
use duetime_scenario::model::{Connection, Protocol, WorkloadKind};
use duetime_sim::{Options, RunOutput, Watch, run};
use generator::Case;
use std::collections::BTreeMap;

/// Maximum number of queries per run.
const PER_RUN: usize = 12;

#[test]
fn parts_of_random_queries_sum_exactly() {
    let wanted = setting("DUETIME_QUERIES", 300);
    let mut seen = Seen::default();
    for seed in setting("DUETIME_SEED", 0).. {
        if seen.queries >= wanted {
            break;
        }
        seen.explain(seed, wanted - seen.queries);
    }
    println!(
        "{} queries, {} without enough answers, {} flows",
        seen.queries, seen.incomplete, seen.flows
    );
    for (activity, (count, span)) in &seen.activities {
        println!(
            "{activity:24} {count:8} parts {:12.6} s",
            span.as_secs_f64()
        );
    }
    assert!(seen.failures.is_empty(), "\n{}\n", seen.failures.join("\n"));
    let incomplete = seen.incomplete as f64 / seen.queries as f64;
    assert!(
        incomplete < 0.9,
        "{incomplete} of the queries never had enough answers"
    );
}

/// Seed 716 has a random delay of 0 ps; in seed 3966 more answers than needed arrive at the same instant.
#[test]
fn zero_delay_receptions_and_tied_answers_are_explained() {
    let mut seen = Seen::default();
    for seed in [716, 3966] {
        seen.explain(seed, PER_RUN as u64);
    }
    assert!(seen.failures.is_empty(), "\n{}\n", seen.failures.join("\n"));
}

/// Returns the number in an environment variable.
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| {
        let number = text.parse();
        number.unwrap_or_else(|_| panic!("{name} is `{text}`, not a number"))
    })
}

/// Totals over all queries.
#[derive(Default)]
struct Seen {
    queries: u64,
    incomplete: u64,
    flows: u64,
    /// Number and total of the parts, by activity without hosts and links.
    activities: BTreeMap<String, (u64, Span)>,
    failures: Vec<String>,
}

impl Seen {
    /// Explains up to `max` queries of a seed.
    fn explain(&mut self, seed: u64, max: u64) {
        let case = Case::new(seed);
        let mut workloads = case.scenario.workloads.iter();
        if !workloads.any(|workload| {
            matches!(
                workload.kind,
                WorkloadKind::Oldi(_) | WorkloadKind::Spans(_)
            )
        }) {
            return;
        }
        let watched = |watch| {
            let options = Options {
                threads: 1,
                watch,
                ..Options::default()
            };
            run(&case.scenario, 0, 0, &options).expect("a valid scenario")
        };
        let queries = watched(Watch::Nothing).records.queries;
        let step = queries.len().div_ceil(PER_RUN.min(max as usize)).max(1);
        for query in queries.iter().step_by(step) {
            let output = watched(Watch::Query(query.query));
            if let Err(error) = self.check(&case, query, &output) {
                self.failures.push(format!(
                    "query {} of seed {seed}: {error}\n  ({})\n  {query:?}\n{}",
                    query.query,
                    case.summary(),
                    flows(&output)
                ));
            }
            self.queries += 1;
            self.incomplete += u64::from(query.enough.is_none());
        }
    }

    fn check(
        &mut self,
        case: &Case,
        query: &QueryRecord,
        output: &RunOutput,
    ) -> Result<(), String> {
        let workload = &case.scenario.workloads[usize::from(query.workload)];
        let is_shared = match case.protocol(query.workload) {
            // `due` has no connections: its messages wait only for grants and the NIC, which the trace shows.
            Protocol::Due(_) => false,
            // The sender of a host chooses among all of its messages.
            Protocol::Homa(_) | Protocol::PFabric(_) | Protocol::Sird(_) => true,
            Protocol::Tcp(_) | Protocol::D3(_) | Protocol::Pdq(_) => {
                workload.connection == Connection::Persistent
            }
        };
        if !output.records.queries.contains(query) {
            return Err("the repeated run differs".into());
        }
        let tree = Tree::new(query, &output.records.flows, &output.traces);
        let explained = tree.explain(query.enough);
        let end = query.enough.unwrap_or(query.start + explained.total);
        self.check_query(&explained.steps, (query.start, end))?;
        for trace in &output.traces {
            let flows = &output.records.flows;
            let flow = flows.iter().find(|flow| flow.flow == trace.flow);
            let flow = flow.ok_or("a traced flow has no record")?;
            let named = |error| format!("flow {}: {error}", flow.flow);
            let explained = explain_flow(flow, &trace.events);
            let total = flow.completion().unwrap_or(explained.total);
            check_flow(&explained, (flow.start, flow.start + total), is_shared).map_err(named)?;
            if let Some(before) = tree.before(flow.flow) {
                self.check_query(&before, (query.start, flow.start))
                    .map_err(named)?;
            }
            self.flows += 1;
        }
        Ok(())
    }

    /// Checks that the steps of a query cover a time and that each activity is known.
    fn check_query(&mut self, steps: &[QueryStep], time: (Time, Time)) -> Result<(), String> {
        check_cover(steps.iter().map(|step| (step.from, step.to)), time)?;
        for step in steps {
            if matches!(step.activity, Activity::Untraced | Activity::Parent) {
                return Err(format!("unknown: {step:?}"));
            }
            let total = self.activities.entry(label(step.activity)).or_default();
            *total = (total.0 + 1, total.1 + step.to.since(step.from));
        }
        Ok(())
    }
}

/// Checks that the steps of a flow cover a time and that each cause is known, unless the sender is shared with
/// messages that are not traced.
fn check_flow(explained: &Explanation, time: (Time, Time), is_shared: bool) -> Result<(), String> {
    let steps = &explained.steps;
    check_cover(steps.iter().map(|step| (step.from, step.to)), time)?;
    let parts = explained.parts().into_values();
    let sum = parts.fold(Span::ZERO, |sum, part| sum + part);
    if sum != explained.total {
        return Err(format!("parts sum to {sum} instead of {}", explained.total));
    }
    let unknown = |step: &&Step| matches!(step.cause, Cause::Host | Cause::Untraced);
    match steps.iter().find(unknown) {
        Some(step) if !is_shared => Err(format!("unknown: {step:?}")),
        _ => Ok(()),
    }
}

/// Checks that intervals cover a time without gaps and therefore sum to it.
fn check_cover(
    intervals: impl Iterator<Item = (Time, Time)>,
    (start, end): (Time, Time),
) -> Result<(), String> {
    let (mut at, mut sum) = (start, Span::ZERO);
    for (from, to) in intervals {
        if from != at || to <= from {
            return Err(format!("{from} to {to} follows {at}"));
        }
        at = to;
        sum += to.since(from);
    }
    if (at, sum) == (end, end.since(start)) {
        Ok(())
    } else {
        Err(format!("{sum} up to {at} instead of {end}"))
    }
}

/// Lists the traced flows.
fn flows(output: &RunOutput) -> String {
    let describe = |trace: &FlowTrace| {
        let mut flows = output.records.flows.iter();
        let flow = flows.find(|flow| flow.flow == trace.flow);
        format!("  {:?} {flow:?}\n", trace.node)
    };
    output.traces.iter().map(describe).collect()
}

fn label(activity: Activity) -> String {
    let flow = |stage: Stage, cause: Cause| match cause {
        Cause::Queue(_) => "Queue".to_owned(),
        Cause::Transmission(_) => "Transmission".to_owned(),
        Cause::Timer(timer) => format!("Timer({timer:?})"),
        cause => format!("{cause:?}"),
    } + if stage == Stage::Pause { " paused" } else { "" };
    match activity {
        Activity::Down(stage, cause) | Activity::Up(stage, cause) => flow(stage, cause),
        activity => format!("{activity:?}"),
    }
}
