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

/// Looks ahead from this many links on; the state of fewer stays in the caches by itself.
pub(super) const FEWEST_LINKS: usize = 8_192;
/// Events taken out of the calendar at a time.
pub(super) const AT_A_TIME: u32 = 16;
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
    pub(super) links: &'a [Link],
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
        let links = self.links.len() as u32;
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
                read ^= u64::from(self.links[link as usize].target);
            }
        }
        for (step, event) in steps.iter_mut().zip(events) {
            if event.id < links {
                step.packet = self.ports[event.id as usize].first_sent();
                step.target = self.links[event.id as usize].target;
            } else if let Some(from) = self.links.get((event.id - links) as usize ^ 1) {
                step.out = event.id - links;
                if from.target & TO_HOST != 0 {
                    let host = (from.target & !TO_HOST) as usize;
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
            read ^= self.ports[out].touch_offer() ^ u64::from(self.links[out].special);
            read ^= queue.touch(step.out);
        }
        for step in steps.iter().filter(|step| step.out != NONE) {
            read ^= self.ports[step.out as usize].touch_wire();
        }
        black_box(read);
    }
}
