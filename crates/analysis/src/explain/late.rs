//! Late queries of a run, each with the kind of waiting that took the largest part of its time.

use super::{Activity, Cause, Limit, QueryExplanation, QueryStep, Tree};
use duetime_core::Span;
use duetime_results::{Class, FlowEventKind, FlowRecord, FlowTrace, QueryRecord, RunRecords};
use duetime_sim::topology::Network;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of trace events of a repetition, about 64 B each. If the late queries of a run have more, only every
/// n-th is explained.
const MAX_EVENTS: u64 = 2_000_000;

/// Late queries of a run.
pub struct LateQueries<'a> {
    /// Queries to explain, each with the flows that can be on its critical path.
    queries: Vec<(&'a QueryRecord, Vec<FlowRecord>)>,
    /// Flows with retransmission timeouts.
    with_timeout: Vec<&'a FlowRecord>,
}

/// A late query and its limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitedQuery {
    /// Index of the workload.
    pub workload: u16,
    /// Kind of waiting that took the largest part of the query's time.
    pub limit: Limit,
    /// Queue in which the query waited longest, if queues are the limit.
    pub queue: Option<Queue>,
}

/// Queue, as its place and the name of its link, which is empty for a host's own port.
pub type Queue = (Place, String);

/// Place of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Switch port to a host.
    ToHost,
    /// Switch port to a switch.
    Between,
    /// Port of a host.
    FromHost,
}

impl<'a> LateQueries<'a> {
    /// Selects the measured late queries of a run.
    pub fn of(records: &'a RunRecords) -> Self {
        let late = |query: &&QueryRecord| query.measured && query.met() == Some(false);
        let late: Vec<&QueryRecord> = records.queries.iter().filter(late).collect();
        let mut by_query: BTreeMap<u64, Vec<&FlowRecord>> =
            late.iter().map(|query| (query.query, Vec::new())).collect();
        for flow in &records.flows {
            if let Some(flows) = flow.query.and_then(|query| by_query.get_mut(&query)) {
                flows.push(flow);
            }
        }
        let path = |query: &QueryRecord| on_path(query, &by_query[&query.query]);
        let queries = late.into_iter().map(|query| (query, path(query)));
        let queries: Vec<(&QueryRecord, Vec<FlowRecord>)> = queries.collect();
        let flows = queries.iter().flat_map(|(_, flows)| flows);
        let events: u64 = flows.map(events).sum();
        let step = events.div_ceil(MAX_EVENTS).max(1);
        let step = usize::try_from(step).unwrap_or(usize::MAX);
        let flows = records.flows.iter();
        Self {
            queries: queries.into_iter().step_by(step).collect(),
            with_timeout: flows.filter(|flow| flow.timeouts > 0).collect(),
        }
    }

    /// Returns true if no query is late.
    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// Returns the IDs of the flows to trace.
    pub fn flows(&self) -> BTreeSet<u64> {
        let flows = self.queries.iter().flat_map(|(_, flows)| flows);
        flows.map(|flow| flow.flow).collect()
    }

    /// Explains the queries from the traces of their flows.
    pub fn explain(self, traces: Vec<FlowTrace>, network: &Network) -> Vec<LimitedQuery> {
        let traces = traces.into_iter().map(|trace| (trace.flow, trace));
        let mut traces: BTreeMap<u64, FlowTrace> = traces.collect();
        let queries = self.queries.into_iter().map(|(query, flows)| {
            let of_query = flows.iter().filter_map(|flow| traces.remove(&flow.flow));
            let of_query: Vec<FlowTrace> = of_query.collect();
            let explanation = Tree::new(query, &flows, &of_query).explain(query.enough);
            let limit = limit(&explanation, &flows, &of_query, &self.with_timeout);
            let queue = (limit == Limit::Queue).then(|| longest_queue(&explanation.steps, network));
            LimitedQuery {
                workload: query.workload,
                limit,
                queue: queue.flatten(),
            }
        });
        queries.collect()
    }
}

/// Returns the flows of a query that can be on its critical path, in the order of the records.
fn on_path(query: &QueryRecord, flows: &[&FlowRecord]) -> Vec<FlowRecord> {
    let has_layers = query.leaves > query.children;
    let is_last = |flow: &FlowRecord| flow.class == Class::Response && flow.finish == query.enough;
    let last: Vec<&FlowRecord> = flows.iter().copied().filter(|flow| is_last(flow)).collect();
    // A path through aggregators, or to a leaf that received several queries, can include any of the flows.
    if has_layers || last.is_empty() || last.iter().any(|flow| flow.attempt.0 > 0) {
        return flows.iter().copied().cloned().collect();
    }
    let is_query = |flow: &FlowRecord| {
        let mut sources = last.iter().map(|answer| answer.source);
        flow.class == Class::Query && sources.any(|source| source == flow.destination)
    };
    let flows = flows.iter().copied();
    flows
        .filter(|flow| is_last(flow) || is_query(flow))
        .cloned()
        .collect()
}

/// Estimates the number of trace events of a flow, from a constant number per message and per packet with its
/// acknowledgement.
fn events(flow: &FlowRecord) -> u64 {
    const PER_MESSAGE: u64 = 20;
    const PER_PACKET: u64 = 15;
    PER_MESSAGE + flow.size_bytes / 1_000 * PER_PACKET
}

/// Returns the kind of waiting that takes the largest part of a query's time.
fn limit(
    explanation: &QueryExplanation,
    flows: &[FlowRecord],
    traces: &[FlowTrace],
    with_timeout: &[&FlowRecord],
) -> Limit {
    let limit = Limit::largest(&explanation.steps).unwrap_or(Limit::Unfinished);
    let Some(&last) = explanation.flows.last() else {
        return limit;
    };
    let is_timeout = match limit {
        // The run ended before the loss was repaired, so the trace shows the loss but not the wait.
        Limit::Unfinished => {
            let lossy = (traces.iter()).find(|trace| trace.flow == last && has_loss(trace));
            if lossy.is_some_and(is_granted_by_receiver) {
                return Limit::LossRecovery;
            }
            lossy.is_some()
        }
        // The message waited behind a message of an earlier query that had a timeout.
        Limit::EarlierMessages => {
            (flows.iter()).any(|flow| flow.flow == last && is_behind(flow, with_timeout))
        }
        _ => false,
    };
    if is_timeout {
        Limit::RetransmissionTimeout
    } else {
        limit
    }
}

/// Returns true if a packet was dropped or lost.
fn has_loss(trace: &FlowTrace) -> bool {
    use FlowEventKind::{Dropped, Lost};
    let mut events = trace.events.iter();
    events.any(|event| matches!(event.what, Dropped { .. } | Lost { .. }))
}

/// Returns true if the receiver grants the flow's packets and requests lost ones, so that the sender has no
/// retransmission timeout.
fn is_granted_by_receiver(trace: &FlowTrace) -> bool {
    let mut events = trace.events.iter();
    events.any(|event| matches!(event.what, FlowEventKind::Permitted { .. }))
}

/// Returns true if one of the others is a message of the same connection that was submitted earlier and was still open
/// when `flow` was submitted.
fn is_behind(flow: &FlowRecord, others: &[&FlowRecord]) -> bool {
    let mut others = others.iter();
    others.any(|earlier| {
        (earlier.source, earlier.destination) == (flow.source, flow.destination)
            && earlier.start < flow.start
            && earlier.finish.is_none_or(|finish| finish > flow.start)
    })
}

/// Returns the queue in which a path waited longest.
fn longest_queue(steps: &[QueryStep], network: &Network) -> Option<Queue> {
    let is_host = |node: u32| network.nodes[node as usize].host.is_some();
    let mut sums: BTreeMap<Queue, Span> = BTreeMap::new();
    for step in steps {
        let (Activity::Down(_, cause) | Activity::Up(_, cause)) = step.activity else {
            continue;
        };
        let queue = match cause {
            Cause::Queue(link) => {
                let ends = &network.links[link as usize];
                match (is_host(ends.from), is_host(ends.to)) {
                    (true, _) => (Place::FromHost, String::new()),
                    (_, true) => (Place::ToHost, network.link_name(link)),
                    _ => (Place::Between, network.link_name(link)),
                }
            }
            Cause::Nic | Cause::ReplyNic => (Place::FromHost, String::new()),
            _ => continue,
        };
        *sums.entry(queue).or_default() += step.to.since(step.from);
    }
    let longest = sums.into_iter().max_by_key(|&(_, span)| span);
    longest.map(|(queue, _)| queue)
}
