//! Breakdown of the time of one flow or query, from a traced repetition of its run.
//!
//! Runs are deterministic, so the stored records suffice to find the run, query or flow.

mod choice;
mod summary;

use std::collections::BTreeMap;

use duetime_results::explain::query::{QueryExplanation, QueryStep, Tree};
use duetime_results::explain::{Explanation, explain as explain_flow};
use duetime_results::{Class, FlowEvent, FlowRecord, FlowTrace, QueryRecord, RunRecords};
use duetime_sim::topology::Network;
use duetime_sim::{Options, RunOutput, Watch};
use duetime_store::RunFolder;

use crate::error::StudyError;
use crate::event::RunName;
use crate::plan::{Job, Plan};
use crate::pool::Engine;

pub use choice::{Choice, FlowChoice, QueryChoice, RunChoice};
use choice::{no_query, nothing, pick, pick_query};

/// What was asked for, explained.
#[derive(Clone, Debug)]
pub enum Told {
    /// A flow.
    Flow(Box<Explained>),
    /// A query.
    Query(Box<ExplainedQuery>),
}

/// Names for what an explanation numbers.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Directed links, by number.
    pub links: Vec<String>,
    /// Hosts of the traced nodes of the query's tree, by node; 0 is the root. For a leaf that was asked more than once,
    /// the host whose answer counted.
    pub nodes: BTreeMap<u32, String>,
    /// Hosts to which the first query to each node went.
    pub first: BTreeMap<u32, String>,
    /// Their parents, by node.
    pub parents: BTreeMap<u32, u32>,
}

impl Names {
    /// A link's name.
    pub fn link(&self, link: u32) -> &str {
        self.links.get(link as usize).map_or("?", String::as_str)
    }

    /// The host of a node of the tree.
    pub fn node(&self, node: u32) -> &str {
        self.nodes.get(&node).map_or("?", String::as_str)
    }

    /// Returns the host to which the first query to a node went.
    pub fn first(&self, node: u32) -> &str {
        self.first.get(&node).map_or("?", String::as_str)
    }

    /// The host of the parent of a node.
    pub fn parent(&self, node: u32) -> &str {
        self.parents
            .get(&node)
            .map_or("?", |&parent| self.node(parent))
    }
}

/// One flow, explained.
#[derive(Clone, Debug)]
pub struct Explained {
    /// The run.
    pub run: RunName,
    /// Name of the flow's workload.
    pub workload: String,
    /// Its record.
    pub flow: FlowRecord,
    /// Names of its sender and its receiver.
    pub hosts: [String; 2],
    /// The breakdown.
    pub explanation: Explanation,
    /// Of a flow of a query: what came between the query's arrival at its root and the submission of this flow.
    pub before: Vec<QueryStep>,
    /// All its events, as they happened.
    pub events: Vec<FlowEvent>,
    /// Names of links and nodes.
    pub names: Names,
}

/// One query, explained.
#[derive(Clone, Debug)]
pub struct ExplainedQuery {
    /// The run.
    pub run: RunName,
    /// Name of its workload.
    pub workload: String,
    /// Its record.
    pub query: QueryRecord,
    /// The whole in one sentence or two.
    pub summary: String,
    /// The critical path.
    pub explanation: QueryExplanation,
    /// The flows on it, first to last, each with the node of the tree that it goes to or comes from and its events.
    pub flows: Vec<(FlowRecord, FlowTrace)>,
    /// Names of links and nodes.
    pub names: Names,
}

/// Repeats the run and explains what was chosen.
pub fn explain(
    folder: &RunFolder,
    plan: &Plan,
    which: &RunChoice,
    choice: Choice,
    engine: &dyn Engine,
) -> Result<Told, StudyError> {
    let job = which.job(plan)?;
    let again = Again {
        run: plan.describe(job),
        stored: folder.read_run(&plan.key(job))?.records,
        plan,
        job,
        engine,
    };
    match choice.of(&again.stored) {
        Choice::Query(query) => Ok(Told::Query(Box::new(again.query(query)?))),
        Choice::Flow(flow) => Ok(Told::Flow(Box::new(again.flow(flow)?))),
        Choice::Worst => unreachable!("`of` decides"),
    }
}

/// A run that is repeated.
struct Again<'a> {
    run: RunName,
    stored: RunRecords,
    plan: &'a Plan,
    job: Job,
    engine: &'a dyn Engine,
}

impl Again<'_> {
    fn flow(&self, choice: FlowChoice) -> Result<Explained, StudyError> {
        let flow = pick(&self.stored.flows, choice)
            .ok_or_else(|| StudyError::Choice(nothing(choice, &self.run)))?;
        let query = flow.query.and_then(|id| {
            let mut queries = self.stored.queries.iter();
            queries.find(|query| query.query == id)
        });
        // What came before a query's flow is in the query's other flows.
        let watch = match query {
            Some(query) => Watch::Query(query.query),
            None => Watch::flow(flow.flow),
        };
        let output = self.repeat(watch)?;
        let again = output.records.flows.iter();
        if again.clone().find(|again| again.flow == flow.flow) != Some(flow) {
            return Err(self.differs(&format!("flow {}", flow.flow)));
        }
        let network = self.network()?;
        let before = query.and_then(|query| {
            Tree::new(query, &output.records.flows, &output.traces).before(flow.flow)
        });
        let names = names(&network, query, &output);
        let mut traces = output.traces.into_iter();
        let events = traces
            .find(|trace| trace.flow == flow.flow)
            .map_or_else(Vec::new, |trace| trace.events);
        Ok(Explained {
            run: self.run.clone(),
            workload: self.workload(flow.workload),
            hosts: [
                host(&network, flow.source),
                host(&network, flow.destination),
            ],
            explanation: explain_flow(flow, &events),
            before: before.unwrap_or_default(),
            events,
            names,
            flow: flow.clone(),
        })
    }

    fn query(&self, choice: QueryChoice) -> Result<ExplainedQuery, StudyError> {
        let query = pick_query(&self.stored.queries, choice)
            .ok_or_else(|| StudyError::Choice(no_query(choice, &self.run)))?;
        let output = self.repeat(Watch::Query(query.query))?;
        if !output.records.queries.contains(query) {
            return Err(self.differs(&format!("query {}", query.query)));
        }
        let tree = Tree::new(query, &output.records.flows, &output.traces);
        let explanation = tree.explain(query.enough);
        let names = names(&self.network()?, Some(query), &output);
        let flows = explanation.flows.iter().filter_map(|id| {
            let flow = output.records.flows.iter().find(|flow| flow.flow == *id)?;
            let trace = output.traces.iter().find(|trace| trace.flow == *id)?;
            Some((flow.clone(), trace.clone()))
        });
        Ok(ExplainedQuery {
            run: self.run.clone(),
            workload: self.workload(query.workload),
            summary: summary::summarize(query, &explanation, &names),
            flows: flows.collect(),
            explanation,
            names,
            query: query.clone(),
        })
    }

    fn repeat(&self, watch: Watch) -> Result<RunOutput, StudyError> {
        let options = Options {
            watch,
            ..Options::default()
        };
        repeat(self.plan, self.job, self.engine, &options)
    }

    fn differs(&self, what: &str) -> StudyError {
        differs(&self.run, what)
    }

    fn network(&self) -> Result<Network, StudyError> {
        Ok(Network::build(
            &self.plan.points[self.job.point].scenario.topology,
        )?)
    }

    fn workload(&self, index: u16) -> String {
        let workloads = &self.plan.points[self.job.point].scenario.workloads;
        workloads
            .get(usize::from(index))
            .map_or_else(String::new, |workload| workload.name.clone())
    }
}

/// Makes a run of the plan again.
pub(crate) fn repeat(
    plan: &Plan,
    job: Job,
    engine: &dyn Engine,
    options: &Options,
) -> Result<RunOutput, StudyError> {
    let scenario = &plan.points[job.point].scenario;
    engine
        .run(scenario, job.transport, u64::from(job.run), options)
        .map_err(StudyError::Choice)
}

/// Returns the error for a repeated run in which `what` differs from the stored one.
pub(crate) fn differs(run: &RunName, what: &str) -> StudyError {
    StudyError::Choice(format!(
        "{run}: repeating the run gave {what} another course than the folder holds; it was made by another build of Duetime, \
         or its files were changed"
    ))
}

fn host(network: &Network, host: u32) -> String {
    let node = network.hosts[host as usize];
    network.nodes[node as usize].name.clone()
}

fn names(network: &Network, query: Option<&QueryRecord>, output: &RunOutput) -> Names {
    let mut first: BTreeMap<u32, String> = query
        .map(|query| (0, host(network, query.root)))
        .into_iter()
        .collect();
    let mut answered = BTreeMap::new();
    let mut parents = BTreeMap::new();
    for trace in &output.traces {
        let flows = &output.records.flows;
        let Ok(at) = flows.binary_search_by_key(&trace.flow, |flow| flow.flow) else {
            continue;
        };
        if let Some(node) = trace.node {
            let flow = &flows[at];
            let own = match flow.class {
                Class::Query | Class::Cancel => flow.destination,
                _ => flow.source,
            };
            if flow.attempt.0 == 0 {
                first.insert(node.node, host(network, own));
            }
            if flow.class == Class::Response && flow.finish.is_some() && !flow.spare.0 {
                answered.insert(node.node, host(network, own));
            }
            parents.insert(node.node, node.parent);
        }
    }
    let mut nodes = first.clone();
    nodes.extend(answered);
    Names {
        links: (0..)
            .take(network.links.len())
            .map(|link| network.link_name(link))
            .collect(),
        nodes,
        first,
        parents,
    }
}
