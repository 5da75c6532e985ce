//! A bare event loop with one event per packet-hop and nothing else: the limit the simulator is measured against.
//!
//! It does the two standard works, W1 (incast) and W2 (permutation), under DCTCP. What is left out is all that a
//! real simulator adds: loss and timeouts, handshakes, configurable ports and transports, routing tables, records.
//! What is kept is what cannot be avoided: every packet crosses every link as one event, events happen in time
//! order, ports mark by their occupancy on arrival, and senders do DCTCP's arithmetic on every acknowledgement.
//!
//! Each link keeps its packets, waiting or in flight, in one ring, since they arrive in the order they were sent; the
//! event queue holds only each busy link's next arrival. All events lie within one packet time plus one link
//! latency from now, so a wheel that spans that horizon needs no overflow.

#![forbid(unsafe_code)]
#![allow(
    clippy::cast_possible_truncation,
    reason = "the loop that everything is compared with: its network is fixed and small"
)]

mod flow;
mod network;
mod wheel;

pub use network::{Nic, Work};

use flow::Flow;
use network::{ARRIVED, Kind, Network, Packet, ROUTE_LENGTH};
use wheel::Wheel;

/// What one run did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Packets, data or acknowledgement, times links crossed, the hosts' own links included.
    pub packet_hops: u64,
    /// Simulated picoseconds until the last byte of the last flow was delivered.
    pub finished_ps: u64,
    /// Data packets that some port marked.
    pub marked: u64,
}

/// A work laid out in memory and ready to run, so that laying out is not timed.
#[derive(Debug)]
pub struct Floor {
    network: Network,
    flows: Vec<Flow>,
    wheel: Wheel,
    nic: Nic,
    outcome: Outcome,
}

impl Floor {
    /// Lays out `work`.
    pub fn new(work: Work, nic: Nic) -> Self {
        let (network, flows) = network::lay_out(work);
        Self {
            wheel: Wheel::new(network.links.len()),
            network,
            flows,
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
            let start = self.flows[flow].start;
            self.pull(start, flow);
        }
        while let Some((now, link)) = self.wheel.pop() {
            self.arrive(now, link);
        }
        self.outcome
    }

    /// The oldest packet of `link` reaches its far end.
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

    /// A packet is at its destination: data is acknowledged, an acknowledgement may let the flow send.
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

    /// Submits to the host's own link what the window, and in pull mode the link, allows.
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

    /// Puts a packet on a link: its departure, and so its mark and its arrival, are known at once.
    #[inline]
    fn send(&mut self, now: u64, link: u16, packet: Packet) {
        let link = usize::from(link);
        if let Some(arrival) = self.network.links[link].push(now, packet) {
            self.wheel.push(arrival, link);
        }
    }
}
