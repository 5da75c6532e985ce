//! Packets that have reached their hosts' NICs and that the transports do not have yet: a host takes a while for each
//! (`[host] receive_delay`, `receive_jitter`).
//!
//! All packets into a host keep the order in which they arrived, as in one receive queue: a packet that draws a long time
//! holds those behind it. So the packets of a flow keep theirs. Nothing leaves the host meanwhile, so partitions may run as
//! far ahead as without.

use crate::engine::context::Context;
use crate::packet::Packet;
use crate::setup::Setup;
use crate::workload::draw;
use duetime_core::random::{Purpose, Stream};
use duetime_core::{Span, Time};
use duetime_scenario::model::Gap;
use std::collections::VecDeque;

/// The packets that the hosts of a partition hold.
pub struct Reception {
    delay: Span,
    jitter: Gap,
    /// By host; empty if hosts take no time.
    hosts: Vec<Host>,
}

/// The packets that one host holds.
struct Host {
    /// In order of arrival.
    packets: VecDeque<Held>,
    /// The host's timer is pending for the first of them, or for one that is gone.
    armed: bool,
    delays: Stream,
}

/// A packet that its transport does not have yet.
struct Held {
    packet: Packet,
    arrived: Time,
    /// When its transport gets it; never before that of the packet before it.
    due: Time,
}

impl Reception {
    /// The timer slot of every host for this, if hosts hold packets: the first that it has.
    pub const SLOT: u32 = 0;

    /// Hosts that hold nothing.
    pub fn new(setup: &Setup) -> Self {
        let (delay, jitter) = setup.receive.clone();
        let count = if setup.holds_packets() {
            setup.network.hosts()
        } else {
            0
        };
        let host = |host: u32| Host {
            packets: VecDeque::new(),
            armed: false,
            delays: setup.streams.stream(u64::from(host), Purpose::Receive),
        };
        Self {
            delay,
            jitter,
            hosts: (0..count).map(host).collect(),
        }
    }

    /// A packet reaches the NIC of `host`.
    pub fn hold(&mut self, context: &mut Context, host: u32, packet: Packet) {
        let now = context.now();
        let of = &mut self.hosts[host as usize];
        let due = now + self.delay + draw::gap(&self.jitter, &mut of.delays);
        let due = of.packets.back().map_or(due, |last| due.max(last.due));
        of.packets.push_back(Held {
            packet,
            arrived: now,
            due,
        });
        if !of.armed {
            of.arm(context, host, due);
        }
    }

    /// The next packet that the transport of `host` gets now, with the time for which it was held. To be called, when the
    /// host's timer is due, until there is none.
    pub fn release(&mut self, context: &mut Context, host: u32) -> Option<(Packet, Span)> {
        let of = &mut self.hosts[host as usize];
        let Some(first) = of.packets.front() else {
            of.armed = false;
            return None;
        };
        let (now, due) = (context.now(), first.due);
        if due > now {
            of.arm(context, host, due);
            return None;
        }
        let Held {
            packet, arrived, ..
        } = of.packets.pop_front()?;
        Some((packet, now.since(arrived)))
    }

    /// The host dies: what it holds is gone.
    pub fn forget(&mut self, context: &mut Context, host: u32) {
        let of = self.hosts.get_mut(host as usize);
        for held in of.into_iter().flat_map(|of| of.packets.drain(..)) {
            context.discard_extra(held.packet);
        }
    }
}

impl Host {
    fn arm(&mut self, context: &mut Context, host: u32, due: Time) {
        self.armed = true;
        context.events.schedule_timer(due, host, Reception::SLOT);
    }
}
