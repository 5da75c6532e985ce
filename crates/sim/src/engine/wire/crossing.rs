//! Cross-partition messages: packets on links that lead into another partition, or to a switch that is divided among
//! partitions.

use super::Link;
use crate::engine::context::Context;
use crate::engine::extras::Extra;
use crate::packet::{NONE, Packet};
use crate::partition::{Cut, DIVIDED};
use crate::topology::Network;
use duetime_core::Time;
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
    pub(super) link: u32,
    /// Number of packets that the link has carried, including this one, modulo 2³². The arrival has this number in
    /// whichever partition it occurs.
    pub(super) number: u32,
    /// Link by which the packet leaves the switch where it arrives.
    pub(super) out: u32,
}

/// Links between this partition and others.
pub struct Crossings {
    /// Index of this partition.
    partition: u16,
    /// Packets that will arrive in this partition, by link, in order of arrival. Empty if there is one partition.
    inbound: Vec<VecDeque<Message>>,
    /// Packets that will arrive over inlets, by sub-partition, in any order; see [`inlets`](super::inlets).
    gathering: Vec<Vec<Message>>,
    /// Sub-partition in which each link is an inlet, or [`QUEUED`]. Empty if there is one partition.
    inlet_of: Vec<u16>,
    /// Packets for other partitions, by partition.
    outbound: Vec<Messages>,
    /// Partition of each switch, or [`DIVIDED`].
    partition_of: Vec<u16>,
    cut: Arc<Cut>,
}

/// Marks a link whose arrivals are events of the queue in [`Crossings::inlet_of`].
const QUEUED: u16 = u16::MAX;

impl Crossings {
    /// Creates the crossings of partition `partition`, which has `subpartitions` sub-partitions, with nothing in flight.
    pub fn new(network: &Network, cut: &Arc<Cut>, partition: u16, subpartitions: usize) -> Self {
        let links = if cut.partitions > 1 {
            network.links.len()
        } else {
            0
        };
        Self {
            partition,
            inbound: vec![VecDeque::new(); links],
            gathering: vec![Vec::new(); subpartitions],
            inlet_of: vec![QUEUED; links],
            outbound: (0..cut.partitions).map(|_| Messages::default()).collect(),
            partition_of: cut.partition_of[network.hosts.len()..].to_vec(),
            cut: Arc::clone(cut),
        }
    }

    /// Makes `link` an inlet of a sub-partition: its arrivals are gathered.
    pub fn gather(&mut self, link: usize, subpartition: u16) {
        self.inlet_of[link] = subpartition;
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

    /// Receives packets from another partition and empties `messages`.
    #[cfg_attr(
        not(feature = "threads"),
        allow(dead_code, reason = "only a run on several threads has crossings")
    )]
    pub(super) fn receive(&mut self, context: &mut Context, messages: &mut Messages) {
        for message in &mut messages.packets {
            let extra = &mut message.packet.extra;
            if *extra != NONE {
                let carried = messages.extras[*extra as usize].take();
                let extra_of_packet = carried.expect("an extra belongs to one packet");
                *extra = context.extras.insert(extra_of_packet);
            }
            let Message { arrival, link, .. } = *message;
            match self.inlet_of[link as usize] {
                QUEUED => self.push_inbound(context, message),
                inlet => {
                    self.gathering[usize::from(inlet)].push(*message);
                    context.events.expect_arrival_in(inlet, arrival);
                }
            }
        }
        messages.packets.clear();
        messages.extras.clear();
    }

    /// Appends a packet that will arrive in this partition. If it is the link's next, its arrival is scheduled.
    #[inline(always)]
    fn push_inbound(&mut self, context: &mut Context, message: &Message) {
        let inbound = &mut self.inbound[message.link as usize];
        if inbound.is_empty() {
            schedule(context, message);
        }
        inbound.push_back(*message);
    }

    /// Sends `packet`, the last of `port`, towards the far end of `link`, which is in another partition or a divided
    /// switch.
    #[inline(always)]
    pub(super) fn send(
        &mut self,
        context: &mut Context,
        link: u32,
        port: &mut Port<Packet>,
        (packet, arrival): (Packet, Time),
    ) {
        if port.is_full() {
            port.forget_departed(context.now());
        }
        let (switch, routing) = (Link::of(port).target, &context.setup.routing);
        let out = routing.next_at_switch(switch, packet.destination(), packet.flow, arrival);
        let mut message = Message {
            arrival,
            packet,
            link,
            number: port.carried() as u32,
            out,
        };
        let mut to = self.partition_of[switch as usize];
        if to == DIVIDED {
            to = self.cut.port_in[out as usize];
            if to == self.partition {
                return self.push_inbound(context, &message);
            }
        }
        let messages = &mut self.outbound[usize::from(to)];
        if packet.extra != NONE {
            messages.extras.push(Some(context.extras.remove(&packet)));
            message.packet.extra = messages.extras.len() as u32 - 1;
        }
        messages.packets.push(message);
    }

    /// Removes the packets that arrive over inlets of a sub-partition before `end` and passes them to `take`. Returns
    /// the time of the next arrival, or [`Time::MAX`].
    #[inline(always)]
    pub(super) fn take_arriving_before(
        &mut self,
        subpartition: usize,
        end: Time,
        mut take: impl FnMut(&Message),
    ) -> Time {
        let mut next = Time::MAX;
        self.gathering[subpartition].retain(|message| {
            let stays = message.arrival >= end;
            if stays {
                next = next.min(message.arrival);
            } else {
                take(message);
            }
            stays
        });
        next
    }

    /// Returns the packet that arrives on `link` now, with the link by which it leaves. Schedules the next arrival on
    /// `link`.
    #[inline(always)]
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
        let gathering = self.gathering.iter().flatten();
        inbound.chain(gathering).map(|message| message.packet)
    }
}

#[inline(always)]
fn schedule(context: &mut Context, message: &Message) {
    let events = &mut context.events;
    events.schedule_numbered_arrival(message.arrival, message.link, message.number);
}
