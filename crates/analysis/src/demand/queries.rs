//! Requirements of each query, and how many of its answers could be in time if each were alone.

use super::DemandFlow;
use duetime_core::Time;
use duetime_results::{Class, QueryRecord};
use duetime_sim::workload::{Trees, Workloads};
use std::collections::BTreeMap;

/// A query with the answers that its root expects.
#[derive(Clone, Debug)]
pub struct DemandQuery {
    /// Id of the query, as in [`QueryRecord::query`].
    pub query: u64,
    /// Index of the workload.
    pub workload: u16,
    /// Host of the root.
    pub root: u32,
    /// True if the query is in the measurement window.
    pub measured: bool,
    /// Number of leaves whose answers the query needs.
    pub needed: u32,
    /// Time by which it needs them, or `None` if each leaf's answer has its own deadline.
    pub due: Option<Time>,
    /// Answers of the root's children, as indices into the flows.
    pub answers: Vec<usize>,
    /// Maximum number of leaves in one of these answers.
    pub leaves_per_answer: u32,
    /// Number of leaves whose answers could be at the root in time if each were alone.
    pub reachable: u32,
}

/// Returns the queries with a budget or deadlines, by workload and number.
pub(super) fn judged(
    workloads: &mut Workloads,
    flows: &[DemandFlow],
    unknown: &[u16],
) -> Vec<DemandQuery> {
    // Answers of each query by role, as indices into the flows.
    let mut answers: BTreeMap<u64, Vec<(u32, usize)>> = BTreeMap::new();
    for (index, flow) in flows.iter().enumerate() {
        if let (Class::Response, Some(query)) = (flow.message.class, flow.message.query) {
            answers
                .entry(query)
                .or_default()
                .push((flow.message.tag, index));
        }
    }
    for roles in answers.values_mut() {
        roles.sort_unstable();
    }
    let records = workloads.take_queries();
    let known = records
        .iter()
        .filter(|record| record.judged && !unknown.contains(&record.workload));
    let asked = known.filter_map(|record| {
        let trees = workloads.trees(usize::from(record.workload))?;
        let answers = answers.get(&record.query).map_or(&[][..], Vec::as_slice);
        let query = Query {
            trees,
            flows,
            answers,
        };
        Some(query.asked(record))
    });
    asked.collect()
}

struct Query<'a> {
    trees: &'a Trees,
    flows: &'a [DemandFlow],
    /// Answers as (role, index into `flows`), sorted by role.
    answers: &'a [(u32, usize)],
}

impl Query<'_> {
    fn asked(&self, record: &QueryRecord) -> DemandQuery {
        let top = |role| self.trees.depth_of(role) == 1;
        let leaves = self
            .answers
            .iter()
            .filter(|(role, _)| self.trees.is_leaf(*role));
        let in_time = |&&(role, _): &&(u32, usize)| match record.due {
            Some(due) => self.at_root(role) <= due,
            None => self.is_feasible(role),
        };
        DemandQuery {
            query: record.query,
            workload: record.workload,
            root: record.root,
            measured: record.measured,
            needed: record.needed,
            due: record.due,
            answers: (self.answers.iter())
                .filter(|(role, _)| top(*role))
                .map(|&(_, index)| index)
                .collect(),
            leaves_per_answer: self.trees.leaves_per_answer(record.query),
            reachable: leaves.filter(in_time).count() as u32,
        }
    }

    /// Returns true if a leaf's answer, and those of the aggregators above it, could each be in time if it were alone.
    fn is_feasible(&self, leaf: u32) -> bool {
        let mut role = leaf;
        loop {
            let flow = self.answer(role);
            if flow.is_none_or(DemandFlow::is_infeasible) {
                return false;
            }
            if self.trees.depth_of(role) == 1 {
                return true;
            }
            role = self.trees.parent_of(role);
        }
    }

    fn answer(&self, role: u32) -> Option<&DemandFlow> {
        let index = self.answers.binary_search_by_key(&role, |&(role, _)| role);
        index.ok().map(|index| &self.flows[self.answers[index].1])
    }

    /// Returns the earliest time at which a leaf's answer can be at the root, through the aggregators above it.
    fn at_root(&self, leaf: u32) -> Time {
        let mut role = leaf;
        let mut submitted = Time::ZERO;
        loop {
            let Some(flow) = self.answer(role) else {
                // An aggregator that waits without limit may never answer.
                return Time::MAX;
            };
            let submitted_here = submitted.max(flow.message.submitted);
            let delivered = submitted_here + flow.earliest.since(flow.message.submitted);
            if self.trees.depth_of(role) == 1 {
                return delivered;
            }
            (submitted, role) = (delivered, self.trees.parent_of(role));
        }
    }
}
