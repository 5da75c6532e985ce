//! Prefetching for large networks.
//!
//! When the state of ports and hosts exceeds the processor's caches, a packet-hop spends its time on a dozen dependent
//! reads from memory. So before a few events are processed, this module follows all of them one step at a time: the
//! packet, its next hop, the port. The reads of one step are independent of each other, so the processor overlaps them.
//! The events are those that the queue took out of the calendar together, or those of a window (see `windows`).
//! Prefetching modifies nothing and does not affect results.

use super::endpoints::Endpoints;
use super::hosts::{Hosts, Owner};
use super::wire::{Link, TO_HOST, Wire};
use crate::packet::{NONE, Packet};
use crate::queue::{Event, EventQueue};
use crate::setup::Setup;
use duetime_core::Time;
use duetime_link::Port;
use std::hint::black_box;

/// Maximum number of events to follow together.
pub(super) const MAX_EVENTS: usize = 24;

/// State to prefetch from.
pub(super) struct Prefetch<'a> {
    pub(super) setup: &'a Setup,
    pub(super) wire: &'a Wire,
    pub(super) hosts: &'a Hosts,
    pub(super) endpoints: &'a Endpoints,
}

impl Prefetch<'_> {
    /// Prefetches the state that the first [`MAX_EVENTS`] of `events` need. If `WINDOW` is true, this includes all
    /// packets on the links, which arrive within a window.
    #[inline(never)]
    pub(super) fn read<const WINDOW: bool>(&self, queue: &EventQueue, events: &[Event]) {
        let ports = self.wire.ports();
        let links = ports.len() as u32;
        let events = &events[..events.len().min(MAX_EVENTS)];
        let mut read = 0;
        for event in events {
            if let Some(port) = ports.get(event.id as usize) {
                read ^= port.prefetch_first();
            } else if let Some(port) = ports.get((event.id - links) as usize) {
                read ^= port.prefetch_arrival();
            }
        }
        let mut outs = [NONE; MAX_EVENTS];
        for (event, out) in events.iter().zip(&mut outs) {
            let (state, leaves_by) = match ports.get(event.id as usize) {
                Some(port) => self.follow(event.id, port),
                None => self.follow_departure(event.id - links),
            };
            *out = leaves_by;
            read ^= state;
            if let Some(port) = ports.get(leaves_by as usize) {
                read ^= port.prefetch_offer() ^ queue.prefetch(leaves_by);
            }
        }
        if WINDOW {
            for event in events {
                if let Some(port) = ports.get(event.id as usize) {
                    read ^= port.prefetch_on_link() ^ self.wire.crossings.prefetch(event.id);
                }
            }
        }
        for out in &outs[..events.len()] {
            if let Some(port) = ports.get(*out as usize) {
                read ^= port.prefetch_wire();
            }
        }
        black_box(read);
    }

    /// Prefetches the receiving end's state for the next packet on `link`, whose port is `port`. Returns the prefetched
    /// value and the port by which the packet, or the reply to it, leaves.
    #[inline(always)]
    fn follow(&self, link: u32, port: &Port<Packet>) -> (u64, u32) {
        let Link { target, special } = Link::of(port);
        let packet = if special & Link::CROSSING == 0 {
            port.first_sent()
        } else {
            self.wire.crossings.first(link)
        };
        let Some(packet) = packet else {
            return (0, NONE);
        };
        if target & TO_HOST == 0 {
            let (to, flow) = (packet.destination(), packet.flow);
            // With spraying, this prefetches a wrong port.
            let routing = &self.setup.routing;
            return (0, routing.next_at_switch(target, to, flow, Time::ZERO));
        }
        let state = self.endpoints.prefetch_input(&packet);
        (state, self.hosts.uplink(target & !TO_HOST))
    }

    /// Prefetches the sender that a free NIC serves next. Returns the prefetched value and the NIC's port.
    fn follow_departure(&self, link: u32) -> (u64, u32) {
        let ports = self.wire.ports();
        let Some(back) = ports.get(link as usize ^ 1) else {
            return (0, NONE);
        };
        let from = Link::of(back).target;
        if from & TO_HOST == 0 {
            return (0, link);
        }
        let sender = self.hosts.upcoming_sender(from & !TO_HOST);
        let state = sender.map_or(0, |sender| self.endpoints.prefetch_sender(sender));
        (state, link)
    }
}

/// Prefetches the state of a timer's owner. The value has no meaning.
pub(super) fn owner(endpoints: &Endpoints, owner: Owner) -> u64 {
    match owner {
        Owner::Sender(sender) => endpoints.prefetch_sender(sender),
        Owner::Receiver(receiver) => endpoints.prefetch_receiver(receiver),
        Owner::Free | Owner::Death { .. } | Owner::Wake { .. } => 0,
    }
}
