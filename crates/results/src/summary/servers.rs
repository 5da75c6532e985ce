//! Servers of the hosts, over one run and over all runs.

use super::{NamedLink, RunSummary, mean_of};
use crate::{Estimate, ServerRecord};
use serde::Serialize;

/// Servers of all computing hosts over one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServersSummary {
    /// Computations that each host can run at the same time.
    pub slots: u32,
    /// Number of hosts that computed anything.
    pub hosts: u64,
    /// Utilisation of the busiest host's servers, in [0, 1].
    pub utilisation: f64,
    /// Name of the busiest host.
    pub busiest_host: String,
    /// Mean utilisation over these hosts, in [0, 1].
    pub utilisation_mean: f64,
    /// Computations that got a slot.
    pub computations: u64,
    /// Mean wait for a slot, in seconds.
    pub wait_mean_s: f64,
    /// Longest wait for a slot, in seconds.
    pub wait_max_s: f64,
    /// Longest queue for a slot, in computations.
    pub queue_max: u32,
}

/// Servers of all computing hosts, over all runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServersEstimate {
    /// Computations that each host can run at the same time.
    pub slots: u32,
    /// Utilisation of the busiest host's servers, in [0, 1].
    pub utilisation: Option<Estimate>,
    /// Host that was the busiest in most runs.
    pub busiest_host: Option<NamedHost>,
    /// Mean utilisation over the hosts that computed anything, in [0, 1].
    pub utilisation_mean: Option<Estimate>,
    /// Mean wait for a slot, in seconds.
    pub wait_mean_s: Option<Estimate>,
    /// Longest wait for a slot, per run, in seconds.
    pub wait_max_s: Option<Estimate>,
    /// Longest queue for a slot, per run, in computations.
    pub queue_max: Option<Estimate>,
}

/// Name of a host with an extreme value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NamedHost {
    /// Name of the host.
    pub host: String,
    /// Number of runs in which this host had the extreme value.
    pub runs: u64,
}

impl ServersSummary {
    /// Summarizes the servers of one run, or returns `None` if they are unlimited or computed nothing.
    pub(super) fn of(servers: &[ServerRecord]) -> Option<Self> {
        // The first of several, so that the name is deterministic.
        let busiest = servers.iter().reduce(|best, host| {
            if host.utilisation > best.utilisation {
                host
            } else {
                best
            }
        })?;
        let computations: u64 = servers.iter().map(|host| host.computations).sum();
        let waited_ps = |host: &ServerRecord| host.wait_mean_ps as f64 * host.computations as f64;
        let waited_ps: f64 = servers.iter().map(waited_ps).sum();
        let utilisation: f64 = servers.iter().map(|host| host.utilisation).sum();
        let wait_max_ps = servers.iter().map(|host| host.wait_max_ps).max();
        Some(Self {
            slots: busiest.slots,
            hosts: servers.len() as u64,
            utilisation: busiest.utilisation,
            busiest_host: busiest.host.clone(),
            utilisation_mean: utilisation / servers.len() as f64,
            computations,
            wait_mean_s: waited_ps / computations.max(1) as f64 / 1e12,
            wait_max_s: wait_max_ps.unwrap_or(0) as f64 / 1e12,
            queue_max: servers.iter().map(|host| host.queue_max).max().unwrap_or(0),
        })
    }
}

impl ServersEstimate {
    /// Summarizes the servers of all runs, or returns `None` if no run has any with slots.
    pub(super) fn of(runs: &[RunSummary]) -> Option<Self> {
        let some = || runs.iter().filter_map(|run| run.servers.as_ref());
        let mean = |pick: fn(&ServersSummary) -> f64| {
            Estimate::of(runs, |drawn| {
                mean_of(drawn, |run| run.servers.as_ref().map(pick))
            })
        };
        let busiest = NamedLink::of(some().map(|servers| servers.busiest_host.as_str()));
        Some(Self {
            slots: some().next()?.slots,
            utilisation: mean(|servers| servers.utilisation),
            busiest_host: busiest.map(|busiest| NamedHost {
                host: busiest.link,
                runs: busiest.runs,
            }),
            utilisation_mean: mean(|servers| servers.utilisation_mean),
            wait_mean_s: mean(|servers| servers.wait_mean_s),
            wait_max_s: mean(|servers| servers.wait_max_s),
            queue_max: mean(|servers| f64::from(servers.queue_max)),
        })
    }
}
