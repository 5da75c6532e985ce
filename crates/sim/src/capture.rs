//! Simulated packets as bytes for pcapng: an IPv4 header followed by the headers of the transport family.

use crate::packet::Packet;
use duetime_link::Frame;
use duetime_proto::tcp;

/// Contents of a packet behind its IP header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    /// Stream position of the first byte, or the acknowledged position.
    pub seq: u64,
    /// Payload in bytes.
    pub len: u32,
    /// IP protocol number.
    pub protocol: u8,
    /// Headers from the transport's on.
    pub headers: Vec<u8>,
}

/// Returns the first `snap_length` bytes of the IP packet. The payload is zeros.
pub fn ip_packet(packet: &Packet, decoded: &Decoded, source: u32, snap_length: u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(64);
    let flags = packet.tcp_flags();
    let ecn = match (flags.contains(tcp::Flags::CE), packet.is_ecn_capable()) {
        (true, true) => 3,
        (false, true) => 2,
        _ => 0,
    };
    bytes.extend([0x45, (packet.class() as u8) << 5 | ecn]);
    bytes.extend((packet.wire_bytes() as u16).to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64, decoded.protocol, 0, 0]);
    bytes.extend(address(source));
    bytes.extend(address(packet.destination()));
    let checksum = checksum(&bytes);
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    bytes.extend(&decoded.headers);
    bytes.resize(
        packet.wire_bytes().max(bytes.len() as u32).min(snap_length) as usize,
        0,
    );
    bytes
}

/// Returns the address of a host: 10.x.y.z, with the host's index plus one in the low 24 bits.
fn address(host: u32) -> [u8; 4] {
    let [_, high, middle, low] = (host + 1).to_be_bytes();
    [10, high, middle, low]
}

/// Returns the Internet checksum (RFC 1071).
fn checksum(header: &[u8]) -> u16 {
    let words = header
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}
