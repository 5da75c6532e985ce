//! Network between the hosts: ports, links, shared memories and port programs.

mod arriving;
mod crossing;
mod discipline;
mod inlets;
mod link;
mod program;
mod queue;
mod reception;
mod sending;

pub use arriving::Arrived;
pub use crossing::Messages;
pub use inlets::{Arrival, Gathered};
pub use link::{Link, TO_HOST};
use program::Place;
pub use program::Program;
pub use queue::Queue;
use reception::Reception;

use super::context::Context;
use super::events::Events;
use super::recorder::Snapshot;
use crate::output::AllocatorState;
use crate::packet::{NONE, Packet};
use crate::partition::{Cut, Subpartitions};
use crate::setup::Setup;
use crossing::Crossings;
use discipline::Discipline;
use duetime_core::Time;
use duetime_core::random::{Purpose, Stream};
use duetime_link::{Frame, Port, SharedBuffer};
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
        let mut crossings = Crossings::new(network, cut, index);
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
            let target = host.map_or_else(|| setup.routing.switch(link.to), |host| host | TO_HOST);
            let is_plain = special & (Link::SLOW_ARRIVAL & !Link::CROSSING | Link::CLASSED) == 0;
            let gathers = is_plain && subpartitions.len() > 1;
            if crosses && !gathers {
                crossings.queue_at(target);
            }
            let is_inlet = subpartitions.is_inlet(link, &cut.partition_of, index);
            if !crosses && host.is_none() && gathers && is_inlet {
                special |= Link::INLET;
            }
            // Crossings, traces and the delays of hosts need to know each departure.
            if crosses || observed || network.nodes[link.from as usize].host.is_some() {
                port.notify_departures();
            }
            port.tag = [target, special];
        }
        Self {
            programs,
            ingress: NONE,
            crossings,
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

    /// Receives packets from another partition and empties `messages`.
    #[cfg_attr(
        not(feature = "threads"),
        allow(dead_code, reason = "only a run on several threads has crossings")
    )]
    pub fn receive(&mut self, context: &mut Context, messages: &mut Messages) {
        self.crossings.receive(context, messages);
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

    /// Prefetches what an offer to `port` touches outside of the port, which must have been prefetched.
    #[inline(always)]
    pub fn prefetch_offered(&self, port: &Port<Packet>) {
        port.prefetch_wire();
        let target = Link::of(port).target;
        if target & TO_HOST != 0 {
            self.reception.prefetch(target & !TO_HOST);
        }
    }

    /// Returns the counters of all ports at time `at`.
    pub fn snapshots(&mut self, at: Time) -> Vec<Snapshot> {
        (0..self.links() as u32)
            .map(|link| {
                let lost = self.losses.get(&link).copied().unwrap_or_default();
                Snapshot::take(self.drained(link, at), lost, at)
            })
            .collect()
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

    /// Returns the host at the near end of `link`, or `None` if a switch is there.
    #[inline(always)]
    pub fn host_before(&self, link: u32) -> Option<u32> {
        // The reverse link ends where the port is.
        let from = Link::of(&self.ports[link as usize ^ 1]).target;
        (from & TO_HOST != 0).then_some(from & !TO_HOST)
    }

    /// Returns the totals so far, with the bytes in ports and on links as in flight.
    pub fn totals(&self, events: &Events) -> Totals {
        let local = self.ports.iter().flat_map(|port| {
            // Other packets on these links are among the arrivals.
            let elsewhere = Link::CROSSING | Link::INLET;
            let sent = (Link::of(port).special & elsewhere == 0).then(|| port.sent_frames());
            sent.into_iter().flatten().chain(port.waiting_frames())
        });
        let gathered = events.inlets.iter().flat_map(|inlets| {
            let in_rings = inlets.backlogged.iter().flat_map(|&(link, known)| {
                let sent = self.ports[link as usize].sent_frames();
                sent.skip(known as usize)
            });
            let arrivals = inlets.arrivals.iter().map(|arrival| arrival.packet);
            arrivals.chain(in_rings)
        });
        let waiting = self.disciplines.iter().flat_map(Discipline::waiting);
        let crossing = self.crossings.frames();
        let in_flight = local.chain(gathered).chain(crossing).chain(waiting);
        Totals {
            in_flight_bytes: in_flight.map(|packet| u64::from(packet.wire_bytes())).sum(),
            ..self.totals
        }
    }

    /// Returns the number of packet-hops so far.
    pub fn packet_hops(&self) -> u64 {
        self.totals.packet_hops
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
