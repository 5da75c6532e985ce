//! D3 at hosts and ports: connects the state machines of `proto::d3` to the engine.

mod edge;
mod port;
mod receiving;
mod sending;

pub use edge::EdgeState;
pub use port::PortState;
pub use receiving::Receiving;
pub use sending::Sending;

use super::context::Context;
use super::endpoint::{Binding, Endpoint, Listed};
use crate::capture::Decoded;
use crate::packet::Packet;
use crate::setup::Setup;
use crate::workload::Message;
use duetime_core::Time;
use duetime_proto::d3::{self, Config, wire::capture};
use duetime_scenario::model::RouterProgram;

/// IP protocol number for experimentation (RFC 3692), used for the datagrams of [`capture`].
const PROTOCOL: u8 = 253;

/// Family of D3 and RCPdc.
pub enum D3 {}

/// A D3 packet with the index of its endpoint, for replies; a SYN also carries the message. Flow and deadline are for
/// the simulator's measurements at routers.
#[derive(Debug)]
pub struct Extra {
    pub packet: d3::Packet,
    reply: u32,
    message: Option<Box<Message>>,
    flow: u64,
    deadline: Option<Time>,
}

impl Endpoint for D3 {
    type Config = Config;
    type Sender = Sending;
    type Receiver = Receiving;
    type Extra = Extra;

    fn opening(extra: &Extra) -> Option<(u32, &Message)> {
        Some((extra.reply, extra.message.as_deref()?))
    }

    fn decode(_packet: &Packet, extra: Option<&Extra>, _overhead: u32) -> Decoded {
        let Some(Extra { packet, .. }) = extra else {
            return Decoded::default();
        };
        Decoded {
            seq: packet.seq,
            len: packet.len,
            protocol: PROTOCOL,
            headers: headers(packet),
        }
    }

    fn is_request(extra: &Extra) -> bool {
        extra.packet.request.is_some()
    }
}

/// Returns the options of D3's routers in a run with D3.
fn router_options(setup: &Setup) -> &Config {
    match &setup.router_program {
        Some(RouterProgram::D3(config)) => config,
        _ => unreachable!("a run with D3"),
    }
}

/// Returns a packet's header bytes. Rates with a fraction (`Rounding::Exact`) are rounded down, because the wire format
/// cannot carry fractions.
fn headers(packet: &d3::Packet) -> Vec<u8> {
    let mut packet = *packet;
    if let Some(request) = &mut packet.request {
        let rates = [&mut request.desired, &mut request.previous_desired];
        let allocations = request.allocations.iter_mut();
        let allocations = allocations.chain(&mut request.previous_allocations);
        for rate in allocations.chain(&mut request.feedback).chain(rates) {
            rate.0 &= 0xff00;
        }
    }
    let mut bytes = [0; capture::MAX_HEADER_BYTES];
    let length = capture::encode(&packet, &mut bytes).unwrap_or(0);
    bytes[..length].to_vec()
}

/// Creates a packet of this endpoint. `bits` holds the direction flag.
fn packet(
    config: &Config,
    binding: &Binding,
    context: &mut Context,
    extra: Extra,
    bits: u16,
) -> Packet {
    let mut packet = Packet::new(
        binding.remote,
        binding.peer,
        binding.hash,
        extra.packet.seq as u32,
        extra.packet.wire_bytes(config) as u16 + context.frame_overhead,
        bits | Packet::label(D3::FAMILY as u16, binding.class),
    );
    packet.extra = context.attach::<D3>(extra);
    packet
}
