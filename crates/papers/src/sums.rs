//! Summary of one run: counts, sums and distributions from which all metrics are computed.

use duetime_core::Time;
use duetime_results::{Class, FlowRecord, RunRecords, RunSummary};
use duetime_scenario::Scenario;
use serde::{Deserialize, Serialize};

use super::spread::Spread;

/// Completion time from which a flow is slow: below TCP's `RTOmin` of 300 ms, above all deadlines of the papers.
const SLOW_S: f64 = 0.2;

/// Summary of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sums {
    /// Measured flows by workload and class.
    pub groups: Vec<GroupSums>,
    /// Queries by workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queries: Vec<QuerySums>,
    /// Samples by link.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkSums>,
    /// Packets dropped at full buffers.
    pub drops: u64,
    /// Utilisation of the busiest link, in [0, 1].
    pub utilisation: f64,
    /// Largest queue of any port in bytes, or `None` without packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_max_bytes: Option<u64>,
    /// Time allowed and completion time of each measured deadline flow in nanoseconds, if `Keep` requests them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<(u64, Option<u64>)>,
    /// Series of the sampled links, if `Keep` requests them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<LinkSeries>,
}

/// Measured queries of one workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QuerySums {
    /// Index of the workload.
    pub workload: u16,
    /// Number of queries.
    pub queries: u64,
    /// Sum of the shares of their answers in time.
    pub in_time: f64,
    /// Queries that can be late.
    pub judged: u64,
    /// Judged queries in time.
    pub met: u64,
}

/// Measured flows of one workload and class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupSums {
    /// Index of the workload.
    pub workload: u16,
    /// Class of the flows.
    pub class: Class,
    /// Finite flows.
    pub finite: u64,
    /// Finite flows that finished.
    pub finished: u64,
    /// Flows with a deadline.
    pub deadline_flows: u64,
    /// Deadline flows that met their deadline.
    pub met: u64,
    /// Deadline flows that finished late.
    pub late: u64,
    /// Sum of the lateness of late flows, as shares of the time allowed.
    pub overshoot: f64,
    /// Flows with a retransmission timeout.
    pub timeouts: u64,
    /// Flows that took 200 ms or more, or never finished.
    pub slow: u64,
    /// D3: rate requests sent, denied, and denied while a flow with a later deadline held more.
    pub requests: (u64, u64, u64),
    /// D3: deadline flows with at least one request denied while a flow with a later deadline held more.
    pub inverted: u64,
    /// Mean completion time of finished flows, in seconds.
    pub completion_mean_s: Option<f64>,
    /// Mean goodput in bytes per second.
    pub goodput_mean: Option<f64>,
    /// Completion times in seconds.
    #[serde(default, skip_serializing_if = "Spread::is_empty")]
    pub completion_s: Spread,
    /// Completion time over time allowed.
    #[serde(default, skip_serializing_if = "Spread::is_empty")]
    pub allowed: Spread,
}

/// Samples of one link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkSums {
    /// Name of the link.
    pub link: String,
    /// Number of samples.
    pub samples: u64,
    /// Sum of the queue over the samples, in bytes.
    pub queue_bytes: u64,
    /// Sum of the bytes sent over the samples.
    pub sent_bytes: u64,
    /// Sampling interval in seconds.
    pub every_s: f64,
    /// Queue in bytes.
    pub queue: Spread,
    /// Throughput in bits per second.
    pub throughput_bps: Spread,
}

/// Series of one link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkSeries {
    /// Name of the link.
    pub link: String,
    /// Sampling interval in seconds.
    pub every_s: f64,
    /// Queue at each sample, in bytes.
    pub queue_bytes: Vec<u64>,
    /// Bytes sent since the previous sample.
    pub sent_bytes: Vec<u64>,
}

/// Data to store in addition to counts and sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Keep {
    /// Number of seeds whose flows are stored individually.
    pub flows_of_runs: u32,
    /// True to store the series of the first seed.
    pub series: bool,
}

impl Sums {
    /// Summarises one run.
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
            let members: Vec<&FlowRecord> = measured()
                .filter(|flow| (flow.workload, flow.class) == (group.workload, group.class))
                .collect();
            let took = |flow: &&FlowRecord| flow.completion().map(duetime_core::Span::as_secs_f64);
            let shares: Vec<f64> = members.iter().filter_map(|flow| share(flow)).collect();
            let late = || shares.iter().filter(|share| **share > 1.0);
            let count = |matches: &dyn Fn(&FlowRecord) -> bool| {
                members.iter().filter(|flow| matches(flow)).count() as u64
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
                completion_s: Spread::of(members.iter().filter_map(took)),
                allowed: Spread::of(shares.iter().copied()),
            }
        });
        Self {
            groups: groups.collect(),
            queries: summary
                .queries
                .iter()
                .map(|query| QuerySums {
                    workload: query.workload,
                    queries: query.queries,
                    in_time: query.in_time,
                    judged: query.judged,
                    met: query.met,
                })
                .collect(),
            links: links(scenario, records),
            drops: summary.network.drops,
            utilisation: summary.network.utilisation,
            queue_max_bytes: (!records.ports.is_empty()).then_some(summary.network.queue_max_bytes),
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

/// Returns completion time over time allowed: below 1 if the deadline was met, despite rounding.
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
