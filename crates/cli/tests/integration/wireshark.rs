//! Comparison of the Wireshark dissector in `crates/d3/wireshark` with the decoder, on captures of the simulator.

#[path = "../../../d3/tests/tshark/mod.rs"]
mod tshark;

use crate::sandbox::Sandbox;
use duetime_proto::d3::{Flags, wire::capture};
use pcap_file::pcapng::{Block, PcapNgReader};
use std::path::Path;
use tshark::{PACKET_FIELDS, frames};

const SCENARIO: &str = r#"
transport = "d3"
[topology]
kind = "star"
hosts = 4
link = { rate = "1 Gbps", latency = "20 us" }
[record]
pcap = ["switch->host0", "host0->switch"]
[[workload]]
kind = "burst"
senders = 3
receiver = 0
size = "20 KB"
deadline = "5 ms"
"#;

#[test]
fn dissector_agrees_with_decoder() {
    let sandbox = Sandbox::new("wireshark");
    sandbox.file("burst.toml", SCENARIO);
    sandbox.duetime("run burst.toml --out out").ok();
    let file = sandbox.0.join("out/runs/d3/0/capture.pcapng");
    let Some(frames) = frames(&file, &PACKET_FIELDS) else {
        return;
    };
    let datagrams = datagrams(&file);
    assert_eq!(frames.len(), datagrams.len());
    let mut flags = Flags::default();
    let mut hops = 0;
    for (frame, bytes) in frames.iter().zip(&datagrams) {
        let (packet, _) = capture::decode(bytes).expect("a valid datagram");
        let mut expected = PACKET_FIELDS.map(|name| (name, vec![])).into();
        tshark::expect(&mut expected, 0, &packet);
        assert_eq!(frame.fields, expected, "{frame:?}");
        let errors = [&frame.error, &frame.expert, &frame.checksum_status];
        assert_eq!(errors, [""; 3], "version 0 has no checksum");
        flags = Flags(flags.0 | packet.flags.0);
        hops = hops.max(packet.request.map_or(0, |request| request.index));
    }
    assert!(
        frames[0]
            .info
            .starts_with("SYN, position 0, 0 bytes, request for ")
    );
    let exchange = Flags::SYN | Flags::ACK | Flags::FEEDBACK | Flags::FIN;
    assert!(flags.contains(exchange), "{flags:?}");
    assert_eq!(hops, 2, "the sender's own interface, and the switch's");
}

/// Returns the datagrams after the IP headers, with the omitted payload filled with zeros.
fn datagrams(file: &Path) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(file).expect("a capture");
    let mut reader = PcapNgReader::new(&bytes[..]).expect("pcapng");
    let mut datagrams = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.expect("a block") {
            let mut datagram = packet.data[20..].to_vec();
            datagram.resize(packet.original_len as usize - 20, 0);
            datagrams.push(datagram);
        }
    }
    datagrams
}
