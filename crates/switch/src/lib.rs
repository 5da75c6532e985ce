//! The software switch: `link`'s ports, the same as in the simulator, between real network interfaces.
//!
//! One switch, one thread, emulates a whole network. A [`Config`] names the interfaces, at each of which a host is
//! attached, and the nodes between them with their ports. Only interfaces are real; links between nodes run in virtual
//! time. A frame enters the host's uplink at the instant at which the kernel received it; the ports then give its
//! departures, marks or drop, and it is sent at its virtual arrival time. So a late wake-up of the thread delays the
//! packets of that moment and no others.
//!
//! [`Fabric`] is the switch without I/O or clock. [`Switch`] (Linux) drives it with packet sockets.
//!
//! # What a packet weighs
//! The IP packet, headers included, and [`Options::overhead_bytes`]: as in the simulator, where Ethernet framing is
//! not counted unless `[host] frame_overhead` says so. What is not IP weighs its Ethernet payload.
//!
//! # Forwarding
//! - An IPv4 packet to an address of an interface goes there, with the destination's link-layer address set if the
//!   configuration has it.
//! - Otherwise the link-layer destination decides: configured, or learned from frames that came from there.
//! - Broadcast, multicast and unknown destinations go to all other interfaces, each copy on its own way from the node
//!   of the sender on. So ARP and IPv6 neighbour discovery work without configuration, and loops do no harm.
//!
//! # Marking
//! A port marks as `link` and the simulator do: a packet that finds K or more in the port gets CE if it is
//! ECN-capable. One that is not passes unmarked, and only the port's limit drops it.
//!
//! # D3
//! At a port with [`PortConfig::d3`] the driver of `proto::d3` answers the rate requests of the D3 datagrams that come to
//! it, as it does in the simulator. A UDP datagram is D3's if [`duetime_proto::d3::datagram::has_request`] says so,
//! whatever its ports. One that goes to all interfaces is not answered. With `police` in [`Options::d3`] each interface is
//! held to what its flows were granted.
#![deny(clippy::undocumented_unsafe_blocks)]
#![allow(
    clippy::cast_possible_truncation,
    reason = "the packet path: indices and sizes are bounded where they are made"
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
