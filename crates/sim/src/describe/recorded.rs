//! Recorded queries: their load, and deadlines that they cannot meet.

use super::infeasible::{DeadlineKind, MIN_SHARE, Site as Judge, sample, share_late};
use super::workloads::{Site, WorkloadDescription};
use crate::workload::priority::{Mixture, quantile};
use crate::workload::{draw, needed, oldi};
use duetime_core::{Bytes, Span};
use duetime_scenario::model::{Deadline, DeadlineFrom, RecordedQuery, Size, Spans};

impl Site<'_> {
    pub(super) fn recorded(
        &self,
        spans: &Spans,
        placed: &oldi::Oldi,
        shared: WorkloadDescription,
    ) -> WorkloadDescription {
        let wire = |bytes: Bytes| draw::mean_wire(&Size::Fixed(bytes), self.header);
        let started = spans
            .queries
            .iter()
            .filter(|query| query.start < self.duration);
        let (mut queries, mut answers) = (0.0, 0.0);
        let (mut size, mut answers_wire, mut all_wire) = (0.0, 0.0, 0.0);
        let (mut burst, mut largest) = (0.0, 0);
        for query in started {
            queries += 1.0;
            for node in &query.nodes[1..] {
                answers += 1.0;
                size += node.response.0 as f64;
                answers_wire += wire(node.response);
                all_wire += wire(node.response) + wire(node.request);
                if node.parent == 0 {
                    burst += wire(node.response);
                }
            }
            largest = largest.max(query.nodes[0].children);
        }
        let mut roots = placed.roots();
        roots.sort_unstable();
        roots.dedup();
        let burst = burst / f64::max(queries, 1.0);
        let answers_at_least = f64::max(answers, 1.0);
        WorkloadDescription {
            kind: "trace",
            senders: placed.hosts_in_use(),
            expected_flows: Some(2.0 * answers),
            mean_size_bytes: Some(size / answers_at_least),
            mean_wire_bytes: Some(answers_wire / answers_at_least),
            offered_bps: Some(8.0 * all_wire / self.duration.as_secs_f64()),
            burst_bytes: Some(burst),
            burst_drain_ns: roots.first().map(|&root| self.drain_ns(root, burst)),
            trees: Some(placed.trees()),
            largest_fan_in: Some(largest),
            expected_queries: Some(queries),
            roots,
            ..shared
        }
    }
}

impl Judge<'_> {
    /// Reports recorded queries and answers that are late even if each message is alone.
    pub(super) fn recorded(&mut self, spans: &Spans, placed: &oldi::Oldi, duration: Span) {
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
        placed: &oldi::Oldi,
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
                let time = compute + self.alone.time(self.workload, ends, node.response.0);
                let share = oldi::recorded_share(layers, depths[position]);
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
        placed: &oldi::Oldi,
        tree: u32,
        query: &RecordedQuery,
    ) -> Span {
        let mut times = vec![Span::ZERO; query.nodes.len()];
        let mut leaves = Vec::new();
        let ends = ends(placed, tree);
        for (position, node) in query.nodes.iter().enumerate().skip(1) {
            let (child, parent) = ends[position - 1];
            let down = self
                .alone
                .time(self.workload, (parent, child), node.request.0);
            let up = self
                .alone
                .time(self.workload, (child, parent), node.response.0);
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
fn ends(placed: &oldi::Oldi, tree: u32) -> Vec<(u32, u32)> {
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
