//! Prefetching in large networks, where the state of ports and hosts outgrows the processor's caches and a packet-hop
//! spends its time on a dozen reads from memory, one after the other. So a few events are taken out of the calendar
//! at a time, and before they are processed all of them are followed one step at a time: which packet, which way,
//! which port. The reads of one step do not depend on each other, so the processor waits for all of them at once.
//! Nothing is changed, and the result does not depend on it.

use super::endpoint::Endpoints;
use super::hosts::Hosts;
use super::wire::{Link, TO_HOST, Wire};
use crate::packet::{NONE, Packet};
use crate::queue::EventQueue;
use crate::setup::Setup;
use duetime_link::Port;
use std::hint::black_box;

/// Links from which on the packet of the next event is read while this one is processed.
pub(super) const MEDIUM: usize = 512;
/// Links from which on [`Prefetch::read`] pays, or sub-partitions where latencies allow them.
pub(super) const LARGE: usize = 8_192;
/// Follows at most so many events of one bucket.
const MOST: usize = 24;

/// What is read ahead of time.
pub(super) struct Prefetch<'a> {
    pub(super) setup: &'a Setup,
    pub(super) wire: &'a Wire,
    pub(super) hosts: &'a Hosts,
    pub(super) endpoints: &'a Endpoints,
}

impl Prefetch<'_> {
    /// Reads what the events taken out of the queue will need.
    #[inline(never)]
    pub(super) fn read(&self, queue: &EventQueue) {
        let ports = self.wire.ports();
        let links = ports.len() as u32;
        let events = queue.current();
        let events = &events[events.len().saturating_sub(MOST)..];
        let mut read = 0;
        for event in events {
            if let Some(port) = ports.get(event.id as usize) {
                read ^= port.prefetch_first();
            } else if let Some(port) = ports.get((event.id - links) as usize) {
                read ^= port.prefetch_arrival();
            }
        }
        let mut outs = [NONE; MOST];
        for (event, out) in events.iter().zip(&mut outs) {
            let (state, leaves_by) = match ports.get(event.id as usize) {
                Some(port) => self.follow(port),
                None => self.follow_departure(event.id - links),
            };
            *out = leaves_by;
            read ^= state;
            if let Some(port) = ports.get(leaves_by as usize) {
                read ^= port.prefetch_offer() ^ queue.prefetch(leaves_by);
            }
        }
        for out in &outs[..events.len()] {
            if let Some(port) = ports.get(*out as usize) {
                read ^= port.prefetch_wire();
            }
        }
        black_box(read);
    }

    /// What the next packet of a port needs at the far end, and the port that it, or its answer, leaves by.
    #[inline(always)]
    fn follow(&self, port: &Port<Packet>) -> (u64, u32) {
        let target = Link::of(port).target;
        let Some(packet) = port.first_sent() else {
            return (0, NONE);
        };
        if target & TO_HOST == 0 {
            let (to, flow) = (packet.destination(), packet.flow);
            return (0, self.setup.routing.next_at_switch(target, to, flow));
        }
        let state = self.endpoints.prefetch_input(&packet);
        (state, self.hosts.uplink(target & !TO_HOST))
    }

    /// The same for a NIC that is free: it takes the sender whose turn it is.
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
