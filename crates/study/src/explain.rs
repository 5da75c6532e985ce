//! Where one flow's time went: the run is repeated while that flow is watched.
//!
//! Runs are deterministic, so nothing need be stored for this but the records that tell which flow is meant.

use std::cmp::Reverse;
use std::str::FromStr;

use duetime_core::Span;
use duetime_results::explain::{Explanation, explain as explain_flow};
use duetime_results::{Class, FlowEvent, FlowRecord};
use duetime_sim::topology::Network;
use duetime_sim::{Options, Watch};
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
    /// The counted flow that finished latest after its deadline or least before it; one that never finished comes
    /// first. Where no counted flow has a deadline, the one with the longest completion time.
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
        watch: Watch::flow(flow.flow),
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
    let events = output
        .traces
        .pop()
        .map_or_else(Vec::new, |trace| trace.events);
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
        explanation: explain_flow(flow, &events),
        events,
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
            .filter(|flow| flow.deadline.is_some())
            .max_by_key(|flow| (lateness_ps(flow), Reverse(flow.flow)))
            .or_else(|| {
                counted().max_by_key(|flow| {
                    let took = flow.completion().unwrap_or(Span::MAX);
                    (took, Reverse(flow.flow))
                })
            }),
        FlowChoice::WorstMissed => counted()
            .filter(|flow| flow.met() == Some(false))
            .max_by_key(|flow| (lateness_ps(flow), Reverse(flow.flow))),
    }
}

/// Finish minus deadline, negative where it was met; more than any without a finish.
fn lateness_ps(flow: &FlowRecord) -> i128 {
    match (flow.finish, flow.deadline) {
        (Some(finish), Some(deadline)) => i128::from(finish.as_ps()) - i128::from(deadline.as_ps()),
        _ => i128::MAX,
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

#[cfg(test)]
mod tests {
    use super::*;
    use duetime_core::Time;

    fn flow(flow: u64, start: u64, finish: Option<u64>, deadline: Option<u64>) -> FlowRecord {
        let us = |us: u64| Time::ZERO + Span::from_us(us);
        FlowRecord {
            flow,
            workload: 0,
            class: Class::Flow,
            query: None,
            source: 0,
            destination: 1,
            size_bytes: 1,
            delivered_bytes: 1,
            start: us(start),
            finish: finish.map(us),
            deadline: deadline.map(us),
            quenched: false,
            counted: true,
            timeouts: 0,
            retransmits: 0,
            marks: 0,
            denials: 0,
            inversions: 0,
            requests: 0,
        }
    }

    fn worst(flows: &[FlowRecord]) -> u64 {
        pick(flows, FlowChoice::Worst).expect("a flow").flow
    }

    #[test]
    fn the_worst_flow_is_the_latest_for_its_deadline_and_not_the_slowest() {
        // Flow 1 takes 900 us of its 1000, flow 2 300 us of its 100, flow 3 has no deadline.
        let mut flows = vec![
            flow(1, 0, Some(900), Some(1_000)),
            flow(2, 500, Some(800), Some(600)),
            flow(3, 0, Some(5_000), None),
        ];
        assert_eq!(worst(&flows), 2);
        // When all are in time: the one with the least to spare.
        flows[1] = flow(2, 500, Some(550), Some(600));
        flows.push(flow(4, 0, Some(500), Some(700)));
        assert_eq!(worst(&flows), 2);
        // One that never finished is worse than any, unless it has no deadline.
        flows.push(flow(5, 0, None, None));
        assert_eq!(worst(&flows), 2);
        flows.push(flow(6, 0, None, Some(9_000)));
        assert_eq!(worst(&flows), 6);
        // What does not count is not looked at.
        flows[5].counted = false;
        assert_eq!(worst(&flows), 2);
    }

    #[test]
    fn without_deadlines_the_worst_flow_is_the_slowest() {
        let flows = [
            flow(1, 0, Some(400), None),
            flow(2, 700, Some(1_300), None),
            flow(3, 1_000, Some(1_600), None),
        ];
        assert_eq!(worst(&flows), 2, "of equals the lowest id");
    }
}
