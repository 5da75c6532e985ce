//! Compares the Wireshark dissector with the protocol's decoder, on a capture of a real exchange and on valid and
//! invalid datagrams of all kinds.

#![allow(clippy::cast_possible_truncation, reason = "test values are small")]

mod generated;
#[path = "../tshark/mod.rs"]
mod tshark;

use duetime_proto::d3::wire::{self, DatagramError, Header, Kind, VERSION};
use duetime_proto::d3::{Flags, Request};
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::{Block, PcapNgReader};
use std::fs::File;
use std::path::{Path, PathBuf};
use tshark::{Fields, Frame, PACKET_FIELDS, frames};

const STREAM_FIELDS: [&str; 5] = [
    "d3.kind",
    "d3.destination",
    "d3.source",
    "d3.window",
    "d3.checksum",
];

fn fields() -> Vec<&'static str> {
    PACKET_FIELDS.into_iter().chain(STREAM_FIELDS).collect()
}

/// Adds the decoder's values of a datagram to the fields of its frame.
fn expect(fields: &mut Fields, header: &Header, datagram: &[u8]) {
    tshark::expect(fields, VERSION, &header.packet);
    let checksum = u32::from_be_bytes(std::array::from_fn(|i| datagram[40 + i]));
    let version_1_values = [
        ("d3.kind", header.kind as i128),
        ("d3.destination", header.destination.into()),
        ("d3.source", header.source.into()),
        ("d3.window", header.window.into()),
        ("d3.checksum", checksum.into()),
    ];
    for (name, value) in version_1_values {
        fields.entry(name).or_default().push(value);
    }
}

fn no_fields() -> Fields {
    fields().into_iter().map(|name| (name, vec![])).collect()
}

/// Returns the UDP payloads of an Ethernet capture.
fn captured(file: &Path) -> Vec<Vec<u8>> {
    let mut reader = PcapNgReader::new(File::open(file).unwrap()).unwrap();
    let mut datagrams = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap() {
            let ip_header = usize::from(packet.data[14] & 15) * 4;
            datagrams.push(packet.data[14 + ip_header + 8..].to_vec());
        }
    }
    datagrams
}

#[test]
fn real_exchanges_match_the_decoder() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("wireshark/exchange.pcapng");
    let Some(frames) = frames(&file, &fields()) else {
        return;
    };
    let captured = captured(&file);
    assert_eq!(frames.len(), captured.len());
    let (mut flags, mut largest_rate, mut batches, mut kinds) =
        (Flags::default(), 0, 0, Vec::new());
    for (frame, bytes) in frames.iter().zip(&captured) {
        let (mut expected, mut rest, mut count) = (no_fields(), &bytes[..], 0);
        // A frame contains several datagrams if the kernel splits a batch after the capture.
        while !rest.is_empty() {
            let headers = if rest[1] & 0x80 == 0 { 44 } else { 66 };
            let length = headers + usize::from(u16::from_be_bytes([rest[2], rest[3]]));
            let (header, _) = wire::decode(&rest[..length]).unwrap();
            expect(&mut expected, &header, rest);
            flags = Flags(flags.0 | header.packet.flags.0);
            kinds.push(header.kind);
            let rates =
                |request: Request| request.desired.byte().min(request.allocations[0].byte());
            largest_rate = largest_rate.max(header.packet.request.and_then(rates).unwrap_or(0));
            rest = &rest[length..];
            count += 1;
        }
        assert_eq!(frame.fields, expected, "{frame:?}");
        assert_eq!((frame.error.as_str(), frame.expert.as_str()), ("", ""));
        assert_eq!(frame.checksum_status, vec!["good"; count].join(";"));
        batches += u32::from(count > 1);
    }
    let exchange = Flags::SYN | Flags::ACK | Flags::FEEDBACK | Flags::FIN;
    assert!(flags.contains(exchange) && largest_rate > 0 && batches > 0);
    assert!(kinds.contains(&Kind::Reset), "one connection was refused");
    assert!(
        frames[0]
            .info
            .starts_with("SYN, position 0, 0 bytes, request for ")
    );
}

#[test]
fn arbitrary_datagrams_match_the_decoder() {
    let datagrams = generated::datagrams(3_000);
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("generated.pcap");
    generated::write(&file, &datagrams);
    assert!(PcapReader::new(File::open(&file).unwrap()).is_ok());
    let Some(frames) = frames(&file, &fields()) else {
        return;
    };
    assert_eq!(frames.len(), datagrams.len());
    let mut seen = std::collections::BTreeMap::<String, usize>::new();
    for (frame, bytes) in frames.iter().zip(&datagrams) {
        let verdict = wire::decode(bytes);
        check(frame, bytes, &verdict);
        let word = verdict.map_or_else(|error| error.to_string(), |(h, _)| format!("{:?}", h.kind));
        *seen.entry(word).or_default() += 1;
    }
    // All kinds and errors must occur.
    let verdicts = [
        "Packet",
        "Ping",
        "Pong",
        "Reset",
        "Challenge",
        "shorter than its header",
        "index above six",
        "not a D3 datagram",
        "length disagrees with the datagram",
        "unknown flag or reserved bit",
        "the checksum disagrees with the bytes",
        "version 2 of the format, and not 1",
    ];
    for verdict in verdicts {
        let count = seen.get(verdict).copied().unwrap_or(0);
        assert!(count >= 10, "`{verdict}`: {count} of {seen:?}");
    }
}

fn check(frame: &Frame, bytes: &[u8], verdict: &Result<(Header, &[u8]), DatagramError>) {
    match verdict {
        Ok((header, _)) => {
            let mut expected = no_fields();
            expect(&mut expected, header, bytes);
            assert_eq!(frame.fields, expected, "{bytes:x?}");
            let messages = (frame.error.as_str(), frame.expert.as_str());
            assert_eq!(messages, ("", ""), "{bytes:x?}");
            assert_eq!(frame.checksum_status, "good");
        }
        Err(error) => {
            assert_eq!(frame.error, error.to_string(), "{bytes:x?}");
            assert_eq!(frame.expert, frame.error);
            let damaged = *error == DatagramError::Checksum;
            assert_eq!(frame.checksum_status == "bad", damaged, "{frame:?}");
        }
    }
}
