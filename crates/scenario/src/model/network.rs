//! Nodes and links, the switches' ports and the hosts.

use super::Gap;
use duetime_core::{Bytes, Rate, Span};

/// The network's shape.
#[derive(Clone, Debug, PartialEq)]
pub enum Topology {
    /// `hosts` hosts on one switch.
    Star {
        /// Number of hosts.
        hosts: u32,
        /// Each host's link.
        link: Link,
    },
    /// `left` and `right` hosts on two switches joined by one link.
    Dumbbell {
        /// Hosts on the left; they come first.
        left: u32,
        /// Hosts on the right.
        right: u32,
        /// Each host's link.
        link: Link,
        /// The link between the switches.
        bottleneck: Link,
    },
    /// The D3 testbed (D3 §6): 4 racks of 3 hosts under one root, and 2 traffic generators at the root.
    D3Testbed {
        /// Every link.
        link: Link,
    },
    /// Racks of hosts, each rack's switch joined to every spine.
    LeafSpine {
        /// Number of racks.
        racks: u32,
        /// Hosts in each rack.
        hosts_per_rack: u32,
        /// Spine switches.
        spines: u32,
        /// From a host to its rack's switch.
        host_link: Link,
        /// From a rack's switch to each spine.
        uplink: Link,
    },
    /// A k-ary fat-tree: k³/4 hosts.
    FatTree {
        /// Ports per switch, even.
        k: u32,
        /// Every link.
        link: Link,
    },
    /// Any graph, by names.
    Graph {
        /// Hosts, then switches; hosts are numbered in this order.
        nodes: Vec<Node>,
        /// The links.
        edges: Vec<Edge>,
    },
}

impl Topology {
    /// Number of hosts.
    pub fn hosts(&self) -> u32 {
        match self {
            Self::Star { hosts, .. } => *hosts,
            Self::Dumbbell { left, right, .. } => left + right,
            Self::D3Testbed { .. } => 14,
            Self::LeafSpine {
                racks,
                hosts_per_rack,
                ..
            } => racks * hosts_per_rack,
            Self::FatTree { k, .. } => k * k * k / 4,
            Self::Graph { nodes, .. } => nodes.iter().map(|node| u32::from(node.host)).sum(),
        }
    }
}

/// A full-duplex link, the same in both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Capacity.
    pub rate: Rate,
    /// One-way propagation delay.
    pub latency: Span,
    /// Probability that a packet is lost on it, each way, in [0, 1).
    pub loss: f64,
}

/// A node of [`Topology::Graph`].
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// A host, or a switch.
    pub host: bool,
}

/// An edge of [`Topology::Graph`], by indices into its nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// One end.
    pub a: usize,
    /// The other end.
    pub b: usize,
    /// The link.
    pub link: Link,
}

/// Every switch port.
#[derive(Clone, Debug, PartialEq)]
pub struct Switch {
    /// Memory for packets.
    pub buffer: Buffer,
    /// Packets are marked when at least this much is queued, the packet in service included. Used by transports
    /// with ECN: (link rate, threshold) pairs, sorted, the first at rate 0; a port takes the last at or below its own. Empty:
    /// no port marks.
    pub ecn_threshold: Vec<(Rate, Amount)>,
}

/// How a switch's memory is given out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Buffer {
    /// No limit.
    Unlimited,
    /// Each port has its own.
    Static(Amount),
    /// One pool per switch; a port may hold up to `alpha × free` (Choudhury and Hahne, 1998).
    Dynamic {
        /// Memory of the switch.
        pool: Bytes,
        /// Share of the free memory that one port may hold.
        alpha: f64,
    },
}

/// An amount of queue, in the unit in which it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Packets of any size.
    Packets(u32),
    /// Bytes.
    Bytes(u64),
}

/// Every host.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// How the NIC takes packets from the flows.
    pub nic: Nic,
    /// Bytes added to each packet's IP length on the wire: 0, or 38 for Ethernet with preamble and gap.
    pub frame_overhead: u32,
    /// Flows of bursts and permutations, those without an end and the messages of trees start with a jitter of U[0, one
    /// packet time] when true. All others start at their own times.
    pub start_jitter: bool,
    /// Each packet leaves its host later by U[0, this), out of the gap behind it; 0 to 1 ms.
    pub send_jitter: Span,
    /// Shortest time from the arrival of any packet at its host's NIC until its transport has it; 0 to 1 s.
    pub receive_delay: Span,
    /// Added to `receive_delay`, drawn when a packet arrives and no other waits; packets keep their order.
    pub receive_jitter: Gap,
    /// Servers that compute for queries.
    pub servers: Servers,
}

/// Servers of a host, shared by all its computations for queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Servers {
    /// Every computation starts at once.
    #[default]
    Unlimited,
    /// Computations wait for a free slot.
    Slots(Slots),
}

impl Servers {
    /// Returns the slots, or `None` without a limit.
    pub fn slots(self) -> Option<Slots> {
        match self {
            Self::Unlimited => None,
            Self::Slots(slots) => Some(slots),
        }
    }
}

/// Limited servers of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    /// Computations that run at once, 1 to 100,000.
    pub slots: u32,
    /// Order in which waiting computations get a slot.
    pub queue: ServerQueue,
}

/// Order in which waiting computations get a slot. None of them is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerQueue {
    /// By arrival at the host.
    Fifo,
    /// By the deadline of the answer, those without a deadline last; by arrival among equals.
    EarliestDeadline,
}

/// How the NIC takes packets from the flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nic {
    /// It pulls: acknowledgements first, then ready flows in turn.
    Pull,
    /// A plain unlimited queue.
    Fifo,
}
