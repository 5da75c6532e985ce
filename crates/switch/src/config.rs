//! Configuration of a switch.

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
    /// Switches; at least one.
    pub nodes: Vec<NodeConfig>,
    /// Real interfaces, each with a host behind it; at least two.
    pub interfaces: Vec<InterfaceConfig>,
    /// Options of the whole switch.
    pub options: Options,
}

/// A switch of the emulated network.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeConfig {
    /// Name in reports.
    pub name: String,
    /// Output ports.
    pub ports: Vec<PortConfig>,
    /// Ports towards each interface, by interface index.
    pub next_port: Vec<PortChoice>,
    /// Buffer shared by all ports of the node, or `None` if each port has its own.
    pub shared_buffer: Option<SharedBufferConfig>,
}

/// Next hop of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortChoice {
    /// A port of the node.
    One(usize),
    /// One of several ports of the node, selected by a hash of the flow's protocol, addresses and ports.
    Hashed(Vec<usize>),
}

/// An output port and the link behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct PortConfig {
    /// Capacity; above zero.
    pub rate: Rate,
    /// Propagation delay; at most 10 s.
    pub latency: Span,
    /// Probability that the link loses a packet, 0 to 0.99.
    pub loss: f64,
    /// Queue limit, including the packet in service.
    pub limit: Limit,
    /// Marking threshold K: an ECN-capable packet that finds at least this much in the port gets CE (D2TCP §3).
    pub mark_at: Option<Limit>,
    /// Number of strict-priority classes, 1 to 32; 1 is first come, first served.
    pub classes: usize,
    /// True if a D3 router with [`Options::d3`] answers the rate requests that leave through the port.
    pub d3: bool,
    /// Far end of the link.
    pub to: End,
}

/// Far end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Node index.
    Node(usize),
    /// Interface index.
    Interface(usize),
}

/// Buffer shared by the ports of a node, with a dynamic threshold per port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedBufferConfig {
    /// Size in bytes; below 4 GiB.
    pub bytes: u64,
    /// Multiple of the free buffer that a port may use; above zero, at most 1024.
    pub alpha: f64,
}

/// A real interface and the host behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct InterfaceConfig {
    /// Device name.
    pub name: String,
    /// Name of the host in reports.
    pub host: String,
    /// IPv4 address of the host, or `None` to forward by link-layer address only.
    pub address: Option<Ipv4Addr>,
    /// Link-layer address of the host, or `None` to learn it.
    pub mac: Option<[u8; 6]>,
    /// Index of the node to which the host is attached.
    pub node: usize,
    /// Link from the host's NIC to the node.
    pub uplink: LinkConfig,
}

/// Link behind a host's NIC; it does not mark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkConfig {
    /// Capacity; above zero.
    pub rate: Rate,
    /// Propagation delay; at most 10 s.
    pub latency: Span,
    /// Probability that the link loses a packet, 0 to 0.99.
    pub loss: f64,
    /// Limit of the NIC's queue.
    pub limit: Limit,
    /// Number of strict-priority classes, 1 to 32; 1 is first come, first served.
    pub classes: usize,
}

/// Options of the whole switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bytes added to the size of each IP packet, such as 38 for Ethernet with preamble and gap; at most 1024.
    pub overhead_bytes: u32,
    /// Source of a packet's strict-priority class.
    pub classifier: Classifier,
    /// D3 options, of which the switch uses those of routers ([`d3::Config::for_routers`]). If `scale` is `None`, the
    /// scale fits the slowest port with D3.
    pub d3: d3::Config,
    /// Sampling of the queues, or `None` for no samples.
    pub sampling: Option<Sampling>,
    /// Random streams of links with loss.
    pub streams: Streams,
    /// Maximum number of frames in ports and on links; 1 to 2²⁰.
    pub buffers: usize,
    /// True to run the thread under the real-time scheduler (`SCHED_FIFO`, priority 1) if permitted;
    /// [`crate::Report::real_time`] reports the result. Without it, packets on a busy machine are late by milliseconds.
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

/// Source of a packet's strict-priority class, where 0 is served first. Higher classes than the port has map to its
/// last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Classifier {
    /// 7 minus the IP precedence (the upper three bits of the DSCP).
    Precedence,
    /// Class of each DSCP.
    Dscp([u8; 64]),
    /// 7 minus the 802.1p priority of the outer VLAN tag; untagged packets have priority 0.
    Vlan,
}

/// Sampling of port queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// Interval between two samples of a port; at least 1 µs.
    pub every: Span,
    /// Maximum number of samples per port; later samples are discarded.
    pub keep: usize,
}

impl Config {
    /// Creates a single switch with all interfaces. Each interface gets a copy of `port`, with its far end set.
    pub fn star(
        name: &str,
        interfaces: Vec<InterfaceConfig>,
        port: &PortConfig,
        shared_buffer: Option<SharedBufferConfig>,
    ) -> Self {
        let port_to = |index| PortConfig {
            to: End::Interface(index),
            ..port.clone()
        };
        let node = NodeConfig {
            name: name.to_owned(),
            ports: (0..interfaces.len()).map(port_to).collect(),
            next_port: (0..interfaces.len()).map(PortChoice::One).collect(),
            shared_buffer,
        };
        Self {
            nodes: vec![node],
            interfaces,
            options: Options::default(),
        }
    }

    /// Returns the D3 options with the scale of the ports, which hosts must also use.
    pub fn d3(&self) -> d3::Config {
        let ports = self.nodes.iter().flat_map(|node| &node.ports);
        let slowest = ports.filter(|port| port.d3).map(|port| port.rate).min();
        let config = self.options.d3;
        slowest.map_or(config, |slowest| config.for_slowest(slowest))
    }

    /// Checks all values and that every host reaches every other on all paths that a packet may take.
    pub fn check(&self) -> Result<(), ConfigError> {
        check::check(self)
    }
}

impl PortChoice {
    /// Returns the ports that a packet may take.
    pub fn ports(&self) -> &[usize] {
        match self {
            Self::One(port) => std::slice::from_ref(port),
            Self::Hashed(ports) => ports,
        }
    }
}
