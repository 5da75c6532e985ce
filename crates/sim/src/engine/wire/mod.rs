//! The network between the hosts: ports, links, shared memories, and what the ports' programs do.

mod crossing;
pub mod discipline;
mod link;
mod program;
mod reception;

pub use crossing::Messages;
pub use link::{Link, TO_HOST};
pub use program::{Place, Program};
use reception::Reception;

use super::context::Context;
use crate::output::AllocatorState;
use crate::packet::{NONE, Packet};
use crate::partition::{Cut, Subpartitions};
use crate::setup::Setup;
use crossing::Crossings;
use discipline::{Discipline, Memory, take_in};
use duetime_core::random::{Purpose, Stream};
use duetime_core::{Span, Time};
use duetime_link::{Frame, Offer, Port, Sent, SharedBuffer};
use duetime_results::Totals;
use duetime_scenario::Scenario;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The network between the hosts, as far as one partition has it.
pub struct Wire {
    /// Each with its [`Link`] in its tag.
    ports: Vec<Port<Packet>>,
    disciplines: Vec<Discipline>,
    pools: Vec<SharedBuffer>,
    /// What a port drops when a packet is offered; empty otherwise.
    dropped: Vec<Packet>,
    /// By link; empty if the ports have none.
    programs: Vec<Program>,
    /// Where ports police: the link of the last arrival.
    ingress: u32,
    pub crossings: Crossings,
    reception: Reception,
    /// Times at which hosts died: the last of each.
    deaths: FxHashMap<u32, Time>,
    loss: FxHashMap<u32, (f64, Stream)>,
    /// Packets and bytes lost on links.
    losses: FxHashMap<u32, (u64, u64)>,
    totals: Totals,
}

/// Faults that the packet path must know of.
#[derive(Clone, Copy, Debug, Default)]
pub struct WireFaults {
    /// Links lose requests.
    pub loses_requests: bool,
    /// Hosts die.
    pub kills_hosts: bool,
}

/// A packet that has reached a host.
pub struct Arrived {
    pub host: u32,
    pub packet: Packet,
    /// The link's next packet has arrived too: the host receives both at once.
    pub more: bool,
}

impl Wire {
    /// The ports and links of partition `index` of `cut`, without packets. `observed`: packets are watched.
    pub fn new(
        scenario: &Scenario,
        setup: &Setup,
        cut: &Arc<Cut>,
        index: u16,
        subpartitions: &Subpartitions,
        observed: bool,
        faults: WireFaults,
    ) -> Self {
        let network = &setup.network;
        let mut ports = setup.ports(scenario);
        let (pools, pool_of) = setup.pools(scenario);
        let mut disciplines = Vec::with_capacity(ports.len());
        let mut loss = FxHashMap::default();
        let mut programs = Vec::new();
        for (number, (link, port)) in network.links.iter().zip(&mut ports).enumerate() {
            let pool = Some(pool_of[number]).filter(|&pool| pool != NONE);
            let discipline = Discipline::of(scenario, setup, number as u32, port, pool);
            let mut special = 0;
            let mut set = |condition: bool, bit: u32| special |= if condition { bit } else { 0 };
            let crosses = cut.is_crossing(network, number);
            set(crosses, Link::CROSSING);
            debug_assert!(!crosses || network.nodes[link.to as usize].host.is_none());
            if link.loss > 0.0 {
                set(true, Link::LOSSY);
                let stream = setup.streams.stream(number as u64, Purpose::Loss);
                loss.insert(number as u32, (link.loss, stream));
            }
            let place = Program::place(setup, number);
            set(place == Some(Place::Port), Link::PROGRAMMED);
            set(place == Some(Place::FarEnd), Link::WATCHED_BY_HOST);
            let host = network.nodes[link.to as usize].host;
            programs.extend(place.map(Program::at));
            let polices = setup.d3.is_some_and(|config| config.police.is_some());
            set(polices, Link::POLICED);
            set(!matches!(discipline, Discipline::Fifo), Link::DISCIPLINED);
            disciplines.push(discipline);
            set(port.has_classes(), Link::CLASSED);
            set(observed, Link::OBSERVED);
            set(faults.loses_requests, Link::FAULTY);
            set(faults.kills_hosts && host.is_some(), Link::MORTAL);
            set(subpartitions.len() > 1, Link::SUBPARTITIONED);
            // Another partition, an observer and the delay of a host's packets must know of each departure.
            if crosses || observed || network.nodes[link.from as usize].host.is_some() {
                port.tell_departures();
            }
            let target = host.map_or_else(|| setup.routing.switch(link.to), |host| host | TO_HOST);
            port.tag = [target, special];
        }
        Self {
            programs,
            ingress: NONE,
            crossings: Crossings::new(network, cut, index),
            reception: Reception::new(setup),
            deaths: FxHashMap::default(),
            ports,
            disciplines,
            pools,
            dropped: Vec::new(),
            loss,
            losses: FxHashMap::default(),
            totals: Totals::default(),
        }
    }

    /// How many links the network has.
    #[inline(always)]
    pub fn links(&self) -> usize {
        self.ports.len()
    }

    /// The ports, by link.
    #[inline(always)]
    pub fn ports(&self) -> &[Port<Packet>] {
        &self.ports
    }

    /// The port of `link`.
    #[inline(always)]
    pub fn port(&self, link: u32) -> &Port<Packet> {
        &self.ports[link as usize]
    }

    /// The same with everything that has left by `now` gone.
    pub fn drained(&mut self, link: u32, now: Time) -> &Port<Packet> {
        let port = &mut self.ports[link as usize];
        port.drain(now);
        port
    }

    /// From here on the ports' largest occupancies count anew.
    pub fn restart_maxima(&mut self) {
        self.ports.iter_mut().for_each(Port::restart_maximum);
    }

    /// Packets and bytes lost on `link` so far.
    pub fn lost(&self, link: u32) -> (u64, u64) {
        self.losses.get(&link).copied().unwrap_or_default()
    }

    /// The host at the near end of `link`, if it is one.
    #[inline(always)]
    pub fn host_before(&self, link: u32) -> Option<u32> {
        // The other direction of the same link ends where the port is.
        let from = Link::of(&self.ports[link as usize ^ 1]).target;
        (from & TO_HOST != 0).then_some(from & !TO_HOST)
    }

    /// What has crossed links, been lost and so on, and what is in ports or on links.
    pub fn totals(&self) -> Totals {
        let own = self.ports.iter().flat_map(|port| {
            // What has been sent on a crossing link is in the other partition.
            let sent = (Link::of(port).special & Link::CROSSING == 0).then(|| port.sent_frames());
            sent.into_iter().flatten().chain(port.waiting_frames())
        });
        let waiting = self.disciplines.iter().flat_map(Discipline::waiting);
        let in_flight = own.chain(self.crossings.frames()).chain(waiting);
        Totals {
            in_flight_bytes: in_flight.map(|packet| u64::from(packet.wire_bytes())).sum(),
            ..self.totals
        }
    }

    /// Packets that have crossed a link so far.
    pub fn packet_hops(&self) -> u64 {
        self.totals.packet_hops
    }

    /// A host sends a packet on its uplink, which it leaves later by `delay`.
    #[inline(always)]
    pub fn inject(&mut self, context: &mut Context, link: u32, packet: Packet, delay: Span) {
        self.totals.injected_bytes += u64::from(packet.wire_bytes());
        self.send(context, link, packet, delay);
    }

    /// The same on a link that is known to be free, from a NIC that pulls and so has no limits; `plain`: nothing about
    /// the link is special.
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
        if !plain {
            let special = Link::of(port).special & !Link::ON_ARRIVAL;
            return self.send_specially(context, link, packet, special, true, delay);
        }
        let sent = port.send_at_once(context.now(), packet, delay);
        if sent.first {
            let due = due(&mut self.reception, Link::of(port), sent.arrival);
            context.events.schedule_arrival::<true>(due, link);
        }
    }

    /// Offers a packet to the port of `link`, which it leaves later by `delay`.
    #[inline(always)]
    fn send(&mut self, context: &mut Context, link: u32, packet: Packet, delay: Span) {
        let port = &mut self.ports[link as usize];
        let special = Link::of(port).special & !Link::ON_ARRIVAL;
        if special != 0 {
            if special == Link::CROSSING && delay == Span::ZERO {
                return self.send_across(context, link, packet);
            }
            return self.send_specially(context, link, packet, special, false, delay);
        }
        let Some(sent) = take_in(port, context.now(), packet, false, delay) else {
            return self.discard(context, packet);
        };
        if sent.first {
            let due = due(&mut self.reception, Link::of(port), sent.arrival);
            context.events.schedule_arrival::<true>(due, link);
        }
    }

    /// The same on a link into other partitions that is plain otherwise, without a delay.
    #[inline(never)]
    fn send_across(&mut self, context: &mut Context, link: u32, packet: Packet) {
        let port = &mut self.ports[link as usize];
        match port.offer_fifo(context.now(), packet) {
            Some(sent) => self.crossings.send(context, link, port, sent.arrival),
            None => self.discard(context, packet),
        }
    }

    /// The same with everything that a link may need; `at_once`: as [`Self::inject_at_once`].
    fn send_specially(
        &mut self,
        context: &mut Context,
        link: u32,
        packet: Packet,
        special: u32,
        at_once: bool,
        delay: Span,
    ) {
        let now = context.now();
        if special & !(Link::SUBPARTITIONED | Link::CROSSING) == 0 {
            let port = &mut self.ports[link as usize];
            return match take_in(port, now, packet, at_once, delay) {
                Some(sent) => self.sent(context, link, sent),
                None => self.discard(context, packet),
            };
        }
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
            Offer::Queued { wake: Some(wake) } => context.events.schedule_departure(wake, link),
            Offer::Queued { wake: None } | Offer::Dropped => {}
        }
        while let Some(dropped) = self.dropped.pop() {
            self.discard(context, dropped);
        }
    }

    /// Whether the program at the port of `link` lets a packet come to it; the port drops it otherwise.
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

    /// The time that the program at the port of `link` asked for has come; see [`Program::tick`].
    pub fn tick(&mut self, context: &mut Context, link: u32, overdue: impl FnOnce(u32) -> u64) {
        let port = &mut self.ports[link as usize];
        self.programs[link as usize].tick(context, port, link, overdue);
    }

    /// What D3's allocators hold, by link.
    pub fn allocators(&self, setup: &Setup) -> Vec<(u32, AllocatorState)> {
        let held = (0..).zip(&self.programs).filter_map(|(link, program)| {
            let state = program.allocator(|| setup.network.link_name(link))?;
            Some((link, state))
        });
        held.collect()
    }

    /// The link is free, as the port asked to be told. What it sends leaves later by the delay that `delay` draws.
    pub fn departure(&mut self, context: &mut Context, link: u32, delay: impl FnOnce() -> Span) {
        let port = &mut self.ports[link as usize];
        let discipline = &mut self.disciplines[link as usize];
        let Some((sent, wake)) = discipline.departure(port, context.now()) else {
            return;
        };
        // Where others need not know of departures there is no event: none may show in the records.
        context.events.processed -= u64::from(port.has_classes());
        if let Some(wake) = wake {
            context.events.schedule_departure(wake, link);
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

    #[inline]
    fn sent(&mut self, context: &mut Context, link: u32, sent: Sent) {
        let port = &mut self.ports[link as usize];
        let of = Link::of(port);
        if of.special & Link::CROSSING != 0 {
            return self.crossings.send(context, link, port, sent.arrival);
        }
        if sent.first {
            let due = due(&mut self.reception, of, sent.arrival);
            context.events.schedule_arrival_anywhere(due, link);
        }
    }

    /// A packet's last bit arrives at the far end of `link`: a switch passes it on; what reached a host is returned.
    #[inline(always)]
    pub fn arrival(&mut self, context: &mut Context, link: u32) -> Option<Arrived> {
        let port = &mut self.ports[link as usize];
        let of = Link::of(port);
        if of.special & Link::SLOW_ARRIVAL != 0 {
            let Arrived { host, packet, more } = self.arrival_with_care(context, link, of)?;
            return Some(Arrived { host, packet, more });
        }
        let packet = port.arriving();
        let next = port.arrived(packet);
        if of.target & TO_HOST != 0 {
            let host = of.target & !TO_HOST;
            let mut more = false;
            if let Some(next) = next {
                let due = self.reception.due(host, next);
                more = due == context.now();
                if !more {
                    context.events.schedule_arrival::<true>(due, link);
                }
            }
            self.totals.packet_hops += 1;
            self.totals.arrived_bytes += u64::from(packet.wire_bytes());
            return Some(Arrived { host, packet, more });
        }
        if let Some(next) = next {
            context.events.schedule_arrival::<true>(next, link);
        }
        self.pass_on(context, of.target, packet, NONE)
    }

    /// `out`: the link to leave a switch by, or `NONE` if that is not known yet.
    #[inline(always)]
    fn pass_on(
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
                out = routing.next_at_switch(target, packet.destination(), packet.flow);
            }
            self.send(context, out, packet, Span::ZERO);
            return None;
        }
        self.totals.arrived_bytes += u64::from(packet.wire_bytes());
        Some(Arrived {
            host: target & !TO_HOST,
            packet,
            more: false,
        })
    }

    /// The same where the link comes from another partition or sub-partition or a port with classes, loses packets or is
    /// watched.
    fn arrival_with_care(&mut self, context: &mut Context, link: u32, of: Link) -> Option<Arrived> {
        loop {
            let (arrived, more) = self.one_arrival_with_care(context, link, of);
            if arrived.is_some() || !more {
                return arrived.map(|arrived| Arrived { more, ..arrived });
            }
        }
    }

    /// Returns what reached a host, and [`Arrived::more`], also of a packet that reached none.
    fn one_arrival_with_care(
        &mut self,
        context: &mut Context,
        link: u32,
        of: Link,
    ) -> (Option<Arrived>, bool) {
        let Link { target, special } = of;
        // Time at which the packet reached the far end: before now if a host has delayed it.
        let mut arrival = context.now();
        let mut more = false;
        let (packet, out) = if special & Link::CROSSING == 0 {
            let port = &mut self.ports[link as usize];
            let packet = port.arriving();
            arrival = port.next_arrival().unwrap_or(arrival);
            if let Some(next) = port.arrived_classed(context.now(), packet) {
                let due = due(&mut self.reception, of, next);
                more = due == context.now() && target & TO_HOST != 0;
                if !more {
                    context.events.schedule_arrival::<false>(due, link);
                }
            }
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
        let arrived = self.pass_on(context, target, packet, out);
        if let Some(Arrived { host, packet, .. }) = arrived
            && special & Link::OBSERVED != 0
            && self.reception.takes_time
        {
            context.observe_reception(host, packet, context.now().since(arrival));
        }
        (arrived, more)
    }

    /// Returns true, after discarding the packet, if its host has died since the packet reached the NIC.
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

    /// The host dies: it loses the packets that have reached its NIC and that no transport has yet.
    pub fn host_dies(&mut self, host: u32, at: Time) {
        self.deaths.insert(host, at);
    }

    /// Loss and observation at the far end; false if the packet is lost.
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

    /// A packet that goes no further.
    #[cold]
    fn discard(&mut self, context: &mut Context, packet: Packet) {
        self.totals.dropped_bytes += u64::from(packet.wire_bytes());
        context.discard_extra(packet);
    }
}

/// Returns the time at which the node at the far end of a link has the packet that gets there at `arrival`, and that is
/// the first of the link's.
#[inline(always)]
fn due(reception: &mut Reception, link: Link, arrival: Time) -> Time {
    if link.target & TO_HOST == 0 {
        return arrival;
    }
    reception.due(link.target & !TO_HOST, arrival)
}
