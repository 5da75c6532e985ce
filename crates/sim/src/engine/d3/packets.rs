//! Packets of D3's senders and receivers.

use crate::engine::context::Context;
use crate::engine::endpoint::Binding;
use crate::engine::family::Family;
use crate::packet::Packet;
use duetime_proto::d3::Config;

/// Returns the number of bytes of a packet of `config` without request and payload, with the bytes around the IP packet.
#[inline(always)]
pub(super) fn header_bytes(config: &Config, context: &Context) -> u32 {
    config.wire.header_bytes + u32::from(context.frame_overhead)
}

/// Creates a packet of this endpoint without extra. `seq` is that of D3, `bytes` the length of the IP packet, and
/// `bits` holds the direction flag.
#[inline(always)]
pub(super) fn create(
    binding: &Binding,
    context: &Context,
    seq: u64,
    bytes: u32,
    bits: u16,
) -> Packet {
    Packet::new(
        binding.remote,
        binding.peer,
        binding.hash,
        seq as u32,
        bytes as u16 + context.frame_overhead,
        bits | Packet::label(Family::D3 as u16, binding.class),
    )
}
