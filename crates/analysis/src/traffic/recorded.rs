//! Traffic of recorded queries.

use super::{Site, WorkloadDescription};
use duetime_core::Bytes;
use duetime_scenario::model::{Size, Spans};
use duetime_sim::workload::{Trees, draw};

impl Site<'_> {
    pub(super) fn recorded(
        &self,
        spans: &Spans,
        placed: &Trees,
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
            trees: Some(placed.count()),
            largest_fan_in: Some(largest),
            expected_queries: Some(queries),
            roots,
            ..shared
        }
    }
}
