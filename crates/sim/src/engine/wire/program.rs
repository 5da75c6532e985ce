//! Port programs: an enum with one variant for each program that a link can have.
//!
//! A protocol with state at ports or at the hosts behind links adds its variants here.

use super::Link;
use crate::engine::context::Context;
use crate::engine::d3::{EdgeState, PortState};
use crate::engine::pdq;
use crate::output::AllocatorState;
use crate::packet::{NONE, Packet};
use crate::setup::Setup;
use duetime_link::Port;
use duetime_proto::d3::Allocation;
use duetime_scenario::model::RouterProgram;

/// Program of a link, in addition to queueing. The first rate request creates its state.
pub enum Program {
    /// D3's allocator at the port (D3 §4.3).
    D3Port(Option<Box<PortState>>),
    /// D3's allocator at the host behind the link, which answers on arrival.
    D3Edge(Option<Box<EdgeState>>),
    /// PDQ's flow list at the port (PDQ §3.3).
    PdqPort(Option<Box<pdq::PortState>>),
    /// No program, but other links have one.
    Idle,
}

/// Place where the program of a link runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The port in front of the link.
    Port,
    /// The host behind the link.
    FarEnd,
}

impl Program {
    /// Creates the program of a link, without state. Returns `None` if no link of the run has a program.
    pub fn new(setup: &Setup, link: usize) -> Option<Self> {
        let link = &setup.network.links[link];
        let is_host = |node: u32| setup.network.nodes[node as usize].host.is_some();
        let config = match setup.router_program.as_ref()? {
            RouterProgram::D3(config) => config,
            RouterProgram::Pdq(config) if config.host_ports || !is_host(link.from) => {
                return Some(Self::PdqPort(None));
            }
            RouterProgram::Pdq(_) => return Some(Self::Idle),
        };
        Some(match config.router.allocation {
            Allocation::Routers => Self::D3Port(None),
            Allocation::Edge if is_host(link.from) => Self::D3Port(None),
            Allocation::Edge if is_host(link.to) => Self::D3Edge(None),
            Allocation::Edge => Self::Idle,
        })
    }

    /// Returns the place where the program runs, or `None` if the link has none.
    pub const fn place(&self) -> Option<Place> {
        match self {
            Self::D3Port(_) | Self::PdqPort(_) => Some(Place::Port),
            Self::D3Edge(_) => Some(Place::FarEnd),
            Self::Idle => None,
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
            Self::D3Port(state) => PortState::admits(state, context, ingress, link, packet),
            Self::D3Edge(_) | Self::PdqPort(_) | Self::Idle => true,
        }
    }

    /// Handles a packet at the port of `link` before it is offered to the queue. If the port polices, the packet has
    /// just been admitted.
    #[inline(always)]
    pub fn packet(
        &mut self,
        context: &mut Context,
        port: &mut Port<Packet>,
        link: u32,
        packet: &Packet,
    ) {
        if self.observes(packet) {
            self.process(context, port, link, packet);
        }
    }

    /// Returns true unless the program has nothing to do for this packet.
    #[inline(always)]
    fn observes(&self, packet: &Packet) -> bool {
        packet.extra != NONE || self.samples_queue()
    }

    /// Returns true if the program samples the queue that the next packet finds.
    #[inline(always)]
    fn samples_queue(&self) -> bool {
        matches!(self, Self::D3Port(Some(state)) if state.samples_queue())
    }

    /// Handles a packet that the program observes.
    #[inline(never)]
    fn process(
        &mut self,
        context: &mut Context,
        port: &mut Port<Packet>,
        link: u32,
        packet: &Packet,
    ) {
        match self {
            Self::D3Port(state) => PortState::packet(state, context, port, link, packet),
            Self::PdqPort(state) => pdq::PortState::packet(state, context, port, link, packet),
            Self::D3Edge(_) | Self::Idle => {}
        }
        Link::set_sampled(port, self.samples_queue());
    }

    /// Handles a packet that arrived over `link` at the host behind it.
    pub fn arrival(&mut self, context: &mut Context, link: u32, packet: &Packet) {
        match self {
            Self::D3Edge(state) => EdgeState::arrival(state, context, link, packet),
            Self::D3Port(_) | Self::PdqPort(_) | Self::Idle => {}
        }
    }

    /// Handles a packet that arrived over the reverse of `link` at the node in front of it. Returns the next link of a
    /// reply that returns over the path of its packet.
    pub fn reply(&mut self, context: &mut Context, link: u32, packet: &Packet) -> Option<u32> {
        match self {
            Self::PdqPort(state) => pdq::PortState::reply(state, context, link, packet),
            Self::D3Port(_) | Self::D3Edge(_) | Self::Idle => None,
        }
    }

    /// Runs the program of `link` at the time that it requested. `overdue` returns the bytes that wait in a host's
    /// senders although they could have left earlier.
    pub fn tick(
        &mut self,
        context: &mut Context,
        port: &mut Port<Packet>,
        link: u32,
        overdue: impl FnOnce(u32) -> u64,
    ) {
        match self {
            Self::D3Port(Some(state)) => state.tick(context, port, link, overdue),
            Self::D3Edge(Some(state)) => state.tick(context, link),
            Self::D3Port(None) | Self::D3Edge(None) | Self::PdqPort(_) | Self::Idle => {}
        }
        Link::set_sampled(port, self.samples_queue());
    }

    /// Returns the state of the allocator of `link`, or `None` if it received no request. `link` returns the link's
    /// name.
    pub fn allocator(&self, link: impl FnOnce() -> String) -> Option<AllocatorState> {
        match self {
            Self::D3Port(state) => Some(state.as_ref()?.report(link())),
            Self::D3Edge(state) => Some(state.as_ref()?.report(link())),
            Self::PdqPort(_) | Self::Idle => None,
        }
    }
}
