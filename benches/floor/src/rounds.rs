//! Event loop in rounds on a fat tree, node after node.
//!
//! No node affects another sooner than one latency, and a switch's neighbours are not neighbours of each other. So in a
//! round, the aggregation switches and the hosts run for two latencies, and then the edge and core switches run for the
//! two latencies that end one latency later. These are the windows of the simulator
//! (`crates/sim/src/engine/windows.rs`) with a sub-partition per rack and switch. All packets that arrive at a node in
//! its window are on its links when its turn comes: they are taken from the links together, sorted, and passed on in
//! order of time. A host has a single incoming link, whose packets are in order.
//!
//! The ports are unbounded and mark from 65 packets on, and all flows are DCTCP's, also where the simulator's are
//! TCP with ports that drop. A flow's state exists from its start to its last acknowledgement.

mod hosts;

use crate::Outcome;
use crate::fat_tree::{FatTree, PORT, PORT_BITS};
use crate::network::{HEADERS, PAYLOAD};
use crate::ring::Ring;
use crate::traffic::{Demand, Traffic};
use crate::window::{Packet, Window};
use duetime_core::prefetch::prefetch;
use hosts::Active;

/// Latency of every link in picoseconds.
const LATENCY: u64 = 1_000_000;
/// Number of packets from which a port marks.
const MARK_AT: u32 = 65;
/// Packets for which a link initially has space.
const INITIAL_SPACE: usize = 4;

/// Traffic on a fat tree, set up in memory and ready to run.
#[derive(Debug)]
pub struct Rounds {
    tree: FatTree,
    /// Picoseconds per byte.
    byte_time: u64,
    links: Vec<Link>,
    /// For each port of a switch, the link that leads to it.
    into: Vec<u32>,
    /// For each node, bit mask of the ports to which packets are on their way.
    busy: Vec<u64>,
    demands: Vec<Demand>,
    /// Number of demands that were started in earlier rounds.
    started: usize,
    /// Demands that start in this round, by host, and the number of those that have started.
    starting: Vec<Demand>,
    next_start: usize,
    flows: Vec<Active>,
    /// Unused places in `flows`.
    free: Vec<u32>,
    window: Window,
    outcome: Outcome,
}

/// One direction of a link, with its port.
#[derive(Debug)]
struct Link {
    /// Packets waiting and in flight.
    ring: Ring<Packet>,
    free_at: u64,
    /// Far end, as in [`FatTree::far_ends`].
    far_end: u32,
}

impl Rounds {
    /// Sets up `traffic` on `tree`.
    pub fn new(tree: FatTree, traffic: Traffic) -> Self {
        let far_ends = tree.far_ends();
        let mut into = vec![0; (tree.switches() * tree.k) as usize];
        for (link, end) in far_ends.iter().enumerate() {
            let (node, port) = (end >> PORT_BITS, end & PORT);
            if node < tree.switches() {
                into[(node * tree.k + port) as usize] = link as u32;
            }
        }
        let link = |far_end| Link {
            ring: Ring::new(INITIAL_SPACE, Packet::NONE),
            free_at: 0,
            far_end,
        };
        let byte_time = 8_000 / u64::from(tree.gbps);
        Self {
            byte_time,
            links: far_ends.into_iter().map(link).collect(),
            into,
            busy: vec![0; (tree.switches() + tree.racks()) as usize],
            demands: traffic.demands(tree.hosts(), byte_time * (HEADERS + PAYLOAD)),
            started: 0,
            starting: Vec::new(),
            next_start: 0,
            flows: Vec::new(),
            free: Vec::new(),
            window: Window::default(),
            outcome: Outcome {
                packet_hops: 0,
                finished_ps: 0,
                marked: 0,
            },
            tree,
        }
    }

    /// Returns the flows in order of their starts.
    pub fn demands(&self) -> &[Demand] {
        &self.demands
    }

    /// Runs until the last flow is acknowledged.
    pub fn run(mut self) -> Outcome {
        let (racks, switches) = (self.tree.racks(), self.tree.switches());
        let mut begin: u64 = 0;
        while self.started < self.demands.len() || self.free.len() < self.flows.len() {
            let (before, middle) = (begin.saturating_sub(LATENCY), begin + LATENCY);
            let end = middle + LATENCY;
            self.prepare_starts(middle);
            for aggregation in racks..2 * racks {
                self.visit_switch(aggregation, before, middle);
            }
            for rack in 0..racks {
                self.visit_hosts(rack, before, middle);
                self.visit_switch(rack, begin, end);
            }
            for core in 2 * racks..switches {
                self.visit_switch(core, begin, end);
            }
            begin = end;
        }
        self.outcome
    }

    /// Forwards the packets that arrive at a switch from `begin` to before `end`.
    fn visit_switch(&mut self, switch: u32, begin: u64, end: u64) {
        let mut busy = self.busy[switch as usize];
        if busy == 0 {
            return;
        }
        let first = switch * self.tree.k;
        let mut window = std::mem::take(&mut self.window);
        window.clear();
        let into = &self.into[first as usize..][..self.tree.k as usize];
        for port in bits(busy) {
            prefetch(&self.links[into[port] as usize]);
        }
        for port in bits(busy) {
            self.links[into[port] as usize].ring.prefetch_front();
        }
        for port in bits(busy) {
            let link = into[port];
            let ring = &mut self.links[link as usize].ring;
            window.take(ring, end);
            if ring.rewind_if_empty() {
                busy &= !(1 << port);
            }
        }
        self.busy[switch as usize] = busy;
        window.sort(begin, end);
        self.outcome.packet_hops += window.iter().len() as u64;
        for packet in window.iter() {
            self.links[(first + (packet.path & PORT)) as usize]
                .ring
                .prefetch_end();
        }
        for packet in window.iter() {
            let out = first + (packet.path & PORT);
            let path = packet.path >> PORT_BITS;
            self.send(packet.arrival, out, Packet { path, ..*packet });
        }
        self.window = window;
    }

    /// Puts a packet on a link. Its departure, and therefore its mark and arrival, are known immediately.
    #[inline]
    fn send(&mut self, now: u64, link: u32, mut packet: Packet) {
        let link = &mut self.links[link as usize];
        // `MARK_AT` packets are still in the port if the packet that many positions back has not departed.
        if link.ring.len() >= MARK_AT as usize
            && !packet.is_ack
            && link.ring.nth_newest(MARK_AT).arrival > now + LATENCY
        {
            packet.marked = true;
        }
        let departure = link.free_at.max(now) + u64::from(packet.bytes) * self.byte_time;
        link.free_at = departure;
        packet.arrival = departure + LATENCY;
        link.ring.push(packet);
        self.busy[(link.far_end >> PORT_BITS) as usize] |= 1 << (link.far_end & PORT);
    }
}

/// Returns the positions of a mask's bits, from the lowest.
fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (mask != 0).then(|| mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(bit)
    })
}
