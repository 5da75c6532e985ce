//! Which flows of D3 rounding may starve: those on a link that has fewer units of rate than flows that ask for some.
//!
//! The fair share of such a link is below one unit, the least that a request can be granted. Where shares are rounded
//! down and a paused flow has no base rate, every flow on it is granted nothing, header by header: none ends, and the
//! share stays as it is. A flow with a desired rate is granted that first, so that it is not starved before it is late.

use crate::generator::Case;
use duetime_core::Rate;
use duetime_proto::d3::{Allocation, BaseRate, Config, Rounding};
use duetime_results::{FlowRecord, RunRecords};
use duetime_scenario::model::Protocol;
use duetime_sim::routing::Routing;

/// The links at whose allocators flows were left that had not ended.
pub struct Starvation<'a> {
    case: &'a Case,
    routing: Routing,
    /// By link: flows that ask there for a share.
    asking: Vec<u64>,
}

impl<'a> Starvation<'a> {
    /// As the run has left it.
    pub fn of(case: &'a Case, records: &RunRecords) -> Result<Self, String> {
        let routing = Routing::build(&case.network).map_err(|error| error.to_string())?;
        let mut left = Self {
            case,
            routing,
            asking: vec![0; case.network.links.len()],
        };
        for flow in records.flows.iter().filter(|flow| flow.finish.is_none()) {
            let Protocol::D3(config) = case.protocol(flow.workload) else {
                continue;
            };
            let mut links = left.allocated(config, flow.source, flow.destination);
            if config.reverse_request {
                links.extend(left.allocated(config, flow.destination, flow.source));
            }
            for link in links {
                left.asking[link] += 1;
            }
        }
        Ok(left)
    }

    /// Whether a flow has such a link on its way.
    pub fn reaches(&self, flow: &FlowRecord) -> bool {
        let Protocol::D3(config) = self.case.protocol(flow.workload) else {
            return false;
        };
        let rounds_down = matches!(config.rounding, Rounding::CeilFloor | Rounding::FloorFloor);
        let links = self.allocated(config, flow.source, flow.destination);
        rounds_down
            && config.base_rate == BaseRate::HeaderOnly
            && links
                .iter()
                .any(|&link| self.asking[link] > self.units(config, link))
    }

    /// The links between two hosts that somebody allocates, as far as it is known which they are.
    fn allocated(&self, config: &Config, from: u32, to: u32) -> Vec<usize> {
        let network = &self.case.network;
        let path = self.routing.path(network, from, to, 0);
        let ends = [path[0], path[path.len() - 1]];
        let known = self.case.is_tree() && config.allocation == Allocation::Routers;
        let links = if known { &path[..] } else { &ends[..] };
        links.iter().map(|&link| link as usize).collect()
    }

    /// The rate of a link in whole units of what a request can say.
    fn units(&self, config: &Config, link: usize) -> u64 {
        let links = &self.case.network.links;
        let slowest = links.iter().map(|link| link.rate).min();
        let scale = config
            .scale
            .unwrap_or_else(|| Config::scale_for(slowest.unwrap_or(Rate::from_bps(1))));
        let unit = 8e6 * libm::exp2(f64::from(scale));
        (links[link].rate.as_bps() as f64 / unit) as u64
    }
}
