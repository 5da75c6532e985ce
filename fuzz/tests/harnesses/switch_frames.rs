//! Frames for the software switch. None breaks it, none is lost without being counted, and none is changed except for
//! its link-layer destination, CE and the checksum of its header, and the answer to a D3 request: 22 bytes, their CRC
//! and the UDP checksum. The first byte of the input chooses the network and the classifier. Several frames follow, each
//! preceded by its interface, the time since the last frame in microseconds, and its length in two bytes.

use duetime_core::{Rate, Span, Time};
use duetime_link::Limit;
use duetime_switch::{
    Classifier, Config, End, Fabric, InterfaceConfig, LinkConfig, NodeConfig, PortChoice,
    PortConfig, Refused, SharedBufferConfig,
};
use std::net::Ipv4Addr;

const MAX_FRAME_BYTES: usize = 1_600;

/// Returns one switch with a shared buffer, or two switches joined by two links.
fn config(choice: u8) -> Config {
    let has_two_switches = choice & 4 != 0;
    let interface = |number: u8| InterfaceConfig {
        name: format!("if{number}"),
        host: format!("h{number}"),
        address: (number > 0).then(|| Ipv4Addr::new(10, 0, 0, number)),
        mac: (number > 1).then_some([2, 0, 0, 0, 0, number]),
        node: usize::from(number == 2 && has_two_switches),
        uplink: LinkConfig {
            rate: Rate::from_gbps(1),
            latency: Span::from_us(1),
            loss: 0.0,
            limit: Limit::Packets(4),
            classes: 1,
        },
    };
    let port = PortConfig {
        rate: Rate::from_mbps(100),
        latency: Span::ZERO,
        loss: 0.0,
        limit: Limit::Bytes(4_000),
        mark_at: Some(Limit::Bytes(1)),
        classes: 3,
        d3: true,
        to: End::Interface(0),
    };
    let shared = SharedBufferConfig {
        bytes: 6_000,
        alpha: 2.0,
    };
    let interfaces: Vec<_> = (0..3).map(interface).collect();
    let mut config = Config::star("s", interfaces, &port, Some(shared));
    if has_two_switches {
        let node = |name: &str, ends: &[End], next_port: Vec<PortChoice>| NodeConfig {
            name: name.to_owned(),
            ports: ends
                .iter()
                .map(|&to| PortConfig { to, ..port.clone() })
                .collect(),
            next_port,
            shared_buffer: None,
        };
        let (host, switch, one) = (End::Interface, End::Node, PortChoice::One);
        let to_second = PortChoice::Hashed(vec![2, 3]);
        let to_first = PortChoice::Hashed(vec![1, 2]);
        config.nodes = vec![
            node(
                "first",
                &[host(0), host(1), switch(1), switch(1)],
                vec![one(0), one(1), to_second],
            ),
            node(
                "second",
                &[host(2), switch(0), switch(0)],
                vec![to_first.clone(), to_first, one(0)],
            ),
        ];
    }
    config.options.buffers = 16;
    config.options.classifier = match choice & 3 {
        0 => Classifier::Precedence,
        1 => Classifier::Dscp([255; 64]),
        _ => Classifier::Vlan,
    };
    config
}

pub fn check(bytes: &[u8]) {
    let Some((&choice, mut rest)) = bytes.split_first() else {
        return;
    };
    let mut fabric = Fabric::new(&config(choice), MAX_FRAME_BYTES).expect("the network is valid");
    let (mut now, mut frames, mut offered) = (Time::ZERO, Vec::new(), 0);
    while let [interface, gap, high, low, after @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(after.len());
        let (frame, after) = after.split_at(length);
        rest = after;
        now += Span::from_us(u64::from(*gap));
        offered += 1;
        match fabric.offer(now, usize::from(interface % 3), frame) {
            Err(Refused::Runt) => assert!(length < 14),
            Err(Refused::TooLong) => assert!(length > MAX_FRAME_BYTES),
            outcome => {
                assert!((14..=MAX_FRAME_BYTES).contains(&length));
                if outcome.is_ok() {
                    frames.push(frame);
                }
            }
        }
    }
    while fabric.next_timeout() < Time::MAX {
        let timeout = fabric.next_timeout();
        while let Some(outgoing) = fabric.poll_transmit(timeout) {
            let sent = fabric.bytes(&outgoing);
            let same = |frame: &&&[u8]| {
                let changes = frame.iter().zip(sent).skip(6).filter(|(a, b)| a != b);
                frame.len() == sent.len() && changes.count() <= 3 + 22 + 4 + 2
            };
            assert!(
                frames.iter().any(|frame| same(&frame)),
                "sent a frame that was never offered: {sent:x?}"
            );
            fabric.release(outgoing);
        }
    }
    assert_eq!(fabric.buffers_in_use(), 0);
    let interfaces = fabric.interfaces();
    let received: u64 = interfaces
        .iter()
        .map(|interface| interface.received_packets)
        .sum();
    assert_eq!(received, offered);
    assert!(
        fabric
            .ports()
            .iter()
            .all(|port| port.marks_made <= port.marks_asked)
    );
}
