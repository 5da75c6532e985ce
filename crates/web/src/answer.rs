//! What a study says: a row for each transport, and one sentence about all of them.

use duetime_results::summary::GroupEstimate;
use duetime_results::text::{list, percent, percent_near};
use duetime_results::{Estimate, RunSummary, Summary};
use duetime_scenario::Scenario;
use duetime_scenario::model::Workload;
use serde::Serialize;

/// What is counted: queries that have a budget.
pub const QUERIES: &str = "queries";
/// Flows that have a deadline.
const FLOWS: &str = "flows with deadlines";
/// Nothing says when anything is late.
const NOTHING: &str = "flows";

/// One transport, over all its runs.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Its name.
    transport: String,
    /// Runs.
    runs: usize,
    /// What is counted.
    subject: &'static str,
    /// How many, over all runs.
    asked: u64,
    /// The share of them in time.
    in_time: Option<Share>,
    /// The share of all answers by their deadlines, where there are queries.
    answers_in_time: Option<f64>,
    /// The answers that it is a share of.
    answers_asked: u64,
    /// Seconds until half, 90, 99 and 99.9 % of those of all runs were complete; null where some of that share never
    /// were, or where they are too few to say.
    completion_s: [Option<f64>; 4],
    /// Ends of their 95 % intervals; null where there is none.
    completion_intervals_s: [Option<[f64; 2]>; 4],
    /// Queries or flows that they are of.
    completions: u64,
    /// Packets dropped for want of buffer, in a run.
    drops: f64,
    /// Packets marked, in a run.
    marks: f64,
    /// Retransmission timeouts, in a run.
    timeouts: f64,
    /// Largest queue of any port, in bytes.
    queue_max_bytes: u64,
}

/// A share in [0, 1], as it is and as it is written.
#[derive(Clone, Debug, Serialize)]
struct Share {
    value: f64,
    text: String,
    /// Ends of the 95 % interval; null from one run.
    low: Option<f64>,
    high: Option<f64>,
    /// The interval is no more than the range of two or three runs.
    few: bool,
}

impl Row {
    /// Of these runs and their sum, with the share that shall be in time.
    pub fn of(summary: &Summary, runs: &[RunSummary], target: Option<f64>) -> Self {
        let deadlines = summary.deadlines.as_ref();
        let (subject, asked, in_time) = match (&summary.objective, deadlines) {
            (Some(of), _) => (QUERIES, of.queries, Some(of.in_time)),
            (None, Some(of)) => (FLOWS, of.flows, Some(of.application_throughput)),
            (None, None) => (
                NOTHING,
                summary.groups.iter().map(|of| of.flows).sum(),
                None,
            ),
        };
        let queries = summary.queries.iter().find(|of| of.objective.is_some());
        let queries = queries.or(summary.queries.first());
        let group = || -> Option<&GroupEstimate> {
            let groups = summary.groups.iter();
            groups
                .clone()
                .find(|of| of.deadlines.is_some())
                .or_else(|| groups.clone().next())
        };
        let times = queries
            .map(|of| (of.completion_s, of.queries))
            .or_else(|| group().map(|of| (of.completion_s, of.flows)));
        let (times, completions) = times.unwrap_or_default();
        let times = [times.p50, times.p90, times.p99, times.p999];
        let per_run = |sum: u64| sum as f64 / runs.len().max(1) as f64;
        let network = |pick: fn(&RunSummary) -> u64| per_run(runs.iter().map(pick).sum());
        Self {
            transport: summary.transport.clone(),
            runs: runs.len(),
            subject,
            asked,
            in_time: in_time.map(|of| Share::of(of, target)),
            answers_asked: queries.map_or(0, |of| of.asked),
            answers_in_time: queries.and_then(|of| Some(of.answers_in_time?.value)),
            completion_s: times.map(|of| of.map(|of| of.value)),
            completion_intervals_s: times.map(|of| of?.interval.map(|ends| [ends.low, ends.high])),
            completions,
            drops: network(|run| run.network.drops),
            marks: network(|run| run.network.marks),
            timeouts: network(|run| run.groups.iter().map(|of| of.timeouts).sum()),
            queue_max_bytes: runs
                .iter()
                .map(|run| run.network.queue_max_bytes)
                .max()
                .unwrap_or(0),
        }
    }
}

impl Share {
    fn of(of: Estimate, target: Option<f64>) -> Self {
        Self {
            value: of.value,
            text: percent_near(of.value, target),
            low: of.interval.map(|ends| ends.low),
            high: of.interval.map(|ends| ends.high),
            few: of.interval.is_some_and(|ends| ends.is_of_few()),
        }
    }
}

/// What the rows count.
pub fn subject(rows: &[Row]) -> &'static str {
    rows.first().map_or(NOTHING, |row| row.subject)
}

/// The page's first sentence; `None` before the first run.
pub fn sentence(rows: &[Row], best: Option<f64>) -> Option<String> {
    let subject = subject(rows);
    let shares = rows
        .iter()
        .filter_map(|row| Some((row, row.in_time.as_ref()?)));
    let most = shares
        .clone()
        .max_by(|a, b| a.1.value.total_cmp(&b.1.value))
        .map(|(row, share)| (row.asked, share.text.clone()));
    let Some((asked, most)) = most else {
        let first = rows.first()?;
        return Some(format!(
            "Nothing says when a flow of this scenario is late: give it a deadline. {} flows ran.",
            first.asked
        ));
    };
    let names = shares.filter(|(_, share)| share.text == most);
    let names = names.map(|(row, _)| row.transport.clone());
    let best = best.map_or(String::new(), |best| {
        format!("; the best possible is {}", percent(best))
    });
    Some(format!(
        "{most} of {asked} {subject} in time under {}{best}.",
        list(names)
    ))
}

/// The share of the queries that shall be in time: the strictest of all workloads.
pub fn target(scenario: &Scenario) -> Option<f64> {
    let all = scenario.workloads.iter().filter_map(Workload::objective);
    all.filter_map(|of| of.share).max_by(f64::total_cmp)
}

/// The budget of the queries in seconds, where there is one and no other.
pub fn budget_s(scenario: &Scenario) -> Option<f64> {
    let all = scenario.workloads.iter().filter_map(Workload::objective);
    let mut all: Vec<_> = all.flat_map(|of| &of.within).collect();
    all.dedup();
    match all[..] {
        [one] => Some(one.as_secs_f64()),
        _ => None,
    }
}
