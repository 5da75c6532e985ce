//! PDQ at hosts and ports: connects the state machines of `proto::pdq` to the engine.

mod port;
mod receiving;
mod sending;

pub use port::PortState;
pub use receiving::Receiving;
pub use sending::Sending;

use super::context::Context;
use super::endpoint::{Binding, Endpoint, Listed};
use crate::capture::Decoded;
use crate::packet::Packet;
use crate::workload::Message;
use duetime_proto::pdq::{self, Config, Kind, MAX_LINKS};

/// IP protocol number for experimentation (RFC 3692).
const PROTOCOL: u8 = 254;

/// Family of PDQ.
pub enum Pdq {}

/// A PDQ packet with the index of its endpoint, for replies; a SYN also carries the message.
#[derive(Debug)]
pub struct Extra {
    packet: pdq::Packet,
    reply: u32,
    message: Option<Box<Message>>,
    flow: u64,
    path: Path,
}

/// Links that a packet has left by, for its reply.
#[derive(Clone, Copy, Debug, Default)]
struct Path {
    links: [u32; MAX_LINKS],
    len: u8,
}

impl Path {
    fn push(&mut self, link: u32) {
        if let Some(slot) = self.links.get_mut(usize::from(self.len)) {
            *slot = link;
            self.len += 1;
        }
    }

    fn last(&self) -> Option<u32> {
        self.links[..usize::from(self.len)].last().copied()
    }
}

impl Endpoint for Pdq {
    type Config = Config;
    type Sender = Sending;
    type Receiver = Receiving;
    type Extra = Extra;

    fn opening(extra: &Extra) -> Option<(u32, &Message)> {
        Some((extra.reply, extra.message.as_deref()?))
    }

    fn decode(packet: &Packet, extra: Option<&Extra>, _overhead: u32) -> Decoded {
        extra.map_or_else(Decoded::default, |extra| Decoded {
            seq: extra.packet.seq,
            // A reply repeats the fields of its packet, without the payload.
            len: if packet.is_reverse() {
                0
            } else {
                extra.packet.len
            },
            protocol: PROTOCOL,
            ..Decoded::default()
        })
    }

    fn is_request(extra: &Extra) -> bool {
        extra.packet.kind != Kind::Data
    }
}

/// Creates a packet of this endpoint. `bits` holds the direction flag.
fn packet(binding: &Binding, context: &mut Context, extra: Extra, bits: u16) -> Packet {
    let mut packet = Packet::new(
        binding.remote,
        binding.peer,
        binding.hash,
        extra.packet.seq as u32,
        extra.packet.wire_bytes() as u16 + context.frame_overhead,
        bits | Packet::label(Pdq::FAMILY as u16, binding.class),
    );
    packet.extra = context.attach::<Pdq>(extra);
    packet
}
