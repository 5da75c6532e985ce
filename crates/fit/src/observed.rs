//! Observations of a service, independent of the input format. Runs of the simulator are converted to the same form for
//! the comparison.

use duetime_core::{Bytes, Span};
use duetime_results::record::Class;
use duetime_results::{FlowRecord, RunRecords};
use duetime_scenario::model::RecordedQuery;
use rustc_hash::{FxHashMap, FxHashSet};

/// Observations of a service.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// Queries, sorted by start.
    pub queries: Vec<Query>,
    /// Number of observed hosts.
    pub hosts: usize,
    /// True if connections carried several calls each, or `None` if unknown.
    pub reuses_connections: Option<bool>,
    /// Round trip without queueing in nanoseconds, or `None` if unknown.
    pub round_trip_ns: Option<u64>,
    /// Start of the clock of the answers' deadlines, if they have any.
    pub deadline_from: DeadlineFrom,
    /// Transfers that belong to no query.
    pub others: Others,
    /// Notes on skipped data and assumptions.
    pub notes: Vec<String>,
}

/// Transfers that belong to no query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Others {
    /// Sizes in bytes.
    pub bytes: Vec<f64>,
    /// Number of hosts whose transfers were all observed, or `None` for all hosts.
    pub observed_hosts: Option<usize>,
}

/// Start of the clock of deadlines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeadlineFrom {
    /// Start of the request.
    #[default]
    Query,
    /// Start of the answer.
    Response,
}

/// Query with its answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Root of the query, or `None` if unknown.
    pub root: Option<u32>,
    /// Start in nanoseconds of the input's clock.
    pub start_ns: u64,
    /// Time until the root had all answers, in nanoseconds, or `None` if it never had or if unknown.
    pub took_ns: Option<u64>,
    /// Time from the start until the latest deadline of its answers, or `None` without deadlines.
    pub due_ns: Option<u64>,
    /// True if the source states that the query was late, false if it was in time; `None` if it states neither.
    pub late: Option<bool>,
    /// Number of children of the root.
    pub children: u32,
    /// Answers of all layers.
    pub answers: Vec<Answer>,
}

/// Answer of a node to its parent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Layer of the sender, 0 for the children of the root.
    pub layer: u16,
    /// Number of children of the sender.
    pub children: u32,
    /// Size of the request in bytes, or `None` if unknown.
    pub request_bytes: Option<u64>,
    /// Size in bytes.
    pub bytes: u64,
    /// Computation time of the sender in nanoseconds, or `None` if unknown.
    pub compute_ns: Option<u64>,
    /// Deadline in nanoseconds, or `None` if there is none.
    pub deadline_ns: Option<u64>,
    /// Time from the arrival of the request until the submission of the answer in nanoseconds, or `None` if unknown.
    pub took_ns: Option<u64>,
    /// Time from the arrival of the request until the sender received its last answer, in nanoseconds. It exceeds
    /// `took_ns` if the sender did not wait for that answer. `None` if the sender has no children or if unknown.
    pub waited_ns: Option<u64>,
    /// Time of the request and the answer in the network in nanoseconds, or `None` if unknown.
    pub network_ns: Option<u64>,
}

impl Answer {
    /// Returns true if the sender answered before it had all of its own answers.
    pub fn answered_early(&self) -> bool {
        self.waited_ns > self.took_ns
    }
}

impl Observed {
    /// Returns the number of distinct roots, or 0 if unknown.
    pub fn roots(&self) -> usize {
        let roots: FxHashSet<u32> = self.queries.iter().filter_map(|query| query.root).collect();
        roots.len()
    }

    /// Returns true if the times of queries are known.
    pub fn has_times(&self) -> bool {
        self.queries.iter().any(|query| query.took_ns.is_some())
    }

    /// Returns the number of layers of the deepest tree.
    pub fn layers(&self) -> u16 {
        let layers = self.queries.iter().flat_map(|query| &query.answers);
        layers.map(|answer| answer.layer + 1).max().unwrap_or(0)
    }

    /// Returns the answers of a layer.
    pub fn layer(&self, layer: u16) -> impl Iterator<Item = &Answer> {
        let all = self.queries.iter().flat_map(|query| &query.answers);
        all.filter(move |answer| answer.layer == layer)
    }

    /// Returns the fan-ins of the nodes whose children are in this layer.
    pub fn fan_ins(&self, layer: u16) -> Vec<f64> {
        if layer == 0 {
            return self
                .queries
                .iter()
                .map(|query| f64::from(query.children))
                .collect();
        }
        let above = self.layer(layer - 1).filter(|answer| answer.children > 0);
        above.map(|answer| f64::from(answer.children)).collect()
    }

    /// Converts recorded queries.
    pub fn from_spans(recorded: &[RecordedQuery]) -> Self {
        let mut hosts = FxHashSet::default();
        let mut max_nodes = 0;
        let queries = recorded.iter().map(|query| {
            hosts.extend(query.nodes.iter().filter_map(|node| node.host));
            max_nodes = max_nodes.max(query.nodes.len());
            let mut layers = vec![0_u16; query.nodes.len()];
            let answers = query.nodes.iter().enumerate().skip(1).map(|(index, node)| {
                let parent = node.parent as usize;
                layers[index] = layers.get(parent).map_or(0, |above| above + 1);
                Answer {
                    layer: layers[index] - 1,
                    children: node.children,
                    request_bytes: Some(node.request.0),
                    bytes: node.response.0,
                    compute_ns: Some(node.compute.as_ns()),
                    deadline_ns: None,
                    took_ns: Some(node.took.as_ns()),
                    waited_ns: (node.children > 0).then(|| node.waited.as_ns()),
                    network_ns: node.network.map(Span::as_ns),
                }
            });
            Query {
                answers: answers.collect(),
                root: query.nodes.first().and_then(|node| node.host),
                start_ns: query.start.as_ns(),
                took_ns: Some(query.took.as_ns()),
                due_ns: None,
                late: None,
                children: query.nodes.first().map_or(0, |node| node.children),
            }
        });
        let mut observed = Self {
            queries: queries.collect(),
            ..Self::default()
        };
        observed.hosts = hosts.len();
        if hosts.is_empty() {
            observed.hosts = max_nodes;
            let note = "the spans do not name hosts, so roots and hosts are unknown";
            observed.notes.push(note.to_owned());
        }
        observed
    }

    /// Converts the measured queries of a workload in a run, without their deadlines.
    pub fn from_run(records: &RunRecords, workload: u16) -> Self {
        let calls = Calls::of(&records.flows, workload);
        let measured = records.queries.iter();
        let measured = measured.filter(|query| query.measured && query.workload == workload);
        let queries = measured.map(|query| Query {
            root: Some(query.root),
            start_ns: query.start.as_ns(),
            took_ns: query.complete.map(|end| end.since(query.start).as_ns()),
            due_ns: None,
            late: query.met().map(|met| !met),
            children: query.children,
            answers: calls.answers(query.query, query.root),
        });
        Self {
            queries: queries.collect(),
            ..Self::default()
        }
    }
}

/// Call between two hosts within a query.
#[derive(Clone, Debug)]
pub(crate) struct Call<'f> {
    /// Request.
    pub asked: &'f FlowRecord,
    /// Answer, if there is one.
    pub answered: Option<&'f FlowRecord>,
}

/// Calls of a run by query, without hedges and retries.
pub(crate) struct Calls<'f> {
    by_query: FxHashMap<u64, Vec<Call<'f>>>,
}

impl<'f> Calls<'f> {
    /// Collects the calls of a workload.
    pub fn of(flows: &'f [FlowRecord], workload: u16) -> Self {
        let mut by_query: FxHashMap<u64, Vec<Call<'f>>> = FxHashMap::default();
        let selected = flows
            .iter()
            .filter(|flow| flow.workload == workload && flow.attempt.0 == 0);
        for flow in selected.clone().filter(|flow| flow.class == Class::Query) {
            if let Some(query) = flow.query {
                let call = Call {
                    asked: flow,
                    answered: None,
                };
                by_query.entry(query).or_default().push(call);
            }
        }
        for flow in selected.filter(|flow| flow.class == Class::Response) {
            let calls = flow.query.and_then(|query| by_query.get_mut(&query));
            let unanswered = calls.into_iter().flatten().find(|call| {
                let ends = (call.asked.source, call.asked.destination);
                call.answered.is_none() && ends == (flow.destination, flow.source)
            });
            if let Some(call) = unanswered {
                call.answered = Some(flow);
            }
        }
        Self { by_query }
    }

    /// Returns the calls of a query.
    pub fn of_query(&self, query: u64) -> &[Call<'f>] {
        self.by_query.get(&query).map_or(&[], Vec::as_slice)
    }

    /// Returns the calls of a query, the root's first, each with its layer and the index of the call that caused it. If
    /// a host has several roles in a query, the one that received its request first is used.
    pub fn layered(&self, query: u64, root: u32) -> Vec<(u16, Option<usize>, &Call<'f>)> {
        let calls = self.of_query(query);
        let mut found: Vec<(u16, Option<usize>, &Call<'f>)> = Vec::new();
        let mut calls_by_source: FxHashMap<u32, Vec<&Call<'f>>> = FxHashMap::default();
        for call in calls {
            calls_by_source
                .entry(call.asked.source)
                .or_default()
                .push(call);
        }
        let of_root = calls_by_source.remove(&root).unwrap_or_default();
        found.extend(of_root.into_iter().map(|call| (0, None, call)));
        let mut index = 0;
        while let Some(&(layer, _, call)) = found.get(index) {
            let below = calls_by_source
                .remove(&call.asked.destination)
                .unwrap_or_default();
            let below = below.into_iter().map(|call| (layer + 1, Some(index), call));
            found.extend(below);
            index += 1;
        }
        found
    }

    fn answers(&self, query: u64, root: u32) -> Vec<Answer> {
        let layered = self.layered(query, root);
        let mut children = vec![0; layered.len()];
        for (_, cause, _) in &layered {
            if let Some(cause) = cause {
                children[*cause] += 1;
            }
        }
        let answers = layered
            .iter()
            .zip(children)
            .filter_map(|((layer, _, call), children)| {
                let answered = call.answered?;
                let received = call.asked.finish?;
                Some(Answer {
                    layer: *layer,
                    children,
                    request_bytes: Some(call.asked.size_bytes),
                    bytes: answered.size_bytes,
                    compute_ns: (children == 0).then(|| answered.start.since(received).as_ns()),
                    deadline_ns: None,
                    took_ns: None,
                    waited_ns: None,
                    network_ns: None,
                })
            });
        answers.collect()
    }
}

/// Default size of a request that spans do not state.
pub(crate) const DEFAULT_REQUEST: Bytes = Bytes(1_000);

/// Converts nanoseconds to a span.
pub(crate) fn span(ns: f64) -> Span {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "casts from floats saturate; times of an input are below a day"
    )]
    let ps = libm::round(ns.max(0.0) * 1e3) as u64;
    Span::from_ps(ps)
}
