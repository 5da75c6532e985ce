//! Captures: every packet is captured with its headers.

use crate::common::*;
use duetime_core::Rate;
use duetime_proto::d3::{self, wire::capture};
use duetime_scenario::model::*;

/// Returns the source and destination hosts of a captured packet, after checking its header.
fn hosts_of(bytes: &[u8], original: u32) -> (u32, u32) {
    assert_eq!(bytes[0], 0x45);
    assert_eq!(
        u32::from(u16::from_be_bytes([bytes[2], bytes[3]])),
        original
    );
    let sum: u32 = bytes[..20]
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
        .sum();
    assert_eq!(
        (sum & 0xffff) + (sum >> 16),
        0xffff,
        "the header's checksum"
    );
    let host =
        |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) - (10 << 24) - 1;
    (host(12), host(16))
}

#[test]
fn captures_include_lost_packets() {
    let mut lost = 0;
    for transport in all_transports() {
        let mut scenario = mixture(transport.clone());
        scenario.topology = lossy(scenario.topology, 0.01);
        // Find a run with no packets in flight at its end, so that every packet that left a port has crossed its link.
        let plain = (1..20)
            .find_map(|seed| {
                scenario.seed = seed;
                let records = run(&scenario).records;
                (records.totals.in_flight_bytes == 0).then_some(records)
            })
            .expect("most runs end with nothing in flight");
        let links = [
            "host7->rack1",
            "rack1->spine0",
            "spine1->rack3",
            "rack0->host0",
        ];
        scenario.record.pcap = links.map(Into::into).to_vec();
        let output = run_on(&scenario, 2);
        assert_same(&output.records, &plain, &transport.name);
        assert_eq!(output.capture_links.len(), links.len());
        let pairs: Vec<_> = plain
            .flows
            .iter()
            .map(|flow| (flow.source, flow.destination))
            .collect();
        for (link, name) in &output.capture_links {
            let case = format!("{name} under {}", transport.name);
            let captured: Vec<_> = output
                .captures
                .iter()
                .filter(|packet| packet.link == *link)
                .collect();
            let port = output.whole_ports.iter().find(|port| port.link == *name);
            let port = port.unwrap();
            assert!(port.packets > 50, "{case}");
            // Packets that are lost on the link are captured, because they have left its port.
            lost += port.losses;
            assert_eq!(captured.len() as u64, port.packets, "{case}");
            assert_eq!(
                captured
                    .iter()
                    .map(|packet| u64::from(packet.original_bytes))
                    .sum::<u64>(),
                port.bytes,
                "{case}"
            );
            assert!(captured.is_sorted_by_key(|packet| packet.at), "{case}");
            for packet in &captured {
                let (source, destination) = hosts_of(&packet.bytes, packet.original_bytes);
                assert!(
                    pairs.contains(&(source, destination))
                        || pairs.contains(&(destination, source)),
                    "{case}: {source} to {destination}"
                );
                match name.as_str() {
                    "host7->rack1" => assert_eq!(source, 7, "{case}"),
                    "rack0->host0" => assert_eq!(destination, 0, "{case}"),
                    "rack1->spine0" => {
                        assert_eq!((source / 5, destination / 5 == 1), (1, false), "{case}");
                    }
                    _ => assert_eq!((destination / 5, source / 5 == 3), (3, false), "{case}"),
                }
            }
            let rate = if name.contains("spine") { 2 } else { 1 };
            for pair in captured.windows(2) {
                let gap = Rate::from_gbps(rate).transmit(u64::from(pair[1].original_bytes));
                // A host's packets may be closer by the delay of the first (`host.send_jitter`).
                assert!(
                    pair[1].at + scenario.host.send_jitter >= pair[0].at + gap,
                    "{case}: packets do not overlap"
                );
            }
        }
    }
    assert!(lost > 0, "a packet must be lost on a captured link");
}

#[test]
fn captured_acknowledgements_have_sack_blocks() {
    let mut scenario = mixture(Transport {
        name: "tcp".into(),
        protocol: linux(),
        priorities: 1,
    });
    scenario.topology = lossy(scenario.topology, 0.02);
    // Acknowledgements of the data that host 7 receives are captured on this link.
    scenario.record.pcap = vec!["host7->rack1".into()];
    scenario.record.snap_length = 65_535;
    let output = run(&scenario);
    let (mut plain, mut with_blocks) = (0, 0);
    for captured in &output.captures {
        assert_eq!(captured.bytes.len() as u32, captured.original_bytes);
        let (ip, tcp) = captured.bytes.split_at(20);
        let word = |at: usize| u32::from_be_bytes(tcp[at..at + 4].try_into().unwrap());
        let header = usize::from(tcp[12] >> 4) * 4;
        assert_eq!(ip[9], 6);
        if header == 20 {
            plain += 1;
            continue;
        }
        // RFC 2018 §3: two bytes of padding, kind 5, length, and blocks of two sequence numbers; no payload.
        with_blocks += 1;
        assert_eq!(captured.original_bytes as usize, 20 + header);
        assert_eq!(
            (tcp[20..23].to_vec(), usize::from(tcp[23])),
            (vec![1, 1, 5], header - 22)
        );
        let blocks = (header - 24) / 8;
        assert!((1..=4).contains(&blocks) && header == 24 + 8 * blocks);
        let acknowledged = word(8);
        for block in 0..blocks {
            let (start, end) = (word(24 + 8 * block), word(28 + 8 * block));
            assert!(start < end, "{start}..{end}");
            let is_duplicate = block == 0 && end <= acknowledged;
            assert!(
                is_duplicate || start > acknowledged,
                "{start} above {acknowledged}"
            );
        }
    }
    assert!(plain > 100 && with_blocks > 10, "{plain}, {with_blocks}");
}

#[test]
fn captured_d3_datagrams_decode() {
    for rounding in [d3::Rounding::Carry, d3::Rounding::Exact] {
        let config = d3::Config::default().with(|c| c.wire.rounding = rounding);
        let mut scenario = mixture(Transport {
            name: "d3".into(),
            protocol: Protocol::D3(config),
            priorities: 1,
        });
        scenario.record.pcap = vec!["host7->rack1".into()];
        scenario.record.snap_length = 65_535;
        let output = run(&scenario);
        let (mut payload_bytes, mut granted, mut plain) = (0, 0, 0);
        for captured in &output.captures {
            assert_eq!(captured.bytes.len() as u32, captured.original_bytes);
            let (ip, datagram) = captured.bytes.split_at(20);
            assert_eq!(ip[9], 253);
            let (packet, payload) = capture::decode(datagram).expect("a datagram");
            assert!(payload.iter().all(|byte| *byte == 0));
            let mut headers = [0; capture::MAX_HEADER_BYTES];
            let length = capture::encode(&packet, &mut headers).unwrap();
            assert_eq!(headers[..length], datagram[..length]);
            payload_bytes += payload.len() as u64;
            match packet.request {
                Some(request) => granted += usize::from(request.allocations[0].0 > 0),
                None => plain += 1,
            }
        }
        let sent = output.records.flows.iter().filter(|flow| flow.source == 7);
        let sent: u64 = sent.map(|flow| flow.delivered_bytes).sum();
        assert!(payload_bytes >= sent && sent > 0, "{payload_bytes}, {sent}");
        assert!(granted > 0 && plain > 0, "{granted}, {plain}");
    }
}
