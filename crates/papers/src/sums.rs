//! What is kept of one run: counts, sums and spreads from which every metric is computed.

use duetime_core::Time;
use duetime_results::{Class, FlowRecord, RunRecords, RunSummary};
use duetime_scenario::Scenario;
use serde::{Deserialize, Serialize};

use super::spread::Spread;

/// A flow is slow from this completion time on: below TCP's `RTOmin` of 300 ms, above all deadlines of the papers.
const SLOW_S: f64 = 0.2;

/// One run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sums {
    /// By workload and class.
    pub groups: Vec<GroupSums>,
    /// By workload: queries, and the sum of their shares of answers in time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queries: Vec<(u16, u64, f64)>,
    /// By sampled link.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkSums>,
    /// Packets dropped for want of buffer.
    pub drops: u64,
    /// Utilisation of the busiest link, in [0, 1].
    pub utilisation: f64,
    /// (time allowed, completion) of each measured deadline flow, ns; kept on request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<(u64, Option<u64>)>,
    /// Kept on request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<LinkSeries>,
}

/// One workload's measured flows of one class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupSums {
    /// Index of the workload.
    pub workload: u16,
    /// Class of the flows.
    pub class: Class,
    /// Flows that have an end.
    pub finite: u64,
    /// Of them, those that finished.
    pub finished: u64,
    /// Flows with a deadline.
    pub deadline_flows: u64,
    /// Of those, the ones that met it.
    pub met: u64,
    /// Of those, the ones that finished late.
    pub late: u64,
    /// Sum of their overshoots, as shares of the time allowed.
    pub overshoot: f64,
    /// Flows with a retransmission timeout.
    pub timeouts: u64,
    /// Flows that took 200 ms or never finished.
    pub slow: u64,
    /// D3: rate requests sent, denied, and denied while a later deadline held more.
    pub requests: (u64, u64, u64),
    /// D3: deadline flows of which at least one request was denied while a later deadline held more.
    pub inverted: u64,
    /// Mean completion time of those that finished, s.
    pub completion_mean_s: Option<f64>,
    /// Mean goodput, bytes per second.
    pub goodput_mean: Option<f64>,
    /// Completion times, s.
    #[serde(default, skip_serializing_if = "Spread::is_empty")]
    pub completion_s: Spread,
    /// Completion over time allowed.
    #[serde(default, skip_serializing_if = "Spread::is_empty")]
    pub allowed: Spread,
}

/// The samples of one link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkSums {
    /// The link.
    pub link: String,
    /// Samples.
    pub samples: u64,
    /// Sum of the queue over them, bytes.
    pub queue_bytes: u64,
    /// Bytes sent over them.
    pub sent_bytes: u64,
    /// Time from sample to sample, s.
    pub every_s: f64,
    /// The queue, bytes.
    pub queue: Spread,
    /// The throughput, bits per second.
    pub throughput_bps: Spread,
}

/// One link over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkSeries {
    /// The link.
    pub link: String,
    /// Time from sample to sample, s.
    pub every_s: f64,
    /// The queue at each, bytes.
    pub queue_bytes: Vec<u64>,
    /// Bytes sent since the one before.
    pub sent_bytes: Vec<u64>,
}

/// What is kept beside counts and sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Keep {
    /// Flows one by one, of the first so many seeds.
    pub flows_of_runs: u32,
    /// The series of the first seed.
    pub series: bool,
}

impl Sums {
    /// Of one run.
    pub fn of(scenario: &Scenario, run: u64, records: &RunRecords, keep: Keep) -> Self {
        let summary = RunSummary::of(run, records);
        let measured = || records.flows.iter().filter(|flow| flow.measured);
        let deadline_flows = || measured().filter(|flow| flow.deadline.is_some());
        let flows = if run < u64::from(keep.flows_of_runs) {
            deadline_flows().filter_map(pair).collect()
        } else {
            Vec::new()
        };
        let groups = summary.groups.iter().map(|group| {
            let own: Vec<&FlowRecord> = measured()
                .filter(|flow| (flow.workload, flow.class) == (group.workload, group.class))
                .collect();
            let took = |flow: &&FlowRecord| flow.completion().map(duetime_core::Span::as_secs_f64);
            let shares: Vec<f64> = own.iter().filter_map(|flow| share(flow)).collect();
            let late = || shares.iter().filter(|share| **share > 1.0);
            let count = |of: &dyn Fn(&FlowRecord) -> bool| {
                own.iter().filter(|flow| of(flow)).count() as u64
            };
            GroupSums {
                workload: group.workload,
                class: group.class,
                finite: count(&FlowRecord::is_finite),
                finished: group.finished,
                deadline_flows: group.deadline_flows,
                met: group.met,
                late: late().count() as u64,
                overshoot: late().map(|share| share - 1.0).sum(),
                timeouts: count(&|flow| flow.timeouts > 0),
                slow: count(&|flow| {
                    flow.is_finite() && took(&flow).is_none_or(|took| took >= SLOW_S)
                }),
                requests: (group.requests, group.denials, group.inversions),
                inverted: count(&|flow| flow.deadline.is_some() && flow.inversions > 0),
                completion_mean_s: group.completion_s.mean,
                goodput_mean: group.goodput_bytes_per_s.mean,
                completion_s: Spread::of(own.iter().filter_map(took)),
                allowed: Spread::of(shares.iter().copied()),
            }
        });
        Self {
            groups: groups.collect(),
            queries: summary
                .queries
                .iter()
                .map(|query| (query.workload, query.queries, query.in_time))
                .collect(),
            links: links(scenario, records),
            drops: summary.network.drops,
            utilisation: summary.network.utilisation,
            flows,
            series: if keep.series && run == 0 {
                series(scenario, records)
            } else {
                Vec::new()
            },
        }
    }
}

fn pair(flow: &FlowRecord) -> Option<(u64, Option<u64>)> {
    let allowed = flow.deadline?.since(flow.start).as_ns();
    Some((allowed, flow.completion().map(duetime_core::Span::as_ns)))
}

/// Completion over time allowed. What met its deadline is at most 1, whatever the rounding.
fn share(flow: &FlowRecord) -> Option<f64> {
    let allowed = flow.deadline?.since(flow.start).as_secs_f64().max(1e-12);
    let share = flow.completion()?.as_secs_f64() / allowed;
    Some(if flow.met() == Some(true) {
        share.min(0.999_999_9)
    } else {
        share
    })
}

fn links(scenario: &Scenario, records: &RunRecords) -> Vec<LinkSums> {
    let Some(every) = scenario.record.every else {
        return Vec::new();
    };
    let every_s = every.as_secs_f64();
    let (from, to) = (
        Time::ZERO + scenario.warm_up,
        Time::ZERO + scenario.duration,
    );
    let link = |(index, name): (usize, &String)| {
        let samples: Vec<_> = records
            .series
            .iter()
            .filter(|sample| sample.link as usize == index && from < sample.at && sample.at <= to)
            .collect();
        LinkSums {
            link: name.clone(),
            samples: samples.len() as u64,
            queue_bytes: samples.iter().map(|sample| sample.queue_bytes).sum(),
            sent_bytes: samples.iter().map(|sample| sample.sent_bytes).sum(),
            every_s,
            queue: Spread::of(samples.iter().map(|sample| sample.queue_bytes as f64)),
            throughput_bps: Spread::of(
                samples
                    .iter()
                    .map(|sample| sample.sent_bytes as f64 * 8.0 / every_s),
            ),
        }
    };
    records.sampled_links.iter().enumerate().map(link).collect()
}

fn series(scenario: &Scenario, records: &RunRecords) -> Vec<LinkSeries> {
    let Some(every) = scenario.record.every else {
        return Vec::new();
    };
    let link = |(index, name): (usize, &String)| {
        let samples = || {
            records
                .series
                .iter()
                .filter(move |sample| sample.link as usize == index)
        };
        LinkSeries {
            link: name.clone(),
            every_s: every.as_secs_f64(),
            queue_bytes: samples().map(|sample| sample.queue_bytes).collect(),
            sent_bytes: samples().map(|sample| sample.sent_bytes).collect(),
        }
    };
    records.sampled_links.iter().enumerate().map(link).collect()
}
