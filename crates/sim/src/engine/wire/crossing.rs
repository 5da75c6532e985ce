//! Cross-partition messages: packets on links that lead into another partition, or to a switch that is divided among
//! partitions.

use super::{Arrival, Link};
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
    packets: Vec<Arrival>,
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

/// Links between this partition and others.
pub struct Crossings {
    /// Index of this partition.
    partition: u16,
    /// Packets that will arrive in this partition, by link, in order of arrival. Empty if there is one partition.
    inbound: Vec<VecDeque<Arrival>>,
    /// For each switch, true if the arrivals of other partitions' packets there are events of the queue. Otherwise they
    /// are gathered (see `inlets`).
    queues: Vec<bool>,
    /// Packets for other partitions, by partition.
    outbound: Vec<Messages>,
    /// Partition of each switch, or [`DIVIDED`].
    partition_of: Vec<u16>,
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
        Self {
            partition,
            inbound: vec![VecDeque::new(); links],
            queues: vec![false; network.switches() as usize],
            outbound: (0..cut.partitions).map(|_| Messages::default()).collect(),
            partition_of: cut.partition_of[network.hosts.len()..].to_vec(),
            cut: Arc::clone(cut),
        }
    }

    /// Makes the arrivals of other partitions' packets at a switch events of the queue.
    pub fn queue_at(&mut self, switch: u32) {
        self.queues[switch as usize] = true;
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
        let arrivals = messages.packets.iter().map(|message| message.at);
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
            if self.queues[message.switch as usize] {
                self.push_inbound(context, message);
            } else {
                context.events.expect_arrival(*message);
            }
        }
        messages.packets.clear();
        messages.extras.clear();
    }

    /// Appends a packet that will arrive in this partition. If it is the link's next, its arrival is scheduled.
    #[inline(always)]
    fn push_inbound(&mut self, context: &mut Context, message: &Arrival) {
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
        let mut message = Arrival {
            at: arrival,
            packet,
            link,
            number: port.carried(),
            switch,
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

    /// Returns the packet that arrives on `link` now, with the link by which it leaves. Schedules the next arrival on
    /// `link`.
    #[inline(always)]
    pub(super) fn arrive(&mut self, context: &mut Context, link: u32) -> (Packet, u32) {
        let inbound = &mut self.inbound[link as usize];
        let Arrival { packet, out, .. } = inbound.pop_front().expect("a packet arrives");
        if let Some(next) = inbound.front() {
            schedule(context, next);
        }
        (packet, out)
    }

    /// Returns the packets whose arrivals in this partition are events of the queue.
    pub(super) fn frames(&self) -> impl Iterator<Item = Packet> + '_ {
        let inbound = self.inbound.iter().flatten();
        inbound.map(|message| message.packet)
    }
}

#[inline(always)]
fn schedule(context: &mut Context, message: &Arrival) {
    let events = &mut context.events;
    events.schedule_numbered_arrival(message.at, message.link, message.number);
}
