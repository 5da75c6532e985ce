//! Arrivals at the far ends of links: forwarding at switches, delivery to hosts, and losses.

use super::link::{Link, TO_HOST};
use super::{Wire, due};
use crate::engine::context::Context;
use crate::packet::{NONE, Packet};
use duetime_core::{Span, Time};
use duetime_link::Frame;

/// A packet that reached a host.
pub struct Arrived {
    pub host: u32,
    pub packet: Packet,
    /// Link whose next packet is received at the same time, or [`NONE`].
    pub rest: u32,
}

impl Wire {
    /// Handles the arrival of a packet's last bit at the far end of `link`. A switch forwards the packet; a packet for
    /// a host is returned.
    #[inline(always)]
    pub fn arrival<const ALONE: bool>(
        &mut self,
        context: &mut Context,
        link: u32,
    ) -> Option<Arrived> {
        let port = &mut self.ports[link as usize];
        let info = Link::of(port);
        if info.special & Link::SLOW_ARRIVAL != 0 {
            let Arrived { host, packet, rest } = self.slow_arrival::<ALONE>(context, link, info)?;
            return Some(Arrived { host, packet, rest });
        }
        let packet = port.arriving();
        let next = port.arrived(packet);
        if info.target & TO_HOST != 0 {
            let host = info.target & !TO_HOST;
            let mut rest = NONE;
            if let Some(next) = next {
                let due = self.reception.due(host, next);
                if due == context.now() {
                    rest = link;
                } else {
                    context.events.schedule_arrival::<ALONE>(due, link);
                }
            }
            self.totals.packet_hops += 1;
            self.totals.arrived_bytes += u64::from(packet.wire_bytes());
            return Some(Arrived { host, packet, rest });
        }
        if let Some(next) = next {
            context.events.schedule_arrival::<ALONE>(next, link);
        }
        self.forward::<ALONE>(context, info.target, packet, NONE)
    }

    /// Forwards a packet at a switch by link `out`, or by the route if `out` is `NONE`. Returns the packet if `target`
    /// is a host.
    #[inline(always)]
    fn forward<const ALONE: bool>(
        &mut self,
        context: &mut Context,
        target: u32,
        packet: Packet,
        mut out: u32,
    ) -> Option<Arrived> {
        self.totals.packet_hops += 1;
        if target & TO_HOST == 0 {
            if out == NONE {
                let routing = &context.setup.routing;
                let now = context.now();
                out = routing.next_at_switch(target, packet.destination(), packet.flow, now);
            }
            self.send::<ALONE>(context, out, packet, Span::ZERO);
            return None;
        }
        self.totals.arrived_bytes += u64::from(packet.wire_bytes());
        Some(Arrived {
            host: target & !TO_HOST,
            packet,
            rest: NONE,
        })
    }

    /// Handles an arrival that needs the slow path (see [`Link::SLOW_ARRIVAL`]). The usual combinations come first,
    /// without the rest of the special handling.
    #[inline(never)]
    fn slow_arrival<const ALONE: bool>(
        &mut self,
        context: &mut Context,
        link: u32,
        info: Link,
    ) -> Option<Arrived> {
        let (packet, out, more) = match info.special & Link::SLOW_ARRIVAL {
            Link::WAITING => {
                let (packet, more) = self.take_arrived::<ALONE>(context, link, info);
                (packet, NONE, more)
            }
            Link::CROSSING => {
                let (packet, out) = self.crossings.arrive(context, link);
                (packet, out, false)
            }
            _ => return self.rare_arrivals(context, link, info),
        };
        let arrived = self.forward::<ALONE>(context, info.target, packet, out)?;
        let rest = if more { link } else { NONE };
        Some(Arrived { rest, ..arrived })
    }

    /// Handles arrivals with any special handling.
    #[inline(never)]
    fn rare_arrivals(&mut self, context: &mut Context, link: u32, info: Link) -> Option<Arrived> {
        loop {
            let (arrived, more) = self.rare_arrival(context, link, info);
            if arrived.is_some() || !more {
                let rest = if more { link } else { NONE };
                return arrived.map(|arrived| Arrived { rest, ..arrived });
            }
        }
    }

    /// Removes the packet that arrived over `link` and schedules the next arrival. Returns the packet, and true if the
    /// link's next packet is received at the same time.
    #[inline(always)]
    fn take_arrived<const ALONE: bool>(
        &mut self,
        context: &mut Context,
        link: u32,
        info: Link,
    ) -> (Packet, bool) {
        let now = context.now();
        let port = &mut self.ports[link as usize];
        let packet = port.arriving();
        let mut more = false;
        if let Some(next) = port.arrived_classed(now, packet) {
            let due = due(&mut self.reception, info, next);
            more = due == now && info.target & TO_HOST != 0;
            if !more {
                context.events.schedule_arrival::<ALONE>(due, link);
            }
        }
        Link::update_waiting(port);
        (packet, more)
    }

    /// Handles one arrival. Returns the packet if it reached a host, and true if the link's next packet, after this one
    /// or after one that reached no host, is received at the same time.
    #[inline(never)]
    fn rare_arrival(
        &mut self,
        context: &mut Context,
        link: u32,
        info: Link,
    ) -> (Option<Arrived>, bool) {
        let Link { target, special } = info;
        // Time at which the packet reached the far end, which is before now if a host delayed it.
        let mut arrival = context.now();
        let mut more = false;
        let (packet, out) = if special & Link::CROSSING == 0 {
            let port = &mut self.ports[link as usize];
            arrival = port.next_arrival().unwrap_or(arrival);
            let packet;
            (packet, more) = self.take_arrived::<false>(context, link, info);
            (packet, NONE)
        } else {
            self.crossings.arrive(context, link)
        };
        self.ingress = link;
        if special & Link::MAY_LOSE != 0
            && !self.survives(context, link, packet, (special, arrival))
        {
            self.totals.packet_hops += 1;
            return (None, more);
        }
        if special & Link::MORTAL != 0 && self.dies(context, target, packet, arrival) {
            return (None, more);
        }
        if special & Link::WATCHED_BY_HOST != 0 {
            self.programs[link as usize].arrival(context, link, &packet);
        }
        let out = if special & Link::REPLIES == 0 {
            out
        } else {
            // The program at the port of the reversed link chooses the path of replies.
            let next = self.programs[link as usize ^ 1].reply(context, link ^ 1, &packet);
            next.unwrap_or(out)
        };
        let arrived = self.forward::<false>(context, target, packet, out);
        if let Some(Arrived { host, packet, .. }) = arrived
            && special & Link::OBSERVED != 0
            && self.reception.takes_time
        {
            context.observe_reception(host, packet, context.now().since(arrival));
        }
        (arrived, more)
    }

    /// Returns true, after discarding the packet, if its host died since the packet reached the NIC.
    #[cold]
    fn dies(&mut self, context: &mut Context, target: u32, packet: Packet, arrival: Time) -> bool {
        let host = target & !TO_HOST;
        let died = self.deaths.get(&host).is_some_and(|&at| arrival <= at);
        if died {
            self.totals.packet_hops += 1;
            self.totals.arrived_bytes += u64::from(packet.wire_bytes());
            context.discard_extra(packet);
        }
        died
    }

    /// Handles the death of a host, which loses the packets that reached its NIC but no transport.
    pub fn host_dies(&mut self, host: u32, at: Time) {
        self.deaths.insert(host, at);
    }

    /// Applies loss and tracing at the far end of `link`. Returns false if the packet is lost.
    fn survives(
        &mut self,
        context: &mut Context,
        link: u32,
        packet: Packet,
        (special, arrival): (u32, Time),
    ) -> bool {
        let lost = (special & Link::LOSSY != 0 && self.is_lost(link))
            || (special & Link::FAULTY != 0 && context.loses_request(link, packet));
        if lost {
            let losses = self.losses.entry(link).or_default();
            losses.0 += 1;
            losses.1 += u64::from(packet.wire_bytes());
        }
        if special & Link::OBSERVED != 0 {
            context.observe_crossing(link, packet, arrival, lost);
        }
        if lost {
            self.discard(context, packet);
        }
        !lost
    }

    fn is_lost(&mut self, link: u32) -> bool {
        let (probability, stream) = self.loss.get_mut(&link).expect("a lossy link");
        stream.chance(*probability)
    }
}
