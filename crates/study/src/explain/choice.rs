//! Selection of a run and of one of its flows or queries.

use std::cmp::Reverse;
use std::str::FromStr;

use duetime_core::Span;
use duetime_results::{Class, FlowRecord, QueryRecord, RunRecords};

use crate::error::StudyError;
use crate::event::RunName;
use crate::plan::{Job, Plan, Point};

/// Selection of a flow or query to explain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The worst query if the run has measured queries, otherwise the worst flow.
    Worst,
    /// A flow.
    Flow(FlowChoice),
    /// A query.
    Query(QueryChoice),
}

impl Choice {
    /// Replaces [`Choice::Worst`] by the worst query or flow, depending on the records.
    pub(super) fn resolve(self, records: &RunRecords) -> Self {
        match self {
            Self::Worst if records.queries.iter().any(|query| query.measured) => {
                Self::Query(QueryChoice::Worst)
            }
            Self::Worst => Self::Flow(FlowChoice::Worst),
            chosen => chosen,
        }
    }
}

impl FromStr for Choice {
    type Err = StudyError;

    fn from_str(text: &str) -> Result<Self, StudyError> {
        let bad = || {
            StudyError::Choice(format!(
                "`{text}`: allowed: a flow ID, row:N, query:ID, worst, worst-query, worst-flow or worst-missed"
            ))
        };
        Ok(match text {
            "worst" => Self::Worst,
            "worst-query" => Self::Query(QueryChoice::Worst),
            "worst-flow" => Self::Flow(FlowChoice::Worst),
            "worst-missed" => Self::Flow(FlowChoice::WorstMissed),
            _ => match text.split_once(':') {
                Some(("row", row)) => Self::Flow(FlowChoice::Row(row.parse().map_err(|_| bad())?)),
                Some(("query", id)) => Self::Query(QueryChoice::Id(id.parse().map_err(|_| bad())?)),
                Some(_) => return Err(bad()),
                None => Self::Flow(FlowChoice::Id(text.parse().map_err(|_| bad())?)),
            },
        })
    }
}

/// Selection of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowChoice {
    /// The flow with this ID.
    Id(u64),
    /// The flow in this row of the run's flows, from 0.
    Row(usize),
    /// The measured flow that finished latest relative to its deadline. Flows that never finished rank first. If no
    /// measured flow has a deadline, the flow with the longest completion time.
    Worst,
    /// The measured flow that missed its deadline by the most. Flows that never finished rank first.
    WorstMissed,
}

/// Selection of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryChoice {
    /// The query with this ID.
    Id(u64),
    /// The measured query that received enough answers latest relative to the end of its budget. Queries that never
    /// received enough answers rank first. If no measured query has a budget, the query that took longest.
    Worst,
}

/// Selection of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunChoice {
    /// Settings of the point. Exactly one point must match.
    pub at: Vec<(String, String)>,
    /// Name of the transport. May be `None` if the scenario has only one.
    pub transport: Option<String>,
    /// Index of the run, from 0.
    pub run: u32,
}

impl RunChoice {
    /// Returns the selected job of the plan.
    ///
    /// # Errors
    /// If the settings do not match exactly one point, or the transport or the run does not exist.
    pub fn job(&self, plan: &Plan) -> Result<Job, StudyError> {
        let matches = |settings: &[(String, String)]| {
            self.at.iter().all(|setting| settings.contains(setting))
        };
        let points: Vec<usize> = (0..plan.points.len())
            .filter(|&index| matches(&plan.points[index].settings))
            .collect();
        let &[point] = points.as_slice() else {
            let labels: Vec<String> = plan.points.iter().map(Point::label).collect();
            return Err(StudyError::Choice(format!(
                "{} points of the sweep match; select one with --at; available: {}",
                points.len(),
                labels.join("; ")
            )));
        };
        let scenario = &plan.points[point].scenario;
        let names = scenario.transport_names();
        let transport = match &self.transport {
            Some(wanted) => names.iter().position(|name| name == wanted),
            None => (names.len() == 1).then_some(0),
        };
        let Some(transport) = transport else {
            let problem = match &self.transport {
                Some(name) => format!("no transport `{name}`"),
                None => "no transport was selected".to_owned(),
            };
            return Err(StudyError::Choice(format!(
                "{problem}; select one with --transport; available: {}",
                names.join(", ")
            )));
        };
        if self.run >= scenario.seeds {
            return Err(StudyError::Choice(format!(
                "no run {}; available: 0 to {}",
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

/// Returns the selected flow, or `None` if no flow matches.
pub(super) fn pick_flow(flows: &[FlowRecord], choice: FlowChoice) -> Option<&FlowRecord> {
    let measured = || {
        flows
            .iter()
            .filter(|flow| flow.measured && flow.class != Class::Long)
    };
    match choice {
        FlowChoice::Id(id) => flows.iter().find(|flow| flow.flow == id),
        FlowChoice::Row(row) => flows.get(row),
        // `Reverse` makes ties go to the lowest ID.
        FlowChoice::Worst => measured()
            .filter(|flow| flow.deadline.is_some())
            .max_by_key(|flow| (lateness_ps(flow), Reverse(flow.flow)))
            .or_else(|| {
                measured().max_by_key(|flow| {
                    let took = flow.completion().unwrap_or(Span::MAX);
                    (took, Reverse(flow.flow))
                })
            }),
        FlowChoice::WorstMissed => measured()
            .filter(|flow| flow.met() == Some(false))
            .max_by_key(|flow| (lateness_ps(flow), Reverse(flow.flow))),
    }
}

/// Returns the finish minus the deadline, or the maximum if the flow did not finish or has no deadline.
fn lateness_ps(flow: &FlowRecord) -> i128 {
    match (flow.finish, flow.deadline) {
        (Some(finish), Some(deadline)) => i128::from(finish.as_ps()) - i128::from(deadline.as_ps()),
        _ => i128::MAX,
    }
}

/// Returns the message for a selection that matches no flow.
pub(super) fn no_flow(choice: FlowChoice, run: &RunName) -> String {
    match choice {
        FlowChoice::Id(id) => format!("{run}: no flow {id}; flows.parquet lists the IDs"),
        FlowChoice::Row(row) => format!("{run}: flows.parquet has no row {row}"),
        FlowChoice::Worst => format!("{run}: no measured flow"),
        FlowChoice::WorstMissed => format!("{run}: no measured flow missed its deadline"),
    }
}

/// Returns the selected query, or `None` if no query matches.
pub(super) fn pick_query(queries: &[QueryRecord], choice: QueryChoice) -> Option<&QueryRecord> {
    match choice {
        QueryChoice::Id(id) => queries.iter().find(|query| query.query == id),
        QueryChoice::Worst => queries
            .iter()
            .filter(|query| query.measured)
            .max_by_key(|query| {
                let late = (query.due.is_some(), query_lateness_ps(query));
                (late, Reverse(query.query))
            }),
    }
}

/// Returns the time of enough answers minus the end of the budget, or minus the query's arrival without a budget, or
/// the maximum if there never were enough answers.
fn query_lateness_ps(query: &QueryRecord) -> i128 {
    let from = query.due.unwrap_or(query.start);
    query.enough.map_or(i128::MAX, |enough| {
        i128::from(enough.as_ps()) - i128::from(from.as_ps())
    })
}

/// Returns the message for a selection that matches no query.
pub(super) fn no_query(choice: QueryChoice, run: &RunName) -> String {
    match choice {
        QueryChoice::Id(id) => format!("{run}: no query {id}; queries.parquet lists the IDs"),
        QueryChoice::Worst => format!("{run}: no measured query"),
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
            destination: 1,
            size_bytes: 1,
            delivered_bytes: 1,
            start: us(start),
            finish: finish.map(us),
            deadline: deadline.map(us),
            measured: true,
            ..FlowRecord::default()
        }
    }

    fn worst(flows: &[FlowRecord]) -> u64 {
        pick_flow(flows, FlowChoice::Worst).expect("a flow").flow
    }

    #[test]
    fn worst_flow_is_latest_relative_to_deadline() {
        // Flow 1 takes 900 of 1000 us, flow 2 takes 300 of 100 us, and flow 3 has no deadline.
        let mut flows = vec![
            flow(1, 0, Some(900), Some(1_000)),
            flow(2, 500, Some(800), Some(600)),
            flow(3, 0, Some(5_000), None),
        ];
        assert_eq!(worst(&flows), 2);
        // If all flows are in time, the one with the smallest margin is the worst.
        flows[1] = flow(2, 500, Some(550), Some(600));
        flows.push(flow(4, 0, Some(500), Some(700)));
        assert_eq!(worst(&flows), 2);
        // A flow that never finished is worse than any other, unless it has no deadline.
        flows.push(flow(5, 0, None, None));
        assert_eq!(worst(&flows), 2);
        flows.push(flow(6, 0, None, Some(9_000)));
        assert_eq!(worst(&flows), 6);
        // Flows that are not measured are ignored.
        flows[5].measured = false;
        assert_eq!(worst(&flows), 2);
    }

    #[test]
    fn worst_flow_without_deadlines_is_slowest() {
        let flows = [
            flow(1, 0, Some(400), None),
            flow(2, 700, Some(1_300), None),
            flow(3, 1_000, Some(1_600), None),
        ];
        assert_eq!(worst(&flows), 2, "lowest ID of equals");
    }
}
