//! D3 at hosts and ports: connects the state machines of `proto::d3` to the engine.

mod contents;
mod edge;
mod port;
mod receiving;
mod sending;

pub use contents::Extra;
pub use edge::EdgeState;
pub use port::PortState;
pub use receiving::Receiving;
pub use sending::Sending;

use super::context::Context;
use super::endpoint::{Binding, Endpoint};
use super::family::Family;
use crate::packet::Packet;
use duetime_proto::d3::{self, Config, wire::capture};

/// Family of D3 and RCPdc.
pub enum D3 {}

impl Endpoint for D3 {
    type Config = Config;
    type Sender = Sending;
    type Receiver = Receiving;
    type Extra = Extra;
}

/// Creates a packet of this endpoint. `bits` holds the direction flag.
#[inline(always)]
fn create(
    config: &Config,
    binding: &Binding,
    context: &Context,
    inner: &d3::Packet,
    bits: u16,
) -> Packet {
    debug_assert_eq!(config.wire.header_bytes, capture::IP_BYTES);
    Packet::new(
        binding.remote,
        binding.peer,
        binding.hash,
        inner.seq as u32,
        inner.wire_bytes(config) as u16 + context.frame_overhead,
        bits | Packet::label(Family::D3 as u16, binding.class),
    )
}
