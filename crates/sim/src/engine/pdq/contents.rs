//! Contents of PDQ's packets.

use crate::capture::Decoded;
use crate::engine::contents::Contents;
use crate::packet::Packet;
use crate::workload::Message;
use duetime_proto::pdq::{self, Kind, MAX_LINKS};

/// IP protocol number for experimentation (RFC 3692).
const PROTOCOL: u8 = 254;

/// A PDQ packet with the index of its endpoint, for replies; a SYN also carries the message.
#[derive(Debug)]
pub struct Extra {
    pub(super) packet: pdq::Packet,
    pub(super) reply: u32,
    pub(super) message: Option<Box<Message>>,
    pub(super) flow: u64,
    pub(super) path: Path,
}

impl Contents for Extra {
    fn opening(&self) -> Option<(u32, &Message)> {
        Some((self.reply, self.message.as_deref()?))
    }

    fn decode(packet: &Packet, extra: Option<&Self>, _overhead: u32) -> Decoded {
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

    fn is_request(&self) -> bool {
        self.packet.kind != Kind::Data
    }
}

/// Links that a packet has left by, for its reply.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Path {
    links: [u32; MAX_LINKS],
    pub(super) len: u8,
}

impl Path {
    pub(super) fn push(&mut self, link: u32) {
        if let Some(slot) = self.links.get_mut(usize::from(self.len)) {
            *slot = link;
            self.len += 1;
        }
    }

    pub(super) fn last(&self) -> Option<u32> {
        self.links[..usize::from(self.len)].last().copied()
    }
}
