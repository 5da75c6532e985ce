//! Looking ahead in large networks, where the state of ports and hosts outgrows the processor's caches and a
//! packet-hop spends its time on a dozen reads from memory, one after the other. So a few events are taken
//! out of the calendar at a time, and before they are processed all of them are followed one step at a time: which packet, which way, which port. The reads
//! of one step do not depend on each other, so the processor waits for all of them at once. Nothing is changed, and
//! the result does not depend on it.

use super::{Link, NONE, Setup, TO_HOST, tcp};
use crate::host::{Host, Nic, Sender};
use crate::packet::{Packet, REVERSE};
use crate::queue::EventQueue;
use duetime_link::Port;
use slab::Slab;
use std::hint::black_box;

/// Links from which on the packet of the next event is read while this one is processed.
pub(super) const MEDIUM: usize = 512;
/// Links from which on [`Foresight::look`] pays, or regions where latencies allow them.
pub(super) const LARGE: usize = 8_192;
/// Follows at most so many events of one bucket.
const MOST: usize = 24;

/// What is looked at.
pub(super) struct Foresight<'a> {
    pub(super) setup: &'a Setup,
    pub(super) ports: &'a [Port<Packet>],
    pub(super) nics: &'a [Nic],
    pub(super) hosts: &'a [Host],
    pub(super) senders: &'a Slab<tcp::Sending>,
    pub(super) receivers: &'a Slab<tcp::Receiving>,
}

impl Foresight<'_> {
    /// Reads what the events taken out of the queue will need.
    #[inline(never)]
    pub(super) fn look(&self, queue: &EventQueue) {
        let links = self.ports.len() as u32;
        let events = queue.current();
        let events = &events[events.len().saturating_sub(MOST)..];
        let mut read = 0;
        for event in events {
            if let Some(port) = self.ports.get(event.id as usize) {
                read ^= port.touch_first();
            } else if let Some(port) = self.ports.get((event.id - links) as usize) {
                read ^= port.touch_arrival();
            }
        }
        let mut outs = [NONE; MOST];
        for (event, out) in events.iter().zip(&mut outs) {
            let (touched, leaves_by) = match self.ports.get(event.id as usize) {
                Some(port) => self.follow(port),
                None => self.follow_departure(event.id - links),
            };
            *out = leaves_by;
            read ^= touched;
            if let Some(port) = self.ports.get(leaves_by as usize) {
                read ^= port.touch_offer() ^ queue.touch(leaves_by);
            }
        }
        for out in &outs[..events.len()] {
            if let Some(port) = self.ports.get(*out as usize) {
                read ^= port.touch_wire();
            }
        }
        black_box(read);
    }

    /// What the next packet of a port touches at the far end, and the port that it, or its answer, leaves by.
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
        let endpoint = packet.endpoint as usize;
        let touched = if packet.flags() & REVERSE == 0 {
            let receiver = self.receivers.get(endpoint);
            receiver.map_or(0, tcp::Receiving::touch)
        } else {
            let sender = self.senders.get(endpoint);
            sender.map_or(0, tcp::Sending::touch)
        };
        (touched, self.nics[(target & !TO_HOST) as usize].uplink)
    }

    /// The same for a network card that is free: it takes the sender whose turn it is.
    fn follow_departure(&self, link: u32) -> (u64, u32) {
        let Some(back) = self.ports.get(link as usize ^ 1) else {
            return (0, NONE);
        };
        let from = Link::of(back).target;
        if from & TO_HOST == 0 {
            return (0, link);
        }
        let host = (from & !TO_HOST) as usize;
        let nic = &self.nics[host];
        let sender = if nic.waiting {
            self.hosts[host].foreseen()
        } else {
            nic.next
        };
        let touched = match sender {
            Some(Sender::Tcp(index)) => self
                .senders
                .get(index as usize)
                .map_or(0, tcp::Sending::touch),
            _ => 0,
        };
        (touched, link)
    }
}
