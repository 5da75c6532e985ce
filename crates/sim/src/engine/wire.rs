//! The packet path: through a port, over its link, into a switch or a host.

use super::{ARRIVAL, Crossing, DEPARTURE, Link, Partition, TO_HOST};
use crate::packet::{D3, Extra, NONE, Packet, REVERSE};
use duetime_core::Time;
use duetime_link::{Frame, Offer};
use duetime_results::FlowEventKind;

impl Partition {
    /// Offers a packet to the port of `link`.
    #[inline]
    pub(super) fn send(&mut self, link: u32, packet: Packet) {
        let info = self.links[link as usize];
        if info.special & Link::ALLOCATED != 0 && packet.flags & D3 != 0 {
            self.allocate(link, packet);
        }
        let observed = self.observed.is_some().then(|| self.before_offer(link));
        let offer = if info.pool == NONE {
            self.ports[link as usize].offer(self.now, packet)
        } else {
            self.pools[info.pool as usize].offer(&mut self.ports, link, self.now, packet)
        };
        if let Some(before) = observed {
            self.observe_offer(link, packet, offer, before);
        }
        match offer {
            Offer::Sent { arrival, first } if info.special & Link::CROSSING == 0 => {
                if first {
                    self.schedule(arrival, ARRIVAL, info.rank, link);
                }
            }
            Offer::Sent { arrival, .. } => self.cross(link, arrival),
            Offer::Queued { wake } => {
                if let Some(wake) = wake {
                    self.schedule(wake, DEPARTURE, info.rank, link);
                }
            }
            Offer::Dropped => self.discard(packet),
        }
    }

    /// Strict priority: the link is free.
    pub(super) fn port_departure(&mut self, link: u32) {
        let info = self.links[link as usize];
        let Some((offer, wake)) = self.ports[link as usize].departure(self.now) else { return };
        if let Some(wake) = wake {
            self.schedule(wake, DEPARTURE, info.rank, link);
        }
        if let Offer::Sent { arrival, first } = offer {
            if info.special & Link::CROSSING != 0 {
                self.cross(link, arrival);
            } else if first {
                self.schedule(arrival, ARRIVAL, info.rank, link);
            }
        }
    }

    /// The packet last sent on `link` arrives in another partition.
    fn cross(&mut self, link: u32, arrival: Time) {
        let port = &mut self.ports[link as usize];
        let packet = port.last_sent().expect("a packet was just sent");
        port.forget_departed(self.now);
        let extra = (packet.extra != NONE).then(|| self.extras.remove(packet.extra as usize));
        let to = self.partition_of[self.setup.network.links[link as usize].to as usize];
        self.outbound[usize::from(to)].push(Crossing { link, arrival, packet, extra });
    }

    /// A packet's last bit arrives at the far end of `link`.
    #[inline]
    pub(super) fn arrival(&mut self, link: u32) {
        let info = self.links[link as usize];
        let (packet, next) = if info.special & Link::CROSSING == 0 {
            self.ports[link as usize].arrive(self.now).expect("an arrival was scheduled")
        } else {
            let ring = self.inbound.get_mut(&link).expect("an arrival was scheduled");
            (ring.pop().expect("an arrival was scheduled"), ring.next_arrival())
        };
        if let Some(next) = next {
            self.schedule(next, ARRIVAL, info.rank, link);
        }
        self.totals.packet_hops += 1;
        if info.special & Link::LOSSY != 0 && self.is_lost(link, packet) {
            return self.discard(packet);
        }
        if self.observed.is_some() {
            self.observe_arrival(link, packet);
        }
        if info.target & TO_HOST == 0 {
            let out = self.setup.routing.next(info.target, packet.destination, packet.flow);
            return self.send(out, packet);
        }
        self.totals.arrived_bytes += u64::from(packet.wire_bytes);
        let host = info.target & !TO_HOST;
        match packet.flags & (D3 | REVERSE) {
            0 => self.tcp_data(host, packet),
            REVERSE => self.tcp_acknowledgement(host, packet),
            D3 => self.d3_data(host, packet),
            _ => self.d3_acknowledgement(host, packet),
        }
    }

    #[cold]
    fn is_lost(&mut self, link: u32, packet: Packet) -> bool {
        let (probability, stream) = self.loss.get_mut(&link).expect("a lossy link");
        if !stream.chance(*probability) {
            return false;
        }
        let lost = self.losses.entry(link).or_default();
        lost.0 += 1;
        lost.1 += u64::from(packet.wire_bytes);
        self.observe(packet.flow, FlowEventKind::Lost { link });
        true
    }

    /// A packet that goes no further.
    #[cold]
    pub(super) fn discard(&mut self, packet: Packet) {
        self.totals.dropped_bytes += u64::from(packet.wire_bytes);
        self.take_extra(packet);
    }

    /// The packet's extra, out of the table.
    #[inline]
    pub(super) fn take_extra(&mut self, packet: Packet) -> Option<Extra> {
        (packet.extra != NONE).then(|| self.extras.remove(packet.extra as usize))
    }

    /// Bytes of packets in ports or on links, at the end of a run.
    pub(super) fn bytes_in_flight(&self) -> u64 {
        let own = self
            .ports
            .iter()
            .zip(&self.links)
            .filter(|(_, link)| link.special & Link::CROSSING == 0)
            .flat_map(|(port, _)| port.frames());
        let inbound = self.inbound.values().flat_map(duetime_link::Ring::iter);
        own.chain(inbound).map(|packet| u64::from(packet.wire_bytes())).sum()
    }
}
