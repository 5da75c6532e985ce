//! Packets of PDQ's senders and receivers.

use super::contents::Extra;
use crate::engine::context::Context;
use crate::engine::endpoint::Binding;
use crate::engine::family::Family;
use crate::packet::Packet;

/// Creates a packet of this endpoint. `bits` holds the direction flag.
pub(super) fn create(binding: &Binding, context: &mut Context, extra: Extra, bits: u16) -> Packet {
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
