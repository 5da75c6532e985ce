//! Sending: admission to ports, special handling, and the next arrival.

use super::discipline::{self, Discipline, Memory};
use super::inlets;
use super::link::Link;
use super::reception::Reception;
use super::{Wire, due};
use crate::engine::context::Context;
use crate::packet::{NONE, Packet};
use duetime_core::{Span, Time};
use duetime_link::{Frame, Offer, Port, Sent};

impl Wire {
    /// Sends a host's packet on its uplink, delayed by `delay`.
    #[inline(always)]
    pub fn inject(&mut self, context: &mut Context, link: u32, packet: Packet, delay: Span) {
        self.totals.injected_bytes += u64::from(packet.wire_bytes());
        if Link::of(&self.ports[link as usize]).special & Link::SUBPARTITIONED == 0 {
            self.send::<true>(context, link, packet, delay);
        } else {
            self.send::<false>(context, link, packet, delay);
        }
    }

    /// Sends a host's packet on an uplink that is free, from a NIC that pulls and therefore has no limits. `plain` is
    /// true if the link needs no special handling.
    #[inline(always)]
    pub fn inject_at_once(
        &mut self,
        context: &mut Context,
        link: u32,
        plain: bool,
        packet: Packet,
        delay: Span,
    ) {
        self.totals.injected_bytes += u64::from(packet.wire_bytes());
        let port = &mut self.ports[link as usize];
        if !plain && !ignored_by_program(Link::of(port).special & !Link::LOSSY, &packet) {
            if Link::of(port).special & !Link::LOSSY == Link::SUBPARTITIONED {
                // The other function could not get the packet in registers. The rule is that of `schedule` for a link
                // to a switch that is no inlet; calling it here adds 3 instructions to a packet-hop of W2.
                let sent = port.send_at_once(context.now(), packet, delay);
                if sent.first {
                    context.events.schedule_arrival_anywhere(sent.arrival, link);
                }
                return;
            }
            return self.send_specially_at_once(context, link, packet, delay);
        }
        let sent = (packet, port.send_at_once(context.now(), packet, delay));
        schedule::<true>(context, &mut self.reception, port, link, sent);
    }

    /// Offers a packet to the port of `link`, which it leaves later by `delay`. `ALONE` is true if there is only one
    /// sub-partition, in this and the following methods.
    #[inline(always)]
    pub(super) fn send<const ALONE: bool>(
        &mut self,
        context: &mut Context,
        link: u32,
        packet: Packet,
        delay: Span,
    ) {
        let port = &mut self.ports[link as usize];
        let special = Link::of(port).special & !(Link::ON_ARRIVAL | Link::SUBPARTITIONED);
        if special != 0 && !ignored_by_program(special, &packet) {
            if special == Link::CROSSING {
                return self.send_across(context, link, packet, delay);
            }
            return self.send_specially::<ALONE>(context, link, packet, special, delay);
        }
        if !ALONE {
            inlets::restart_if_idle(port, context.now());
        }
        let Some(sent) = port.offer_fifo_admitted(context.now(), packet, delay) else {
            return self.discard(context, packet);
        };
        schedule::<ALONE>(context, &mut self.reception, port, link, sent);
    }

    /// Sends a packet on a link whose only special handling is that it crosses partitions.
    #[inline(never)]
    fn send_across(&mut self, context: &mut Context, link: u32, packet: Packet, delay: Span) {
        let port = &mut self.ports[link as usize];
        match port.offer_fifo_admitted(context.now(), packet, delay) {
            Some((admitted, sent)) => {
                let sent = (admitted, sent.arrival);
                self.crossings.send(context, link, port, sent);
            }
            None => self.discard(context, packet),
        }
    }

    /// Sends a packet on a link with special handling. The usual combinations come first, without the rest.
    #[inline(never)]
    fn send_specially<const ALONE: bool>(
        &mut self,
        context: &mut Context,
        link: u32,
        packet: Packet,
        special: u32,
        delay: Span,
    ) {
        match special {
            Link::PROGRAMMED | Link::PROGRAMMED_SAMPLED => {
                self.send_through_program::<ALONE>(context, link, packet, delay);
            }
            Link::BY_CLASS => self.send_by_class::<ALONE>(context, link, packet, delay),
            _ => self.send_rarely(context, link, packet, special, (false, delay)),
        }
    }

    /// Sends a packet on a link whose only special handling is that its port has a program.
    #[inline(always)]
    fn send_through_program<const ALONE: bool>(
        &mut self,
        context: &mut Context,
        link: u32,
        packet: Packet,
        delay: Span,
    ) {
        let port = &mut self.ports[link as usize];
        self.programs[link as usize].packet(context, port, link, &packet);
        match port.offer_fifo_admitted(context.now(), packet, delay) {
            Some(sent) => schedule::<ALONE>(context, &mut self.reception, port, link, sent),
            None => self.discard(context, packet),
        }
    }

    /// Sends a packet on a link with special handling whose port is idle and has no limit.
    #[inline(never)]
    fn send_specially_at_once(
        &mut self,
        context: &mut Context,
        link: u32,
        packet: Packet,
        delay: Span,
    ) {
        let port = &mut self.ports[link as usize];
        let special = Link::of(port).special & !(Link::ON_ARRIVAL | Link::SUBPARTITIONED);
        if special & !Link::PROGRAMMED != 0 {
            return self.send_rarely(context, link, packet, special, (true, delay));
        }
        if special == Link::PROGRAMMED {
            self.programs[link as usize].packet(context, port, link, &packet);
        }
        let sent = (packet, port.send_at_once(context.now(), packet, delay));
        schedule::<false>(context, &mut self.reception, port, link, sent);
    }

    /// Sends a packet on a link whose only special handling is that its port serves by class.
    #[inline(always)]
    fn send_by_class<const ALONE: bool>(
        &mut self,
        context: &mut Context,
        link: u32,
        packet: Packet,
        delay: Span,
    ) {
        let now = context.now();
        let offer = match self.disciplines[link as usize] {
            Discipline::StrictPriority => {
                discipline::offer_classed(&mut self.ports[link as usize], now, packet, delay)
            }
            Discipline::SharedStrictPriority(pool) => {
                self.pools[pool as usize].offer(&mut self.ports, link, now, packet)
            }
            // Disciplines with their own queue may drop another packet.
            _ => {
                return self.send_rarely(context, link, packet, Link::BY_CLASS, (false, delay));
            }
        };
        match offer {
            Offer::Sent(sent) => {
                let port = &mut self.ports[link as usize];
                schedule::<ALONE>(context, &mut self.reception, port, link, (packet, sent));
            }
            Offer::Queued { wake } => self.queued(context, link, wake),
            Offer::Dropped => self.discard(context, packet),
        }
    }

    /// Sends a packet on a link with any special handling.
    #[inline(never)]
    fn send_rarely(
        &mut self,
        context: &mut Context,
        link: u32,
        packet: Packet,
        special: u32,
        (at_once, delay): (bool, Span),
    ) {
        let now = context.now();
        if special & Link::POLICED != 0 && !self.admits(context, link, packet, special) {
            return;
        }
        if special & Link::PROGRAMMED != 0 {
            let port = &mut self.ports[link as usize];
            self.programs[link as usize].packet(context, port, link, &packet);
        }
        let marks_before = if special & Link::OBSERVED == 0 {
            0
        } else {
            self.ports[link as usize].counters().marks
        };
        let memory = Memory {
            ports: &mut self.ports,
            pools: &mut self.pools,
            link,
        };
        let discipline = &mut self.disciplines[link as usize];
        let offer = discipline.offer(memory, now, packet, (at_once, delay), &mut self.dropped);
        if special & Link::OBSERVED != 0 {
            let marked = self.ports[link as usize].counters().marks > marks_before;
            context.observe_offer(link, packet, marked, delay);
            for dropped in &self.dropped {
                context.observe_drop(link, dropped);
            }
        }
        match offer {
            Offer::Sent(sent) => self.sent(context, link, sent),
            Offer::Queued { wake } => self.queued(context, link, wake),
            Offer::Dropped => {}
        }
        while let Some(dropped) = self.dropped.pop() {
            self.discard(context, dropped);
        }
    }

    /// Returns true if the program at the port of `link` admits a packet; otherwise the packet is dropped.
    #[cold]
    #[inline(never)]
    fn admits(&mut self, context: &mut Context, link: u32, packet: Packet, special: u32) -> bool {
        if self.programs[link as usize].admits(context, self.ingress, link, &packet) {
            return true;
        }
        self.ports[link as usize].refuse(packet);
        if special & Link::OBSERVED != 0 {
            context.observe_offer(link, packet, false, Span::ZERO);
            context.observe_drop(link, &packet);
        }
        self.discard(context, packet);
        false
    }

    /// Handles a departure event of `link`: the link is free. `delay` draws the extra delay of the packet sent.
    pub fn departure(&mut self, context: &mut Context, link: u32, delay: impl FnOnce() -> Span) {
        let port = &mut self.ports[link as usize];
        let discipline = &mut self.disciplines[link as usize];
        let Some((sent, wake)) = discipline.departure(port, context.now()) else {
            return;
        };
        // Whether a port with classes needs departure events depends on the partitions and on tracing, so they must not
        // be counted in the records.
        context.events.processed -= u64::from(port.has_classes());
        if let Some(wake) = wake {
            context.events.schedule_departure::<false>(wake, link);
        }
        let delay = delay();
        if Link::of(port).special & Link::OBSERVED != 0
            && let Some(packet) = port.last_sent()
        {
            context.observe_delay(link, &packet, delay);
        }
        let sent = discipline::delayed(port, sent, delay);
        self.sent(context, link, sent);
    }

    /// Handles that a packet waits at the port of `link`, which requested a departure event at `wake`, if any.
    #[inline(never)]
    fn queued(&mut self, context: &mut Context, link: u32, wake: Option<Time>) {
        Link::update_waiting(&mut self.ports[link as usize]);
        if let Some(wake) = wake {
            context.events.schedule_departure::<false>(wake, link);
        }
    }

    #[inline]
    fn sent(&mut self, context: &mut Context, link: u32, sent: Sent) {
        let port = &mut self.ports[link as usize];
        let info = Link::of(port);
        let packet = port.last_sent().expect("a packet was just sent");
        if info.special & Link::CROSSING != 0 {
            let sent = (packet, sent.arrival);
            return self.crossings.send(context, link, port, sent);
        }
        schedule::<false>(context, &mut self.reception, port, link, (packet, sent));
    }
}

/// Returns true if a link's only special handling is a program that has nothing to do for this packet; see
/// [`Program::packet`](super::Program::packet).
#[inline(always)]
fn ignored_by_program(special: u32, packet: &Packet) -> bool {
    special == Link::PROGRAMMED && packet.extra == NONE
}

/// Schedules the arrival of the packet that was just sent on `link` at the far end, unless that of an earlier one is
/// pending. The link does not cross partitions.
#[inline(always)]
fn schedule<const ALONE: bool>(
    context: &mut Context,
    reception: &mut Reception,
    port: &mut Port<Packet>,
    link: u32,
    (packet, sent): (Packet, Sent),
) {
    let info = Link::of(port);
    if !ALONE && info.special & Link::INLET != 0 {
        return inlets::expect_arrival(context, port, link, (packet, sent.arrival));
    }
    if !sent.first {
        return;
    }
    let due = due(reception, info, sent.arrival);
    if ALONE {
        context.events.schedule_arrival::<true>(due, link);
    } else {
        context.events.schedule_arrival_anywhere(due, link);
    }
}
