//! Count of late queries by the kind of waiting that took the largest part of their time, from traced repetitions of
//! their runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::Instant;

use duetime_core::Span;
use duetime_results::explain::Cause;
use duetime_results::explain::limit::{Limit, largest};
use duetime_results::explain::query::{Activity, QueryExplanation, QueryStep, Tree};
use duetime_results::{Class, FlowEventKind, FlowRecord, FlowTrace, QueryRecord, RunRecords};
use duetime_sim::topology::Network;
use duetime_sim::{Options, Progress, Watch};
use duetime_store::RunFolder;

use crate::error::StudyError;
use crate::event::{Event, Listener};
use crate::explain::{differs, repeat};
use crate::plan::{Job, Plan};
use crate::pool::{Engine, Execution, each};

/// Maximum number of trace events of a repetition, about 64 B each. If the late queries of a run have more, only every
/// n-th is explained.
const MAX_EVENTS: u64 = 2_000_000;

/// Late queries of one workload.
#[derive(Clone, Debug, Default)]
pub struct Accounting {
    /// Measured queries that could be late.
    pub queries: u64,
    /// Late queries.
    pub late: u64,
    /// Late queries that were explained.
    pub explained: u64,
    /// Explained queries by the kind that took the largest part of their time.
    pub limits: BTreeMap<Limit, u64>,
    /// Queries limited by queues, by the queue in which they waited longest.
    pub queues: BTreeMap<Queue, u64>,
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

impl Accounting {
    /// Returns the most frequent place of the longest queue, and its link if one link accounts for half of all queries
    /// limited by queues. Returns `None` if no query is limited by queues.
    pub fn queue(&self) -> Option<(Place, Option<&str>)> {
        let mut places: BTreeMap<Place, u64> = BTreeMap::new();
        for ((place, _), count) in &self.queues {
            *places.entry(*place).or_default() += count;
        }
        let (place, _) = places.into_iter().rev().max_by_key(|&(_, count)| count)?;
        let all: u64 = self.queues.values().sum();
        let mut links = self.queues.iter();
        let link = links.find(|((queue_place, link), count)| {
            *queue_place == place && !link.is_empty() && **count * 2 >= all && all > 1
        });
        Some((place, link.map(|((_, link), _)| link.as_str())))
    }

    fn add(&mut self, other: &Self) {
        self.queries += other.queries;
        self.late += other.late;
        self.explained += other.explained;
        for (limit, count) in &other.limits {
            *self.limits.entry(*limit).or_default() += count;
        }
        for (queue, count) in &other.queues {
            *self.queues.entry(queue.clone()).or_default() += count;
        }
    }
}

/// Counts the late queries of the first transport at the plan's first point, by workload. Returns `None` if the
/// execution was stopped.
pub fn account(
    plan: &Plan,
    folder: &RunFolder,
    execution: &Execution,
    engine: &dyn Engine,
    listener: &dyn Listener,
) -> Result<Option<BTreeMap<u16, Accounting>>, StudyError> {
    let is_first = |job: &Job| job.point == 0 && job.transport == 0;
    let jobs: Vec<Job> = plan.jobs().into_iter().filter(is_first).collect();
    let network = Network::build(&plan.points[0].scenario.topology)?;
    let progress: Vec<Arc<Progress>> = jobs.iter().map(|_| Arc::default()).collect();
    let done = Mutex::new(0);
    let began = Instant::now();
    let stopped = || execution.cancel.load(Ordering::Relaxed);
    let one = |index: usize| {
        let repetition = Repetition {
            plan,
            job: jobs[index],
            engine,
            network: &network,
            progress: &progress[index],
            threads: execution.threads,
        };
        let accounted = repetition.account(folder);
        *done.lock().expect("no panic holds it") += 1;
        accounted
    };
    let tick = |_| {
        if stopped() {
            for run in &progress {
                run.cancel.store(true, Ordering::Relaxed);
            }
        }
        let done: usize = *done.lock().expect("no panic holds it");
        let left = (jobs.len() - done) as f64;
        let eta_s = (done > 0).then(|| began.elapsed().as_secs_f64() / done as f64 * left);
        listener.on(&Event::Explaining {
            done,
            runs: jobs.len(),
            eta_s,
        });
    };
    tick(0);
    let made = each(jobs.len(), execution.jobs, stopped, one, tick);
    let mut sums: BTreeMap<u16, Accounting> = BTreeMap::new();
    for run in made {
        let Some(run) = run.transpose()?.flatten() else {
            return Ok(None);
        };
        for (workload, accounting) in &run {
            sums.entry(*workload).or_default().add(accounting);
        }
    }
    Ok(Some(sums))
}

/// Repetition of a run with its late queries traced.
struct Repetition<'a> {
    plan: &'a Plan,
    job: Job,
    engine: &'a dyn Engine,
    network: &'a Network,
    progress: &'a Arc<Progress>,
    threads: usize,
}

type Accounts = BTreeMap<u16, Accounting>;

impl Repetition<'_> {
    /// Counts the late queries of one run. Returns no counts if the run is not in the folder, and `None` if the
    /// execution was stopped.
    fn account(&self, folder: &RunFolder) -> Result<Option<Accounts>, StudyError> {
        let key = self.plan.key(self.job);
        if !folder.has_run(&key) {
            return Ok(Some(Accounts::new()));
        }
        let stored = folder.read_run(&key)?.records;
        let mut accounts = Accounts::new();
        for query in stored.queries.iter().filter(|query| query.measured) {
            let Some(met) = query.met() else { continue };
            let account = accounts.entry(query.workload).or_default();
            account.queries += 1;
            account.late += u64::from(!met);
        }
        let late = Late::of(&stored);
        if late.queries.is_empty() {
            return Ok(Some(accounts));
        }
        let options = Options {
            threads: self.threads,
            watch: Watch::Deliveries(late.flows()),
            progress: Some(Arc::clone(self.progress)),
            ..Options::default()
        };
        let output = repeat(self.plan, self.job, self.engine, &options)?;
        if !output.complete {
            return Ok(None);
        }
        if output.records.queries != stored.queries {
            return Err(differs(
                &self.plan.describe(self.job),
                "the list of queries",
            ));
        }
        let with_timeout = stored.flows.iter().filter(|flow| flow.timeouts > 0);
        let with_timeout: Vec<&FlowRecord> = with_timeout.collect();
        let traces = output.traces.into_iter();
        let mut traces: BTreeMap<u64, FlowTrace> =
            traces.map(|trace| (trace.flow, trace)).collect();
        for (query, path) in late.queries {
            let path_traces = path.iter().filter_map(|flow| traces.remove(&flow.flow));
            let path_traces: Vec<FlowTrace> = path_traces.collect();
            let explanation = Tree::new(query, &path, &path_traces).explain(query.enough);
            let limit = limit(&explanation, &path, &path_traces, &with_timeout);
            let account = accounts.entry(query.workload).or_default();
            account.explained += 1;
            *account.limits.entry(limit).or_default() += 1;
            if limit == Limit::Queue
                && let Some(queue) = longest_queue(&explanation.steps, self.network)
            {
                *account.queues.entry(queue).or_default() += 1;
            }
        }
        Ok(Some(accounts))
    }
}

/// Late queries to explain, each with the flows that can be on its critical path.
struct Late<'a> {
    queries: Vec<(&'a QueryRecord, Vec<FlowRecord>)>,
}

impl<'a> Late<'a> {
    fn of(records: &'a RunRecords) -> Self {
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
        Self {
            queries: queries.into_iter().step_by(step).collect(),
        }
    }

    /// Returns the IDs of the flows to trace.
    fn flows(&self) -> BTreeSet<u64> {
        let flows = self.queries.iter().flat_map(|(_, flows)| flows);
        flows.map(|flow| flow.flow).collect()
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
    path: &[FlowRecord],
    traces: &[FlowTrace],
    with_timeout: &[&FlowRecord],
) -> Limit {
    let limit = largest(&explanation.steps).unwrap_or(Limit::Unfinished);
    let Some(&last) = explanation.flows.last() else {
        return limit;
    };
    match limit {
        // The run ended before the timer expired, so the trace shows the loss but not the timeout.
        Limit::Unfinished
            if traces
                .iter()
                .any(|trace| trace.flow == last && has_loss(trace)) =>
        {
            Limit::RetransmissionTimeout
        }
        // The message waited behind a message of an earlier query that had a timeout.
        Limit::EarlierMessages
            if path
                .iter()
                .any(|flow| flow.flow == last && is_behind(flow, with_timeout)) =>
        {
            Limit::RetransmissionTimeout
        }
        _ => limit,
    }
}

/// Returns true if a packet was dropped or lost.
fn has_loss(trace: &FlowTrace) -> bool {
    use FlowEventKind::{Dropped, Lost};
    let mut events = trace.events.iter();
    events.any(|event| matches!(event.what, Dropped { .. } | Lost { .. }))
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
