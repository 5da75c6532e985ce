//! D3's program of a link: the allocator at the port, or in the host behind the link.

use super::{EdgeState, PortState};
use crate::engine::context::Context;
use crate::engine::wire::Place;
use crate::output::AllocatorState;
use crate::packet::Packet;
use crate::setup::Setup;
use duetime_link::Port;
use duetime_proto::d3::{Allocation, Config};
use duetime_scenario::model::RouterProgram;

/// D3's allocator of a link. Its state is created by the first rate request.
pub enum Program {
    /// Allocator at the port (D3 §4.3).
    Port(Option<Box<PortState>>),
    /// Allocator at the host behind the link, which answers on arrival.
    Edge(Option<Box<EdgeState>>),
}

impl Program {
    /// Creates the program of a link, without state. Returns `None` if the link has no program.
    pub fn new(config: &Config, setup: &Setup, link: usize) -> Option<Self> {
        let link = &setup.network.links[link];
        let is_host = |node: u32| setup.network.nodes[node as usize].host.is_some();
        match config.router.allocation {
            Allocation::Routers => Some(Self::Port(None)),
            Allocation::Edge if is_host(link.from) => Some(Self::Port(None)),
            Allocation::Edge if is_host(link.to) => Some(Self::Edge(None)),
            Allocation::Edge => None,
        }
    }

    /// Returns the place where the program runs.
    pub const fn place(&self) -> Place {
        match self {
            Self::Port(_) => Place::Port,
            Self::Edge(_) => Place::FarEnd,
        }
    }

    /// Returns true if a packet that came over link `ingress` is admitted to the port of `link`.
    pub fn admits(
        &mut self,
        context: &mut Context,
        ingress: u32,
        link: u32,
        packet: &Packet,
    ) -> bool {
        match self {
            Self::Port(state) => PortState::admits(state, context, ingress, link, packet),
            Self::Edge(_) => true,
        }
    }

    /// Handles a packet at the port of `link` before it is offered to the queue.
    pub fn packet(
        &mut self,
        context: &mut Context,
        port: &mut Port<Packet>,
        link: u32,
        packet: &Packet,
    ) {
        match self {
            Self::Port(state) => PortState::packet(state, context, port, link, packet),
            Self::Edge(_) => {}
        }
    }

    /// Handles a packet that arrived over `link` at the host behind it.
    pub fn arrival(&mut self, context: &mut Context, link: u32, packet: &Packet) {
        match self {
            Self::Port(_) => {}
            Self::Edge(state) => EdgeState::arrival(state, context, link, packet),
        }
    }

    /// Adapts the capacity of `link`. `overdue` returns the bytes that wait in a host's senders although they could
    /// have left earlier.
    pub fn tick(
        &mut self,
        context: &mut Context,
        port: &mut Port<Packet>,
        link: u32,
        overdue: impl FnOnce(u32) -> u64,
    ) {
        match self {
            Self::Port(Some(state)) => state.tick(context, port, link, overdue),
            Self::Edge(Some(state)) => state.tick(context, link),
            Self::Port(None) | Self::Edge(None) => {}
        }
    }

    /// Returns the state of the allocator of `link`, or `None` if it received no request. `link` returns the link's
    /// name.
    pub fn allocator(&self, link: impl FnOnce() -> String) -> Option<AllocatorState> {
        match self {
            Self::Port(state) => Some(state.as_ref()?.report(link())),
            Self::Edge(state) => Some(state.as_ref()?.report(link())),
        }
    }
}

/// Returns the options of D3's routers in a run with D3.
pub(super) fn router_options(setup: &Setup) -> &Config {
    let RouterProgram::D3(config) = setup.router_program.as_ref().expect("a run with D3");
    config
}
