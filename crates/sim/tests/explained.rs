//! The parts of explained random queries sum to their completion times.
//!
//! `DUETIME_QUERIES` sets the number of queries; 300 without it. The scenarios are those of `faults`, from seed 0 on. A
//! failure names the seed and the query.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the numbers of a test are small"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "the environment sets the number of queries"
)]

#[allow(dead_code, reason = "shared with `faults`")]
mod generator;

use duetime_core::{Span, Time};
use duetime_results::explain::query::{Doing, QueryStep, Tree};
use duetime_results::explain::{Cause, Explanation, Stage};
use duetime_results::{QueryRecord, explain};
use duetime_scenario::model::{Connection, WorkloadKind};
use duetime_sim::{Options, Watch, run};
use generator::Case;
use std::collections::BTreeMap;

/// Queries of one run at most.
const PER_RUN: usize = 12;

#[test]
fn parts_of_random_queries_sum_exactly() {
    let wanted = std::env::var("DUETIME_QUERIES").map_or(300, |text| {
        let number = text.parse();
        number.unwrap_or_else(|_| panic!("DUETIME_QUERIES is `{text}`, not a number"))
    });
    let mut seen = Seen::default();
    for seed in 0.. {
        if seen.queries >= wanted {
            break;
        }
        seen.explain(seed, wanted);
    }
    println!(
        "{} queries, {} without enough answers, {} flows",
        seen.queries, seen.incomplete, seen.flows
    );
    for (doing, (count, span)) in &seen.activities {
        println!("{doing:24} {count:8} parts {:12.6} s", span.as_secs_f64());
    }
    let incomplete = seen.incomplete as f64 / seen.queries as f64;
    assert!(
        incomplete < 0.6,
        "{incomplete} of the queries never had enough answers"
    );
}

/// Totals over all queries.
#[derive(Default)]
struct Seen {
    queries: usize,
    incomplete: usize,
    flows: usize,
    /// Number and total of the parts, by activity without hosts and links.
    activities: BTreeMap<String, (usize, Span)>,
}

impl Seen {
    /// Explains some of the queries of a seed.
    fn explain(&mut self, seed: u64, wanted: usize) {
        let case = Case::new(seed);
        let mut workloads = case.scenario.workloads.iter();
        if !workloads.any(|it| matches!(it.kind, WorkloadKind::Oldi(_) | WorkloadKind::Spans(_))) {
            return;
        }
        let options = |watch| Options {
            threads: 1,
            watch,
            ..Options::default()
        };
        let queries = run(&case.scenario, 0, 0, &options(Watch::Nothing))
            .expect("a sound scenario")
            .records
            .queries;
        let most = PER_RUN.min(wanted - self.queries);
        let step = queries.len().div_ceil(most).max(1);
        for query in queries.iter().step_by(step) {
            let name = format!("query {} of seed {seed} ({})", query.query, case.summary());
            let output = run(&case.scenario, 0, 0, &options(Watch::Query(query.query)))
                .expect("a sound scenario");
            assert!(output.records.queries.contains(query), "{name}: repeated");
            let tree = Tree::new(query, &output.records.flows, &output.traces);
            let persistent = case.scenario.workloads[usize::from(query.workload)].connection
                == Connection::Persistent;
            let explained = tree.explain(query.enough);
            if let Some(enough) = query.enough {
                assert_eq!(explained.total, enough.since(query.start), "{name}");
            }
            self.check_query(
                query,
                &explained.steps,
                query.start + explained.total,
                &name,
            );
            for trace in &output.traces {
                let flows = &output.records.flows;
                let flow = flows.iter().find(|flow| flow.flow == trace.flow);
                let flow = flow.expect("a watched flow has a record");
                let of = format!("flow {} of {name}", flow.flow);
                let explained = explain(flow, &trace.events);
                if let Some(took) = flow.completion() {
                    assert_eq!(explained.total, took, "{of}");
                }
                check_flow(&explained, flow.start, persistent, &of);
                if let Some(before) = tree.before(flow.flow) {
                    self.check_query(query, &before, flow.start, &of);
                }
                self.flows += 1;
            }
            self.queries += 1;
            self.incomplete += usize::from(query.enough.is_none());
        }
    }

    /// Checks that steps cover the time from a query's start to `end` and that each activity is known.
    fn check_query(&mut self, query: &QueryRecord, steps: &[QueryStep], end: Time, name: &str) {
        let mut at = query.start;
        let mut sum = Span::ZERO;
        for step in steps {
            assert_eq!(step.from, at, "{name}: without gaps");
            assert!(step.to > step.from, "{name}");
            at = step.to;
            let time = step.to.since(step.from);
            sum += time;
            let unknown = matches!(step.doing, Doing::Untraced | Doing::Parent);
            assert!(!unknown, "{name}: {steps:#?}");
            let total = self.activities.entry(label(step.doing)).or_default();
            *total = (total.0 + 1, total.1 + time);
        }
        assert_eq!(
            (at, sum),
            (end, end.since(query.start)),
            "{name}: to the end"
        );
    }
}

/// Checks that the steps of a flow cover its time and that each cause is known. Of a persistent connection, packets of
/// earlier messages left before the flow was traced.
fn check_flow(explained: &Explanation, start: Time, persistent: bool, name: &str) {
    let mut at = start;
    for step in &explained.steps {
        assert_eq!(step.from, at, "{name}: without gaps");
        at = step.to;
        let unknown = matches!(step.cause, Cause::Host | Cause::Untraced);
        assert!(persistent || !unknown, "{name}: {:#?}", explained.steps);
    }
    assert_eq!(at, start + explained.total, "{name}: to the end");
    let parts = explained.parts().into_values();
    let sum = parts.fold(Span::ZERO, |sum, part| sum + part);
    assert_eq!(sum, explained.total, "{name}");
}

fn label(doing: Doing) -> String {
    let flow = |stage: Stage, cause: Cause| match cause {
        Cause::Queue(_) => "Queue".to_owned(),
        Cause::Transmission(_) => "Transmission".to_owned(),
        Cause::Timer(timer) => format!("Timer({timer:?})"),
        cause => format!("{cause:?}"),
    } + if stage == Stage::Pause { " paused" } else { "" };
    match doing {
        Doing::Down(stage, cause) | Doing::Up(stage, cause) => flow(stage, cause),
        doing => format!("{doing:?}"),
    }
}
