//! What was seen of a service: its queries, whatever file they come from. A run of the simulator is seen the same way, so
//! that both sides of a comparison are counted alike.

use duetime_core::{Bytes, Span};
use duetime_results::record::Class;
use duetime_results::{FlowRecord, RunRecords};
use duetime_scenario::model::RecordedQuery;
use rustc_hash::{FxHashMap, FxHashSet};

/// What was seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// By start.
    pub queries: Vec<Query>,
    /// Hosts that took part.
    pub hosts: usize,
    /// Whether connections carried more than one call each; `None`: not known.
    pub reuses_connections: Option<bool>,
    /// The round trip without queues, ns; `None`: not known.
    pub round_trip_ns: Option<u64>,
    /// When the clock of the answers' deadlines starts, where they have any.
    pub deadline_from: DeadlineFrom,
    /// Transfers that belong to no query.
    pub others: Others,
    /// What was left out, and what else to know.
    pub notes: Vec<String>,
}

/// Transfers that belong to no query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Others {
    /// Bytes of each.
    pub bytes: Vec<f64>,
    /// Hosts of which all were seen; `None`: of all hosts.
    pub of_hosts: Option<usize>,
}

/// When the clock of deadlines starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeadlineFrom {
    /// With the request.
    #[default]
    Query,
    /// With the answer.
    Response,
}

/// One query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Its root; `None`: not known.
    pub root: Option<u32>,
    /// When it began, ns of the input's clock.
    pub start_ns: u64,
    /// From then until all answers were at the root; `None`: never, or not known.
    pub took_ns: Option<u64>,
    /// The time that its answers' deadlines leave it, from its start; `None`: they have none.
    pub due_ns: Option<u64>,
    /// Whether it was late, where its source says so itself.
    pub late: Option<bool>,
    /// Children of the root.
    pub children: u32,
    /// The answers of all layers.
    pub answers: Vec<Answer>,
}

/// One answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// 0: to the root.
    pub layer: u16,
    /// Nodes that its sender asked itself.
    pub children: u32,
    /// Bytes of the request; `None`: not known.
    pub request_bytes: Option<u64>,
    /// Its bytes.
    pub bytes: u64,
    /// Own computation of its sender, ns; `None`: not known.
    pub compute_ns: Option<u64>,
    /// Its deadline, ns.
    pub deadline_ns: Option<u64>,
    /// Time from the arrival of the request until its sender handed the answer over, ns; `None`: not known.
    pub took_ns: Option<u64>,
    /// Time from the arrival of the request until the last answer to its sender, ns; longer than `took_ns` if its sender did
    /// not wait for that. `None`: its sender asked nobody, or not known.
    pub waited_ns: Option<u64>,
    /// Time that the request and the answer were in the network, ns; `None`: not known.
    pub network_ns: Option<u64>,
}

impl Answer {
    /// Returns true if its sender answered before it had all answers itself.
    pub fn is_hasty(&self) -> bool {
        self.waited_ns > self.took_ns
    }
}

impl Observed {
    /// Distinct roots; 0: not known.
    pub fn roots(&self) -> usize {
        let roots: FxHashSet<u32> = self.queries.iter().filter_map(|of| of.root).collect();
        roots.len()
    }

    /// Whether it is known how long queries took.
    pub fn has_times(&self) -> bool {
        self.queries.iter().any(|of| of.took_ns.is_some())
    }

    /// The layers of the deepest tree.
    pub fn layers(&self) -> u16 {
        let layers = self.queries.iter().flat_map(|of| &of.answers);
        layers.map(|of| of.layer + 1).max().unwrap_or(0)
    }

    /// The answers of a layer.
    pub fn layer(&self, layer: u16) -> impl Iterator<Item = &Answer> {
        let all = self.queries.iter().flat_map(|of| &of.answers);
        all.filter(move |of| of.layer == layer)
    }

    /// Fan-ins of the nodes whose children are in this layer.
    pub fn fan_ins(&self, layer: u16) -> Vec<f64> {
        if layer == 0 {
            return self
                .queries
                .iter()
                .map(|of| f64::from(of.children))
                .collect();
        }
        let above = self.layer(layer - 1).filter(|of| of.children > 0);
        above.map(|of| f64::from(of.children)).collect()
    }

    /// Recorded queries.
    pub fn of_spans(recorded: &[RecordedQuery]) -> Self {
        let mut hosts = FxHashSet::default();
        let mut most = 0;
        let queries = recorded.iter().map(|of| {
            hosts.extend(of.nodes.iter().filter_map(|node| node.host));
            most = most.max(of.nodes.len());
            let mut layers = vec![0_u16; of.nodes.len()];
            let answers = of.nodes.iter().enumerate().skip(1).map(|(at, node)| {
                let parent = node.parent as usize;
                layers[at] = layers.get(parent).map_or(0, |above| above + 1);
                Answer {
                    layer: layers[at] - 1,
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
                root: of.nodes.first().and_then(|node| node.host),
                start_ns: of.start.as_ns(),
                took_ns: Some(of.took.as_ns()),
                due_ns: None,
                late: None,
                children: of.nodes.first().map_or(0, |node| node.children),
            }
        });
        let mut observed = Self {
            queries: queries.collect(),
            ..Self::default()
        };
        observed.hosts = hosts.len();
        if hosts.is_empty() {
            observed.hosts = most;
            let note = "the spans name no hosts: roots and hosts are not known";
            observed.notes.push(note.to_owned());
        }
        observed
    }

    /// The measured queries of one run and of one workload, whose deadlines are not looked at.
    pub fn of_run(records: &RunRecords, workload: u16) -> Self {
        let calls = Calls::of(&records.flows, workload);
        let measured = records.queries.iter();
        let measured = measured.filter(|of| of.measured && of.workload == workload);
        let queries = measured.map(|of| Query {
            root: Some(of.root),
            start_ns: of.start.as_ns(),
            took_ns: of.complete.map(|end| end.since(of.start).as_ns()),
            due_ns: None,
            late: of.met().map(|met| !met),
            children: of.children,
            answers: calls.answers(of.query, of.root),
        });
        Self {
            queries: queries.collect(),
            ..Self::default()
        }
    }
}

/// A call of one host by another, within a query.
#[derive(Clone, Debug)]
pub(crate) struct Call<'f> {
    /// The request.
    pub asked: &'f FlowRecord,
    /// The answer.
    pub answered: Option<&'f FlowRecord>,
}

/// The calls of a run by query, without questions that were asked anew.
pub(crate) struct Calls<'f> {
    by_query: FxHashMap<u64, Vec<Call<'f>>>,
}

impl<'f> Calls<'f> {
    /// Of one workload.
    pub fn of(flows: &'f [FlowRecord], workload: u16) -> Self {
        let mut by_query: FxHashMap<u64, Vec<Call<'f>>> = FxHashMap::default();
        let of = flows
            .iter()
            .filter(|of| of.workload == workload && of.attempt.0 == 0);
        for flow in of.clone().filter(|of| of.class == Class::Query) {
            if let Some(query) = flow.query {
                let call = Call {
                    asked: flow,
                    answered: None,
                };
                by_query.entry(query).or_default().push(call);
            }
        }
        for flow in of.filter(|of| of.class == Class::Response) {
            let calls = flow.query.and_then(|query| by_query.get_mut(&query));
            let open = calls.into_iter().flatten().find(|call| {
                let ends = (call.asked.source, call.asked.destination);
                call.answered.is_none() && ends == (flow.destination, flow.source)
            });
            if let Some(call) = open {
                call.answered = Some(flow);
            }
        }
        Self { by_query }
    }

    /// The calls of a query.
    pub fn of_query(&self, query: u64) -> &[Call<'f>] {
        self.by_query.get(&query).map_or(&[], Vec::as_slice)
    }

    /// The calls of a query, those of the root first, each with its layer and the number of the call that caused it. A host
    /// with several roles in one query is taken for the first of them that has got its request.
    pub fn layered(&self, query: u64, root: u32) -> Vec<(u16, Option<usize>, &Call<'f>)> {
        let calls = self.of_query(query);
        let mut found: Vec<(u16, Option<usize>, &Call<'f>)> = Vec::new();
        let mut asks: FxHashMap<u32, Vec<&Call<'f>>> = FxHashMap::default();
        for call in calls {
            asks.entry(call.asked.source).or_default().push(call);
        }
        let of_root = asks.remove(&root).unwrap_or_default();
        found.extend(of_root.into_iter().map(|call| (0, None, call)));
        let mut at = 0;
        while let Some(&(layer, _, call)) = found.get(at) {
            let below = asks.remove(&call.asked.destination).unwrap_or_default();
            let below = below.into_iter().map(|call| (layer + 1, Some(at), call));
            found.extend(below);
            at += 1;
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
        let answers = layered.iter().zip(children).filter_map(|(of, children)| {
            let answered = of.2.answered?;
            let got = of.2.asked.finish?;
            Some(Answer {
                layer: of.0,
                children,
                request_bytes: Some(of.2.asked.size_bytes),
                bytes: answered.size_bytes,
                compute_ns: (children == 0).then(|| answered.start.since(got).as_ns()),
                deadline_ns: None,
                took_ns: None,
                waited_ns: None,
                network_ns: None,
            })
        });
        answers.collect()
    }
}

/// Bytes of a request that its spans do not state.
pub(crate) const USUAL_REQUEST: Bytes = Bytes(1_000);

/// A length of time in ns, as the model has it.
pub(crate) fn span(ns: f64) -> Span {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "casts from floats saturate; times of an input are below a day"
    )]
    let ps = libm::round(ns.max(0.0) * 1e3) as u64;
    Span::from_ps(ps)
}
