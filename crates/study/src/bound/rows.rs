//! Best possible results as rows of the transports' tables.

use duetime_analysis::bound::Best;
use duetime_results::{Class, Estimate};
use serde::Serialize;

use super::{NETWORK, NO_TRANSPORT, ONLINE};
use crate::gather::{Gathered, flows_name};
use crate::objective::target_of;
use crate::plan::Plan;

/// Row for the queries, or the flows of one class, of a workload at one point: the best possible result, or an online
/// schedule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BestRow {
    /// Settings of the point; empty without a sweep.
    pub point: String,
    /// [`NO_TRANSPORT`], [`ONLINE`] or [`NETWORK`], in the place of a transport.
    pub transport: &'static str,
    /// Number of runs.
    pub runs: u64,
    /// Name of the workload.
    pub workload_name: String,
    /// Class of the flows, or `None` for queries.
    pub class: Option<Class>,
    /// Measured judged queries, or measured flows with a deadline.
    pub asked: u64,
    /// Share that is late; for the best possible result, a lower bound.
    pub missed: Estimate,
    /// Share that is in time; for the best possible result, an upper bound.
    pub in_time: Estimate,
    /// Share of the queries that must be in time, or `None` for flows.
    #[serde(skip)]
    pub target: Option<f64>,
    /// True if the bound holds only for transports that deliver queries at once.
    pub if_prompt: bool,
}

impl BestRow {
    /// Returns the name of the row's flows or queries.
    pub fn flows_name(&self) -> String {
        match self.class {
            Some(class) => flows_name(&self.workload_name, class),
            None => self.workload_name.clone(),
        }
    }
}

impl Gathered {
    /// Returns two or three rows for the queries and for each class of flows with deadlines of each workload, by point.
    pub fn best_rows(&self, plan: &Plan) -> Vec<BestRow> {
        let mut rows = Vec::new();
        for (point, best) in &self.best {
            let point = &plan.points[*point];
            let mut push = |workload: u16, class: Option<Class>, bound: &Best| {
                let row = |transport, missed, in_time| BestRow {
                    point: point.label(),
                    transport,
                    runs: best.runs,
                    workload_name: point.scenario.workloads[usize::from(workload)].name.clone(),
                    class,
                    asked: bound.asked,
                    missed,
                    in_time,
                    target: target_of(&point.scenario, workload).filter(|_| class.is_none()),
                    if_prompt: bound.if_prompt,
                };
                rows.push(row(NO_TRANSPORT, bound.late, bound.in_time()));
                rows.push(row(ONLINE, bound.online, bound.online_in_time()));
                if let (Some(late), Some(in_time)) = (bound.network, bound.network_in_time()) {
                    rows.push(row(NETWORK, late, in_time));
                }
            };
            for queries in &best.queries {
                push(queries.workload, None, &queries.best);
            }
            for group in &best.groups {
                push(group.workload, Some(group.class), &group.best);
            }
        }
        rows
    }
}
