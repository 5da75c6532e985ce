//! Which run, and which flow or query of it, is meant.

use std::cmp::Reverse;
use std::str::FromStr;

use duetime_core::Span;
use duetime_results::{Class, FlowRecord, QueryRecord, RunRecords};

use crate::error::StudyError;
use crate::event::RunName;
use crate::plan::{Job, Plan, Point};

/// What is to be explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The worst query where the run has any that is measured, otherwise the worst flow.
    Worst,
    /// A flow.
    Flow(FlowChoice),
    /// A query.
    Query(QueryChoice),
}

impl Choice {
    /// The same without [`Choice::Worst`].
    pub(super) fn of(self, records: &RunRecords) -> Self {
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
                "`{text}`: allowed: a flow's id, row:N, query:ID, worst, worst-query, worst-flow or worst-missed"
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

/// Which flow is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowChoice {
    /// The one with this id.
    Id(u64),
    /// The one in this row of the run's flows, from 0.
    Row(usize),
    /// The measured flow that finished latest after its deadline or least before it; one that never finished comes
    /// first. Where no measured flow has a deadline, the one with the longest completion time.
    Worst,
    /// The measured flow that missed its deadline by most; one that never finished comes first.
    WorstMissed,
}

/// Which query is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryChoice {
    /// The one with this id.
    Id(u64),
    /// The measured query that had enough answers latest after the end of its budget or least before it; one that never
    /// had comes first. Where no measured query has a budget, the one that took longest.
    Worst,
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
            let labels: Vec<String> = plan.points.iter().map(Point::label).collect();
            return Err(StudyError::Choice(format!(
                "{} points of the sweep fit; choose one with --at; there are: {}",
                points.len(),
                labels.join("; ")
            )));
        };
        let scenario = &plan.points[point].scenario;
        let names = scenario.transport_names();
        let transport = match &self.transport {
            Some(name) => names.iter().position(|of| of == name),
            None => (names.len() == 1).then_some(0),
        };
        let Some(transport) = transport else {
            let asked = match &self.transport {
                Some(name) => format!("no transport `{name}`"),
                None => "no transport was named".to_owned(),
            };
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

/// The flow that is meant.
pub(super) fn pick(flows: &[FlowRecord], choice: FlowChoice) -> Option<&FlowRecord> {
    let measured = || {
        flows
            .iter()
            .filter(|flow| flow.measured && flow.class != Class::Long)
    };
    match choice {
        FlowChoice::Id(id) => flows.iter().find(|flow| flow.flow == id),
        FlowChoice::Row(row) => flows.get(row),
        // Ties go to the lowest id: `max_by_key` takes the last, `Reverse` the first.
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

/// Finish minus deadline, negative where it was met; more than any without a finish.
fn lateness_ps(flow: &FlowRecord) -> i128 {
    match (flow.finish, flow.deadline) {
        (Some(finish), Some(deadline)) => i128::from(finish.as_ps()) - i128::from(deadline.as_ps()),
        _ => i128::MAX,
    }
}

pub(super) fn nothing(choice: FlowChoice, run: &RunName) -> String {
    match choice {
        FlowChoice::Id(id) => format!("{run}: no flow {id}; ids are in flows.parquet"),
        FlowChoice::Row(row) => format!("{run}: no row {row} of flows"),
        FlowChoice::Worst => format!("{run}: no measured flow"),
        FlowChoice::WorstMissed => format!("{run}: no measured flow missed its deadline"),
    }
}

/// The query that is meant.
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

/// Enough answers minus the end of the budget, or minus the arrival of a query without one.
fn query_lateness_ps(query: &QueryRecord) -> i128 {
    let from = query.due.unwrap_or(query.start);
    query.enough.map_or(i128::MAX, |enough| {
        i128::from(enough.as_ps()) - i128::from(from.as_ps())
    })
}

pub(super) fn no_query(choice: QueryChoice, run: &RunName) -> String {
    match choice {
        QueryChoice::Id(id) => format!("{run}: no query {id}; ids are in queries.parquet"),
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
        flows[5].measured = false;
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
