//! Estimated effort of a study before it runs: packet-hops, time and memory.

use duetime_analysis::Description;
use serde::Serialize;

use crate::demand::BYTES_PER_FLOW;
use crate::plan::Plan;
use crate::text;

/// Wall time per packet-hop in nanoseconds, measured by `script/bench` for networks of up to 1,000 hosts and rounded
/// up. Larger networks and busy machines take longer.
const NS_PER_PACKET_HOP: f64 = 150.0;

/// First-order estimate of the effort of a study's runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Effort {
    /// Number of runs.
    pub runs: usize,
    /// Packets that cross a link, over all runs.
    pub packet_hops: f64,
    /// Wall time in seconds, with the requested number of concurrent runs.
    pub wall_s: f64,
    /// Memory of the flows of the concurrent runs, in bytes.
    pub memory_bytes: f64,
}

impl Effort {
    /// Estimates the effort of all runs of a plan with `at_once` concurrent runs. `described` holds the descriptions of
    /// the plan's points in order. Returns `None` if some workload has no sustained load or no known number of flows.
    pub fn of(plan: &Plan, described: &[(String, Description)], at_once: usize) -> Option<Self> {
        let mut effort = Self {
            runs: 0,
            packet_hops: 0.0,
            wall_s: 0.0,
            memory_bytes: 0.0,
        };
        for (point, (_, description)) in plan.points.iter().zip(described) {
            if !description.load.not_sustained.is_empty() {
                return None;
            }
            let workloads = description.workloads.iter();
            let flows = workloads.map(|workload| workload.expected_flows);
            let flows: f64 = flows.sum::<Option<f64>>()?;
            let runs = point.scenario.transports.len() * point.scenario.seeds as usize;
            effort.runs += runs;
            effort.packet_hops += description.load.packet_hops * runs as f64;
            effort.memory_bytes = effort.memory_bytes.max(flows * BYTES_PER_FLOW);
        }
        let at_once = at_once.clamp(1, effort.runs.max(1)) as f64;
        effort.memory_bytes *= at_once;
        effort.wall_s = effort.packet_hops * NS_PER_PACKET_HOP / 1e9 / at_once;
        Some(effort)
    }
}

impl std::fmt::Display for Effort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "about {} packet-hops, {} and {} of memory",
            text::count(self.packet_hops),
            text::wall(self.wall_s),
            text::bytes(self.memory_bytes)
        )
    }
}
