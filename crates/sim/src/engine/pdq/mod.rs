//! PDQ at hosts and ports: connects the state machines of `proto::pdq` to the engine.

mod contents;
mod port;
mod receiving;
mod sending;

pub use contents::Extra;
pub use port::PortState;
pub use receiving::Receiving;
pub use sending::Sending;

use super::context::Context;
use super::endpoint::{Binding, Endpoint};
use super::family::Family;
use crate::packet::Packet;
use duetime_proto::pdq::Config;

/// Family of PDQ.
pub enum Pdq {}

impl Endpoint for Pdq {
    type Config = Config;
    type Sender = Sending;
    type Receiver = Receiving;
    type Extra = Extra;
}

/// Creates a packet of this endpoint. `bits` holds the direction flag.
fn packet(binding: &Binding, context: &mut Context, extra: Extra, bits: u16) -> Packet {
    let mut packet = Packet::new(
        binding.remote,
        binding.peer,
        binding.hash,
        extra.packet.seq as u32,
        extra.packet.wire_bytes() as u16 + context.frame_overhead,
        bits | Packet::label(Family::Pdq as u16, binding.class),
    );
    packet.extra = context.attach(extra);
    packet
}
