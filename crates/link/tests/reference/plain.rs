//! Reference ports, written independently of the fast ones: a queue per class, an event for each departure, and all
//! accounts, including the shared memory's, updated at each event.

use crate::schedule::{Memory, Shape};
use crate::{Crossed, Packet};
use duetime_link::{Counters, Limit};
use std::collections::VecDeque;

pub const NEVER: u64 = u64::MAX;

/// Ports and the memory that some of them share.
pub struct Network {
    pub ports: Vec<Port>,
    memory: Option<Memory>,
    /// Bytes in the shared memory.
    held: u64,
}

pub struct Port {
    shape: Shape,
    queues: Vec<VecDeque<Packet>>,
    /// Packet in service and the time at which its last bit leaves.
    service: Option<(Packet, u64)>,
    /// Packets in the port, the packet in service included.
    pub packets: u32,
    pub bytes: u64,
    pub departed_bytes: u64,
    counters: Counters,
    /// Time up to which the queue is integrated, in 1024 ps.
    integrated_to: u64,
    pub crossed: Vec<Crossed>,
}

impl Network {
    pub fn new(shapes: &[Shape], memory: Option<Memory>) -> Self {
        Self {
            ports: shapes.iter().copied().map(Port::new).collect(),
            memory,
            held: 0,
        }
    }

    /// Processes every departure up to and including `now`, in order.
    pub fn run_until(&mut self, now: u64) {
        loop {
            let next = (0..self.ports.len()).min_by_key(|&port| self.ports[port].next_departure());
            let Some(next) = next.filter(|&port| self.ports[port].next_departure() <= now) else {
                return;
            };
            let left = self.ports[next].depart();
            if self.memory.is_some_and(|memory| memory.shares(next)) {
                self.held -= u64::from(left.bytes);
            }
        }
    }

    /// Offers a packet and returns true if it is accepted.
    pub fn offer(&mut self, now: u64, to: usize, packet: Packet) -> bool {
        self.run_until(now);
        let bytes = u64::from(packet.bytes);
        let port = &mut self.ports[to];
        let fits = match port.shape.limit {
            Limit::Unlimited => true,
            Limit::Packets(limit) => port.packets < limit,
            Limit::Bytes(limit) => port.bytes + bytes <= limit,
        };
        let memory = self.memory.filter(|memory| memory.shares(to));
        let shared = memory.is_none_or(|memory| {
            let free = memory.capacity_bytes - self.held;
            // Exact: α is a multiple of 1/256, and both sides are below 2⁵³.
            bytes <= free && (port.bytes + bytes) as f64 <= memory.alpha * free as f64
        });
        if !fits || !shared {
            port.counters.drops += 1;
            port.counters.drop_bytes += bytes;
            return false;
        }
        if memory.is_some() {
            self.held += bytes;
        }
        port.enqueue(now, packet);
        true
    }
}

impl Port {
    fn new(shape: Shape) -> Self {
        Self {
            shape,
            queues: vec![VecDeque::new(); shape.classes],
            service: None,
            packets: 0,
            bytes: 0,
            departed_bytes: 0,
            counters: Counters::default(),
            integrated_to: 0,
            crossed: Vec::new(),
        }
    }

    pub fn next_departure(&self) -> u64 {
        self.service.map_or(NEVER, |(_, end)| end)
    }

    /// Returns the bytes behind the packet in service.
    pub fn bytes_waiting(&self) -> u64 {
        self.bytes
            - self
                .service
                .map_or(0, |(packet, _)| u64::from(packet.bytes))
    }

    /// Returns the counters as of `now`.
    pub fn counters(&mut self, now: u64) -> Counters {
        self.integrate(now);
        self.counters
    }

    fn enqueue(&mut self, now: u64, mut packet: Packet) {
        let congested = match self.shape.mark_at {
            Limit::Unlimited => false,
            Limit::Packets(threshold) => self.packets >= threshold,
            Limit::Bytes(threshold) => self.bytes >= threshold,
        };
        if congested && packet.ecn_capable {
            packet.marked = true;
            self.counters.marks += 1;
        }
        self.integrate(now);
        self.packets += 1;
        self.bytes += u64::from(packet.bytes);
        self.counters.packets += 1;
        self.counters.bytes += u64::from(packet.bytes);
        self.counters.queue_max_bytes = self.counters.queue_max_bytes.max(self.bytes);
        let class = usize::from(packet.class).min(self.queues.len() - 1);
        self.queues[class].push_back(packet);
        if self.service.is_none() {
            self.serve(now);
        }
    }

    /// Completes the packet in service and returns it.
    fn depart(&mut self) -> Packet {
        let (packet, now) = self.service.take().expect("a departure is due");
        self.integrate(now);
        self.packets -= 1;
        self.bytes -= u64::from(packet.bytes);
        self.departed_bytes += u64::from(packet.bytes);
        let arrival = now + self.shape.latency_ps;
        self.crossed.push(Crossed {
            number: packet.number,
            marked: packet.marked,
            arrival,
        });
        self.serve(now);
        packet
    }

    fn serve(&mut self, now: u64) {
        let next = self.queues.iter_mut().find_map(VecDeque::pop_front);
        self.service = next.map(|packet| {
            let bits = u128::from(packet.bytes) * 8;
            (
                packet,
                now + (bits * 1_000_000_000_000).div_ceil(u128::from(self.shape.rate_bps)) as u64,
            )
        });
    }

    fn integrate(&mut self, now: u64) {
        self.counters.queue_integral += self.bytes * (now / 1024 - self.integrated_to);
        self.integrated_to = now / 1024;
    }
}
