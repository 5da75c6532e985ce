//! Breakdown of the time of one flow or query, from a traced repetition of its run.
//!
//! Runs are deterministic, so the stored records suffice to find the run, query or flow.

mod choice;
mod summary;

use duetime_analysis::explain::{
    Explanation, Names, QueryExplanation, QueryStep, Tree, explain_flow,
};
use duetime_results::{FlowEvent, FlowRecord, FlowTrace, QueryRecord, RunRecords};
use duetime_sim::topology::Network;
use duetime_sim::{Options, RunOutput, Watch};
use duetime_store::RunFolder;

use crate::error::StudyError;
use crate::event::RunName;
use crate::plan::{Job, Plan};
use crate::pool::Engine;

pub use choice::{Choice, FlowChoice, QueryChoice, RunChoice};
use choice::{no_flow, no_query, pick_flow, pick_query};

/// Explanation of the selected flow or query.
#[derive(Clone, Debug)]
pub enum Explained {
    /// Explanation of a flow.
    Flow(Box<ExplainedFlow>),
    /// Explanation of a query.
    Query(Box<ExplainedQuery>),
}

/// Explained flow.
#[derive(Clone, Debug)]
pub struct ExplainedFlow {
    /// Name of the run.
    pub run: RunName,
    /// Name of the flow's workload.
    pub workload: String,
    /// Record of the flow.
    pub flow: FlowRecord,
    /// Names of the sender and the receiver.
    pub hosts: [String; 2],
    /// Breakdown of the flow's time.
    pub explanation: Explanation,
    /// Steps between the arrival of the flow's query at its root and the submission of the flow; empty without a query.
    pub before: Vec<QueryStep>,
    /// Events of the flow, in order.
    pub events: Vec<FlowEvent>,
    /// Names of links and nodes.
    pub names: Names,
}

/// Explained query.
#[derive(Clone, Debug)]
pub struct ExplainedQuery {
    /// Name of the run.
    pub run: RunName,
    /// Name of the query's workload.
    pub workload: String,
    /// Record of the query.
    pub query: QueryRecord,
    /// Summary in one or two sentences.
    pub summary: String,
    /// Breakdown along the critical path.
    pub explanation: QueryExplanation,
    /// Flows on the critical path in order, each with its events and the node of the tree that it goes to or comes
    /// from.
    pub flows: Vec<(FlowRecord, FlowTrace)>,
    /// Names of links and nodes.
    pub names: Names,
}

/// Repeats the run and explains the selected flow or query.
pub fn explain(
    folder: &RunFolder,
    plan: &Plan,
    which: &RunChoice,
    choice: Choice,
    engine: &dyn Engine,
) -> Result<Explained, StudyError> {
    let job = which.job(plan)?;
    let repetition = Repetition {
        run: plan.describe(job),
        stored: folder.read_run(&plan.key(job))?.records,
        plan,
        job,
        engine,
    };
    match choice.resolve(&repetition.stored) {
        Choice::Query(query) => Ok(Explained::Query(Box::new(repetition.query(query)?))),
        Choice::Flow(flow) => Ok(Explained::Flow(Box::new(repetition.flow(flow)?))),
        Choice::Worst => unreachable!("`resolve` never returns it"),
    }
}

/// Repetition of a stored run.
struct Repetition<'a> {
    run: RunName,
    stored: RunRecords,
    plan: &'a Plan,
    job: Job,
    engine: &'a dyn Engine,
}

impl Repetition<'_> {
    fn flow(&self, choice: FlowChoice) -> Result<ExplainedFlow, StudyError> {
        let flow = pick_flow(&self.stored.flows, choice)
            .ok_or_else(|| StudyError::Choice(no_flow(choice, &self.run)))?;
        let query = flow.query.and_then(|id| {
            let mut queries = self.stored.queries.iter();
            queries.find(|query| query.query == id)
        });
        // The steps before a query's flow follow from the query's other flows.
        let watch = match query {
            Some(query) => Watch::Query(query.query),
            None => Watch::flow(flow.flow),
        };
        let output = self.repeat(watch)?;
        let mut repeated = output.records.flows.iter();
        if repeated.find(|repeated| repeated.flow == flow.flow) != Some(flow) {
            return Err(self.differs(&format!("flow {}", flow.flow)));
        }
        let network = self.network()?;
        let before = query.and_then(|query| {
            Tree::new(query, &output.records.flows, &output.traces).before(flow.flow)
        });
        let names = Names::new(&network, query, &output);
        let mut traces = output.traces.into_iter();
        let events = traces
            .find(|trace| trace.flow == flow.flow)
            .map_or_else(Vec::new, |trace| trace.events);
        Ok(ExplainedFlow {
            run: self.run.clone(),
            workload: self.workload(flow.workload),
            hosts: [flow.source, flow.destination].map(|host| network.host_name(host).to_owned()),
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
        let names = Names::new(&self.network()?, Some(query), &output);
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

    fn differs(&self, subject: &str) -> StudyError {
        differs(&self.run, subject)
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

/// Repeats a run of the plan.
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

/// Returns the error for a repetition in which `subject` differs from the stored run.
pub(crate) fn differs(run: &RunName, subject: &str) -> StudyError {
    StudyError::Choice(format!(
        "{run}: {subject} differs between the folder and the repeated run; the folder was written by another build of \
         Duetime, or its files were changed"
    ))
}
