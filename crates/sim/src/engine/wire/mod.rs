//! Network between the hosts: ports, links, shared memories and port programs.

mod crossing;
pub mod discipline;
mod link;
mod program;
mod reception;

pub use crossing::Messages;
pub use link::{Link, TO_HOST};
use program::Place;
pub use program::Program;
use reception::Reception;

use super::context::Context;
use crate::output::AllocatorState;
use crate::packet::{NONE, Packet};
use crate::partition::{Cut, Subpartitions};
use crate::setup::Setup;
use crossing::Crossings;
use discipline::{Discipline, Memory, offer_fifo};
use duetime_core::random::{Purpose, Stream};
use duetime_core::{Span, Time};
use duetime_link::{Frame, Offer, Port, Sent, SharedBuffer};
use duetime_results::Totals;
use duetime_scenario::Scenario;
use duetime_scenario::model::RouterProgram;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// One partition's part of the network between the hosts.
pub struct Wire {
    /// Ports by link, each with its [`Link`] as tag.
    ports: Vec<Port<Packet>>,
    disciplines: Vec<Discipline>,
    pools: Vec<SharedBuffer>,
    /// Packets dropped by the current offer; empty between offers.
    dropped: Vec<Packet>,
    /// Programs by link; empty if no link has one.
    programs: Vec<Program>,
    /// Link of the last arrival, used by policers.
    ingress: u32,
    pub crossings: Crossings,
    reception: Reception,
    /// Time of each host's last death.
    deaths: FxHashMap<u32, Time>,
    loss: FxHashMap<u32, (f64, Stream)>,
    /// Packets and bytes lost, by link.
    losses: FxHashMap<u32, (u64, u64)>,
    totals: Totals,
}

/// Faults that affect the packet path.
#[derive(Clone, Copy, Debug, Default)]
pub struct WireFaults {
    /// True if links lose packets with requests.
    pub loses_requests: bool,
    /// True if hosts die.
    pub kills_hosts: bool,
}

/// A packet that reached a host.
pub struct Arrived {
    pub host: u32,
    pub packet: Packet,
    /// True if the link's next packet is received at the same time.
    pub more: bool,
}

impl Wire {
    /// Creates the ports and links of partition `index` of `cut`, without packets. `observed` is true if packets are
    /// watched.
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
            let discipline = Discipline::choose(scenario, setup, number as u32, port, pool);
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
            let program = Program::new(setup, number);
            let place = program.as_ref().and_then(Program::place);
            set(place == Some(Place::Port), Link::PROGRAMMED);
            set(place == Some(Place::FarEnd), Link::WATCHED_BY_HOST);
            let host = network.nodes[link.to as usize].host;
            programs.extend(program);
            let router_program = setup.router_program.as_ref();
            let polices = router_program.is_some_and(RouterProgram::polices);
            set(polices, Link::POLICED);
            let reads_replies = router_program.is_some_and(RouterProgram::reads_replies);
            set(reads_replies, Link::REPLIES);
            set(!matches!(discipline, Discipline::Fifo), Link::DISCIPLINED);
            disciplines.push(discipline);
            set(port.has_classes(), Link::CLASSED);
            set(observed, Link::OBSERVED);
            set(faults.loses_requests, Link::FAULTY);
            set(faults.kills_hosts && host.is_some(), Link::MORTAL);
            set(subpartitions.len() > 1, Link::SUBPARTITIONED);
            // Crossings, traces and the delays of hosts need to know each departure.
            if crosses || observed || network.nodes[link.from as usize].host.is_some() {
                port.notify_departures();
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

    /// Returns the number of links in the network.
    #[inline(always)]
    pub fn links(&self) -> usize {
        self.ports.len()
    }

    /// Returns the ports, by link.
    #[inline(always)]
    pub fn ports(&self) -> &[Port<Packet>] {
        &self.ports
    }

    /// Returns the port of `link`.
    #[inline(always)]
    pub fn port(&self, link: u32) -> &Port<Packet> {
        &self.ports[link as usize]
    }

    /// Returns the port of `link` after removing the packets that left by `now`.
    pub fn drained(&mut self, link: u32, now: Time) -> &Port<Packet> {
        let port = &mut self.ports[link as usize];
        port.drain(now);
        port
    }

    /// Restarts the maximum queue lengths of all ports.
    pub fn restart_maxima(&mut self) {
        self.ports.iter_mut().for_each(Port::restart_maximum);
    }

    /// Returns the packets and bytes lost on `link` so far.
    pub fn lost(&self, link: u32) -> (u64, u64) {
        self.losses.get(&link).copied().unwrap_or_default()
    }

    /// Returns the host at the near end of `link`, or `None` if a switch is there.
    #[inline(always)]
    pub fn host_before(&self, link: u32) -> Option<u32> {
        // The reverse link ends where the port is.
        let from = Link::of(&self.ports[link as usize ^ 1]).target;
        (from & TO_HOST != 0).then_some(from & !TO_HOST)
    }

    /// Returns the totals so far, with the bytes in ports and on links as in flight.
    pub fn totals(&self) -> Totals {
        let local = self.ports.iter().flat_map(|port| {
            // A packet sent on a crossing link is counted by the other partition.
            let sent = (Link::of(port).special & Link::CROSSING == 0).then(|| port.sent_frames());
            sent.into_iter().flatten().chain(port.waiting_frames())
        });
        let waiting = self.disciplines.iter().flat_map(Discipline::waiting);
        let in_flight = local.chain(self.crossings.frames()).chain(waiting);
        Totals {
            in_flight_bytes: in_flight.map(|packet| u64::from(packet.wire_bytes())).sum(),
            ..self.totals
        }
    }

    /// Returns the number of packet-hops so far.
    pub fn packet_hops(&self) -> u64 {
        self.totals.packet_hops
    }

    /// Sends a host's packet on its uplink, delayed by `delay`.
    #[inline(always)]
    pub fn inject(&mut self, context: &mut Context, link: u32, packet: Packet, delay: Span) {
        self.totals.injected_bytes += u64::from(packet.wire_bytes());
        self.send(context, link, packet, delay);
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
        let Some(sent) = offer_fifo(port, context.now(), packet, false, delay) else {
            return self.discard(context, packet);
        };
        if sent.first {
            let due = due(&mut self.reception, Link::of(port), sent.arrival);
            context.events.schedule_arrival::<true>(due, link);
        }
    }

    /// Sends a packet without delay on a link that only crosses partitions.
    #[inline(never)]
    fn send_across(&mut self, context: &mut Context, link: u32, packet: Packet) {
        let port = &mut self.ports[link as usize];
        match port.offer_fifo(context.now(), packet) {
            Some(sent) => self.crossings.send(context, link, port, sent.arrival),
            None => self.discard(context, packet),
        }
    }

    /// Sends a packet on a link with special handling. `at_once` is true if the port is idle and has no limit.
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
            return match offer_fifo(port, now, packet, at_once, delay) {
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

    /// Runs the program at the port of `link` at the time that it requested; see [`Program::tick`].
    pub fn tick(&mut self, context: &mut Context, link: u32, overdue: impl FnOnce(u32) -> u64) {
        let port = &mut self.ports[link as usize];
        self.programs[link as usize].tick(context, port, link, overdue);
    }

    /// Returns the state of D3's allocators, by link.
    pub fn allocators(&self, setup: &Setup) -> Vec<(u32, AllocatorState)> {
        let states = (0..).zip(&self.programs).filter_map(|(link, program)| {
            let state = program.allocator(|| setup.network.link_name(link))?;
            Some((link, state))
        });
        states.collect()
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
        let info = Link::of(port);
        if info.special & Link::CROSSING != 0 {
            return self.crossings.send(context, link, port, sent.arrival);
        }
        if sent.first {
            let due = due(&mut self.reception, info, sent.arrival);
            context.events.schedule_arrival_anywhere(due, link);
        }
    }

    /// Handles the arrival of a packet's last bit at the far end of `link`. A switch forwards the packet; a packet for
    /// a host is returned.
    #[inline(always)]
    pub fn arrival(&mut self, context: &mut Context, link: u32) -> Option<Arrived> {
        let port = &mut self.ports[link as usize];
        let info = Link::of(port);
        if info.special & Link::SLOW_ARRIVAL != 0 {
            let Arrived { host, packet, more } = self.slow_arrival(context, link, info)?;
            return Some(Arrived { host, packet, more });
        }
        let packet = port.arriving();
        let next = port.arrived(packet);
        if info.target & TO_HOST != 0 {
            let host = info.target & !TO_HOST;
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
        self.forward(context, info.target, packet, NONE)
    }

    /// Forwards a packet at a switch by link `out`, or by the route if `out` is `NONE`. Returns the packet if `target`
    /// is a host.
    #[inline(always)]
    fn forward(
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

    /// Handles an arrival that needs the slow path (see [`Link::SLOW_ARRIVAL`]).
    fn slow_arrival(&mut self, context: &mut Context, link: u32, info: Link) -> Option<Arrived> {
        loop {
            let (arrived, more) = self.one_slow_arrival(context, link, info);
            if arrived.is_some() || !more {
                return arrived.map(|arrived| Arrived { more, ..arrived });
            }
        }
    }

    /// Handles one arrival. Returns the packet if it reached a host, and [`Arrived::more`] also for a packet that did
    /// not.
    fn one_slow_arrival(
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
            let packet = port.arriving();
            arrival = port.next_arrival().unwrap_or(arrival);
            if let Some(next) = port.arrived_classed(context.now(), packet) {
                let due = due(&mut self.reception, info, next);
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
        let out = if special & Link::REPLIES == 0 {
            out
        } else {
            // The program at the port of the reversed link chooses the path of replies.
            let next = self.programs[link as usize ^ 1].reply(context, link ^ 1, &packet);
            next.unwrap_or(out)
        };
        let arrived = self.forward(context, target, packet, out);
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

    /// Discards a packet that goes no further.
    #[cold]
    fn discard(&mut self, context: &mut Context, packet: Packet) {
        self.totals.dropped_bytes += u64::from(packet.wire_bytes());
        context.discard_extra(packet);
    }
}

/// Returns the time at which the node at the far end of `link` receives the link's next packet, which arrives there at
/// `arrival`.
#[inline(always)]
fn due(reception: &mut Reception, link: Link, arrival: Time) -> Time {
    if link.target & TO_HOST == 0 {
        return arrival;
    }
    reception.due(link.target & !TO_HOST, arrival)
}
