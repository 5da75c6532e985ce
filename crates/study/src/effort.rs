//! What a study takes, told before it runs: packet-hops, time and memory.

use duetime_sim::describe::Description;
use serde::Serialize;

use crate::demand::BYTES_PER_FLOW;
use crate::plan::Plan;
use crate::text;

/// Wall time per packet-hop, ns: what `script/bench` measures for a network of up to 1,000 hosts, rounded up. Larger
/// networks take more, and so does a busy machine.
const NS_PER_PACKET_HOP: f64 = 150.0;

/// What the runs of a study take, to first order.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Effort {
    /// Runs.
    pub runs: usize,
    /// Packets that cross a link, over all runs; without those of flows that send as fast as they can.
    pub packet_hops: f64,
    /// Wall time, s, with as many runs at a time as were asked for.
    pub wall_s: f64,
    /// Memory of the runs at work at one time, B: their flows.
    pub memory_bytes: f64,
}

impl Effort {
    /// Estimates the effort of all runs of a plan, of which `at_once` are at work at a time. `described` has the plan's
    /// points in their order. `None` where some workload's traffic depends on what the network lets through.
    pub fn of(plan: &Plan, described: &[(String, Description)], at_once: usize) -> Option<Self> {
        let mut effort = Self {
            runs: 0,
            packet_hops: 0.0,
            wall_s: 0.0,
            memory_bytes: 0.0,
        };
        for (point, (_, of)) in plan.points.iter().zip(described) {
            if !of.load.not_sustained.is_empty() {
                return None;
            }
            let flows = of.workloads.iter().map(|of| of.expected_flows);
            let flows: f64 = flows.sum::<Option<f64>>()?;
            let runs = point.scenario.transports.len() * point.scenario.seeds as usize;
            effort.runs += runs;
            effort.packet_hops += of.load.packet_hops * runs as f64;
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
