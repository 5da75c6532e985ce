//! Minimal event loops with one event per packet-hop: the lower limits with which the simulator is compared.
//!
//! The loops run four standard workloads, W1 (incast), W2 (permutation), W4 (permutation on a large fat tree) and W5
//! (Hadoop's flows on a larger one), under DCTCP. They omit what a real simulator adds: loss and timeouts, handshakes,
//! configurable ports and transports, routing tables, records. The necessary work remains: every packet crosses every
//! link as one event, events happen in time order, ports mark by their occupancy on arrival, and senders do DCTCP's
//! arithmetic on every acknowledgement.
//!
//! Each link keeps its packets, waiting or in flight, in one ring, because they arrive in the order in which they were
//! sent. For W1 and W2 ([`Floor`]), an event queue holds only the next arrival of each busy link. All events are within
//! one packet time plus one link latency from now, so a wheel of that span needs no overflow. W4 and W5 ([`Rounds`])
//! need no event queue: each node in turn processes what arrives there within two latencies.

#![forbid(unsafe_code)]
#![allow(
    clippy::cast_possible_truncation,
    reason = "the networks of these loops are small enough"
)]

mod fat_tree;
mod flow;
mod network;
mod random;
mod ring;
mod rounds;
mod traffic;
mod wheel;
mod window;

pub use fat_tree::FatTree;
pub use network::{Nic, Work};
pub use rounds::Rounds;
pub use traffic::{Demand, Traffic};

use flow::Flow;
use network::{ARRIVED, Kind, Network, Packet, ROUTE_LENGTH};
use wheel::Wheel;

/// Result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Packets, data or acknowledgement, times links crossed, including the hosts' own links.
    pub packet_hops: u64,
    /// Simulated picoseconds until the last byte of the last flow was delivered.
    pub finished_ps: u64,
    /// Data packets marked by any port.
    pub marked: u64,
}

/// Workload set up in memory and ready to run, so that the set-up is not timed.
#[derive(Debug)]
pub struct Floor {
    network: Network,
    flows: Vec<Flow>,
    /// Start of each flow, in picoseconds.
    starts: Vec<u64>,
    wheel: Wheel,
    nic: Nic,
    outcome: Outcome,
}

impl Floor {
    /// Sets up `work`.
    pub fn new(work: Work, nic: Nic) -> Self {
        let (network, flows) = network::lay_out(work);
        let (starts, flows) = flows.into_iter().unzip();
        Self {
            wheel: Wheel::new(network.links.len()),
            network,
            flows,
            starts,
            nic,
            outcome: Outcome {
                packet_hops: 0,
                finished_ps: 0,
                marked: 0,
            },
        }
    }

    /// Runs to completion.
    pub fn run(mut self) -> Outcome {
        for flow in 0..self.flows.len() {
            self.pull(self.starts[flow], flow);
        }
        while let Some((now, link)) = self.wheel.pop() {
            self.arrive(now, link);
        }
        self.outcome
    }

    /// Processes the arrival of the oldest packet of `link` at its far end.
    #[inline]
    fn arrive(&mut self, now: u64, link: usize) {
        self.outcome.packet_hops += 1;
        let sender = &mut self.network.links[link];
        let mut packet = sender.pop();
        let feeder = sender.feeder;
        if let Some(next) = sender.next_arrival() {
            self.wheel.push(next, link);
        }
        packet.step += 1;
        let next = self.network.routes[usize::from(packet.step)];
        if next == ARRIVED {
            self.deliver(now, packet);
        } else {
            self.send(now, next, packet);
        }
        if self.nic == Nic::Pull && feeder != network::NO_FLOW {
            self.pull(now, usize::from(feeder));
        }
    }

    /// Processes a packet at its destination: data is acknowledged, and an acknowledgement may let the flow send.
    #[inline]
    fn deliver(&mut self, now: u64, mut packet: Packet) {
        let flow = usize::from(packet.step) / ROUTE_LENGTH;
        if packet.kind == Kind::Ack {
            self.flows[flow].acknowledged(packet.sequence, packet.marked);
            self.pull(now, flow);
        } else {
            self.outcome.marked += u64::from(packet.marked);
            if self.flows[flow].delivered() {
                self.outcome.finished_ps = now;
            }
            packet.step += 1;
            packet.kind = Kind::Ack;
            self.send(now, self.network.routes[usize::from(packet.step)], packet);
        }
    }

    /// Sends packets on the host's own link as far as the window, and in pull mode the depth of the link, allows.
    fn pull(&mut self, now: u64, flow: usize) {
        let first = self.network.routes[flow * ROUTE_LENGTH];
        while self.flows[flow].can_send()
            && (self.nic == Nic::Fifo
                || self.network.links[usize::from(first)].len() < network::PULL_DEPTH)
        {
            let (sequence, kind) = self.flows[flow].next_packet();
            let packet = Packet {
                arrival: 0,
                sequence,
                step: (flow * ROUTE_LENGTH) as u16,
                kind,
                marked: false,
            };
            self.send(now, first, packet);
        }
    }

    /// Puts a packet on a link. Its departure, and therefore its mark and arrival, are known immediately.
    #[inline]
    fn send(&mut self, now: u64, link: u16, packet: Packet) {
        let link = usize::from(link);
        if let Some(arrival) = self.network.links[link].push(now, packet) {
            self.wheel.push(arrival, link);
        }
    }
}
