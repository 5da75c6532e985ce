//! The best possible as rows of a table, beside those of the transports.

use duetime_results::{Class, Estimate};
use serde::Serialize;

use super::{Best, NO_TRANSPORT, ONLINE};
use crate::gather::{Gathered, flows_name};
use crate::objective::target_of;
use crate::plan::Plan;

/// One workload's queries, or its flows of one class, at one point: the best possible, or the online schedule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BestRow {
    /// The settings of the point; empty without a sweep.
    pub point: String,
    /// Which of the two, in the place of a transport.
    pub transport: &'static str,
    /// Runs.
    pub runs: u64,
    /// Name of the workload.
    pub workload_name: String,
    /// Class of the flows; `None`: queries.
    pub class: Option<Class>,
    /// Measured queries that are judged, or measured flows with a deadline.
    pub asked: u64,
    /// The share of them that is late: of the best possible, the least that it can be.
    pub missed: Estimate,
    /// The share of them that is in time: of the best possible, the most that it can be.
    pub in_time: Estimate,
    /// Share of the queries that shall be in time; `None` of flows.
    #[serde(skip)]
    pub target: Option<f64>,
    /// Whether it holds for transports that deliver queries at once, and not for one that holds them back.
    pub if_prompt: bool,
}

impl BestRow {
    /// What its flows are called.
    pub fn flows_name(&self) -> String {
        match self.class {
            Some(class) => flows_name(&self.workload_name, class),
            None => self.workload_name.clone(),
        }
    }
}

impl Gathered {
    /// Two rows for each workload's queries and flows with deadlines, by point.
    pub fn best_rows(&self, plan: &Plan) -> Vec<BestRow> {
        let mut rows = Vec::new();
        for (point, best) in &self.best {
            let point = &plan.points[*point];
            let mut two = |workload: u16, class: Option<Class>, of: &Best| {
                let row = |transport, missed, in_time| BestRow {
                    point: point.label(),
                    transport,
                    runs: best.runs,
                    workload_name: point.scenario.workloads[usize::from(workload)].name.clone(),
                    class,
                    asked: of.asked,
                    missed,
                    in_time,
                    target: target_of(&point.scenario, workload).filter(|_| class.is_none()),
                    if_prompt: of.if_prompt,
                };
                rows.push(row(NO_TRANSPORT, of.late, of.in_time()));
                rows.push(row(ONLINE, of.online, of.online_in_time()));
            };
            for of in &best.queries {
                two(of.workload, None, &of.best);
            }
            for of in &best.groups {
                two(of.workload, Some(of.class), &of.best);
            }
        }
        rows
    }
}
