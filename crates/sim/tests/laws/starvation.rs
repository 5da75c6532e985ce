//! Detection of D3 flows that grants may starve: by rounding, on a link with fewer rate units than flows that request
//! one, or by a base rate that overloads the link.
//!
//! The fair share of a link with fewer units is below one unit, the smallest possible grant. With shares rounded down
//! and a base rate below one unit, every header is granted 0, no flow ends, and the share stays the same. A flow with a
//! desired rate receives that first, so it starves only once it is late. Requests of paused flows are not accounted (D3
//! §4.5): what they send lowers the capacity, and so the units, that capacity adaptation leaves to grants.
//!
//! Every flow is granted at least the base rate, however many there are. If the base rates of the flows exceed a link's
//! rate, nothing prevents overload, and answers arrive after senders have abandoned their requests.

use crate::generator::Case;
use duetime_core::Rate;
use duetime_proto::d3::{Allocation, BaseRate, Config, EncodedRate, Rounding};
use duetime_results::{FlowRecord, RunRecords};
use duetime_scenario::model::Protocol;
use duetime_sim::AllocatorState;
use duetime_sim::routing::Routing;

/// Flows that were unfinished at the end of a run, by the links that allocate to them.
pub struct Starvation<'a> {
    case: &'a Case,
    routing: Routing,
    /// Unfinished flows that request a share, by link.
    waiting: Vec<u64>,
    /// Part of the time in which nothing was sent, by link.
    idle: Vec<f64>,
    /// Links between switches with the flows that their routers count at the end, at most all that are unfinished.
    counted: Vec<(usize, u64)>,
}

impl<'a> Starvation<'a> {
    /// Counts the unfinished flows of a run.
    pub fn new(
        case: &'a Case,
        records: &RunRecords,
        allocators: &[AllocatorState],
    ) -> Result<Self, String> {
        let network = &case.network;
        let routing = Routing::build(network).map_err(|error| error.to_string())?;
        let names: Vec<String> = (0..network.links.len() as u32)
            .map(|link| network.link_name(link))
            .collect();
        let utilisation = |name: &String| {
            let ports = records.ports.iter().filter(|port| port.link == *name);
            ports.map(|port| port.utilisation).fold(0.0, f64::max)
        };
        let is_switch = |node: u32| network.nodes[node as usize].host.is_none();
        let unfinished = || records.flows.iter().filter(|flow| flow.finish.is_none());
        let max = unfinished().count() as u64;
        let counted = allocators.iter().filter_map(|state| {
            let link = names.iter().position(|name| *name == state.link)?;
            let ends = &network.links[link];
            (is_switch(ends.from) && is_switch(ends.to)).then_some((link, state.flows.min(max)))
        });
        let mut starvation = Self {
            case,
            routing,
            waiting: vec![0; network.links.len()],
            idle: names.iter().map(|name| 1.0 - utilisation(name)).collect(),
            counted: counted.collect(),
        };
        for flow in unfinished() {
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
        self.rounds_to_zero(config, flow) || self.is_overcommitted(config, flow)
    }

    /// Returns true if the fair share of one of the flow's links may be below one unit.
    fn rounds_to_zero(&self, config: &Config, flow: &FlowRecord) -> bool {
        let rounds_down = matches!(
            config.wire.rounding,
            Rounding::CeilFloor | Rounding::FloorFloor
        );
        if !rounds_down || self.has_base(config) {
            return false;
        }
        let starves = |link: usize, flows: u64| {
            flows as f64 > self.units(config, link) as f64 * self.idle[link]
        };
        let links = self.allocated(config, flow.source, flow.destination);
        // The path between the end links is not known if there are several.
        links.iter().any(|&link| starves(link, self.waiting[link]))
            || !self.case.is_tree()
                && self
                    .counted
                    .iter()
                    .any(|&(link, flows)| starves(link, flows))
    }

    /// Returns true if the base rates of the flows on one of the flow's links exceed its rate.
    fn is_overcommitted(&self, config: &Config, flow: &FlowRecord) -> bool {
        let base = self.base_units(config);
        let mut links = self.allocated(config, flow.source, flow.destination);
        if config.host.reverse_request {
            links.extend(self.allocated(config, flow.destination, flow.source));
        }
        let granted = |link: usize| base * self.waiting[link] as f64;
        self.has_base(config)
            && links
                .iter()
                .any(|&link| granted(link) > self.units(config, link) as f64)
    }

    /// Returns true if the base rate of paused flows is at least one unit.
    pub fn has_base(&self, config: &Config) -> bool {
        self.base_units(config) >= 1.0
    }

    /// Returns the base rate of paused flows in units of a request.
    fn base_units(&self, config: &Config) -> f64 {
        let BaseRate::Segment(span) = config.router.base_rate else {
            return 0.0;
        };
        let rate = f64::from(config.wire.mtu) * 8.0 / span.as_secs_f64();
        (rate / self.unit_bps(config)).min(EncodedRate::MAX.units())
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
        (self.case.network.links[link].rate.as_bps() as f64 / self.unit_bps(config)) as u64
    }

    /// Returns the unit of a request in bits per second.
    fn unit_bps(&self, config: &Config) -> f64 {
        let slowest = self.case.network.links.iter().map(|link| link.rate).min();
        let scale = config
            .wire
            .scale
            .unwrap_or_else(|| Config::scale_for(slowest.unwrap_or(Rate::from_bps(1))));
        8e6 * libm::exp2(f64::from(scale))
    }
}
