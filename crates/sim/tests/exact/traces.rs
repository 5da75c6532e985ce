//! Traces and captures: hop times are consistent, explanations sum exactly, and no packet is missing.

use crate::common::*;
use duetime_core::{Rate, Span, Time};
use duetime_proto::d3::{self, wire::capture};
use duetime_results::explain::{Cause, Stage};
use duetime_results::{FlowEvent, FlowEventKind, FlowRecord, Timer, explain};
use duetime_scenario::model::*;
use duetime_sim::topology::Network;
use duetime_sim::{Options, RunOutput, Watch};
use std::collections::BTreeMap;

fn watched(scenario: &Scenario, watch: Watch) -> RunOutput {
    let options = Options {
        watch,
        ..Options::default()
    };
    duetime_sim::run(scenario, 0, 0, &options).unwrap()
}

/// Returns the events of one flow.
fn traced(scenario: &Scenario, flow: u64) -> Vec<FlowEvent> {
    let mut traces = watched(scenario, Watch::flow(flow)).traces;
    assert_eq!(traces.len(), 1, "only this flow is traced");
    let trace = traces.pop().unwrap();
    assert_eq!(trace.flow, flow);
    trace.events
}

/// Asserts that every packet reaches a port when it was sent or when it had crossed the previous link.
fn assert_hops_fit(network: &Network, events: &[FlowEvent], case: &str) {
    let mut hops = Vec::new();
    let mut sent = Vec::new();
    for event in events {
        match event.what {
            FlowEventKind::Departed {
                link,
                seq,
                len,
                waited,
                sending,
                ..
            } => {
                let arrived = event.at - sending - waited;
                hops.push((link, seq as u32, len, arrived, event.at));
            }
            FlowEventKind::Sent { seq, len, .. } => sent.push((seq as u32, len, event.at)),
            _ => {}
        }
    }
    for &(link, seq, len, arrived, _) in &hops {
        let from = network.links[link as usize].from;
        let fits = if network.nodes[from as usize].host.is_some() {
            len == 0 || sent.contains(&(seq, len, arrived))
        } else {
            hops.iter().any(|&(before, its_seq, its_len, _, left)| {
                let before = &network.links[before as usize];
                (before.to, its_seq, its_len, left + before.latency) == (from, seq, len, arrived)
            })
        };
        assert!(
            fits,
            "{case}: packet {seq}+{len} reached link {link} at {arrived} without being sent there"
        );
    }
}

fn assert_explained(flow: &FlowRecord, events: &[FlowEvent], case: &str) {
    let explanation = explain(flow, events);
    let took = flow.completion().expect("the flow finished");
    assert_eq!(explanation.total, took, "{case}");
    let mut at = flow.start;
    for step in &explanation.steps {
        assert_eq!(step.from, at, "{case}: gap");
        at = step.to;
    }
    assert_eq!(
        Some(at),
        flow.finish,
        "{case}: the steps must reach the end"
    );
    let sum = |parts: BTreeMap<_, Span>| parts.values().map(|part| part.as_ps()).sum::<u64>();
    assert_eq!(sum(explanation.parts()), took.as_ps(), "{case}");
    let untraced = explanation
        .by_cause()
        .get(&Cause::Untraced)
        .copied()
        .unwrap_or_default();
    assert_eq!(untraced, Span::ZERO, "{case}: every hop is known");
    let propagation = explanation
        .by_cause()
        .get(&Cause::Propagation)
        .copied()
        .unwrap_or_default();
    assert!(
        propagation >= Span::from_us(20),
        "{case}: {:?}",
        explanation.parts()
    );
}

/// Selects the first flow, the largest, and those with the most retransmissions, timeouts, and marks and denials.
fn interesting(flows: &[FlowRecord]) -> Vec<&FlowRecord> {
    let with_most =
        |key: fn(&FlowRecord) -> u64| flows.iter().max_by_key(|flow| key(flow)).unwrap();
    let mut picked = vec![
        &flows[0],
        with_most(|flow| flow.size_bytes),
        with_most(|flow| u64::from(flow.retransmits)),
        with_most(|flow| u64::from(flow.timeouts)),
        with_most(|flow| u64::from(flow.marks + flow.denials)),
    ];
    picked.dedup_by_key(|flow| flow.flow);
    picked
}

#[test]
fn traces_are_consistent_and_explain_the_time() {
    let mut troubled = [0, 0, 0];
    for transport in transports() {
        for loss in [0.0, 0.02] {
            let mut scenario = mixture(transport.clone());
            scenario.topology = lossy(scenario.topology, loss);
            let network = Network::build(&scenario.topology).unwrap();
            let flows = run(&scenario).records.flows;
            for flow in interesting(&flows) {
                let case = format!("flow {} of {}, loss {loss}", flow.flow, transport.name);
                let trace = traced(&scenario, flow.flow);
                assert_hops_fit(&network, &trace, &case);
                assert_explained(flow, &trace, &case);
                let count = |wanted: fn(FlowEventKind) -> bool| {
                    trace.iter().filter(|event| wanted(event.what)).count()
                };
                assert_eq!(count(|kind| kind == FlowEventKind::Submitted), 1, "{case}");
                assert_eq!(count(|kind| kind == FlowEventKind::Finished), 1, "{case}");
                assert_eq!(
                    count(|kind| kind == FlowEventKind::Established),
                    1,
                    "{case}"
                );
                let delivered: u64 = trace
                    .iter()
                    .filter_map(|event| match event.what {
                        FlowEventKind::Delivered { len, .. } => Some(u64::from(len)),
                        _ => None,
                    })
                    .sum();
                assert_eq!(delivered, flow.size_bytes, "{case}");
                let timeouts = count(|kind| {
                    matches!(
                        kind,
                        FlowEventKind::Timer(Timer::Handshake | Timer::Retransmission)
                    )
                });
                assert_eq!(timeouts as u32, flow.timeouts, "{case}");
                let retransmits = count(|kind| {
                    matches!(
                        kind,
                        FlowEventKind::Sent {
                            retransmit: true,
                            len: 1..,
                            ..
                        }
                    )
                });
                assert!(retransmits as u32 <= flow.retransmits, "{case}");
                let happened = [flow.retransmits, flow.timeouts, flow.denials];
                troubled
                    .iter_mut()
                    .zip(happened)
                    .for_each(|(sum, count)| *sum += count);
            }
        }
    }
    assert!(
        troubled.iter().all(|&sum| sum > 3),
        "retransmissions, timeouts, denials: {troubled:?}"
    );
}

#[test]
fn lone_flow_by_hand() {
    // The arithmetic of `lone_tcp::one_segment_by_hand`, part by part.
    let scenario = scenario(
        chain(&[gigabit(); 2]),
        newreno(),
        vec![flows(&[(Span::ZERO, 0, 1, 1_000, None)])],
    );
    let output = watched(&scenario, Watch::flow(0));
    let explanation = explain(&output.records.flows[0], &output.traces[0].events);
    let network = Network::build(&scenario.topology).unwrap();
    let link = |name| network.find_link(name).unwrap();
    let mut expected = BTreeMap::new();
    for name in ["host0->s1", "s1->host1", "host1->s1", "s1->host0"] {
        expected.insert(
            (Stage::Handshake, Cause::Transmission(link(name))),
            Span::from_ns(320),
        );
    }
    expected.insert((Stage::Handshake, Cause::Propagation), Span::from_us(80));
    for name in ["host0->s1", "s1->host1"] {
        expected.insert(
            (Stage::Delivery, Cause::Transmission(link(name))),
            Span::from_ns(8_320),
        );
    }
    expected.insert((Stage::Delivery, Cause::Propagation), Span::from_us(40));
    assert_eq!(explanation.parts(), expected);
    assert_eq!((explanation.round_trips, explanation.finished), (1, true));
}

#[test]
fn queueing_is_attributed_to_its_link() {
    // Two hosts start simultaneously; the second packet into host 0 waits for the first one's 1040 B.
    let list = [
        (Span::ZERO, 1, 0, 1_000, None),
        (Span::ZERO, 2, 0, 1_000, None),
    ];
    let scenario = scenario(
        Topology::Star {
            hosts: 3,
            link: gigabit(),
        },
        newreno(),
        vec![flows(&list)],
    );
    let network = Network::build(&scenario.topology).unwrap();
    let down = network.find_link("switch->host0").unwrap();
    let records = run(&scenario).records;
    let later = records.flows.iter().max_by_key(|flow| flow.finish).unwrap();
    let explanation = explain(later, &traced(&scenario, later.flow));
    // The SYN waited for the other SYN (40 B), so the data arrived that much later and waited only for the remainder.
    let parts = explanation.parts();
    let waited = |stage| {
        parts
            .get(&(stage, Cause::Queue(down)))
            .copied()
            .unwrap_or_default()
    };
    assert_eq!(waited(Stage::Handshake), Span::from_ns(320));
    assert_eq!(waited(Stage::Delivery), Span::from_ns(8_320 - 320));
}

#[test]
fn later_message_of_a_connection_is_traced() {
    let list = [
        (Span::ZERO, 0, 1, 1_000, None),
        (Span::from_ms(1), 0, 1, 30_000, None),
    ];
    let mut scenario = scenario(chain(&[gigabit(); 3]), newreno(), vec![flows(&list)]);
    scenario.workloads[0].connection = Connection::Persistent;
    let records = run(&scenario).records;
    let trace = traced(&scenario, records.flows[1].flow);
    assert_hops_fit(
        &Network::build(&scenario.topology).unwrap(),
        &trace,
        "second message",
    );
    assert_explained(&records.flows[1], &trace, "second message");
    assert!(
        trace
            .iter()
            .all(|event| event.at >= Time::ZERO + Span::from_ms(1))
    );
}

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
    for transport in transports() {
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
