//! Valid files are read, and invalid ones are refused with a descriptive error. The
//! harness `fit_file` in `fuzz/` checks changed files.

use duetime_core::{Rate, Time};
use duetime_fit::model::Model;
use duetime_fit::{Kind, Known, of_bytes};
use duetime_scenario::NoFiles;
use duetime_store::pcapng::{Packet, to_pcapng};

const CALLS: &str = "query,client,server,start_us,duration_ms,bytes,request_bytes,compute_us,deadline_ms\n\
                     a,f,s1,10,1.5,2000,100,300,4\na,f,s2,11,2,3000,,,\nb,f,s1,9000,1.25,2500,100,10,4\n\
                     c,f,s2,12000.5,1.25,2500,100,10,4\n";
const FLOWS: &str = "workload,class,query,source,destination,size_bytes,start_ns,fct_ns,deadline_ns,attempt\n\
                     0,query,9,0,1,100,0,10,,0\n0,response,9,1,0,4000,35,65,200,0\n1,flow,,2,0,70,3,,,0\n\
                     0,query,10,0,2,100,900,9,,0\n0,response,10,2,0,5000,935,,200,0\n0,query,11,0,2,100,2900,9,,0\n";
const SPANS: &str = "{\"trace_id\":\"a\",\"span_id\":\"r\",\"start_ns\":5,\"duration_ns\":900,\"host\":\"h1\"}\n\
                     {\"trace_id\":\"a\",\"span_id\":\"1\",\"parent_id\":\"r\",\"start_ns\":9,\"duration_ns\":70,\
                     \"request_bytes\":80,\"response_bytes\":1200,\"host\":\"h2\"}\n";

/// Returns a TCP segment in IPv4.
fn segment(from: (u8, u16), to: (u8, u16), sequence: u32, payload: u16, flags: u8) -> Vec<u8> {
    let mut bytes = vec![0x45, 0];
    bytes.extend((40 + payload).to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, from.0, 10, 0, 0, to.0]);
    bytes.extend(from.1.to_be_bytes());
    bytes.extend(to.1.to_be_bytes());
    bytes.extend(sequence.to_be_bytes());
    bytes.extend(1_u32.to_be_bytes());
    bytes.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    bytes.resize(40 + usize::from(payload), 0);
    bytes
}

/// Returns a capture of three queries with two calls each, over persistent connections.
fn capture() -> Vec<u8> {
    const SYN: u8 = 2;
    const ACK: u8 = 16;
    let mut packets: Vec<(u64, Vec<u8>)> = Vec::new();
    for server in 2..4_u8 {
        let (client, server) = ((1, 40_000 + u16::from(server)), (server, 80));
        packets.push((1, segment(client, server, 999, 0, SYN)));
        packets.push((20, segment(server, client, 499, 0, SYN | ACK)));
        packets.push((21, segment(client, server, 1_000, 0, ACK)));
        for query in 0..3_u32 {
            let at = 1_000 + u64::from(query * query) * 40_000;
            packets.push((at, segment(client, server, 1_000 + 100 * query, 100, ACK)));
            packets.push((
                at + 60,
                segment(server, client, 500 + 900 * query, 400, ACK),
            ));
            packets.push((
                at + 70,
                segment(server, client, 900 + 900 * query, 500, ACK),
            ));
        }
    }
    packets.sort_by_key(|packet| packet.0);
    let packets: Vec<_> = packets
        .iter()
        .map(|(at, bytes)| Packet {
            link: 0,
            at: Time::from_ps(at * 1_000_000),
            original_bytes: u32::try_from(bytes.len()).unwrap(),
            bytes: &bytes[..40],
        })
        .collect();
    to_pcapng(&["h1".to_owned()], packets)
}

/// Returns a capture in the older format, with microseconds.
fn old_capture() -> Vec<u8> {
    let mut file = vec![
        0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 96, 0, 0, 0, 101, 0, 0, 0,
    ];
    for at in 0..6_u32 {
        let packet = segment((1, 4_000), (2, 80), 100 * at, 1_400, 16);
        file.extend(at.to_le_bytes());
        file.extend(7_u32.to_le_bytes());
        file.extend(40_u32.to_le_bytes());
        file.extend(1_440_u32.to_le_bytes());
        file.extend(&packet[..40]);
    }
    file
}

fn known() -> Known {
    Known {
        budget: None,
        link: Some(Rate::from_gbps(10)),
        hosts: None,
        buffer: None,
        other_load: None,
        transports: Vec::new(),
    }
}

/// Reads a file and fits a scenario, without simulating it.
fn read(kind: Kind, bytes: &[u8]) -> Result<String, String> {
    let observed = of_bytes("file", bytes, kind, None, Rate::from_gbps(10))
        .map_err(|error| error.to_string())?;
    let toml = Model::of(&observed, &known())?.to_toml("name", "file");
    match duetime_scenario::load(&toml, "fitted", &[], &NoFiles) {
        Ok(_) => Ok(toml),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn valid_files_are_read() {
    let toml = read(Kind::Pcap, &capture()).unwrap();
    for expected in ["fan_in = 2 ", "response = \"900 B\"", "query = \"100 B\""] {
        assert!(toml.contains(expected), "{expected} in\n{toml}");
    }
    assert!(
        !toml.contains("connection = "),
        "persistent by default: {toml}"
    );
    let toml = read(Kind::Csv, CALLS.as_bytes()).unwrap();
    assert!(toml.contains("deadline = \"4 ms\""), "{toml}");
    read(Kind::Csv, FLOWS.as_bytes()).unwrap();
    let few = read(Kind::Spans, SPANS.as_bytes()).unwrap_err();
    assert!(few.contains("at least three"), "{few}");
    let one_way = read(Kind::Pcap, &old_capture()).unwrap_err();
    assert!(
        one_way.contains("no request with an answer over TCP in 6 packets"),
        "{one_way}"
    );
}

#[test]
fn invalid_files_are_refused() {
    for (kind, bytes, expected) in [
        (Kind::Pcap, &b""[..], "the file is empty"),
        (
            Kind::Pcap,
            b"\x7fELF, not a capture",
            "neither pcap nor pcapng",
        ),
        (Kind::Pcap, b"\xd4\xc3\xb2\xa1", "ends in the middle"),
        (Kind::Csv, b"", "empty"),
        (Kind::Csv, b"\xff\xfe\x00", "UTF-8"),
        (Kind::Spans, b"", "no spans"),
        (Kind::Spans, b"{\"resourceSpans\": []}", "many spans"),
    ] {
        let error = of_bytes("file", bytes, kind, None, Rate::from_gbps(10))
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn truncated_captures_are_refused() {
    for complete in [capture(), old_capture()] {
        let mut complete_prefixes = 0;
        for end in 1..complete.len() {
            match of_bytes(
                "file",
                &complete[..end],
                Kind::Pcap,
                None,
                Rate::from_gbps(10),
            ) {
                Err(error) if error.to_string().contains("ends in the middle") => {}
                // A cut between two packets cannot be detected.
                _ => complete_prefixes += 1,
            }
        }
        assert!((6..40).contains(&complete_prefixes), "{complete_prefixes}");
    }
}
