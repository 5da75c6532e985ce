//! Cross-partition messages: packets on links that lead from one partition into another.

use crate::engine::context::Context;
use crate::engine::endpoint::Extra;
use crate::packet::{NONE, Packet};
use duetime_core::Time;
use duetime_link::Ring;
use std::sync::Arc;

/// Packets on their way to another partition.
#[derive(Debug, Default)]
pub struct Messages {
    packets: Vec<Message>,
    /// What the packets carry: [`Packet::extra`] counts here as long as they are under way.
    extras: Vec<Option<Extra>>,
}

/// A packet on its way to another partition.
#[derive(Clone, Copy, Debug)]
struct Message {
    link: u32,
    arrival: Time,
    packet: Packet,
}

/// The links between this partition and others.
pub struct Crossings {
    /// Packets from other partitions, by link, in order of arrival; empty if there is one partition.
    inbound: Vec<Ring<Packet>>,
    /// Packets for other partitions, by partition.
    outbound: Vec<Messages>,
    partition_of: Arc<Vec<u16>>,
}

impl Crossings {
    /// Nothing is under way over the `links` of the network.
    pub fn new(partition_of: &Arc<Vec<u16>>, links: usize) -> Self {
        let partitions = partition_of.iter().copied().max().unwrap_or(0) as usize + 1;
        Self {
            inbound: (0..if partitions > 1 { links } else { 0 })
                .map(|_| Ring::default())
                .collect(),
            outbound: (0..partitions).map(|_| Messages::default()).collect(),
            partition_of: Arc::clone(partition_of),
        }
    }

    /// Exchanges the packets bound for partition `to` for empty `messages`, whose memory is used again.
    #[cfg_attr(
        not(feature = "threads"),
        allow(dead_code, reason = "only a run on several threads has crossings")
    )]
    pub fn exchange(&mut self, to: usize, messages: &mut Messages) {
        debug_assert!(messages.packets.is_empty() && messages.extras.is_empty());
        std::mem::swap(&mut self.outbound[to], messages);
    }

    /// Takes packets from another partition; `messages` is empty afterwards.
    #[cfg_attr(
        not(feature = "threads"),
        allow(dead_code, reason = "only a run on several threads has crossings")
    )]
    pub fn receive(&mut self, context: &mut Context, messages: &mut Messages) {
        for Message {
            link,
            arrival,
            mut packet,
        } in messages.packets.drain(..)
        {
            if let Some(extra) = messages
                .extras
                .get_mut(packet.extra as usize)
                .and_then(Option::take)
            {
                packet.extra = context.extras.insert(extra) as u32;
            }
            let ring = &mut self.inbound[link as usize];
            let first = ring.is_empty();
            ring.push(arrival, packet);
            if first {
                context.events.schedule_arrival_anywhere(arrival, link);
            }
        }
        messages.extras.clear();
    }

    /// A packet leaves on `link` and will arrive in another partition.
    pub(super) fn send(
        &mut self,
        context: &mut Context,
        link: u32,
        arrival: Time,
        mut packet: Packet,
    ) {
        let target = context.setup.network.links[link as usize].to;
        let to = self.partition_of[target as usize];
        let messages = &mut self.outbound[usize::from(to)];
        if packet.extra != NONE {
            messages
                .extras
                .push(Some(context.extras.remove(packet.extra as usize)));
            packet.extra = messages.extras.len() as u32 - 1;
        }
        messages.packets.push(Message {
            link,
            arrival,
            packet,
        });
    }

    /// The packet that arrives on `link` now, from another partition, and when the next one does.
    pub(super) fn arrive(&mut self, link: u32) -> (Packet, Option<Time>) {
        let ring = &mut self.inbound[link as usize];
        (ring.pop(), ring.next_arrival())
    }

    /// Packets on links from other partitions.
    pub(super) fn frames(&self) -> impl Iterator<Item = Packet> + '_ {
        self.inbound.iter().flat_map(Ring::iter)
    }
}
