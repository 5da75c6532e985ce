//! Load that the workloads offer to the servers of each host, computed without a run.
//!
//! The load of a host's servers is the mean rate of its computations times their mean time, divided by its number of
//! slots. Hedges and retries are left out.

use super::{HEAVY, WorkloadLoad, by_workload, highest};
use duetime_core::Span;
use duetime_scenario::model::{Gap, Oldi, Scenario, WorkloadKind};
use duetime_sim::topology::Network;
use duetime_sim::workload::{Workloads, draw};
use serde::Serialize;

/// Load of the servers of hosts with slots.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ServersDescription {
    /// True if any workload computes.
    pub computes: bool,
    /// Number of computations that each host runs at once, or `None` if servers are unlimited.
    pub slots: Option<u32>,
    /// Busiest hosts, busiest first; at most ten. Empty if servers are unlimited.
    pub hosts: Vec<HostLoad>,
    /// Number of hosts that compute with a sustained load.
    pub of_hosts: u32,
    /// Mean load of these hosts.
    pub mean_load: f64,
    /// Number of hosts with a load above 90 %.
    pub heavy_hosts: u32,
    /// Number of hosts with a load above 100 %, whose servers cannot compute everything that is offered.
    pub overloaded_hosts: u32,
}

/// Load of one host's servers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostLoad {
    /// Name of the host.
    pub host: String,
    /// Mean number of slots that the computations occupy.
    pub offered_slots: f64,
    /// `offered_slots` as a share of the host's slots.
    pub load: f64,
    /// Loads by workload, largest first; only workloads that compute at the host.
    pub by_workload: Vec<WorkloadLoad>,
}

/// Describes the load of the servers.
pub(crate) fn describe(
    scenario: &Scenario,
    network: &Network,
    workloads: &Workloads,
) -> ServersDescription {
    let computes = (scenario.workloads.iter()).any(|workload| computes(&workload.kind));
    let Some(limit) = scenario.host.servers.slots() else {
        return ServersDescription {
            computes,
            ..ServersDescription::default()
        };
    };
    // Busy slots by workload and host.
    let busy: Vec<Vec<f64>> = (0..scenario.workloads.len())
        .map(|index| busy_slots(scenario, network, workloads, index))
        .collect();
    let slots = f64::from(limit.slots);
    let loads: Vec<f64> = (0..network.hosts() as usize)
        .map(|host| busy.iter().map(|workload| workload[host]).sum::<f64>() / slots)
        .collect();
    let listed = highest(&loads).into_iter().map(|host| {
        let workloads = scenario.workloads.iter().zip(&busy);
        let by_host = workloads.map(|(workload, busy)| (&workload.name, busy[host] / slots));
        HostLoad {
            host: network.host_name(host as u32).to_owned(),
            offered_slots: loads[host] * slots,
            load: loads[host],
            by_workload: by_workload(by_host),
        }
    });
    let above = |limit: f64| loads.iter().filter(|load| **load > limit).count() as u32;
    let (of_hosts, sum) = (above(0.0), loads.iter().sum::<f64>());
    ServersDescription {
        computes,
        slots: Some(limit.slots),
        hosts: listed.collect(),
        of_hosts,
        mean_load: if of_hosts > 0 {
            sum / f64::from(of_hosts)
        } else {
            0.0
        },
        heavy_hosts: above(HEAVY),
        overloaded_hosts: above(1.0),
    }
}

fn computes(kind: &WorkloadKind) -> bool {
    match kind {
        WorkloadKind::Oldi(oldi) => {
            let aggregates = oldi.fan_in.len() > 1 && oldi.aggregate_compute != Gap::ZERO;
            oldi.compute != Gap::ZERO || aggregates
        }
        WorkloadKind::Spans(spans) => {
            let mut nodes = spans.queries.iter().flat_map(|query| &query.nodes[1..]);
            nodes.any(|node| node.compute > Span::ZERO)
        }
        _ => false,
    }
}

/// Returns the mean number of slots of each host that a workload's computations occupy. Workloads with back-to-back
/// queries are not counted, because their rate depends on the network.
fn busy_slots(
    scenario: &Scenario,
    network: &Network,
    workloads: &Workloads,
    index: usize,
) -> Vec<f64> {
    let mut busy = vec![0.0; network.hosts() as usize];
    let Some(placed) = workloads.trees(index) else {
        return busy;
    };
    match &scenario.workloads[index].kind {
        WorkloadKind::Oldi(config) => {
            let seconds = by_depth(config);
            for (tree, (_, gap)) in placed.mean_gaps().enumerate() {
                let Some(gap) = gap else { continue };
                for (depth, child, _) in placed.edges(tree as u32) {
                    busy[child as usize] += seconds[depth] / gap.as_secs_f64();
                }
            }
        }
        WorkloadKind::Spans(spans) => {
            let started = (0u32..).zip(&spans.queries);
            let started = started.take_while(|(_, query)| query.start < scenario.duration);
            for (tree, query) in started {
                let edges = placed.edges(tree);
                for (node, (_, child, _)) in query.nodes[1..].iter().zip(edges) {
                    let seconds = node.compute.as_secs_f64();
                    busy[child as usize] += seconds / scenario.duration.as_secs_f64();
                }
            }
        }
        _ => {}
    }
    busy
}

/// Returns the mean computation time of a child in seconds, by the depth of its parent.
fn by_depth(config: &Oldi) -> Vec<f64> {
    let leaves = config.fan_in.len() - 1;
    let mean = |depth| {
        let compute = if depth == leaves {
            &config.compute
        } else {
            &config.aggregate_compute
        };
        draw::mean_gap(compute).as_secs_f64()
    };
    (0..=leaves).map(mean).collect()
}
