//! Deadlines and budgets that recorded queries cannot meet.

use super::{DeadlineKind, MIN_SHARE, Site, sample, share_late};
use duetime_core::Span;
use duetime_scenario::model::{Deadline, DeadlineFrom, RecordedQuery, Spans};
use duetime_sim::workload::{Mixture, Trees, needed, quantile, recorded_share};

impl Site<'_> {
    /// Reports recorded queries and answers that are late even if each message is alone.
    pub(super) fn recorded(&mut self, spans: &Spans, placed: &Trees, duration: Span) {
        let started: Vec<(u32, &RecordedQuery)> = (0u32..)
            .zip(&spans.queries)
            .filter(|(_, query)| query.start < duration)
            .collect();
        let sampled: Vec<(u32, &RecordedQuery)> = sample(&started).copied().collect();
        if spans.deadline != Deadline::None && !sampled.is_empty() {
            self.recorded_answers(spans, placed, &sampled);
        }
        let Some(&budget) = spans.objective.within.first() else {
            return;
        };
        let mut alone = (Span::MAX, Span::ZERO);
        let mut late = 0u32;
        for &(tree, query) in &sampled {
            let time = self.min_query_time(spans, placed, tree, query);
            if time > budget {
                late += 1;
                alone = (alone.0.min(time), alone.1.max(time));
            }
        }
        if late > 0 {
            let share = f64::from(late) / sampled.len() as f64;
            self.report(DeadlineKind::Queries, share, budget, alone);
        }
    }

    fn recorded_answers(
        &mut self,
        spans: &Spans,
        placed: &Trees,
        sampled: &[(u32, &RecordedQuery)],
    ) {
        let mut parts: Mixture = Vec::new();
        let (mut all, mut late) = (0.0, 0.0);
        let mut alone = (Span::MAX, Span::ZERO);
        for &(tree, query) in sampled {
            let depths = depths(query);
            let layers = depths.iter().copied().max().unwrap_or(1);
            let answers: Vec<(usize, (u32, u32))> = (1..).zip(ends(placed, tree)).collect();
            for &(position, ends) in sample(&answers) {
                let node = &query.nodes[position];
                let compute = match spans.deadline_from {
                    DeadlineFrom::Query => node.compute,
                    DeadlineFrom::Response => Span::ZERO,
                };
                let time = compute + self.alone(ends, node.response.0);
                let share = recorded_share(layers, depths[position]);
                alone = (alone.0.min(time), alone.1.max(time));
                all += 1.0;
                late += share_late(&spans.deadline, share, time);
                parts.push((1.0, spans.deadline, share));
            }
        }
        let share = late / all;
        if share >= MIN_SHARE {
            for part in &mut parts {
                part.0 /= all;
            }
            self.report(DeadlineKind::Answers, share, quantile(&parts, 0.01), alone);
        }
    }

    /// Returns the minimum time from a query's arrival until enough leaves' answers are at the root, if each message is
    /// alone.
    fn min_query_time(
        &mut self,
        spans: &Spans,
        placed: &Trees,
        tree: u32,
        query: &RecordedQuery,
    ) -> Span {
        let mut times = vec![Span::ZERO; query.nodes.len()];
        let mut leaves = Vec::new();
        let ends = ends(placed, tree);
        for (position, node) in query.nodes.iter().enumerate().skip(1) {
            let (child, parent) = ends[position - 1];
            let down = self.alone((parent, child), node.request.0);
            let up = self.alone((child, parent), node.response.0);
            times[position] = times[node.parent as usize] + down + node.compute + up;
            if node.children == 0 {
                leaves.push(times[position]);
            }
        }
        leaves.sort_unstable();
        let enough = needed(leaves.len() as u32, spans.objective.answers);
        leaves[enough as usize - 1]
    }
}

/// Returns the hosts of every child and its parent in a tree.
fn ends(placed: &Trees, tree: u32) -> Vec<(u32, u32)> {
    let edges = placed.edges(tree);
    edges.map(|(_, child, parent)| (child, parent)).collect()
}

/// Returns the number of links from each node to the root.
fn depths(query: &RecordedQuery) -> Vec<usize> {
    let mut depths = vec![0; query.nodes.len()];
    for (position, node) in query.nodes.iter().enumerate().skip(1) {
        depths[position] = depths[node.parent as usize] + 1;
    }
    depths
}
