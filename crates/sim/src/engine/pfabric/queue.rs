//! pFabric's discipline at the ports of the switches.

use super::host_link::host_link;
use crate::engine::family::Family;
use crate::engine::wire::Queue;
use crate::packet::Packet;
use crate::setup::Setup;
use duetime_core::Time;
use duetime_link::{Limit, Offer, Port, Sent};
use duetime_scenario::Scenario;
use duetime_scenario::model::Protocol;

/// Priority of the packets of other transports: the lowest.
const FOREIGN: u32 = u32::MAX;

/// Discipline of every switch's port in a run with pFabric. The packets wait in the port.
pub struct RankedQueue;

impl Queue for RankedQueue {
    fn try_new(_scenario: &Scenario, setup: &Setup, link: u32) -> Option<(Self, Port<Packet>)> {
        let mut protocols = setup.transports.iter().map(|transport| &transport.protocol);
        let config = protocols.find_map(|protocol| match protocol {
            Protocol::PFabric(config) => Some(config),
            _ => None,
        })?;
        let network = &setup.network;
        let link = &network.links[link as usize];
        if network.nodes[link.from as usize].host.is_some() {
            return None;
        }
        let bytes = config.queue_bytes(&host_link(setup, *network.uplink.first()?));
        let port = Port::new(link.rate, link.latency).with_limit(Limit::Bytes(bytes));
        Some((Self, port.with_ranks()))
    }

    fn offer(
        &mut self,
        port: &mut Port<Packet>,
        now: Time,
        packet: Packet,
        dropped: &mut Vec<Packet>,
    ) -> Offer {
        port.offer_ranked(now, (priority(&packet), packet.flow), packet, dropped)
    }

    fn departure(&mut self, port: &mut Port<Packet>, now: Time) -> Option<(Sent, Option<Time>)> {
        port.departure_ranked(now)
    }

    fn waiting(&self) -> impl Iterator<Item = Packet> + '_ {
        std::iter::empty()
    }
}

/// Returns a packet's priority, 0 being the highest. A packet of pFabric carries it as its position in a stream.
fn priority(packet: &Packet) -> u32 {
    if packet.family() == Family::PFabric as u16 {
        packet.seq
    } else {
        FOREIGN
    }
}

/// Returns the priority number of a packet of a message with this many bytes left.
pub fn priority_of(remaining: u64) -> u32 {
    u32::try_from(remaining).unwrap_or(FOREIGN).min(FOREIGN - 1)
}
