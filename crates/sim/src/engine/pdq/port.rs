//! PDQ at a port (PDQ §3.3): connects the port of `proto::pdq` to the engine.

use super::contents::Extra;
use crate::engine::context::Context;
use crate::packet::Packet;
use crate::setup::Setup;
use duetime_link::Port;
use duetime_proto::pdq::{self, Config, PortId};
use duetime_scenario::model::RouterProgram;

/// PDQ's state of one port.
pub struct PortState {
    machine: pdq::Port,
    /// True if a host's NIC pulls packets through this port. They wait in the senders then, and the port has no queue.
    is_pulled: bool,
}

impl PortState {
    /// Creates the idle state of the port of `link`.
    fn new(setup: &Setup, link: u32) -> Self {
        let ends = &setup.network.links[link as usize];
        let is_host = setup.network.nodes[ends.from as usize].host.is_some();
        Self {
            machine: pdq::Port::new(PortId(link), ends.rate, setup.base_round_trip),
            is_pulled: is_host && setup.nic_pulls,
        }
    }

    /// Handles a packet that arrives at the port of `link`. The first packet creates the state.
    pub fn packet(
        state: &mut Option<Box<Self>>,
        context: &mut Context,
        port: &mut Port<Packet>,
        link: u32,
        packet: &Packet,
    ) {
        if packet.is_reverse() {
            return;
        }
        let now = context.now();
        let setup = &*context.setup;
        let Some(extra) = context.extras.peek_mut::<Extra>(packet) else {
            return;
        };
        let state = state.get_or_insert_with(|| Box::new(Self::new(setup, link)));
        extra.path.push(link);
        let queue = || {
            if state.is_pulled {
                return 0;
            }
            port.drain(now);
            port.queue_bytes_waiting()
        };
        let (flow, inner) = (extra.flow, &mut extra.packet);
        let config = options(setup);
        state.machine.forward(config, now, flow, inner, queue);
    }

    /// Handles a reply that arrived over the reverse of `link`. Returns the next link of its path.
    pub fn reply(
        state: &mut Option<Box<Self>>,
        context: &mut Context,
        link: u32,
        packet: &Packet,
    ) -> Option<u32> {
        if !packet.is_reverse() {
            return None;
        }
        let now = context.now();
        let setup = &*context.setup;
        let extra = context.extras.peek_mut::<Extra>(packet)?;
        if extra.path.last() != Some(link) {
            return None;
        }
        extra.path.len -= 1;
        if let Some(state) = state {
            let header = &mut extra.packet.header;
            state
                .machine
                .reverse(options(setup), now, extra.flow, header);
        }
        extra.path.last().map(|link| link ^ 1)
    }
}

/// Returns the options of PDQ's ports in a run with PDQ.
fn options(setup: &Setup) -> &Config {
    match &setup.router_program {
        Some(RouterProgram::Pdq(config)) => config,
        _ => unreachable!("a run with PDQ"),
    }
}
