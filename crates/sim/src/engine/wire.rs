//! The packet path: through a port, over its link, into a switch or a host.

use super::{Crossing, Link, Partition, TO_HOST};
use crate::host::Nic;
use crate::packet::{D3, Extra, NONE, Packet, REVERSE};
use duetime_core::{Span, Time};
use duetime_link::{Frame, Offer, Port, Sent};

impl Partition {
    /// Offers a packet to the port of `link`, which it leaves later by `delay`.
    #[inline(always)]
    pub(super) fn send(&mut self, link: u32, packet: Packet, delay: Span) {
        let port = &mut self.ports[link as usize];
        let special = Link::of(port).special & !Link::LOSSY;
        if special != 0 {
            return self.send_specially(link, packet, special, false, delay);
        }
        let Some(Sent { arrival, first }) = take_in(port, self.now, packet, false, delay) else {
            return self.discard(packet);
        };
        if first {
            self.queue.push::<true>(arrival.as_ps(), link);
        }
    }

    /// Sends a packet on a link that is known to be free, from a pulling network card without limits.
    #[inline(always)]
    pub(super) fn send_at_once(&mut self, nic: Nic, packet: Packet, delay: Span) {
        let link = nic.uplink;
        let port = &mut self.ports[link as usize];
        if !nic.plain {
            let special = Link::of(port).special & !Link::LOSSY;
            return self.send_specially(link, packet, special, true, delay);
        }
        let Sent { arrival, first } = port.send_at_once(self.now, packet, delay);
        if first {
            self.queue.push::<true>(arrival.as_ps(), link);
        }
    }

    /// The same with everything that a link may need; `at_once`: as [`Self::send_at_once`].
    fn send_specially(
        &mut self,
        link: u32,
        packet: Packet,
        special: u32,
        at_once: bool,
        delay: Span,
    ) {
        let now = self.now;
        if special == Link::REGIONAL {
            let port = &mut self.ports[link as usize];
            return match take_in(port, now, packet, at_once, delay) {
                Some(sent) => self.schedule_sent(link, sent),
                None => self.discard(packet),
            };
        }
        if special & Link::ALLOCATED != 0 {
            self.sample_queue(link);
            if packet.flags() & D3 != 0 {
                self.allocate(link, packet);
            }
        }
        let marks_before = if special & Link::OBSERVED == 0 {
            0
        } else {
            self.ports[link as usize].counters().marks
        };
        let pool = (special >> Link::POOL_SHIFT) as usize;
        let offer = match (special & Link::POOLED != 0, special & Link::CLASSED != 0) {
            // Only switches share memory, and only hosts delay.
            (true, true) => self.pools[pool].offer(&mut self.ports, link, now, packet),
            (true, false) => fifo(self.pools[pool].offer_fifo(&mut self.ports, link, now, packet)),
            (false, true) => {
                let port = &mut self.ports[link as usize];
                match port.offer(now, packet) {
                    Offer::Sent(sent) => Offer::Sent(delayed(port, sent, delay)),
                    other => other,
                }
            }
            (false, false) => {
                let port = &mut self.ports[link as usize];
                fifo(take_in(port, now, packet, at_once, delay))
            }
        };
        if special & Link::OBSERVED != 0 {
            self.observe_offer(link, packet, offer, marks_before);
        }
        match offer {
            Offer::Sent(sent) => self.sent(link, sent),
            Offer::Queued { wake: Some(wake) } => self.schedule_departure(wake, link),
            Offer::Queued { wake: None } => {}
            Offer::Dropped => self.discard(packet),
        }
    }

    /// Strict priority: the link is free.
    pub(super) fn port_departure(&mut self, link: u32) {
        let Some((sent, wake)) = self.ports[link as usize].departure(self.now) else {
            return;
        };
        if let Some(wake) = wake {
            self.schedule_departure(wake, link);
        }
        // The other direction of the same link ends where the port is.
        let from = Link::of(&self.ports[link as usize ^ 1]).target;
        let delay = if from & TO_HOST == 0 {
            Span::ZERO
        } else {
            self.draw_delay(from & !TO_HOST)
        };
        let sent = delayed(&mut self.ports[link as usize], sent, delay);
        self.sent(link, sent);
    }

    fn sent(&mut self, link: u32, sent: Sent) {
        if Link::of(&self.ports[link as usize]).special & Link::CROSSING != 0 {
            self.cross(link, sent.arrival);
        } else {
            self.schedule_sent(link, sent);
        }
    }

    #[inline(always)]
    fn schedule_sent(&mut self, link: u32, sent: Sent) {
        if sent.first {
            let region = self.region_of_target(link);
            self.queue.push_to(region, sent.arrival.as_ps(), link);
        }
    }

    /// The packet last sent on `link` arrives in another partition.
    fn cross(&mut self, link: u32, arrival: Time) {
        let port = &mut self.ports[link as usize];
        let mut packet = port.last_sent().expect("a packet was just sent");
        port.forget_departed(self.now);
        let to = self.partition_of[self.setup.network.links[link as usize].to as usize];
        let mail = &mut self.outbound[usize::from(to)];
        if packet.extra != NONE {
            mail.extras
                .push(Some(self.extras.remove(packet.extra as usize)));
            packet.extra = mail.extras.len() as u32 - 1;
        }
        mail.crossings.push(Crossing {
            link,
            arrival,
            packet,
        });
    }

    /// A packet's last bit arrives at the far end of `link`.
    #[inline(always)]
    pub(super) fn arrival(&mut self, link: u32) {
        let port = &mut self.ports[link as usize];
        let Link { target, special } = Link::of(port);
        if special & Link::SLOW_ARRIVAL != 0 {
            return self.arrival_with_care(link, target, special);
        }
        let packet = port.arrive();
        if let Some(next) = port.next_arrival() {
            self.queue.push::<true>(next.as_ps(), link);
        }
        self.pass_on(target, packet);
    }

    #[inline(always)]
    fn pass_on(&mut self, target: u32, packet: Packet) {
        self.totals.packet_hops += 1;
        if target & TO_HOST == 0 {
            let out = self
                .setup
                .routing
                .next_at_switch(target, packet.destination(), packet.flow);
            return self.send(out, packet, Span::ZERO);
        }
        self.totals.arrived_bytes += u64::from(packet.wire_bytes());
        if packet.flags() & D3 != 0 {
            self.d3_packet(target & !TO_HOST, packet);
        } else if packet.flags() & REVERSE != 0 {
            self.tcp_acknowledgement(packet);
        } else {
            self.tcp_data(target & !TO_HOST, packet);
        }
    }

    /// The same where the link comes from another partition or region, loses packets or is watched.
    fn arrival_with_care(&mut self, link: u32, target: u32, special: u32) {
        let (packet, next) = if special & Link::CROSSING == 0 {
            let port = &mut self.ports[link as usize];
            (port.arrive(), port.next_arrival())
        } else {
            let ring = &mut self.inbound[link as usize];
            (ring.pop(), ring.next_arrival())
        };
        if let Some(next) = next {
            self.schedule_arrival(next, link);
        }
        if special & Link::SLOW_ARRIVAL == Link::REGIONAL || self.survives(link, packet, special) {
            self.pass_on(target, packet);
        } else {
            self.totals.packet_hops += 1;
        }
    }

    /// Loss and observation at the far end; false if the packet is lost.
    fn survives(&mut self, link: u32, packet: Packet, special: u32) -> bool {
        let lost = (special & Link::LOSSY != 0 && self.is_lost(link))
            || (special & Link::FAULTY != 0 && self.loses_request(link, packet));
        if lost {
            let losses = self.losses.entry(link).or_default();
            losses.0 += 1;
            losses.1 += u64::from(packet.wire_bytes());
        }
        if special & Link::OBSERVED != 0 {
            self.observe_crossing(link, packet, lost);
        }
        if lost {
            self.discard(packet);
        }
        !lost
    }

    fn is_lost(&mut self, link: u32) -> bool {
        let (probability, stream) = self.loss.get_mut(&link).expect("a lossy link");
        stream.chance(*probability)
    }

    /// A packet that goes no further.
    #[cold]
    pub(super) fn discard(&mut self, packet: Packet) {
        self.totals.dropped_bytes += u64::from(packet.wire_bytes());
        self.take_extra(packet);
    }

    /// The packet's extra, out of the table.
    #[inline]
    pub(super) fn take_extra(&mut self, packet: Packet) -> Option<Extra> {
        (packet.extra != NONE).then(|| self.extras.remove(packet.extra as usize))
    }

    /// Bytes of packets in ports or on links, at the end of a run.
    pub(super) fn bytes_in_flight(&self) -> u64 {
        let own = self.ports.iter().flat_map(|port| {
            // What has been sent on a crossing link is in the other partition's books.
            let sent = (Link::of(port).special & Link::CROSSING == 0).then(|| port.sent_frames());
            sent.into_iter().flatten().chain(port.waiting_frames())
        });
        let inbound = self.inbound.iter().flat_map(duetime_link::Ring::iter);
        own.chain(inbound)
            .map(|packet| u64::from(packet.wire_bytes()))
            .sum()
    }
}

/// Offers a packet to a port without classes, which it leaves later by `delay`; `at_once`: the port is idle and has no
/// limit. `None`: dropped.
#[inline(always)]
fn take_in(
    port: &mut Port<Packet>,
    now: Time,
    packet: Packet,
    at_once: bool,
    delay: Span,
) -> Option<Sent> {
    if at_once {
        return Some(port.send_at_once(now, packet, delay));
    }
    let sent = port.offer_fifo(now, packet)?;
    Some(delayed(port, sent, delay))
}

/// Lets the packet just sent leave later: a host's.
#[inline(always)]
fn delayed(port: &mut Port<Packet>, sent: Sent, delay: Span) -> Sent {
    if delay == Span::ZERO {
        sent
    } else {
        port.delay_last(sent, delay)
    }
}

/// What a port without classes says.
fn fifo(sent: Option<Sent>) -> Offer {
    sent.map_or(Offer::Dropped, Offer::Sent)
}
