//! Contents of D3's packets.

use crate::capture::Decoded;
use crate::engine::contents::Contents;
use crate::packet::{Packet, REVERSE};
use crate::workload::Message;
use duetime_core::Time;
use duetime_link::Frame;
use duetime_proto::d3::{self, wire::capture};

/// IP protocol number for experimentation (RFC 3692), used for the datagrams of [`capture`].
const PROTOCOL: u8 = 253;

/// A D3 packet with the index of its endpoint, for replies; a SYN also carries the message. Flow and deadline are for
/// the simulator's measurements at routers. Most packets are [plain](is_plain) and have no extra.
#[derive(Debug)]
pub struct Extra {
    pub packet: d3::Packet,
    pub(super) reply: u32,
    pub(super) message: Option<Box<Message>>,
    pub(super) flow: u64,
    pub(super) deadline: Option<Time>,
}

impl Contents for Extra {
    fn opening(&self) -> Option<(u32, &Message)> {
        Some((self.reply, self.message.as_deref()?))
    }

    fn decode(packet: &Packet, extra: Option<&Self>, overhead: u32) -> Decoded {
        // Captures contain packets with the simulator's headers, not those of UDP.
        let header_bytes = overhead + capture::IP_BYTES;
        let contents = extra.map_or_else(|| plain(packet, header_bytes), |extra| extra.packet);
        Decoded {
            seq: contents.seq,
            len: contents.len,
            protocol: PROTOCOL,
            headers: headers(&contents),
        }
    }

    fn is_request(&self) -> bool {
        self.packet.request.is_some()
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

/// Returns true if the fields of [`Packet`] suffice for a packet: it has no request, and no flag other than its
/// direction's.
#[inline(always)]
pub(super) fn is_plain(packet: &d3::Packet, bits: u16) -> bool {
    packet.request.is_none() && packet.flags == flags(bits & REVERSE != 0) && is_short(packet.seq)
}

/// Returns true if [`Packet::seq`] can carry this position.
#[inline(always)]
pub(super) const fn is_short(seq: u64) -> bool {
    seq <= u32::MAX as u64
}

/// Returns the flags of a plain packet.
#[inline(always)]
const fn flags(is_reverse: bool) -> d3::Flags {
    d3::Flags(0).with(d3::Flags::ACK, is_reverse)
}

/// Returns the contents of a [plain](is_plain) packet. `headers` is the number of its bytes other than payload.
#[inline(always)]
pub(super) fn plain(packet: &Packet, headers: u32) -> d3::Packet {
    d3::Packet {
        seq: u64::from(packet.seq),
        len: packet.wire_bytes() - headers,
        flags: flags(packet.is_reverse()),
        ..d3::Packet::default()
    }
}
