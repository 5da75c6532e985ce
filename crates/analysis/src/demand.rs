//! Demand of one run's workloads, with the earliest time at which any transport could submit and deliver each message.
//!
//! The workloads run without a network. Every message is delivered at the earliest time at which any transport could
//! deliver it over any path: no handshake, no queues, one minimum-size packet through each switch before and after the
//! slowest stage, and the hosts' receive delay without jitter. Whatever a delivery causes (a leaf's answer, an
//! aggregator's) is therefore submitted no later than in any run with a transport:
//!
//! - A leaf answers a drawn time after its query arrives, and its query cannot arrive earlier than here.
//! - An aggregator answers when enough of its children have answered or when it times out. No answer arrives earlier
//!   than here, so neither does the n-th answer. The timeout is a drawn time after the aggregator's own query arrives.
//!
//! The demand is unknown for trees whose queries follow each other (`arrival = "back-to-back"`), because a faster
//! transport causes more queries, and for trees with hedges, retries or cancelled leaves. Such workloads are listed in
//! [`Demand::unknown`] and have no flows in the demand.

mod queries;

pub use queries::DemandQuery;

use duetime_core::Time;
use duetime_core::random::Streams;
use duetime_results::Class;
use duetime_scenario::model::{DeadlineFrom, Oldi, QueryArrival, Scenario, Servers, WorkloadKind};
use duetime_sim::SetupError;
use duetime_sim::topology::Network;
use duetime_sim::unloaded::{Crossing, SharedLink, Unloaded};
use duetime_sim::workload::{Actions, Message, Wake, Workloads};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Demand of the workloads of one run.
#[derive(Debug)]
pub struct Demand {
    /// All messages, endless flows included, sorted by submission, source and index at the source.
    pub flows: Vec<DemandFlow>,
    /// All queries that are judged.
    pub queries: Vec<DemandQuery>,
    /// Indices of the workloads with unknown demand.
    pub unknown: Vec<u16>,
    network: Unloaded,
}

/// A message that a transport must carry.
#[derive(Clone, Debug)]
pub struct DemandFlow {
    /// The message. It is submitted at the earliest time that any transport permits; for its deadline, see `clock`.
    pub message: Message,
    /// Bytes on a link: the payload, and the headers of the minimum number of packets under the scenario's transports.
    pub wire_bytes: u64,
    /// Earliest delivery if the message is alone in the network.
    pub earliest: Time,
    /// Dependence of the deadline on the transport.
    pub clock: Clock,
}

/// Dependence of an absolute deadline on the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The deadline is the same under every transport.
    Fixed,
    /// The deadline depends on when a query arrived at the sender or its parent. It is computed as if queries were
    /// delivered at once; a transport that delays them moves it.
    Query,
    /// The deadline depends on when the answers of the sender's children arrived or when a server became free. Only the
    /// time from submission to deadline is known.
    Answers,
}

impl DemandFlow {
    /// Returns true if the message is late under every transport, because even alone it takes longer than it may. Valid
    /// for every [`Clock`], because submission and deadline move together.
    pub fn is_infeasible(&self) -> bool {
        self.message
            .deadline
            .is_some_and(|deadline| self.earliest > deadline)
    }
}

impl Demand {
    /// Computes the demand of run `run` of the scenario.
    pub fn new(scenario: &Scenario, run: u64, network: &Network) -> Result<Self, SetupError> {
        let streams = Streams::new(scenario.seed, run);
        // Waits for servers depend on when the network delivers queries. Without them, all answers are earliest.
        let mut unlimited = scenario.clone();
        unlimited.host.servers = Servers::Unlimited;
        let mut workloads = Workloads::new(&unlimited, network, &streams)?;
        let kinds = scenario.workloads.iter().enumerate();
        // The demand depends on the network if queries are back to back, or if leaves are hedged, retried or cancelled.
        let depends_on_network = |kind: &WorkloadKind| {
            let depends =
                |oldi: &Oldi| oldi.arrival == QueryArrival::BackToBack || oldi.tracks_leaves();
            matches!(kind, WorkloadKind::Oldi(oldi) if depends(oldi))
        };
        let unknown: Vec<u16> = kinds
            .filter(|(_, workload)| depends_on_network(&workload.kind))
            .map(|(index, _)| index as u16)
            .collect();
        let mut driver = Driver {
            scenario,
            network: Unloaded::new(scenario, network),
            unknown: &unknown,
            queue: BinaryHeap::new(),
            flows: Vec::new(),
        };
        driver.drive(&mut workloads);
        let Driver {
            mut flows, network, ..
        } = driver;
        flows.sort_by_key(|flow| (flow.message.submitted, flow.message.flow));
        let queries = queries::judged(&mut workloads, &flows, &unknown);
        Ok(Self {
            flows,
            queries,
            unknown,
            network,
        })
    }

    /// Returns the links that flows share.
    pub fn links(&self) -> &[SharedLink] {
        self.network.links()
    }

    /// Returns the shared links that a flow crosses.
    pub fn crossings(&self, flow: &DemandFlow) -> impl Iterator<Item = Crossing> {
        self.network
            .crossings(flow.message.source, flow.message.destination)
    }
}

/// Runs the workloads with messages that arrive as early as possible.
struct Driver<'a> {
    scenario: &'a Scenario,
    network: Unloaded,
    unknown: &'a [u16],
    queue: BinaryHeap<Reverse<(Time, Event)>>,
    flows: Vec<DemandFlow>,
}

/// Events, in the order of simultaneous ones; this does not depend on the order of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// Delivery of a flow, by its index at the source; then its index in the list.
    Delivery(u64, usize),
    /// Wake-up: host, workload, token.
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
            // Messages of unknown demand are dropped, because what they cause is unknown as well.
            if !self.unknown.contains(&message.workload) {
                self.send(workloads, message);
            }
        }
    }

    fn send(&mut self, workloads: &Workloads, message: Message) {
        let workload = usize::from(message.workload);
        let wire_bytes = self.network.wire_bytes(workload, message.bytes);
        let ends = (message.source, message.destination);
        let earliest = match message.class {
            Class::Long => Time::MAX,
            _ => message.submitted + self.network.time(ends, wire_bytes),
        };
        let flow = message.flow;
        let clock = self.clock(workloads, &message);
        let causes = matches!(message.class, Class::Query | Class::Response);
        self.flows.push(DemandFlow {
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

    fn clock(&self, workloads: &Workloads, message: &Message) -> Clock {
        let index = usize::from(message.workload);
        let deadline_from = match &self.scenario.workloads[index].kind {
            WorkloadKind::Oldi(oldi) => oldi.deadline_from,
            WorkloadKind::Spans(spans) => spans.deadline_from,
            _ => return Clock::Fixed,
        };
        let Some(trees) = workloads.trees(index) else {
            return Clock::Fixed;
        };
        let depth = trees.depth_of(message.tag);
        match (message.class, deadline_from) {
            // A query's deadline counts from its submission, which at the root is its arrival and below the root
            // depends on the network.
            (Class::Query, _) | (Class::Response, DeadlineFrom::Query) if depth == 1 => {
                Clock::Fixed
            }
            // A wait for a server also moves a leaf's deadline.
            (Class::Response, DeadlineFrom::Response)
                if !trees.is_leaf(message.tag) || self.scenario.host.servers.slots().is_some() =>
            {
                Clock::Answers
            }
            _ => Clock::Query,
        }
    }
}
