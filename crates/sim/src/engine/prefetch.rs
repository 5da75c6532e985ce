//! Prefetching for large networks.
//!
//! When the state of ports and hosts exceeds the processor's caches, a packet-hop spends its time on a dozen dependent
//! loads from memory. So before a few events are processed, this module follows all of them one step at a time: the
//! packet, its next hop, the port. The loads of one step do not depend on each other, so the processor overlaps them,
//! and nothing waits for those of the last step. The events are those that the queue took out of the calendar together,
//! or those of a window (see `windows`; `wire::inlets` does the same for arrivals that bypass the queue). Prefetching
//! modifies nothing and does not affect results.

use super::endpoints::Endpoints;
use super::family::Handle;
use super::hosts::{Hosts, Owner};
use super::wire::{Link, TO_HOST, Wire};
use crate::packet::{NONE, Packet};
use crate::queue::{Event, EventQueue};
use crate::setup::Setup;
use duetime_core::Time;
use duetime_link::Port;

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
    pub(super) fn follow_all<const WINDOW: bool>(&self, queue: &EventQueue, events: &[Event]) {
        let ports = self.wire.ports();
        let links = ports.len() as u32;
        let events = &events[..events.len().min(MAX_EVENTS)];
        for event in events {
            if let Some(port) = ports.get(event.id as usize) {
                port.prefetch_first();
            } else if let Some(port) = ports.get((event.id - links) as usize) {
                port.prefetch_arrival();
            }
        }
        let mut outs = [NONE; MAX_EVENTS];
        for (event, out) in events.iter().zip(&mut outs) {
            *out = match ports.get(event.id as usize) {
                Some(port) => self.follow(port),
                None => self.follow_departure(event.id - links),
            };
            if let Some(port) = ports.get(*out as usize) {
                port.prefetch_offer();
                queue.prefetch(*out);
            }
        }
        if WINDOW {
            for event in events {
                if let Some(port) = ports.get(event.id as usize) {
                    port.prefetch_on_link();
                } else if let Some(sender) = self.upcoming_sender(event.id - links) {
                    self.endpoints.prefetch_boxed(sender);
                }
            }
        }
        for out in &outs[..events.len()] {
            if let Some(port) = ports.get(*out as usize) {
                port.prefetch_wire();
            }
        }
    }

    /// Prefetches the receiving end's state for the next packet on the link of `port`. Returns the port by which the
    /// packet, or the reply to it, leaves.
    #[inline(always)]
    fn follow(&self, port: &Port<Packet>) -> u32 {
        let Link { target, special } = Link::of(port);
        // Packets from other partitions are not in the port. Most come over inlets, so they bypass the queue.
        let Some(packet) = port.first_sent().filter(|_| special & Link::CROSSING == 0) else {
            return NONE;
        };
        if target & TO_HOST == 0 {
            let (to, flow) = (packet.destination(), packet.flow);
            // With spraying, this prefetches a wrong port.
            let routing = &self.setup.routing;
            return routing.next_at_switch(target, to, flow, Time::ZERO);
        }
        self.endpoints.prefetch_input(&packet);
        self.hosts.uplink(target & !TO_HOST)
    }

    /// Prefetches the sender that the free NIC at the port of `link` serves next. Returns the link, or `NONE` for an
    /// event that is no departure.
    fn follow_departure(&self, link: u32) -> u32 {
        if link as usize >= self.wire.links() {
            return NONE;
        }
        if let Some(sender) = self.upcoming_sender(link) {
            self.endpoints.prefetch_sender(sender);
        }
        link
    }

    /// Returns the sender that a free NIC at the port of `link` serves next, if any.
    #[inline(always)]
    fn upcoming_sender(&self, link: u32) -> Option<Handle> {
        let back = self.wire.ports().get(link as usize ^ 1)?;
        let from = Link::of(back).target;
        if from & TO_HOST == 0 {
            return None;
        }
        self.hosts.upcoming_sender(from & !TO_HOST)
    }
}

/// Prefetches the state of a timer's owner.
pub(super) fn owner(endpoints: &Endpoints, owner: Owner) {
    match owner {
        Owner::Sender(sender) => endpoints.prefetch_sender(sender),
        Owner::Receiver(receiver) => endpoints.prefetch_receiver(receiver),
        Owner::Free | Owner::Death { .. } | Owner::Wake { .. } => {}
    }
}
