//! Port programs: an enum with one variant for each protocol that keeps state at ports.

use crate::engine::context::Context;
use crate::engine::d3;
use crate::output::AllocatorState;
use crate::packet::Packet;
use crate::setup::Setup;
use duetime_link::Port;
use duetime_proto::d3::Allocation;

/// Program of a link, in addition to queueing.
pub enum Program {
    /// D3's allocator at the port (D3 §4.3). Its state is created by the first rate request.
    D3(Option<Box<d3::PortState>>),
    /// D3's allocator at the host behind the link, which answers on arrival.
    D3Edge(Option<Box<d3::EdgeState>>),
    /// No program.
    Idle,
}

/// Place where the program of a link runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The port in front of the link.
    Port,
    /// The host behind the link.
    FarEnd,
    /// The link has no program, but other links do.
    Nowhere,
}

impl Program {
    /// Returns the place of link `number`'s program, or `None` if no link of the run has one.
    pub fn place(setup: &Setup, number: usize) -> Option<Place> {
        let link = &setup.network.links[number];
        let is_host = |node: u32| setup.network.nodes[node as usize].host.is_some();
        Some(match setup.d3.as_ref()?.allocation {
            Allocation::Routers => Place::Port,
            Allocation::Edge if is_host(link.from) => Place::Port,
            Allocation::Edge if is_host(link.to) => Place::FarEnd,
            Allocation::Edge => Place::Nowhere,
        })
    }

    /// Creates the program of a link, without state.
    pub const fn at(place: Place) -> Self {
        match place {
            Place::Port => Self::D3(None),
            Place::FarEnd => Self::D3Edge(None),
            Place::Nowhere => Self::Idle,
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
            Self::D3(state) => d3::PortState::admits(state, context, ingress, link, packet),
            Self::D3Edge(_) | Self::Idle => true,
        }
    }

    /// Handles a packet at the port of `link` before it is offered to the queue. If the port polices, the packet has
    /// just been admitted.
    pub fn packet(
        &mut self,
        context: &mut Context,
        port: &mut Port<Packet>,
        link: u32,
        packet: &Packet,
    ) {
        match self {
            Self::D3(state) => d3::PortState::packet(state, context, port, link, packet),
            Self::D3Edge(_) | Self::Idle => {}
        }
    }

    /// Handles a packet that arrived over `link` at the host behind it.
    pub fn arrival(&mut self, context: &mut Context, link: u32, packet: &Packet) {
        match self {
            Self::D3Edge(state) => d3::EdgeState::arrival(state, context, link, packet),
            Self::D3(_) | Self::Idle => {}
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
            Self::D3(Some(state)) => state.tick(context, port, link, overdue),
            Self::D3Edge(Some(state)) => state.tick(context, link),
            Self::D3(None) | Self::D3Edge(None) | Self::Idle => {}
        }
    }

    /// Returns the state of D3's allocator of `link`, or `None` if it received no request. `link` returns the link's
    /// name.
    pub fn allocator(&self, link: impl FnOnce() -> String) -> Option<AllocatorState> {
        match self {
            Self::D3(state) => Some(state.as_ref()?.report(link())),
            Self::D3Edge(state) => Some(state.as_ref()?.report(link())),
            Self::Idle => None,
        }
    }
}
