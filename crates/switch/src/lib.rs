//! A software switch that connects real network interfaces through the simulator's ports (`link`).
//!
//! A single thread emulates a whole network. A [`Config`] lists the interfaces, each with a host behind it, and the
//! nodes and ports between them. Links between nodes run in virtual time: a frame enters the host's uplink at its
//! kernel receive timestamp, the ports compute its departures, marks or drop, and the switch transmits it at its
//! virtual arrival time. A late wake-up of the thread therefore delays only the packets of that moment.
//!
//! [`Fabric`] is the switch without I/O or clock. [`Switch`] (Linux) drives it with packet sockets.
//!
//! # Packet sizes
//! An IP packet counts with its headers and [`Options::overhead_bytes`]. As in the simulator, Ethernet framing counts
//! only if `[host] frame_overhead` says so. Other packets count with their Ethernet payload.
//!
//! # Forwarding
//! - An IPv4 packet to an interface's address goes to that interface, with the destination's link-layer address if the
//!   configuration has it.
//! - Other frames are forwarded by link-layer destination, configured or learned from received frames.
//! - Broadcast, multicast and unknown destinations go to all other interfaces. The sender's node makes the copies,
//!   which are forwarded separately from there on. ARP and IPv6 neighbour discovery therefore need no configuration,
//!   and loops cause no storms.
//!
//! # Marking
//! Ports mark as in `link` and the simulator: a packet that finds K or more in the port gets CE if it is ECN-capable.
//! Other packets pass unmarked and are dropped only at the port's limit.
//!
//! # D3
//! At a port with [`PortConfig::d3`], the port driver of `proto::d3` answers the rate requests of D3 datagrams, as in
//! the simulator. [`duetime_proto::d3::wire::has_request`] recognizes them on any UDP port. Datagrams that go to
//! all interfaces are not answered. With `police` in [`Options::d3`], the switch drops what an interface sends beyond
//! the grants of its flows.
#![deny(clippy::undocumented_unsafe_blocks)]
#![allow(
    clippy::cast_possible_truncation,
    reason = "the packet path: indices and sizes are bounded at creation"
)]

mod buffers;
mod config;
mod d3;
mod fabric;
mod file;
mod forwarding;
mod frame;
mod headers;
#[cfg(target_os = "linux")]
mod linux;
mod loss;
mod report;
mod series;

pub use config::{
    Classifier, Config, ConfigError, End, InterfaceConfig, LinkConfig, NodeConfig, Options,
    PortChoice, PortConfig, Sampling, SharedBufferConfig,
};
pub use duetime_link::Limit;
pub use fabric::{Fabric, Outgoing, Refused};
pub use file::{parse_limit, plain_interface, plain_port};
#[cfg(target_os = "linux")]
pub use linux::{Error, Statistics, Switch, disable_offloads};
pub use report::{D3Report, InterfaceReport, Lateness, PortReport, Report};
pub use series::{Sample, Series};
