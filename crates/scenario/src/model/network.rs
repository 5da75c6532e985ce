//! Topology, switches and hosts.

use super::Gap;
use duetime_core::{Bytes, Rate, Span};

/// Nodes and links of the network.
#[derive(Clone, Debug, PartialEq)]
pub enum Topology {
    /// `hosts` hosts on one switch.
    Star {
        /// Number of hosts.
        hosts: u32,
        /// Link of each host.
        link: Link,
    },
    /// `left` and `right` hosts on two switches connected by one link.
    Dumbbell {
        /// Hosts on the left, which have the lower indices.
        left: u32,
        /// Hosts on the right.
        right: u32,
        /// Link of each host.
        link: Link,
        /// Link between the switches.
        bottleneck: Link,
    },
    /// The D3 testbed (D3 §6): 4 racks of 3 hosts under one root, and 2 traffic generators at the root.
    D3Testbed {
        /// Every link.
        link: Link,
    },
    /// Racks of hosts. The switch of each rack is connected to every spine.
    LeafSpine {
        /// Number of racks.
        racks: u32,
        /// Hosts in each rack.
        hosts_per_rack: u32,
        /// Spine switches.
        spines: u32,
        /// Link of each host to its rack's switch.
        host_link: Link,
        /// Link of each rack's switch to each spine.
        uplink: Link,
    },
    /// A k-ary fat-tree: k³/4 hosts.
    FatTree {
        /// Ports per switch, even.
        k: u32,
        /// Every link.
        link: Link,
    },
    /// Any graph of named nodes.
    Graph {
        /// Hosts, then switches. Hosts have the indices of this list.
        nodes: Vec<Node>,
        /// Links.
        edges: Vec<Edge>,
    },
}

impl Topology {
    /// Returns the number of hosts.
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

/// Full-duplex link, equal in both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Rate in each direction.
    pub rate: Rate,
    /// One-way propagation delay.
    pub latency: Span,
    /// Probability of losing a packet, in each direction, in [0, 1).
    pub loss: f64,
}

/// Node of [`Topology::Graph`].
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Name.
    pub name: String,
    /// True for a host, false for a switch.
    pub host: bool,
}

/// Edge of [`Topology::Graph`]. Its ends are indices of nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// One end.
    pub a: usize,
    /// The other end.
    pub b: usize,
    /// Link.
    pub link: Link,
}

/// Ports of all switches.
#[derive(Clone, Debug, PartialEq)]
pub struct Switch {
    /// Memory for packets.
    pub buffer: Buffer,
    /// ECN thresholds: a port marks packets that find at least this much queued, including the packet in service. The
    /// list has (link rate, threshold) pairs, sorted by rate, starting at rate 0. A port uses the last pair at or below
    /// its rate. Empty: ports do not mark.
    pub ecn_threshold: Vec<(Rate, Amount)>,
    /// Choice among equally short paths.
    pub load_balancing: LoadBalancing,
}

/// Choice of switches among equally short paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadBalancing {
    /// By a hash of the flow, so that its packets keep one path (ECMP).
    #[default]
    Flows,
    /// At random for each packet (packet spraying). Flows that routers account for, as D3's, keep one path.
    Packets,
}

/// Allocation of a switch's memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Buffer {
    /// No limit.
    Unlimited,
    /// Separate memory per port.
    Static(Amount),
    /// One pool per switch. A port may use up to `alpha` times the free memory (Choudhury and Hahne, 1998).
    Dynamic {
        /// Memory of the switch.
        pool: Bytes,
        /// Limit of a port as a multiple of the free memory.
        alpha: f64,
    },
}

/// Amount of queue, in the unit of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Number of packets of any size.
    Packets(u32),
    /// Bytes.
    Bytes(u64),
}

/// Options of all hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// Order in which the NIC sends packets.
    pub nic: Nic,
    /// Bytes added to each packet's IP length on the wire: 0, or 38 for Ethernet with preamble and gap.
    pub frame_overhead: u32,
    /// True if `burst`, `permutation` and `long` flows and messages of queries start with a jitter of U[0, one packet
    /// time]. Other flows have no start jitter.
    pub start_jitter: bool,
    /// Random delay of each packet at its host, U[0, this), taken from the gap behind it; 0 to 1 ms.
    pub send_jitter: Span,
    /// Minimum delay of each packet between the NIC and the transport of the receiving host; 0 to 1 s.
    pub receive_delay: Span,
    /// Added to `receive_delay`, drawn when a packet arrives and no other is waiting. Packets keep their order.
    pub receive_jitter: Gap,
    /// Servers for the computations of queries.
    pub servers: Servers,
}

/// Servers of a host, shared by all computations of queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Servers {
    /// Every computation starts immediately.
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
    /// Computations that can run at the same time, 1 to 100,000.
    pub slots: u32,
    /// Order of waiting computations.
    pub queue: ServerQueue,
}

/// Order of waiting computations. Running computations are never interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerQueue {
    /// By arrival at the host.
    Fifo,
    /// By the deadline of the answer (none last), then by arrival.
    EarliestDeadline,
}

/// Order in which the NIC sends packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nic {
    /// Acknowledgements first, then packets of ready flows in turn.
    Pull,
    /// Unlimited FIFO queue.
    Fifo,
}
