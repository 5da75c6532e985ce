//! Simulated packets as bytes, for pcapng: IPv4 with TCP (RFC 9293), or with the datagrams of [`duetime_proto::d3::wire`]
//! under protocol 253 ("experimentation", RFC 3692).

use crate::packet::{D3, Extra, Packet, REVERSE};
use duetime_link::Frame;
use duetime_proto::d3::{self, wire};
use duetime_proto::tcp;

const TCP_PROTOCOL: u8 = 6;
const D3_PROTOCOL: u8 = 253;

/// The first `snap_length` bytes of the IP packet; payload is zeros.
pub fn ip_packet(packet: &Packet, extra: Option<&Extra>, source: u32, snap_length: u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(64);
    let is_d3 = packet.flags() & D3 != 0;
    let flags = packet.tcp_flags();
    let ecn = match (flags.contains(tcp::Flags::CE), packet.is_ecn_capable()) {
        (true, true) => 3,
        (false, true) => 2,
        _ => 0,
    };
    bytes.extend([0x45, (packet.class() as u8) << 5 | ecn]);
    bytes.extend((packet.wire_bytes() as u16).to_be_bytes());
    bytes.extend([
        0,
        0,
        0x40,
        0,
        64,
        if is_d3 { D3_PROTOCOL } else { TCP_PROTOCOL },
        0,
        0,
    ]);
    bytes.extend(address(source));
    bytes.extend(address(packet.destination()));
    let checksum = checksum(&bytes);
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());

    match extra {
        Some(Extra::D3 { packet, .. }) => d3_headers(packet, &mut bytes),
        _ => tcp_header(packet, &mut bytes),
    }
    bytes.resize(
        packet.wire_bytes().max(bytes.len() as u32).min(snap_length) as usize,
        0,
    );
    bytes
}

fn tcp_header(packet: &Packet, bytes: &mut Vec<u8>) {
    // Both ports come from the connection's hash, so that a dissector keeps the two directions together.
    let ports = (
        packet.flow as u16 | 0x8000,
        (packet.flow >> 16) as u16 & 0x7fff,
    );
    let (from, to) = if packet.flags() & REVERSE == 0 {
        ports
    } else {
        (ports.1, ports.0)
    };
    bytes.extend(from.to_be_bytes());
    bytes.extend(to.to_be_bytes());
    let (own, acknowledged) = if packet.flags() & REVERSE == 0 {
        (packet.seq, 1)
    } else {
        (1, packet.seq)
    };
    bytes.extend(own.to_be_bytes());
    bytes.extend(acknowledged.to_be_bytes());
    bytes.extend([0x50, tcp_flags(packet), 0xff, 0xff, 0, 0, 0, 0]);
}

/// Rates with a fraction (`Rounding::Exact`) have no bytes: they are rounded down.
fn d3_headers(packet: &d3::Packet, bytes: &mut Vec<u8>) {
    let mut packet = *packet;
    if let Some(request) = &mut packet.request {
        let rates = [&mut request.desired, &mut request.previous_desired];
        let allocations = request.allocations.iter_mut();
        let allocations = allocations.chain(&mut request.previous_allocations);
        for rate in allocations.chain(&mut request.feedback).chain(rates) {
            rate.0 &= 0xff00;
        }
    }
    let mut headers = [0; wire::MAX_HEADER_BYTES];
    if let Ok(length) = wire::encode(&packet, &mut headers) {
        bytes.extend(&headers[..length]);
    }
}

/// Host `n` is 10.x.y.z with n in the low 24 bits, from 1.
fn address(host: u32) -> [u8; 4] {
    let [_, high, middle, low] = (host + 1).to_be_bytes();
    [10, high, middle, low]
}

/// FIN, SYN, PSH, ACK, ECE and CWR.
fn tcp_flags(packet: &Packet) -> u8 {
    let bit = |set: bool, bit: u8| if set { bit } else { 0 };
    let has = |flag| packet.tcp_flags().contains(flag);
    let acknowledges = packet.flags() & REVERSE != 0 || !has(tcp::Flags::SYN);
    bit(has(tcp::Flags::FIN), 1)
        | bit(has(tcp::Flags::SYN), 2)
        | bit(has(tcp::Flags::PUSH), 8)
        | bit(acknowledges, 16)
        | bit(has(tcp::Flags::ECE), 64)
        | bit(has(tcp::Flags::CWR), 128)
}

/// RFC 1071.
fn checksum(header: &[u8]) -> u16 {
    let words = header
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}
