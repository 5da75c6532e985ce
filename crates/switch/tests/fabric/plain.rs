//! Reference implementation of the network, independent of `link`: an explicit queue per class and separate events for
//! departures and arrivals.

use duetime_link::Limit;
use duetime_switch::{Config, End, PortChoice, SharedBufferConfig};
use std::collections::{BTreeMap, VecDeque};

/// Packet with the properties that matter to a network.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub number: u32,
    pub to: usize,
    pub bytes: u64,
    pub class: usize,
    pub ecn_capable: bool,
    pub marked: bool,
}

/// Packet delivered to its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached {
    pub number: u32,
    pub interface: usize,
    pub time_ps: u64,
    pub marked: bool,
}

/// Counters of a port: packets, bytes, drops, dropped bytes, marks requested, marks made, maximum queue in bytes,
/// packets now, bytes now.
pub type Counts = [u64; 9];

pub struct Network {
    ports: Vec<Port>,
    nodes: Vec<Node>,
    /// Pending events by time, kind (departures first) and port.
    events: BTreeMap<(u64, Kind, usize), VecDeque<Packet>>,
    pub reached: Vec<Reached>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Departure,
    Arrival,
}

struct Node {
    first_port: usize,
    next: Vec<usize>,
    shared: Option<SharedBufferConfig>,
    /// Bytes in the shared buffer.
    held: u64,
}

struct Port {
    rate_bps: u64,
    latency_ps: u64,
    limit: Limit,
    mark_at: Limit,
    queues: Vec<VecDeque<Packet>>,
    service: Option<Packet>,
    /// Node of the port, or `None` for an uplink.
    node: Option<usize>,
    to: End,
    counts: Counts,
}

impl Network {
    /// Creates the network. Ports must not be [`PortChoice::Hashed`].
    pub fn new(config: &Config) -> Self {
        let mut ports: Vec<Port> = Vec::new();
        for interface in &config.interfaces {
            let uplink = interface.uplink;
            ports.push(Port {
                rate_bps: uplink.rate.as_bps(),
                latency_ps: uplink.latency.as_ps(),
                limit: uplink.limit,
                mark_at: Limit::Unlimited,
                queues: vec![VecDeque::new(); uplink.classes],
                service: None,
                node: None,
                to: End::Node(interface.node),
                counts: [0; 9],
            });
        }
        let mut nodes = Vec::new();
        for (number, node) in config.nodes.iter().enumerate() {
            let next = node.next_port.iter().map(|choice| match choice {
                PortChoice::One(port) => *port,
                PortChoice::Hashed(_) => panic!("the reference network does not hash"),
            });
            nodes.push(Node {
                first_port: ports.len(),
                next: next.collect(),
                shared: node.shared_buffer,
                held: 0,
            });
            for port in &node.ports {
                ports.push(Port {
                    rate_bps: port.rate.as_bps(),
                    latency_ps: port.latency.as_ps(),
                    limit: port.limit,
                    mark_at: port.mark_at.unwrap_or(Limit::Unlimited),
                    queues: vec![VecDeque::new(); port.classes],
                    service: None,
                    node: Some(number),
                    to: port.to,
                    counts: [0; 9],
                });
            }
        }
        Self {
            ports,
            nodes,
            events: BTreeMap::new(),
            reached: Vec::new(),
        }
    }

    /// Processes all events up to and including `until`.
    pub fn run(&mut self, until: u64) {
        while let Some((&(now, kind, port), _)) = self.events.first_key_value()
            && now <= until
        {
            let (_, packets) = self.events.pop_first().expect("an event");
            for packet in packets {
                match kind {
                    Kind::Departure => self.depart(now, port),
                    Kind::Arrival => self.arrive(now, port, packet),
                }
            }
        }
    }

    /// Sends a packet from the host at `interface`. Returns false if its NIC is full.
    pub fn offer(&mut self, now: u64, interface: usize, packet: Packet) -> bool {
        self.run(now);
        self.send(now, interface, packet)
    }

    /// Returns the time of the next event, or `u64::MAX`.
    pub fn next_event(&self) -> u64 {
        self.events
            .first_key_value()
            .map_or(u64::MAX, |(key, _)| key.0)
    }

    pub fn counts(&self) -> Vec<Counts> {
        self.ports.iter().map(|port| port.counts).collect()
    }

    fn send(&mut self, now: u64, to: usize, mut packet: Packet) -> bool {
        let port = &mut self.ports[to];
        let [.., packets, queued] = port.counts;
        let full = match port.limit {
            Limit::Unlimited => false,
            Limit::Packets(limit) => packets >= u64::from(limit),
            Limit::Bytes(limit) => queued + packet.bytes > limit,
        };
        let node = port.node.map(|node| &mut self.nodes[node]);
        let shared = node.and_then(|node| node.shared.map(|shared| (shared, &mut node.held)));
        let no_memory = shared.as_ref().is_some_and(|(shared, held)| {
            let free = shared.bytes - **held;
            packet.bytes > free || (queued + packet.bytes) as f64 > shared.alpha * free as f64
        });
        if full || no_memory {
            port.counts[2] += 1;
            port.counts[3] += packet.bytes;
            return false;
        }
        if let Some((_, held)) = shared {
            *held += packet.bytes;
        }
        let congested = match port.mark_at {
            Limit::Unlimited => false,
            Limit::Packets(threshold) => packets >= u64::from(threshold),
            Limit::Bytes(threshold) => queued >= threshold,
        };
        if congested {
            port.counts[4] += 1;
            port.counts[5] += u64::from(packet.ecn_capable);
            packet.marked |= packet.ecn_capable;
        }
        port.counts[0] += 1;
        port.counts[1] += packet.bytes;
        port.counts[7] += 1;
        port.counts[8] += packet.bytes;
        port.counts[6] = port.counts[6].max(port.counts[8]);
        let class = packet.class.min(port.queues.len() - 1);
        port.queues[class].push_back(packet);
        if port.service.is_none() {
            self.serve(now, to);
        }
        true
    }

    fn serve(&mut self, now: u64, number: usize) {
        let port = &mut self.ports[number];
        port.service = port.queues.iter_mut().find_map(VecDeque::pop_front);
        if let Some(packet) = port.service {
            let bits = u128::from(packet.bytes) * 8 * 1_000_000_000_000;
            let end = now + bits.div_ceil(u128::from(port.rate_bps)) as u64;
            self.at(end, Kind::Departure, number, packet);
        }
    }

    fn depart(&mut self, now: u64, number: usize) {
        let port = &mut self.ports[number];
        let packet = port.service.take().expect("a packet is in service");
        port.counts[7] -= 1;
        port.counts[8] -= packet.bytes;
        let (node, arrival) = (port.node, now + port.latency_ps);
        if let Some(node) = node.map(|node| &mut self.nodes[node]) {
            node.held -= if node.shared.is_some() {
                packet.bytes
            } else {
                0
            };
        }
        self.at(arrival, Kind::Arrival, number, packet);
        self.serve(now, number);
    }

    fn arrive(&mut self, now: u64, number: usize, packet: Packet) {
        match self.ports[number].to {
            End::Interface(interface) => self.reached.push(Reached {
                number: packet.number,
                interface,
                time_ps: now,
                marked: packet.marked,
            }),
            End::Node(node) => {
                let node = &self.nodes[node];
                self.send(now, node.first_port + node.next[packet.to], packet);
            }
        }
    }

    fn at(&mut self, time: u64, kind: Kind, port: usize, packet: Packet) {
        self.events
            .entry((time, kind, port))
            .or_default()
            .push_back(packet);
    }
}
