//! Cross-partition messages: packets on links that lead into another partition, or to a switch that is divided among
//! partitions.

use super::Link;
use crate::engine::context::Context;
use crate::engine::extras::Extra;
use crate::packet::{NONE, Packet};
use crate::partition::{Cut, DIVIDED};
use crate::topology::Network;
use duetime_core::Time;
use duetime_core::prefetch::prefetch;
use duetime_link::Port;
use std::collections::VecDeque;
use std::sync::Arc;

/// Packets in flight to another partition.
#[derive(Debug, Default)]
pub struct Messages {
    packets: Vec<Message>,
    /// Extras of the packets. While a packet is in flight, its [`Packet::extra`] is an index into this vector.
    extras: Vec<Option<Extra>>,
}

#[cfg(feature = "threads")]
impl Messages {
    /// Returns the number of packets.
    pub fn len(&self) -> usize {
        self.packets.len()
    }
}

/// A packet in flight to another partition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) arrival: Time,
    pub(super) packet: Packet,
    link: u32,
    /// Number of packets that the link has carried, including this one, modulo 2³². The arrival has this number in
    /// whichever partition it occurs.
    pub(super) number: u32,
    /// Link by which the packet leaves a divided switch, or `NONE`.
    out: u32,
}

/// Links between this partition and others.
pub struct Crossings {
    /// Index of this partition.
    partition: u16,
    /// Packets that will arrive in this partition, by link, in order of arrival. Empty if there is one partition.
    inbound: Vec<VecDeque<Message>>,
    /// Packets for other partitions, by partition.
    outbound: Vec<Messages>,
    /// Number of packets that each link has carried from this partition. Empty if there is one partition.
    carried: Vec<u32>,
    /// Partition of each link's far end, or [`DIVIDED`].
    leads_to: Vec<u16>,
    cut: Arc<Cut>,
}

impl Crossings {
    /// Creates the crossings of partition `partition`, with nothing in flight.
    pub fn new(network: &Network, cut: &Arc<Cut>, partition: u16) -> Self {
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
            partition,
            inbound: vec![VecDeque::new(); links],
            outbound: (0..cut.partitions).map(|_| Messages::default()).collect(),
            carried: vec![0; links],
            leads_to: far_ends.map(|node| cut.partition_of[node]).collect(),
            cut: Arc::clone(cut),
        }
    }

    /// Swaps the packets bound for partition `to` with the empty buffer `messages`, whose memory is reused. Returns the
    /// arrival time of the first packet, or [`Time::MAX`] if there is none.
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

    /// Receives packets from another partition, on links whose ports in this one are `ports`, and empties `messages`.
    #[cfg_attr(
        not(feature = "threads"),
        allow(dead_code, reason = "only a run on several threads has crossings")
    )]
    pub(super) fn receive(
        &mut self,
        context: &mut Context,
        ports: &[Port<Packet>],
        messages: &mut Messages,
    ) {
        for message in &mut messages.packets {
            let extra = &mut message.packet.extra;
            if *extra != NONE {
                let carried = messages.extras[*extra as usize].take();
                let extra_of_packet = carried.expect("an extra belongs to one packet");
                *extra = context.extras.insert(extra_of_packet);
            }
            let info = Link::of(&ports[message.link as usize]);
            self.push_inbound(context, info, message);
        }
        messages.packets.clear();
        messages.extras.clear();
    }

    /// Appends a packet that will arrive in this partition. If it is the link's next, its arrival is scheduled, or
    /// expected if the link is an inlet.
    #[inline(always)]
    fn push_inbound(&mut self, context: &mut Context, info: Link, message: &Message) {
        let inbound = &mut self.inbound[message.link as usize];
        if inbound.is_empty() {
            if info.special & Link::INLET == 0 {
                schedule(context, message);
            } else {
                context.events.expect_arrival(message.arrival, message.link);
            }
        }
        inbound.push_back(*message);
    }

    /// Sends the last packet of `port` towards the far end of `link`, which is in another partition or a divided
    /// switch.
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
            message.out =
                routing.next_at_switch(switch, packet.destination(), packet.flow, arrival);
            to = self.cut.port_in[message.out as usize];
            if to == self.partition {
                return self.push_inbound(context, Link::of(port), &message);
            }
        }
        let messages = &mut self.outbound[usize::from(to)];
        if packet.extra != NONE {
            messages.extras.push(Some(context.extras.remove(&packet)));
            message.packet.extra = messages.extras.len() as u32 - 1;
        }
        messages.packets.push(message);
    }

    /// Removes the packets that arrive over the inlet `link` before `end` and passes them to `take`, first to last.
    /// Returns the time of the next arrival.
    #[inline(always)]
    pub(super) fn take_arriving_before(
        &mut self,
        link: u32,
        end: Time,
        mut take: impl FnMut(&Message),
    ) -> Option<Time> {
        let inbound = &mut self.inbound[link as usize];
        while let Some(first) = inbound.front() {
            if first.arrival >= end {
                return Some(first.arrival);
            }
            take(first);
            inbound.pop_front();
        }
        None
    }

    /// Prefetches the first packet that will arrive on `link`.
    #[inline(always)]
    pub(super) fn prefetch_first(&self, link: u32) {
        if let Some(first) = self.inbound[link as usize].front() {
            prefetch(first);
        }
    }

    /// Returns the packet that arrives on `link` now, with the link by which it leaves a divided switch or `NONE`.
    /// Schedules the next arrival on `link`.
    pub(super) fn arrive(&mut self, context: &mut Context, link: u32) -> (Packet, u32) {
        let inbound = &mut self.inbound[link as usize];
        let Message { packet, out, .. } = inbound.pop_front().expect("a packet arrives");
        if let Some(next) = inbound.front() {
            schedule(context, next);
        }
        (packet, out)
    }

    /// Returns the packets that will arrive in this partition.
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
