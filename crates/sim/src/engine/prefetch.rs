//! Prefetching for large networks.
//!
//! When the state of ports and hosts exceeds the processor's caches, a packet-hop spends its time on a dozen dependent
//! loads from memory. So before a few events are processed, this module follows all of them one step at a time: the
//! packet, its next hop, the port. The loads of one step do not depend on each other, so the processor overlaps them,
//! and nothing waits for those of the last step. The events are those that the queue took out of the calendar together,
//! or those of a window (see `windows`; `wire::inlets` does the same for arrivals that bypass the queue). Prefetching
//! modifies nothing and does not affect results.

use super::endpoints::Endpoints;
use super::extras::Extras;
use super::family::{Family, Handle};
use super::hosts::{Hosts, Owner};
use super::wire::{Link, TO_HOST, Wire};
use crate::packet::{NONE, Packet};
use crate::queue::EventQueue;
use crate::setup::Setup;
use duetime_core::Time;
use duetime_core::prefetch::prefetch;
use duetime_link::Port;

/// Maximum number of events to follow together.
pub(super) const MAX_EVENTS: usize = 24;

/// State to prefetch from.
pub(super) struct Prefetch<'a> {
    pub(super) setup: &'a Setup,
    pub(super) wire: &'a Wire,
    pub(super) hosts: &'a Hosts,
    pub(super) endpoints: &'a Endpoints,
    pub(super) extras: &'a Extras,
    /// Sub-partition at the far end of each link; used for windows.
    pub(super) of_target: &'a [u16],
}

/// State that an event touches after that of its port.
#[derive(Clone, Copy)]
struct Next {
    /// Port by which a packet leaves, or a number that no port has.
    out: u32,
    sender: Option<Handle>,
}

impl Next {
    const NOTHING: Self = Self {
        out: NONE,
        sender: None,
    };
}

impl Prefetch<'_> {
    /// Prefetches the state that the first [`MAX_EVENTS`] of the events `ids` need. If `WINDOW` is true, this includes
    /// all packets on the links, which arrive within a window.
    #[inline(never)]
    pub(super) fn follow_all<const WINDOW: bool>(
        &self,
        queue: &EventQueue,
        ids: impl Iterator<Item = u32> + Clone,
    ) {
        let ports = self.wire.ports();
        let links = ports.len() as u32;
        let ids = ids.take(MAX_EVENTS);
        if WINDOW {
            for id in ids.clone() {
                // A departure begins with the reverse port, which knows the host.
                let link = if id < links { id } else { (id - links) ^ 1 };
                if let Some(port) = ports.get(link as usize) {
                    port.prefetch_arrival();
                }
            }
        }
        for id in ids.clone() {
            if let Some(port) = ports.get(id as usize) {
                port.prefetch_first();
            } else if let Some(host) = self.sending_host(id - links) {
                self.hosts.prefetch_nic(host);
            }
        }
        let mut nexts = [Next::NOTHING; MAX_EVENTS];
        let mut count = 0;
        for (id, next) in ids.clone().zip(&mut nexts) {
            *next = match ports.get(id as usize) {
                Some(port) => self.follow(port),
                None => self.follow_departure(id - links),
            };
            if let Some(port) = ports.get(next.out as usize) {
                port.prefetch_offer();
                queue.prefetch(next.out);
                if WINDOW {
                    prefetch(&self.of_target[next.out as usize]);
                }
            }
            count += 1;
        }
        let nexts = &nexts[..count];
        if WINDOW {
            for (id, next) in ids.zip(nexts) {
                if let Some(port) = ports.get(id as usize) {
                    port.prefetch_on_link();
                }
                if let Some(sender) = next.sender {
                    self.endpoints.prefetch_boxed(sender);
                }
            }
        }
        for next in nexts {
            if let Some(port) = ports.get(next.out as usize) {
                self.wire.prefetch_offered(port);
            }
            if WINDOW && let Some(sender) = next.sender {
                self.endpoints.prefetch_segments(sender);
            }
        }
    }

    /// Prefetches the receiving end's state for the next packet on the link of `port`. Returns what that end touches
    /// next: the port by which the packet, or the reply to it, leaves, and the sender.
    #[inline(always)]
    fn follow(&self, port: &Port<Packet>) -> Next {
        let Link { target, special } = Link::of(port);
        // Packets from other partitions are not in the port. Most come over inlets, so they bypass the queue.
        let Some(packet) = port.first_sent().filter(|_| special & Link::CROSSING == 0) else {
            return Next::NOTHING;
        };
        if target & TO_HOST == 0 {
            let (to, flow) = (packet.destination(), packet.flow);
            // With spraying, this prefetches a wrong port.
            let routing = &self.setup.routing;
            return Next {
                out: routing.next_at_switch(target, to, flow, Time::ZERO),
                sender: None,
            };
        }
        self.endpoints.prefetch_input(&packet);
        self.extras.prefetch(&packet);
        Next {
            out: self.hosts.uplink(target & !TO_HOST),
            sender: packet.is_reverse().then(|| Handle {
                family: Family::of(&packet),
                index: packet.endpoint,
            }),
        }
    }

    /// Prefetches the sender that the free NIC at the port of `link`, if it exists, serves next. Returns the link and the
    /// sender.
    fn follow_departure(&self, link: u32) -> Next {
        let host = self.sending_host(link);
        let sender = host.and_then(|host| self.hosts.upcoming_sender(host));
        if let Some(sender) = sender {
            self.endpoints.prefetch_sender(sender);
        }
        Next { out: link, sender }
    }

    /// Returns the host at the near end of `link`, or `None` if a switch is there or the link does not exist.
    #[inline(always)]
    fn sending_host(&self, link: u32) -> Option<u32> {
        let exists = (link as usize) < self.wire.links();
        exists.then(|| self.wire.host_before(link)).flatten()
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
