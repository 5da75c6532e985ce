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
/// Links from which on [`Foresight::look`] pays.
pub(super) const LARGE: usize = 8_192;
/// Follows at most so many events of one bucket.
const MOST: usize = 24;

/// What an event is going to need.
#[derive(Clone, Copy)]
struct Step {
    /// The packet that arrives, if it does.
    packet: Option<Packet>,
    /// Where it arrives, as in [`Link::target`].
    target: u32,
    /// The port that it, or its answer, leaves by; or [`NONE`].
    out: u32,
    /// Who sends next.
    sender: Option<Sender>,
}

const NOTHING: Step = Step {
    packet: None,
    target: 0,
    out: NONE,
    sender: None,
};

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
    /// Reads what the events in the queue's bucket will need.
    #[inline(never)]
    pub(super) fn look(&self, queue: &EventQueue) {
        let mut steps = [NOTHING; MOST];
        let links = self.ports.len() as u32;
        let events = queue.current();
        let events = &events[events.len().saturating_sub(MOST)..];
        let steps = &mut steps[..events.len()];
        let mut read = 0;
        for event in events {
            let link = if event.id < links {
                event.id
            } else {
                event.id - links
            };
            if let Some(port) = self.ports.get(link as usize) {
                read ^= if event.id < links {
                    port.touch_arrival()
                } else {
                    port.touch_offer()
                };
            }
        }
        for (step, event) in steps.iter_mut().zip(events) {
            if event.id < links {
                let port = &self.ports[event.id as usize];
                step.packet = port.first_sent();
                step.target = Link::of(port).target;
            } else if let Some(back) = self.ports.get((event.id - links) as usize ^ 1) {
                step.out = event.id - links;
                let from = Link::of(back).target;
                if from & TO_HOST != 0 {
                    let host = (from & !TO_HOST) as usize;
                    let nic = &self.nics[host];
                    step.sender = if nic.waiting {
                        self.hosts[host].foreseen()
                    } else {
                        nic.next
                    };
                }
            }
        }
        for step in steps.iter_mut() {
            if let Some(Sender::Tcp(index)) = step.sender {
                read ^= self
                    .senders
                    .get(index as usize)
                    .map_or(0, tcp::Sending::touch);
            }
            let Some(packet) = step.packet else { continue };
            if step.target & TO_HOST == 0 {
                step.out = self.setup.routing.next_at_switch(
                    step.target,
                    packet.destination(),
                    packet.flow,
                );
                continue;
            }
            step.out = self.nics[(step.target & !TO_HOST) as usize].uplink;
            let endpoint = packet.endpoint as usize;
            read ^= if packet.flags() & REVERSE == 0 {
                self.receivers
                    .get(endpoint)
                    .map_or(0, tcp::Receiving::touch)
            } else {
                self.senders.get(endpoint).map_or(0, tcp::Sending::touch)
            };
        }
        for step in steps.iter().filter(|step| step.out != NONE) {
            let out = step.out as usize;
            read ^= self.ports[out].touch_offer();
            read ^= queue.touch(step.out);
        }
        for step in steps.iter().filter(|step| step.out != NONE) {
            read ^= self.ports[step.out as usize].touch_wire();
        }
        black_box(read);
    }
}
