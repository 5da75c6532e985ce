//! Where one flow's time went: the run is repeated while that flow is watched.
//!
//! Runs are deterministic, so nothing need be stored for this but the records that tell which flow is meant.

use std::cmp::Reverse;
use std::str::FromStr;

use duetime_core::Span;
use duetime_results::explain::{Explanation, explain as explain_flow};
use duetime_results::{Class, FlowEvent, FlowRecord};
use duetime_sim::Options;
use duetime_sim::topology::Network;
use duetime_store::RunFolder;

use crate::error::StudyError;
use crate::event::RunName;
use crate::execute::Engine;
use crate::plan::{Job, Plan};

/// Which flow is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowChoice {
    /// The one with this id.
    Id(u64),
    /// The one in this row of the run's flows, from 0.
    Row(usize),
    /// The counted flow with the longest completion time; one that never finished comes first.
    Worst,
    /// The counted flow that missed its deadline by most; one that never finished comes first.
    WorstMissed,
}

impl FromStr for FlowChoice {
    type Err = StudyError;

    fn from_str(text: &str) -> Result<FlowChoice, StudyError> {
        let bad = || {
            StudyError::Choice(format!(
                "flow `{text}`: allowed: a flow's id, row:N, worst or worst-missed"
            ))
        };
        match text {
            "worst" => Ok(FlowChoice::Worst),
            "worst-missed" => Ok(FlowChoice::WorstMissed),
            _ => match text.strip_prefix("row:") {
                Some(row) => row.parse().map(FlowChoice::Row).map_err(|_| bad()),
                None => text.parse().map(FlowChoice::Id).map_err(|_| bad()),
            },
        }
    }
}

/// Which run is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunChoice {
    /// Settings of the point; those not named must leave one point.
    pub at: Vec<(String, String)>,
    /// The transport; may be left out if there is one.
    pub transport: Option<String>,
    /// The run, from 0.
    pub run: u32,
}

impl RunChoice {
    /// The one job of the plan that is meant.
    pub fn job(&self, plan: &Plan) -> Result<Job, StudyError> {
        let fits = |settings: &[(String, String)]| {
            self.at.iter().all(|setting| settings.contains(setting))
        };
        let points: Vec<usize> = (0..plan.points.len())
            .filter(|&i| fits(&plan.points[i].settings))
            .collect();
        let &[point] = points.as_slice() else {
            let labels: Vec<String> = plan.points.iter().map(crate::plan::Point::label).collect();
            return Err(StudyError::Choice(format!(
                "{} points of the sweep fit; choose one with --at; there are: {}",
                points.len(),
                labels.join("; ")
            )));
        };
        let scenario = &plan.points[point].scenario;
        let names: Vec<&str> = scenario
            .transports
            .iter()
            .map(|transport| transport.name.as_str())
            .collect();
        let transport = match &self.transport {
            Some(name) => names.iter().position(|of| of == name),
            None => (names.len() == 1).then_some(0),
        };
        let Some(transport) = transport else {
            let asked = self
                .transport
                .as_ref()
                .map_or("no transport was named".to_owned(), |t| {
                    format!("no transport `{t}`")
                });
            return Err(StudyError::Choice(format!(
                "{asked}; choose one with --transport; there are: {}",
                names.join(", ")
            )));
        };
        if self.run >= scenario.seeds {
            return Err(StudyError::Choice(format!(
                "no run {}; there are: 0 to {}",
                self.run,
                scenario.seeds - 1
            )));
        }
        Ok(Job {
            point,
            transport,
            run: self.run,
        })
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
    /// All its events, as they happened.
    pub events: Vec<FlowEvent>,
    /// Names of the directed links, by number.
    pub links: Vec<String>,
}

/// Repeats the run and explains the flow.
pub fn explain(
    folder: &RunFolder,
    plan: &Plan,
    which: &RunChoice,
    choice: FlowChoice,
    engine: &dyn Engine,
) -> Result<Explained, StudyError> {
    let job = which.job(plan)?;
    let run = plan.describe(job);
    let stored = folder.read_run(&plan.key(job))?.records.flows;
    let flow = pick(&stored, choice).ok_or_else(|| StudyError::Choice(nothing(choice, &run)))?;
    let scenario = &plan.points[job.point].scenario;
    let network = Network::build(&scenario.topology)?;
    let options = Options {
        trace_flow: Some(flow.flow),
        ..Options::default()
    };
    let mut output = engine
        .run(scenario, job.transport, u64::from(job.run), &options)
        .map_err(StudyError::Choice)?;
    let again = output
        .records
        .flows
        .iter()
        .find(|again| again.flow == flow.flow);
    if again != Some(flow) {
        return Err(StudyError::Choice(format!(
            "{run}: repeating the run gave flow {} another course than the folder holds; it was made by another \
             build of Duetime, or its files were changed",
            flow.flow
        )));
    }
    output.trace.sort_by_key(|event| event.at);
    let host = |host: u32| {
        network.nodes[network.hosts[host as usize] as usize]
            .name
            .clone()
    };
    Ok(Explained {
        run,
        workload: scenario
            .workloads
            .get(usize::from(flow.workload))
            .map_or(String::new(), |w| w.name.clone()),
        hosts: [host(flow.source), host(flow.destination)],
        explanation: explain_flow(flow, &output.trace),
        events: output.trace,
        links: (0..network.links.len() as u32)
            .map(|link| network.link_name(link))
            .collect(),
        flow: flow.clone(),
    })
}

/// The flow that is meant.
fn pick(flows: &[FlowRecord], choice: FlowChoice) -> Option<&FlowRecord> {
    let counted = || {
        flows
            .iter()
            .filter(|flow| flow.counted && flow.class != Class::Long)
    };
    match choice {
        FlowChoice::Id(id) => flows.iter().find(|flow| flow.flow == id),
        FlowChoice::Row(row) => flows.get(row),
        // Ties go to the lowest id: `max_by_key` takes the last, `Reverse` the first.
        FlowChoice::Worst => counted()
            .max_by_key(|flow| (flow.completion().unwrap_or(Span::MAX), Reverse(flow.flow))),
        FlowChoice::WorstMissed => counted()
            .filter(|flow| flow.met() == Some(false))
            .max_by_key(|flow| (lateness(flow), Reverse(flow.flow))),
    }
}

fn lateness(flow: &FlowRecord) -> Span {
    match (flow.finish, flow.deadline) {
        (Some(finish), Some(deadline)) => finish.since(deadline),
        _ => Span::MAX,
    }
}

fn nothing(choice: FlowChoice, run: &RunName) -> String {
    match choice {
        FlowChoice::Id(id) => format!("{run}: no flow {id}; ids are in flows.parquet"),
        FlowChoice::Row(row) => format!("{run}: no row {row} of flows"),
        FlowChoice::Worst => format!("{run}: no counted flow"),
        FlowChoice::WorstMissed => format!("{run}: no counted flow missed its deadline"),
    }
}
