//! Generates datagrams for the dissector: valid and invalid ones.

use crc32c::{crc32c, crc32c_append};
use duetime_proto::d3::wire::{Header, Kind, encode};
use duetime_proto::d3::{EncodedRate, Flags, Packet, Request, Tag};
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, Endianness, TsResolution};
use std::fs::File;
use std::path::Path;
use std::time::Duration;

/// Random numbers by xorshift64.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn up_to(&mut self, max: u64) -> u64 {
        self.next() % (max + 1)
    }
}

/// Returns `count` datagrams, about half of them valid.
pub fn datagrams(count: usize) -> Vec<Vec<u8>> {
    let mut draws = Draws(0x9e37_79b9_7f4a_7c15);
    (0..count).map(|_| datagram(&mut draws)).collect()
}

fn datagram(draws: &mut Draws) -> Vec<u8> {
    let mut bytes = valid(draws);
    match draws.up_to(7) {
        // Damage in transit, which the checksum detects.
        0 => {
            let bit = draws.up_to(bytes.len() as u64 * 8 - 1) as usize;
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        // Invalid contents with a valid checksum.
        1..=3 => {
            let fields = [1, 2, 3, 7, 11, 16, 17, 19, 36, 45];
            let at = fields[draws.up_to(fields.len() as u64 - 1) as usize];
            if at < bytes.len() {
                bytes[at] ^= draws.next() as u8;
            }
            sign(&mut bytes);
        }
        4 => match draws.up_to(3) {
            0 => bytes[0] = draws.next() as u8,
            1 => bytes[18] = 2,
            2 => bytes.truncate(draws.up_to(bytes.len() as u64 - 2) as usize + 1),
            _ => {
                bytes.push(5);
                sign(&mut bytes);
            }
        },
        _ => {}
    }
    bytes
}

fn valid(draws: &mut Draws) -> Vec<u8> {
    let kinds = [
        Kind::Packet,
        Kind::Packet,
        Kind::Packet,
        Kind::Ping,
        Kind::Pong,
        Kind::Reset,
        Kind::Challenge,
    ];
    let kind = kinds[draws.up_to(6) as usize];
    let packet = match kind {
        Kind::Packet => packet(draws),
        Kind::Reset => Packet {
            seq: draws.up_to(5),
            ..Packet::default()
        },
        _ => Packet::default(),
    };
    let header = Header {
        kind,
        destination: draws.next() >> draws.up_to(63),
        source: draws.next(),
        window: if packet.flags.contains(Flags::ACK) {
            draws.next() as u32
        } else {
            0
        },
        packet,
    };
    let payload: Vec<u8> = (0..packet.len).map(|_| draws.next() as u8).collect();
    let mut bytes = Vec::new();
    encode(&header, (&payload, &[]), &mut bytes).expect("an encodable header");
    bytes
}

fn packet(draws: &mut Draws) -> Packet {
    let has_request = draws.up_to(1) == 0;
    let mut rates = || std::array::from_fn(|_| EncodedRate::from_byte(draws.next() as u8));
    let (allocations, previous_allocations, feedback) = (rates(), rates(), rates());
    let request = Request {
        desired: EncodedRate::from_byte(draws.next() as u8),
        index: draws.up_to(6) as u8,
        scale: draws.up_to(31) as i8 - 16,
        allocations,
        previous_desired: EncodedRate::from_byte(draws.next() as u8),
        previous_allocations,
        feedback,
        stamps: draws.up_to(63) as u8,
        pace: draws.up_to(3) as u8,
    };
    let tag = Tag {
        number: draws.next() as u16,
        echo: draws.next() as u16,
        hops: draws.up_to(6) as u8,
        stamps: draws.up_to(63) as u8,
    };
    Packet {
        seq: draws.next() >> draws.up_to(63),
        len: draws.up_to(200) as u32,
        flags: Flags(draws.up_to(127) as u16),
        tag: if has_request { tag } else { Tag::default() },
        request: has_request.then_some(request),
    }
}

/// Updates the checksum of a datagram that is long enough to have one.
fn sign(bytes: &mut [u8]) {
    let headers = if bytes[1] & 0x80 == 0 { 44 } else { 66 };
    if bytes.len() >= headers {
        let crc = crc32c_append(crc32c(&bytes[..40]), &bytes[headers..]);
        let crc = crc32c_append(crc, &bytes[44..headers]);
        bytes[40..44].copy_from_slice(&crc.to_be_bytes());
    }
}

/// Writes a capture of the datagrams over UDP and IPv4, at port 7000.
pub fn write(file: &Path, datagrams: &[Vec<u8>]) {
    let header = PcapHeader {
        datalink: DataLink::RAW,
        endianness: Endianness::Little,
        ts_resolution: TsResolution::MicroSecond,
        ..PcapHeader::default()
    };
    let mut writer = PcapWriter::with_header(File::create(file).unwrap(), header).unwrap();
    for (number, datagram) in (0_u32..).zip(datagrams) {
        let length = datagram.len() as u16;
        let mut packet = vec![0x45, 0];
        packet.extend((length + 28).to_be_bytes());
        packet.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        packet.extend(
            [7_001_u16, 7_000, length + 8, 0]
                .map(u16::to_be_bytes)
                .concat(),
        );
        packet.extend(datagram);
        let at = Duration::from_millis(number.into());
        let packet = PcapPacket::new(at, packet.len() as u32, &packet);
        writer.write_packet(&packet).unwrap();
    }
}
