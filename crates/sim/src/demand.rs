//! What the workloads of one run ask of the network, and the earliest that any transport could hand it over.
//!
//! The workloads are driven without a network: every message arrives at the earliest instant at which any transport,
//! over any path, could deliver it: no handshake, no queue, one packet of the least size through each switch before
//! and after the slowest stage, and the least time that hosts take to receive a packet. So whatever a delivery causes
//! (a leaf's answer, an aggregator's) is submitted no later than in any run with a transport:
//!
//! - A leaf answers a drawn time after its query's arrival, and its query cannot arrive earlier than here.
//! - An aggregator answers when enough of its children have, or when it gives up. The n-th arrival of an answer is no
//!   earlier in a run than here, as no single one is; it gives up a drawn time after its own query's arrival.
//!
//! What is not bounded: in a tree whose queries follow each other (`arrival = "back-to-back"`), a faster transport is
//! asked more. Such workloads are listed in [`Demand::unknown`], and nothing of them is in the demand.

mod queries;
mod ways;

pub use queries::AskedQuery;
pub use ways::{Crossing, SharedLink, Tier};

use crate::SetupError;
use crate::setup::least_receive_delay;
use crate::topology::Network;
use crate::workload::{Actions, Message, Wake, Workloads};
use duetime_core::random::Streams;
use duetime_core::{Rate, Span, Time};
use duetime_results::Class;
use duetime_scenario::model::{
    DeadlineFrom, Oldi, Protocol, QueryArrival, Scenario, Servers, WorkloadKind,
};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use ways::Ways;

/// Bytes of IP and TCP headers on every segment; D3's packets have no fewer.
const HEADER_BYTES: u32 = 40;

/// What the workloads of one run ask.
#[derive(Debug)]
pub struct Demand {
    /// Every message, by (hand-over, source, number at the source). Flows without an end are among them.
    pub flows: Vec<AskedFlow>,
    /// Every query that is judged.
    pub queries: Vec<AskedQuery>,
    /// The workloads of which nothing is known beforehand, by index.
    pub unknown: Vec<u16>,
    ways: Ways,
}

/// A message that some transport has to carry.
#[derive(Clone, Debug)]
pub struct AskedFlow {
    /// The message. Its hand-over is the earliest that any transport can bring about; see `clock` for its deadline.
    pub message: Message,
    /// Its bytes on a link: payload, and headers on each of the fewest packets that the scenario's transports need.
    pub wire_bytes: u64,
    /// The earliest that it can be delivered, were it alone.
    pub earliest: Time,
    /// What its deadline depends on.
    pub clock: Clock,
}

/// What an absolute deadline depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// On nothing: it is the same under every transport.
    Fixed,
    /// On when a query arrived at the sender or its parent. It is as if queries were delivered at once; a transport
    /// that holds them back moves it.
    Query,
    /// On when the answers of its children arrived, or a server became free. Only the time from hand-over to deadline is known.
    Answers,
}

impl AskedFlow {
    /// Late under every transport: even alone it takes longer than it may. Holds for every [`Clock`], since the hand-over
    /// and the deadline move together.
    pub fn is_hopeless(&self) -> bool {
        self.message
            .deadline
            .is_some_and(|deadline| self.earliest > deadline)
    }
}

impl Demand {
    /// What run `run` of the scenario asks of its network.
    pub fn new(scenario: &Scenario, run: u64, network: &Network) -> Result<Self, SetupError> {
        let streams = Streams::new(scenario.seed, run);
        // Waits for servers depend on when the network delivers queries; without them all answers come earliest.
        let mut unlimited = scenario.clone();
        unlimited.host.servers = Servers::Unlimited;
        let mut workloads = Workloads::new(&unlimited, network, &streams)?;
        let header = HEADER_BYTES + scenario.host.frame_overhead;
        let kinds = scenario.workloads.iter().enumerate();
        // What is asked depends on how the network serves it: the next query of a loop, or a leaf asked again or
        // cancelled.
        let depends = |kind: &WorkloadKind| {
            let of =
                |oldi: &Oldi| oldi.arrival == QueryArrival::BackToBack || oldi.follows_leaves();
            matches!(kind, WorkloadKind::Oldi(oldi) if of(oldi))
        };
        let unknown: Vec<u16> = kinds
            .filter(|(_, workload)| depends(&workload.kind))
            .map(|(index, _)| index as u16)
            .collect();
        let mut driver = Driver {
            scenario,
            payloads: most_payload(scenario),
            header,
            ways: Ways::new(network, header + 1, least_receive_delay(&scenario.host)),
            unknown: &unknown,
            queue: BinaryHeap::new(),
            flows: Vec::new(),
        };
        driver.drive(&mut workloads);
        let Driver {
            mut flows, ways, ..
        } = driver;
        flows.sort_by_key(|flow| (flow.message.submitted, flow.message.flow));
        let queries = queries::judged(&mut workloads, &flows, &unknown);
        Ok(Self {
            flows,
            queries,
            unknown,
            ways,
        })
    }

    /// The links that flows share. Each flow crosses at most one of each [`Tier`].
    pub fn links(&self) -> &[SharedLink] {
        self.ways.links()
    }

    /// The shared links that a flow crosses.
    pub fn crossings(&self, flow: &AskedFlow) -> impl Iterator<Item = Crossing> {
        self.ways
            .crossings(flow.message.source, flow.message.destination)
    }
}

/// Per workload: the most payload in bytes of one packet under any transport of the scenario that it may have.
pub fn most_payload(scenario: &Scenario) -> Vec<u64> {
    let of = |protocol: &Protocol| match protocol {
        Protocol::Tcp(config) => config.mss,
        Protocol::D3(config) => config.mtu.saturating_sub(HEADER_BYTES),
    };
    let compared = scenario.transports.iter().map(|it| of(&it.protocol)).max();
    let workloads = scenario.workloads.iter();
    workloads
        .map(|workload| {
            let own = workload.transport.as_ref().map(|it| of(&it.protocol));
            u64::from(own.or(compared).unwrap_or(1).max(1))
        })
        .collect()
}

/// Drives the workloads, with messages that arrive as early as they can.
struct Driver<'a> {
    scenario: &'a Scenario,
    payloads: Vec<u64>,
    header: u32,
    ways: Ways,
    unknown: &'a [u16],
    queue: BinaryHeap<Reverse<(Time, Event)>>,
    flows: Vec<AskedFlow>,
}

/// Simultaneous events happen in this order, whatever the order in which they were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The delivery of the flow with this number at its source; then its place in the list.
    Delivery(u64, usize),
    /// Host, workload, token.
    Wake(u32, u16, u64),
}

impl Driver<'_> {
    fn drive(&mut self, workloads: &mut Workloads) {
        let mut actions = Actions::default();
        workloads.start(&|_| true, &mut actions);
        self.perform(workloads, &mut actions, Time::ZERO);
        while let Some(Reverse((now, event))) = self.queue.pop() {
            match event {
                Event::Wake(host, workload, token) => {
                    workloads.wake(now, host, workload, token, &mut actions);
                }
                Event::Delivery(_, index) => {
                    workloads.delivered(now, &self.flows[index].message, &mut actions);
                }
            }
            self.perform(workloads, &mut actions, now);
        }
    }

    fn perform(&mut self, workloads: &Workloads, actions: &mut Actions, now: Time) {
        for Wake {
            host,
            at,
            workload,
            token,
        } in actions.wakes.drain(..)
        {
            self.queue
                .push(Reverse((at.max(now), Event::Wake(host, workload, token))));
        }
        for message in actions.sends.drain(..) {
            // What follows from its delivery would be as unknown as it is.
            if !self.unknown.contains(&message.workload) {
                self.send(workloads, message);
            }
        }
    }

    fn send(&mut self, workloads: &Workloads, message: Message) {
        let packets = message
            .bytes
            .div_ceil(self.payloads[usize::from(message.workload)]);
        let wire_bytes = message
            .bytes
            .saturating_add(packets.saturating_mul(u64::from(self.header)));
        let earliest = match message.class {
            Class::Long => Time::MAX,
            _ => self.earliest(&message, wire_bytes),
        };
        let flow = message.flow;
        let clock = self.clock(workloads, &message);
        let causes = matches!(message.class, Class::Query | Class::Response);
        self.flows.push(AskedFlow {
            message,
            wire_bytes,
            earliest,
            clock,
        });
        if causes {
            let event = Event::Delivery(flow, self.flows.len() - 1);
            self.queue.push(Reverse((earliest, event)));
        }
    }

    fn earliest(&mut self, message: &Message, wire_bytes: u64) -> Time {
        let (from, to) = (message.source, message.destination);
        self.ways.explore(from);
        message.submitted + least_way(&self.ways, (from, to), wire_bytes)
    }

    fn clock(&self, workloads: &Workloads, message: &Message) -> Clock {
        let index = usize::from(message.workload);
        let deadline_from = match &self.scenario.workloads[index].kind {
            WorkloadKind::Oldi(oldi) => oldi.deadline_from,
            WorkloadKind::Spans(spans) => spans.deadline_from,
            _ => return Clock::Fixed,
        };
        let Some(trees) = workloads.oldi(index) else {
            return Clock::Fixed;
        };
        let depth = trees.depth_of(message.tag);
        match (message.class, deadline_from) {
            // A query's clock starts at its hand-over: at once at the root, when it has come there below.
            (Class::Query, _) | (Class::Response, DeadlineFrom::Query) if depth == 1 => {
                Clock::Fixed
            }
            // A wait for a server moves a leaf's deadline, too.
            (Class::Response, DeadlineFrom::Response)
                if !trees.is_leaf(message.tag) || self.scenario.host.servers.slots().is_some() =>
            {
                Clock::Answers
            }
            _ => Clock::Query,
        }
    }
}

/// The time that messages take at least, each alone in the network.
pub(crate) struct Alone {
    payloads: Vec<u64>,
    header: u32,
    ways: Ways,
    /// Switches whose ways are still worth the search: from others, the network between switches counts as free.
    searches: u64,
}

impl Alone {
    pub(crate) fn new(scenario: &Scenario, network: &Network) -> Self {
        /// Hops that all searches may look at.
        const HOPS: u64 = 20_000_000;
        let header = HEADER_BYTES + scenario.host.frame_overhead;
        Self {
            payloads: most_payload(scenario),
            header,
            ways: Ways::new(network, header + 1, least_receive_delay(&scenario.host)),
            searches: (HOPS / (network.links.len() as u64 + 1)).max(4),
        }
    }

    /// The time of a message of `bytes` between two hosts (from, to) under the transports of a workload.
    pub(crate) fn time(&mut self, workload: usize, ends: (u32, u32), bytes: u64) -> Span {
        if self.searches > 0 && self.ways.explore(ends.0) {
            self.searches -= 1;
        }
        let packets = bytes.div_ceil(self.payloads[workload]);
        let headers = packets.saturating_mul(u64::from(self.header));
        least_way(&self.ways, ends, bytes.saturating_add(headers))
    }
}

/// The least time of so many bytes on the wire between two hosts (from, to).
fn least_way(ways: &Ways, (from, to): (u32, u32), wire_bytes: u64) -> Span {
    let links = ways.links();
    let stages = ways.crossings(from, to).map(|crossing| {
        let work = least_time(links[crossing.link].rate, wire_bytes);
        let around = (crossing.before + crossing.after).as_ps();
        Span::from_ps(around.saturating_add(work))
    });
    stages.max().unwrap_or(Span::ZERO)
}

/// The picoseconds that `bytes` take, rounded down.
fn least_time(rate: Rate, bytes: u64) -> u64 {
    let ps = rate.transmit(bytes).as_ps();
    ps.saturating_sub(u64::from(rate.transmit_cost().ps_per_byte().is_none()))
}
