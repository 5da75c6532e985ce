//! What a switch is made of.

mod check;

pub use check::ConfigError;

use duetime_core::random::Streams;
use duetime_core::{Rate, Span};
use duetime_link::Limit;
use duetime_proto::d3;
use std::net::Ipv4Addr;

/// A network of nodes between interfaces.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The switches; at least one.
    pub nodes: Vec<NodeConfig>,
    /// The real interfaces, with a host behind each; at least two.
    pub interfaces: Vec<InterfaceConfig>,
    /// What holds for all of them.
    pub options: Options,
}

/// A switch of the emulated network.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeConfig {
    /// What reports call it.
    pub name: String,
    /// Its output ports.
    pub ports: Vec<PortConfig>,
    /// For each interface, by its index: the port towards it.
    pub next_port: Vec<PortChoice>,
    /// A memory shared by all ports of the node; `None`: each port has memory of its own.
    pub shared_buffer: Option<SharedBufferConfig>,
}

/// A way out of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortChoice {
    /// This port of the node.
    One(usize),
    /// One of these ports of the node, by a hash of the flow's protocol, addresses and ports.
    Hashed(Vec<usize>),
}

/// An output port and the link behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct PortConfig {
    /// Capacity; above zero.
    pub rate: Rate,
    /// Propagation delay; at most 10 s.
    pub latency: Span,
    /// Share of its packets that the link loses at random, 0 to 0.99.
    pub loss: f64,
    /// How much it may hold, the packet in service included.
    pub limit: Limit,
    /// K: a packet that finds at least this much in the port gets CE if it is ECN-capable (D2TCP §3).
    pub mark_at: Option<Limit>,
    /// Strict-priority classes, 1 to 32; 1 is first come, first served.
    pub classes: usize,
    /// D3's router answers the rate requests that leave through the port, with [`Options::d3`].
    pub d3: bool,
    /// What is at the far end.
    pub to: End,
}

/// The far end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A node, by its index.
    Node(usize),
    /// An interface, by its index.
    Interface(usize),
}

/// A memory shared by the ports of a node, with a dynamic threshold per port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedBufferConfig {
    /// Its size in bytes; below 4 GiB.
    pub bytes: u64,
    /// A port may hold this times what is free; above zero, at most 1024.
    pub alpha: f64,
}

/// A real interface and the host behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct InterfaceConfig {
    /// The device's name.
    pub name: String,
    /// What reports call the host behind it.
    pub host: String,
    /// The host's IPv4 address; `None`: forwarded by link-layer address alone.
    pub address: Option<Ipv4Addr>,
    /// The host's link-layer address; `None`: learned.
    pub mac: Option<[u8; 6]>,
    /// The node to which the host is attached, by its index.
    pub node: usize,
    /// The link from the host's NIC to the node.
    pub uplink: LinkConfig,
}

/// A link behind a host's NIC. It does not mark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkConfig {
    /// Capacity; above zero.
    pub rate: Rate,
    /// Propagation delay; at most 10 s.
    pub latency: Span,
    /// Share of its packets that the link loses at random, 0 to 0.99.
    pub loss: f64,
    /// How much the NIC's queue may hold.
    pub limit: Limit,
    /// Strict-priority classes, 1 to 32; 1 is first come, first served.
    pub classes: usize,
}

/// What holds for the whole switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bytes that each packet weighs beside its IP packet, such as 38 for Ethernet with preamble and gap; at most 1024.
    pub overhead_bytes: u32,
    /// How a packet's strict-priority class is read.
    pub classifier: Classifier,
    /// D3's options, of which the switch reads those of routers ([`d3::Config::for_routers`]). A `scale` of `None` stands
    /// for the one of the slowest port that has D3.
    pub d3: d3::Config,
    /// Keep the queues over time.
    pub sampling: Option<Sampling>,
    /// What links draw from that lose packets at random.
    pub streams: Streams,
    /// How many frames the switch holds at most, in ports and on links; 1 to 2²⁰.
    pub buffers: usize,
    /// The thread runs under the real-time scheduler (`SCHED_FIFO`, priority 1) where the kernel permits it, which
    /// [`crate::Report::real_time`] tells. Without it, packets on a busy machine are late by milliseconds.
    pub real_time: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            overhead_bytes: 0,
            classifier: Classifier::Precedence,
            d3: d3::Config::default(),
            sampling: None,
            streams: Streams::new(1, 0),
            buffers: 16_384,
            real_time: true,
        }
    }
}

/// How a packet's strict-priority class, 0 first, is read. A class beyond the port's last is the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Classifier {
    /// From the IP precedence (the upper three bits of the DSCP): 7 minus it.
    Precedence,
    /// The class of each DSCP.
    Dscp([u8; 64]),
    /// From the 802.1p priority of the outer VLAN tag: 7 minus it; untagged is priority 0.
    Vlan,
}

/// The queues of ports over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// The time between two samples of a port; at least 1 µs.
    pub every: Span,
    /// How many samples of each port are kept: the first.
    pub keep: usize,
}

impl Config {
    /// All interfaces on one switch. Each interface's own port is `port`, whose far end is set here.
    pub fn star(
        name: &str,
        interfaces: Vec<InterfaceConfig>,
        port: &PortConfig,
        shared_buffer: Option<SharedBufferConfig>,
    ) -> Self {
        let towards = |index| PortConfig {
            to: End::Interface(index),
            ..port.clone()
        };
        let node = NodeConfig {
            name: name.to_owned(),
            ports: (0..interfaces.len()).map(towards).collect(),
            next_port: (0..interfaces.len()).map(PortChoice::One).collect(),
            shared_buffer,
        };
        Self {
            nodes: vec![node],
            interfaces,
            options: Options::default(),
        }
    }

    /// D3's options with the scale that the ports use; hosts must use the same.
    pub fn d3(&self) -> d3::Config {
        let ports = self.nodes.iter().flat_map(|node| &node.ports);
        let slowest = ports.filter(|port| port.d3).map(|port| port.rate).min();
        let config = self.options.d3;
        slowest.map_or(config, |slowest| config.for_slowest(slowest))
    }

    /// Checks that the network makes sense: every host is reached from every other on every way that a packet may
    /// take, and all values are within their ranges.
    pub fn check(&self) -> Result<(), ConfigError> {
        check::check(self)
    }
}

impl PortChoice {
    /// The ports that may be taken.
    pub fn ports(&self) -> &[usize] {
        match self {
            Self::One(port) => std::slice::from_ref(port),
            Self::Hashed(ports) => ports,
        }
    }
}
