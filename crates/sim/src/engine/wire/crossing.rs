//! Cross-partition messages: packets on links that lead from one partition into another, or to a switch that is divided
//! among partitions.

use super::Link;
use crate::engine::context::Context;
use crate::engine::endpoint::Extra;
use crate::packet::{NONE, Packet};
use crate::partition::{Cut, DIVIDED};
use crate::topology::Network;
use duetime_core::Time;
use duetime_link::Port;
use std::collections::VecDeque;
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
    arrival: Time,
    packet: Packet,
    link: u32,
    /// How many packets the link has carried with this one, modulo 2³²: its arrival is as many-th of the link's, in
    /// whichever partition it is.
    number: u32,
    /// The link by which it leaves a divided switch, or `NONE`.
    out: u32,
}

/// The links between this partition and others.
pub struct Crossings {
    /// This partition.
    own: u16,
    /// Packets that arrive here, by link, in order of arrival; empty if there is one partition.
    inbound: Vec<VecDeque<Message>>,
    /// Packets for other partitions, by partition.
    outbound: Vec<Messages>,
    /// By link: packets that it has carried from here; empty if there is one partition.
    carried: Vec<u32>,
    /// By link: the partition of its far end, or [`DIVIDED`].
    leads_to: Vec<u16>,
    cut: Arc<Cut>,
}

impl Crossings {
    /// Nothing is under way between partition `own` and the others.
    pub fn new(network: &Network, cut: &Arc<Cut>, own: u16) -> Self {
        let links = if cut.partitions > 1 {
            network.links.len()
        } else {
            0
        };
        let far_ends = network
            .links
            .iter()
            .take(links)
            .map(|link| link.to as usize);
        Self {
            own,
            inbound: vec![VecDeque::new(); links],
            outbound: (0..cut.partitions).map(|_| Messages::default()).collect(),
            carried: vec![0; links],
            leads_to: far_ends.map(|node| cut.partition_of[node]).collect(),
            cut: Arc::clone(cut),
        }
    }

    /// Exchanges the packets bound for partition `to` for empty `messages`, whose memory is used again; returns when the
    /// first of them arrives, or [`Time::MAX`].
    #[cfg_attr(
        not(feature = "threads"),
        allow(dead_code, reason = "only a run on several threads has crossings")
    )]
    pub fn exchange(&mut self, to: usize, messages: &mut Messages) -> Time {
        debug_assert!(messages.packets.is_empty() && messages.extras.is_empty());
        std::mem::swap(&mut self.outbound[to], messages);
        let arrivals = messages.packets.iter().map(|message| message.arrival);
        arrivals.min().unwrap_or(Time::MAX)
    }

    /// Takes packets from another partition; `messages` is empty afterwards.
    #[cfg_attr(
        not(feature = "threads"),
        allow(dead_code, reason = "only a run on several threads has crossings")
    )]
    pub fn receive(&mut self, context: &mut Context, messages: &mut Messages) {
        for message in &mut messages.packets {
            let extra = &mut message.packet.extra;
            if *extra != NONE {
                let carried = messages.extras[*extra as usize].take();
                *extra = context.extras.insert(carried.expect("one packet's")) as u32;
            }
            self.take_in(context, message);
        }
        messages.packets.clear();
        messages.extras.clear();
    }

    /// A packet will arrive in this partition.
    #[inline(always)]
    fn take_in(&mut self, context: &mut Context, message: &Message) {
        let inbound = &mut self.inbound[message.link as usize];
        if inbound.is_empty() {
            schedule(context, message);
        }
        inbound.push_back(*message);
    }

    /// The last packet sent by `port` will arrive at the far end of `link`, in another partition or at a divided switch.
    #[inline(always)]
    pub(super) fn send(
        &mut self,
        context: &mut Context,
        link: u32,
        port: &mut Port<Packet>,
        arrival: Time,
    ) {
        let packet = port.last_sent().expect("a packet was just sent");
        if port.is_full() {
            port.forget_departed(context.now());
        }
        let number = &mut self.carried[link as usize];
        *number = number.wrapping_add(1);
        let mut message = Message {
            arrival,
            packet,
            link,
            number: *number,
            out: NONE,
        };
        let mut to = self.leads_to[link as usize];
        if to == DIVIDED {
            let (switch, routing) = (Link::of(port).target, &context.setup.routing);
            message.out = routing.next_at_switch(switch, packet.destination(), packet.flow);
            to = self.cut.port_in[message.out as usize];
            if to == self.own {
                return self.take_in(context, &message);
            }
        }
        let messages = &mut self.outbound[usize::from(to)];
        if packet.extra != NONE {
            messages
                .extras
                .push(Some(context.extras.remove(packet.extra as usize)));
            message.packet.extra = messages.extras.len() as u32 - 1;
        }
        messages.packets.push(message);
    }

    /// The packet that arrives on `link` now, with the link by which it leaves a divided switch or `NONE`; asks for the
    /// arrival of the next one.
    pub(super) fn arrive(&mut self, context: &mut Context, link: u32) -> (Packet, u32) {
        let inbound = &mut self.inbound[link as usize];
        let Message { packet, out, .. } = inbound.pop_front().expect("a packet arrives");
        if let Some(next) = inbound.front() {
            schedule(context, next);
        }
        (packet, out)
    }

    /// Packets that will arrive here.
    pub(super) fn frames(&self) -> impl Iterator<Item = Packet> + '_ {
        let inbound = self.inbound.iter().flatten();
        inbound.map(|message| message.packet)
    }
}

#[inline(always)]
fn schedule(context: &mut Context, message: &Message) {
    let events = &mut context.events;
    events.schedule_numbered_arrival(message.arrival, message.link, message.number);
}
