//! Worlds as states of the checker, and descriptions of their actions.

use crate::checker::Ruled;
use crate::world::World;
use core::fmt::{Debug, Write};

impl Ruled for World {
    fn broken(&self) -> Option<&dyn Debug> {
        self.broken.as_ref().map(|rule| rule as &dyn Debug)
    }

    fn is_end(&self) -> bool {
        self.flows.iter().all(|flow| flow.sender.is_closed())
    }

    fn describe(&self) -> String {
        format!("{:#?}", self.ports)
    }
}

/// Returns an action in words. `packet` is the index of the packet that it is about.
pub fn describe_action(world: &World, action: impl Debug, packet: Option<usize>) -> String {
    let mut text = format!("{action:?}");
    let Some(flight) = packet.map(|index| &world.packets[index]) else {
        return text;
    };
    let packet = &flight.packet;
    let direction = if flight.forward { "forward" } else { "back" };
    let _ = write!(
        text,
        ": flow {} {direction}, hop {}, at {:?}, {:?}, {} + {} B, number {} echo {}",
        flight.flow,
        flight.hop,
        flight.at,
        packet.flags,
        packet.seq,
        packet.len,
        packet.tag.number,
        packet.tag.echo
    );
    if let Some(request) = &packet.request {
        let _ = write!(
            text,
            ", desired {:?} before {:?}, allocations {:?} before {:?}, stamps {:b}",
            request.desired,
            request.previous_desired,
            &request.allocations[..2],
            &request.previous_allocations[..2],
            request.stamps
        );
    }
    text
}
