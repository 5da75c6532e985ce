//! What a port does beside queueing packets: an enum of programs, one variant for each protocol with state at ports.

use crate::engine::context::Context;
use crate::engine::d3;
use crate::output::AllocatorState;
use crate::packet::Packet;
use crate::setup::Setup;
use duetime_link::Port;

/// What a port does beside queueing packets.
pub enum Program {
    /// D3's allocator (D3 §4.3); without state until a packet asks it for a rate.
    D3(Option<Box<d3::PortState>>),
}

impl Program {
    /// The program of every port of a run, if there is one.
    pub fn of(setup: &Setup) -> Option<Self> {
        setup.d3.map(|_| Self::D3(None))
    }

    /// A packet comes to the port of `link`, before it is offered.
    pub fn packet(
        &mut self,
        context: &mut Context,
        port: &mut Port<Packet>,
        link: u32,
        packet: &Packet,
    ) {
        match self {
            Self::D3(state) => d3::PortState::packet(state, context, port, link, packet),
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
            Self::D3(None) => {}
        }
    }

    /// What D3's allocator at the port of `link` holds, if it was asked for anything.
    pub fn allocator(&self, link: impl FnOnce() -> String) -> Option<AllocatorState> {
        match self {
            Self::D3(state) => Some(state.as_ref()?.report(link())),
        }
    }
}
