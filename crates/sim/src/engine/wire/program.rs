//! Port programs: an enum with one variant for each protocol that keeps state at ports.

use crate::engine::context::Context;
use crate::engine::d3;
use crate::output::AllocatorState;
use crate::packet::Packet;
use crate::setup::Setup;
use duetime_link::Port;
use duetime_scenario::model::RouterProgram;

/// Program of a link, in addition to queueing.
pub enum Program {
    /// D3's allocator.
    D3(d3::Program),
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
        Some(match setup.router_program.as_ref()? {
            RouterProgram::D3(config) => {
                d3::Program::new(config, setup, link).map_or(Self::Idle, Self::D3)
            }
        })
    }

    /// Returns the place where the program runs, or `None` if the link has none.
    pub const fn place(&self) -> Option<Place> {
        match self {
            Self::D3(program) => Some(program.place()),
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
            Self::D3(program) => program.admits(context, ingress, link, packet),
            Self::Idle => true,
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
            Self::D3(program) => program.packet(context, port, link, packet),
            Self::Idle => {}
        }
    }

    /// Handles a packet that arrived over `link` at the host behind it.
    pub fn arrival(&mut self, context: &mut Context, link: u32, packet: &Packet) {
        match self {
            Self::D3(program) => program.arrival(context, link, packet),
            Self::Idle => {}
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
            Self::D3(program) => program.tick(context, port, link, overdue),
            Self::Idle => {}
        }
    }

    /// Returns the state of the allocator of `link`, or `None` if it received no request. `link` returns the link's
    /// name.
    pub fn allocator(&self, link: impl FnOnce() -> String) -> Option<AllocatorState> {
        match self {
            Self::D3(program) => program.allocator(link),
            Self::Idle => None,
        }
    }
}
