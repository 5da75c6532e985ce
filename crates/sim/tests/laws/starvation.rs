//! Detection of D3 flows that rounding may starve: those on a link with fewer rate units than flows that request one.
//!
//! The fair share of such a link is below one unit, the smallest possible grant. With shares rounded down and no base
//! rate for paused flows, every header is granted 0, no flow ends, and the share stays the same. A flow with a desired
//! rate receives that first, so it starves only once it is late.

use crate::generator::Case;
use duetime_core::Rate;
use duetime_proto::d3::{Allocation, BaseRate, Config, Rounding};
use duetime_results::{FlowRecord, RunRecords};
use duetime_scenario::model::Protocol;
use duetime_sim::routing::Routing;

/// Flows that were unfinished at the end of a run, by the links that allocate to them.
pub struct Starvation<'a> {
    case: &'a Case,
    routing: Routing,
    /// Unfinished flows that request a share, by link.
    waiting: Vec<u64>,
}

impl<'a> Starvation<'a> {
    /// Counts the unfinished flows of a run.
    pub fn new(case: &'a Case, records: &RunRecords) -> Result<Self, String> {
        let routing = Routing::build(&case.network).map_err(|error| error.to_string())?;
        let mut starvation = Self {
            case,
            routing,
            waiting: vec![0; case.network.links.len()],
        };
        for flow in records.flows.iter().filter(|flow| flow.finish.is_none()) {
            let Protocol::D3(config) = case.protocol(flow.workload) else {
                continue;
            };
            let mut links = starvation.allocated(config, flow.source, flow.destination);
            if config.host.reverse_request {
                links.extend(starvation.allocated(config, flow.destination, flow.source));
            }
            for link in links {
                starvation.waiting[link] += 1;
            }
        }
        Ok(starvation)
    }

    /// Returns true if `flow` may starve on one of its links.
    pub fn reaches(&self, flow: &FlowRecord) -> bool {
        let Protocol::D3(config) = self.case.protocol(flow.workload) else {
            return false;
        };
        let rounds_down = matches!(
            config.wire.rounding,
            Rounding::CeilFloor | Rounding::FloorFloor
        );
        let links = self.allocated(config, flow.source, flow.destination);
        rounds_down
            && config.router.base_rate == BaseRate::HeaderOnly
            && links
                .iter()
                .any(|&link| self.waiting[link] > self.units(config, link))
    }

    /// Returns the known links between two hosts that allocate rates to `config`'s flows.
    fn allocated(&self, config: &Config, from: u32, to: u32) -> Vec<usize> {
        let network = &self.case.network;
        let path = self.routing.path(network, from, to, 0);
        let ends = [path[0], path[path.len() - 1]];
        let known = self.case.is_tree() && config.router.allocation == Allocation::Routers;
        let links = if known { &path[..] } else { &ends[..] };
        links.iter().map(|&link| link as usize).collect()
    }

    /// Returns the rate of a link in units of a request.
    fn units(&self, config: &Config, link: usize) -> u64 {
        let links = &self.case.network.links;
        let slowest = links.iter().map(|link| link.rate).min();
        let scale = config
            .wire
            .scale
            .unwrap_or_else(|| Config::scale_for(slowest.unwrap_or(Rate::from_bps(1))));
        let unit = 8e6 * libm::exp2(f64::from(scale));
        (links[link].rate.as_bps() as f64 / unit) as u64
    }
}
