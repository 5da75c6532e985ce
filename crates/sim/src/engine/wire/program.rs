//! What a port does beside queueing packets: an enum of programs, one variant for each protocol with state at ports.

use crate::engine::context::Context;
use crate::engine::d3;
use crate::output::AllocatorState;
use crate::packet::Packet;
use crate::setup::Setup;
use duetime_link::Port;
use duetime_proto::d3::Allocation;

/// What a port does beside queueing packets.
pub enum Program {
    /// D3's allocator (D3 §4.3); without state until a packet asks it for a rate.
    D3(Option<Box<d3::PortState>>),
    /// D3's allocator of a link at the host behind it, which answers on arrival.
    D3Edge(Option<Box<d3::EdgeState>>),
    /// Nothing.
    Idle,
}

/// Where the program of a link runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At the port in front of it.
    Port,
    /// At the host behind it.
    FarEnd,
    /// Nowhere: other links have programs.
    Nowhere,
}

impl Program {
    /// Where the program of link `number` of a run is, if links have programs at all.
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

    /// The program of a link, without state.
    pub const fn at(place: Place) -> Self {
        match place {
            Place::Port => Self::D3(None),
            Place::FarEnd => Self::D3Edge(None),
            Place::Nowhere => Self::Idle,
        }
    }

    /// Whether a packet that came over the link `ingress` may come to the port of `link`.
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

    /// A packet comes to the port of `link`, before it is offered; where ports police, the one just admitted.
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

    /// A packet has come over `link` to the host behind it.
    pub fn arrival(&mut self, context: &mut Context, link: u32, packet: &Packet) {
        match self {
            Self::D3Edge(state) => d3::EdgeState::arrival(state, context, link, packet),
            Self::D3(_) | Self::Idle => {}
        }
    }

    /// The time that the program at the port of `link` asked for has come; `overdue` tells what waits in a host's
    /// senders although it could have left earlier, in bytes.
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

    /// What D3's allocator of `link` holds, if it was asked for anything.
    pub fn allocator(&self, link: impl FnOnce() -> String) -> Option<AllocatorState> {
        match self {
            Self::D3(state) => Some(state.as_ref()?.report(link())),
            Self::D3Edge(state) => Some(state.as_ref()?.report(link())),
            Self::Idle => None,
        }
    }
}
