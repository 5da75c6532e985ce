//! Results of a study: a row per transport and a summary.

use duetime_results::summary::GroupEstimate;
use duetime_results::text::{list, percent, percent_near};
use duetime_results::{Estimate, RunSummary, Summary};
use duetime_scenario::Scenario;
use duetime_scenario::model::Workload;
use serde::Serialize;

/// Subject of the results if queries have a budget.
pub const QUERIES: &str = "queries";
/// Subject of the results if only flows have deadlines.
const FLOWS: &str = "flows with deadlines";
/// Subject of the results without budgets and deadlines.
const ALL_FLOWS: &str = "flows";

/// Results of a transport over all runs.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Name of the transport.
    transport: String,
    /// Number of runs.
    runs: usize,
    /// Counted items: queries or flows.
    subject: &'static str,
    /// Number of counted items over all runs.
    asked: u64,
    /// Share of them in time.
    in_time: Option<Share>,
    /// Share of answers in time, if there are queries.
    answers_in_time: Option<f64>,
    /// Number of requested answers.
    answers_asked: u64,
    /// The 50th, 90th, 99th and 99.9th percentiles of the completion times in seconds. Null if too many never finished
    /// or if there are too few values.
    completion_s: [Option<f64>; 4],
    /// Ends of the percentiles' 95 % intervals, or null without an interval.
    completion_intervals_s: [Option<[f64; 2]>; 4],
    /// Number of completion times.
    completions: u64,
    /// Packets per run dropped because of full buffers.
    drops: f64,
    /// Packets marked per run.
    marks: f64,
    /// Retransmission timeouts per run.
    timeouts: f64,
    /// Largest queue of any port, in bytes.
    queue_max_bytes: u64,
}

/// Share in [0, 1], as a number and as text.
#[derive(Clone, Debug, Serialize)]
struct Share {
    value: f64,
    text: String,
    /// Lower end of the 95 % interval, or null for a single run.
    low: Option<f64>,
    /// Upper end of the interval.
    high: Option<f64>,
    /// True if the interval is only the range of two or three runs.
    few: bool,
}

impl Row {
    /// Builds the row from the runs and their summary. `target` is the required share in time.
    pub fn of(summary: &Summary, runs: &[RunSummary], target: Option<f64>) -> Self {
        let deadlines = summary.deadlines.as_ref();
        let (subject, asked, in_time) = match (&summary.objective, deadlines) {
            (Some(objective), _) => (QUERIES, objective.queries, Some(objective.in_time)),
            (None, Some(deadlines)) => (
                FLOWS,
                deadlines.flows,
                Some(deadlines.application_throughput),
            ),
            (None, None) => (
                ALL_FLOWS,
                summary.groups.iter().map(|group| group.flows).sum(),
                None,
            ),
        };
        let queries = summary
            .queries
            .iter()
            .find(|queries| queries.objective.is_some());
        let queries = queries.or(summary.queries.first());
        let group = || -> Option<&GroupEstimate> {
            let groups = summary.groups.iter();
            groups
                .clone()
                .find(|group| group.deadlines.is_some())
                .or_else(|| groups.clone().next())
        };
        let times = queries
            .map(|queries| (queries.completion_s, queries.queries))
            .or_else(|| group().map(|group| (group.completion_s, group.flows)));
        let (times, completions) = times.unwrap_or_default();
        let times = [times.p50, times.p90, times.p99, times.p999];
        let per_run = |sum: u64| sum as f64 / runs.len().max(1) as f64;
        let network = |pick: fn(&RunSummary) -> u64| per_run(runs.iter().map(pick).sum());
        Self {
            transport: summary.transport.clone(),
            runs: runs.len(),
            subject,
            asked,
            in_time: in_time.map(|share| Share::of(share, target)),
            answers_asked: queries.map_or(0, |queries| queries.asked),
            answers_in_time: queries.and_then(|queries| Some(queries.answers_in_time?.value)),
            completion_s: times.map(|time| time.map(|time| time.value)),
            completion_intervals_s: times
                .map(|time| time?.interval.map(|ends| [ends.low, ends.high])),
            completions,
            drops: network(|run| run.network.drops),
            marks: network(|run| run.network.marks),
            timeouts: network(|run| run.groups.iter().map(|group| group.timeouts).sum()),
            queue_max_bytes: runs
                .iter()
                .map(|run| run.network.queue_max_bytes)
                .max()
                .unwrap_or(0),
        }
    }
}

impl Share {
    fn of(estimate: Estimate, target: Option<f64>) -> Self {
        Self {
            value: estimate.value,
            text: percent_near(estimate.value, target),
            low: estimate.interval.map(|ends| ends.low),
            high: estimate.interval.map(|ends| ends.high),
            few: estimate.interval.is_some_and(|ends| ends.has_few_runs()),
        }
    }
}

/// Returns the subject of the rows.
pub fn subject(rows: &[Row]) -> &'static str {
    rows.first().map_or(ALL_FLOWS, |row| row.subject)
}

/// Returns the page's first sentence, or `None` before the first run.
pub fn sentence(rows: &[Row], best: Option<f64>) -> Option<String> {
    let subject = subject(rows);
    let shares = rows
        .iter()
        .filter_map(|row| Some((row, row.in_time.as_ref()?)));
    let best_text = shares
        .clone()
        .max_by(|a, b| a.1.value.total_cmp(&b.1.value))
        .map(|(row, share)| (row.asked, share.text.clone()));
    let Some((asked, best_text)) = best_text else {
        let first = rows.first()?;
        return Some(format!(
            "The flows of this scenario have no deadlines, so none can be late. {} flows ran.",
            first.asked
        ));
    };
    let names = shares.filter(|(_, share)| share.text == best_text);
    let names = names.map(|(row, _)| row.transport.clone());
    let best = best.map_or(String::new(), |best| {
        format!("; the best possible is {}", percent(best))
    });
    Some(format!(
        "{best_text} of {asked} {subject} in time under {}{best}.",
        list(names)
    ))
}

/// Returns the required share of queries in time, the largest of all workloads.
pub fn target(scenario: &Scenario) -> Option<f64> {
    let all = scenario.workloads.iter().filter_map(Workload::objective);
    all.filter_map(|objective| objective.share)
        .max_by(f64::total_cmp)
}

/// Returns the budget of the queries in seconds, or `None` if there is none or several.
pub fn budget_s(scenario: &Scenario) -> Option<f64> {
    let all = scenario.workloads.iter().filter_map(Workload::objective);
    let mut all: Vec<_> = all.flat_map(|objective| &objective.within).collect();
    all.dedup();
    match all[..] {
        [one] => Some(one.as_secs_f64()),
        _ => None,
    }
}
