//! Contents of TCP's segments.

use crate::capture::Decoded;
use crate::engine::contents::Contents;
use crate::packet::Packet;
use crate::workload::Message;
use duetime_link::Frame;
use duetime_proto::tcp::{Flags, Sack};

/// Bytes of the TCP and IP headers without options.
pub(super) const HEADER_BYTES: u32 = 40;
/// IP protocol number of TCP.
const PROTOCOL: u8 = 6;

/// Contents of a segment in addition to the packet's fixed fields.
#[derive(Debug)]
pub enum Extra {
    /// SYN, with the sender's index and the message that opens the connection.
    Syn { reply: u32, message: Message },
    /// SYN-ACK, with the receiver's index.
    SynAck { reply: u32 },
    /// Last segment of a message.
    Last { message: Message },
    /// Acknowledgement with SACK blocks.
    Sack(Sack),
}

impl Contents for Extra {
    fn opening(&self) -> Option<(u32, &Message)> {
        match self {
            Self::Syn { reply, message } => Some((*reply, message)),
            Self::SynAck { .. } | Self::Last { .. } | Self::Sack(_) => None,
        }
    }

    fn decode(packet: &Packet, extra: Option<&Self>, overhead: u32) -> Decoded {
        let sack = match extra {
            Some(Self::Sack(sack)) => *sack,
            _ => Sack::NONE,
        };
        Decoded {
            seq: u64::from(packet.seq),
            len: if packet.is_reverse() {
                0
            } else {
                packet.wire_bytes() - overhead - HEADER_BYTES
            },
            protocol: PROTOCOL,
            headers: header(packet, &sack),
        }
    }
}

/// Returns a TCP header (RFC 9293 §3.1) with SACK blocks as its only option (RFC 2018 §3). Both ports are derived from
/// the connection's hash, so that a dissector matches the two directions.
fn header(packet: &Packet, sack: &Sack) -> Vec<u8> {
    let ports = (
        packet.flow as u16 | 0x8000,
        (packet.flow >> 16) as u16 & 0x7fff,
    );
    let (from, to, seq, acknowledged) = if packet.is_reverse() {
        (ports.1, ports.0, 1, packet.seq)
    } else {
        (ports.0, ports.1, packet.seq, 1)
    };
    let has = |flag| packet.tcp_flags().contains(flag);
    let bit = |set: bool, bit: u8| if set { bit } else { 0 };
    let flags = bit(has(Flags::FIN), 1)
        | bit(has(Flags::SYN), 2)
        | bit(has(Flags::PUSH), 8)
        | bit(packet.is_reverse() || !has(Flags::SYN), 16)
        | bit(has(Flags::ECE), 64)
        | bit(has(Flags::CWR), 128);
    let mut bytes = Vec::with_capacity(HEADER_BYTES as usize);
    bytes.extend(from.to_be_bytes());
    bytes.extend(to.to_be_bytes());
    bytes.extend(seq.to_be_bytes());
    bytes.extend(acknowledged.to_be_bytes());
    let words = 5 + sack.option_bytes() as u8 / 4;
    bytes.extend([words << 4, flags, 0xff, 0xff, 0, 0, 0, 0]);
    if !sack.is_empty() {
        const NO_OPERATION: u8 = 1;
        const SACK: u8 = 5;
        bytes.extend([NO_OPERATION, NO_OPERATION, SACK, 2 + 8 * sack.len() as u8]);
        // Start high enough in the sequence space that blocks before `seq` do not underflow.
        let ack = 1 << 32 | u64::from(packet.seq);
        for (start, end) in sack.blocks(ack) {
            bytes.extend((start as u32).to_be_bytes());
            bytes.extend((end as u32).to_be_bytes());
        }
    }
    bytes
}
