//! Summary of one run, small enough to be kept for every run of a sweep.

use super::{Key, Percentiles, ServersSummary};
use crate::pool::Samples;
use crate::stats::jain;
use crate::{Class, FlowRecord, PortRecord, QueryRecord, RunRecords, SeriesSample, Totals};
use serde::Serialize;
use std::collections::BTreeMap;

/// Summary of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunSummary {
    /// Index of the run, which is the index of its seed.
    pub run: u64,
    /// Flows, by workload and class; only those with measured flows.
    pub groups: Vec<GroupSummary>,
    /// Queries, by workload; only those with measured queries.
    pub queries: Vec<QuerySummary>,
    /// Network.
    pub network: NetworkSummary,
    /// Servers of the hosts; `None` if they are unlimited or computed nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub servers: Option<ServersSummary>,
    /// Queues, by sampled link.
    pub sampled: Vec<SampledQueue>,
}

/// Measured flows of one workload and class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupSummary {
    /// Index of the workload in the scenario.
    pub workload: u16,
    /// Class of the flows.
    pub class: Class,
    /// Number of flows.
    pub flows: u64,
    /// Finished flows.
    pub finished: u64,
    /// Quenched flows.
    pub quenched: u64,
    /// Flows with a deadline.
    pub deadline_flows: u64,
    /// Flows that met their deadline.
    pub met: u64,
    /// Bytes delivered in order.
    pub delivered_bytes: u64,
    /// Completion time in seconds.
    pub completion_s: Percentiles<Option<f64>>,
    /// Slack in seconds.
    pub slack_s: Percentiles<Option<f64>>,
    /// Goodput in bytes per second, per flow.
    pub goodput_bytes_per_s: Percentiles<Option<f64>>,
    /// Jain's index of the goodputs; `None` except for long flows.
    pub fairness: Option<f64>,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Retransmitted segments.
    pub retransmits: u64,
    /// Marked data segments.
    pub marks: u64,
    /// D3: rate requests sent.
    pub requests: u64,
    /// D3: denied rate requests.
    pub denials: u64,
    /// D3: denials that were priority inversions.
    pub inversions: u64,
    /// Samples of the percentiles.
    #[serde(skip)]
    pub samples: GroupSamples,
}

/// Samples of the flows of one workload and class in one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupSamples {
    /// Completion times in seconds.
    pub(super) completion: Samples,
    /// Slacks in seconds.
    pub(super) slack: Samples,
    /// Goodputs in bytes per second.
    pub(super) goodput: Samples,
}

/// Measured queries of one workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QuerySummary {
    /// Index of the workload in the scenario.
    pub workload: u16,
    /// Number of queries.
    pub queries: u64,
    /// Sum over all queries of the share of their answers in time.
    pub in_time: f64,
    /// Queries without a single answer in time.
    pub no_answer: u64,
    /// Queries with less than 95 % of their answers in time.
    pub below_95: u64,
    /// Seconds from arrival until the root had enough leaf answers.
    pub completion_s: Percentiles<Option<f64>>,
    /// Queries that can be late ([`QueryRecord::met`]).
    pub judged: u64,
    /// Queries in time.
    pub met: u64,
    /// Answers required in all layers.
    pub asked: u64,
    /// Answers with at least one leaf's answer that arrived by their deadline, if they have one.
    pub answers_in_time: u64,
    /// Leaves of all queries.
    pub leaves: u64,
    /// Leaves whose answers reached the root in time.
    pub leaves_in_time: u64,
    /// Aggregators that timed out waiting for their children.
    pub gave_up: u64,
    /// Hedges and retries.
    pub again: Reissues,
    /// Completion times of the percentiles.
    #[serde(skip)]
    pub samples: Samples,
}

/// Hedges and retries, and their cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Reissues {
    /// Hedges: second queries to leaves, sent while the first was unanswered.
    pub hedges: u64,
    /// Hedges that were answered before the first query.
    pub hedges_won: u64,
    /// Retries: further queries to leaves, sent after a timeout.
    pub retries: u64,
    /// Retries that were answered before all other queries to the leaf.
    pub retries_won: u64,
    /// Computations started for hedges and retries.
    pub extra_computes: u64,
    /// Delivered bytes of spare answers.
    pub extra_answer_bytes: u64,
    /// Delivered bytes of all other answers.
    pub answer_bytes: u64,
}

/// Network over one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NetworkSummary {
    /// Simulated time in seconds.
    pub end_s: f64,
    /// Packets that crossed a link.
    pub packet_hops: u64,
    /// Packets dropped because a buffer was full.
    pub drops: u64,
    /// Packets lost by seeded loss.
    pub losses: u64,
    /// Packets marked.
    pub marks: u64,
    /// Largest queue of any port, in bytes.
    pub queue_max_bytes: u64,
    /// Link of the port with the largest queue.
    pub queue_max_link: String,
    /// Mean queue of that port, in bytes.
    pub queue_mean_bytes: f64,
    /// Utilisation of the busiest link, in [0, 1].
    pub utilisation: f64,
    /// Name of the busiest link.
    pub busiest_link: String,
    /// Largest number of packets dropped at one port.
    pub most_drops: u64,
    /// Link of that port; empty without drops.
    pub most_drops_link: String,
}

/// Samples of one link's queue, in bytes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SampledQueue {
    /// Name of the link.
    pub link: String,
    /// Mean and percentiles of the samples, in bytes.
    pub queue_bytes: Percentiles<Option<f64>>,
    /// Largest sample.
    pub max_bytes: u64,
}

impl RunSummary {
    /// Summarizes one run.
    pub fn of(run: u64, records: &RunRecords) -> Self {
        let mut groups: BTreeMap<Key, Vec<&FlowRecord>> = BTreeMap::new();
        let flows = records.flows.iter();
        for flow in flows.filter(|flow| flow.measured && !flow.spare.0) {
            groups
                .entry((flow.workload, flow.class))
                .or_default()
                .push(flow);
        }
        let mut queries: BTreeMap<u16, Vec<&QueryRecord>> = BTreeMap::new();
        for query in records.queries.iter().filter(|query| query.measured) {
            queries.entry(query.workload).or_default().push(query);
        }
        let links = (0..).zip(&records.sampled_links);
        Self {
            run,
            groups: groups
                .into_iter()
                .map(|(key, flows)| GroupSummary::of(key, &flows, &records.totals))
                .collect(),
            queries: queries
                .into_iter()
                .map(|(workload, rows)| QuerySummary::of(workload, &rows, &records.flows))
                .collect(),
            network: NetworkSummary::of(&records.ports, &records.totals),
            servers: ServersSummary::of(&records.servers),
            sampled: links
                .map(|(i, name)| SampledQueue::of(name, i, &records.series))
                .collect(),
        }
    }

    /// Returns the flows of one workload and class.
    pub fn group(&self, (workload, class): (u16, Class)) -> Option<&GroupSummary> {
        self.groups
            .iter()
            .find(|group| group.workload == workload && group.class == class)
    }

    /// Drops the samples to save memory. The run no longer counts in pooled percentiles.
    pub fn drop_samples(&mut self) {
        for group in &mut self.groups {
            group.samples = GroupSamples::default();
        }
        for query in &mut self.queries {
            query.samples = Samples::default();
        }
    }

    /// Returns the measured queries in time and the measured queries that can be late, over all workloads.
    pub fn queries_in_time(&self) -> (u64, u64) {
        self.queries.iter().fold((0, 0), |(met, judged), query| {
            (met + query.met, judged + query.judged)
        })
    }

    /// Returns the number of measured flows with a deadline, over all workloads.
    pub fn deadline_flows(&self) -> u64 {
        self.groups.iter().map(|group| group.deadline_flows).sum()
    }

    /// Returns the number of measured flows that met their deadline, over all workloads.
    pub fn met(&self) -> u64 {
        self.groups.iter().map(|group| group.met).sum()
    }
}

impl GroupSummary {
    fn of((workload, class): Key, flows: &[&FlowRecord], totals: &Totals) -> Self {
        let count = |wanted: &dyn Fn(&FlowRecord) -> bool| {
            flows.iter().filter(|flow| wanted(flow)).count() as u64
        };
        let sum =
            |pick: fn(&FlowRecord) -> u32| flows.iter().map(|flow| u64::from(pick(flow))).sum();
        let completions = flows.iter().filter_map(|flow| flow.completion());
        let completions: Vec<f64> = completions.map(duetime_core::Span::as_secs_f64).collect();
        let slacks = flows.iter().filter_map(|flow| flow.slack_ps());
        let slacks = slacks.map(|ps| ps as f64 / 1e12);
        let goodputs: Vec<f64> = flows
            .iter()
            .filter_map(|flow| goodput(flow, totals))
            .collect();
        let finite = count(&FlowRecord::is_finite);
        let deadline_flows = count(&|flow| flow.deadline.is_some());
        let samples = GroupSamples {
            completion: Samples::least_best(completions, finite),
            slack: Samples::most_best(slacks, deadline_flows),
            goodput: Samples::most_best(goodputs.iter().copied(), 0),
        };
        Self {
            workload,
            class,
            flows: flows.len() as u64,
            finished: count(&|flow| flow.finish.is_some()),
            quenched: count(&|flow| flow.quenched),
            deadline_flows,
            met: count(&|flow| flow.met() == Some(true)),
            delivered_bytes: flows.iter().map(|flow| flow.delivered_bytes).sum(),
            completion_s: samples.completion.percentiles(),
            slack_s: samples.slack.percentiles(),
            goodput_bytes_per_s: samples.goodput.percentiles(),
            samples,
            fairness: if class == Class::Long {
                jain(&goodputs)
            } else {
                None
            },
            timeouts: sum(|flow| flow.timeouts),
            retransmits: sum(|flow| flow.retransmits),
            marks: sum(|flow| flow.marks),
            requests: sum(|flow| flow.requests),
            denials: sum(|flow| flow.denials),
            inversions: sum(|flow| flow.inversions),
        }
    }
}

/// Returns the bytes per second while the flow was active, or `None` for quenched flows and flows active for no time.
fn goodput(flow: &FlowRecord, totals: &Totals) -> Option<f64> {
    if flow.quenched {
        return None;
    }
    let active = flow
        .finish
        .unwrap_or(totals.end)
        .since(flow.start)
        .as_secs_f64();
    (active > 0.0).then(|| flow.delivered_bytes as f64 / active)
}

impl QuerySummary {
    fn of(workload: u16, queries: &[&QueryRecord], flows: &[FlowRecord]) -> Self {
        let completions = queries
            .iter()
            .filter_map(|query| Some(query.enough?.since(query.start).as_secs_f64()));
        let samples = Samples::least_best(completions.collect(), queries.len() as u64);
        let count = |wanted: fn(&QueryRecord) -> bool| {
            queries.iter().filter(|query| wanted(query)).count() as u64
        };
        let sum = |pick: fn(&QueryRecord) -> u32| {
            queries.iter().map(|query| u64::from(pick(query))).sum()
        };
        // An answer is measured if its query is, so all of these belong to the queries here.
        let answers = flows.iter().filter(|flow| {
            flow.measured && flow.workload == workload && flow.class == Class::Response
        });
        let bytes = |spare: bool| {
            let counted = answers.clone().filter(|flow| flow.spare.0 == spare);
            counted.map(|flow| flow.delivered_bytes).sum()
        };
        let again = Reissues {
            hedges: sum(|query| query.hedges.0),
            hedges_won: sum(|query| query.hedges_won.0),
            retries: sum(|query| query.retries.0),
            retries_won: sum(|query| query.retries_won.0),
            extra_computes: sum(|query| query.extra_computes.0),
            extra_answer_bytes: bytes(true),
            answer_bytes: bytes(false),
        };
        Self {
            again,
            judged: count(|query| query.judged),
            met: count(|query| query.met() == Some(true)),
            asked: sum(|query| query.asked),
            answers_in_time: answers.filter(|flow| flow.is_answer_in_time()).count() as u64,
            leaves: sum(|query| query.leaves),
            leaves_in_time: sum(|query| query.leaves_in_time),
            gave_up: sum(|query| query.gave_up),
            workload,
            queries: queries.len() as u64,
            in_time: queries.iter().map(|query| query.completeness()).sum(),
            no_answer: count(|query| query.in_time == 0 && query.children > 0),
            below_95: count(|query| {
                u64::from(query.in_time) * 100 < u64::from(query.children) * 95
            }),
            completion_s: samples.percentiles(),
            samples,
        }
    }
}

impl NetworkSummary {
    fn of(ports: &[PortRecord], totals: &Totals) -> Self {
        let sum = |pick: fn(&PortRecord) -> u64| ports.iter().map(pick).sum();
        // The first of several, so that the name is deterministic.
        let first_max = |better: fn(&PortRecord, &PortRecord) -> bool| {
            ports
                .iter()
                .reduce(|best, port| if better(port, best) { port } else { best })
        };
        let longest = first_max(|port, best| port.queue_max_bytes > best.queue_max_bytes);
        let busiest = first_max(|port, best| port.utilisation > best.utilisation);
        let dropping =
            first_max(|port, best| port.drops > best.drops).filter(|port| port.drops > 0);
        let name =
            |port: Option<&PortRecord>| port.map_or_else(String::new, |port| port.link.clone());
        Self {
            end_s: totals.end.as_secs_f64(),
            packet_hops: totals.packet_hops,
            drops: sum(|port| port.drops),
            losses: sum(|port| port.losses),
            marks: sum(|port| port.marks),
            queue_max_bytes: longest.map_or(0, |port| port.queue_max_bytes),
            queue_max_link: name(longest),
            queue_mean_bytes: longest.map_or(0.0, |port| port.queue_mean_bytes),
            utilisation: busiest.map_or(0.0, |port| port.utilisation),
            busiest_link: name(busiest),
            most_drops: dropping.map_or(0, |port| port.drops),
            most_drops_link: name(dropping),
        }
    }
}

impl SampledQueue {
    fn of(name: &str, link: u32, series: &[SeriesSample]) -> Self {
        let samples = || series.iter().filter(|sample| sample.link == link);
        let queues = || samples().map(|sample| sample.queue_bytes);
        let bytes: Vec<f64> = queues().map(|bytes| bytes as f64).collect();
        Self {
            link: name.to_owned(),
            queue_bytes: Samples::least_best(bytes, 0).percentiles(),
            max_bytes: queues().max().unwrap_or(0),
        }
    }
}
