//! Frames for the software switch. None breaks it, none is lost without being counted, and none is changed except for
//! its link-layer destination, CE and the checksum of its header, and the answer to a D3 request: 22 bytes, their CRC
//! and the UDP checksum. The input is several frames, each preceded by its interface, the time since the last frame in
//! microseconds, and its length in two bytes.
#![no_main]

use duetime_core::{Rate, Span, Time};
use duetime_link::Limit;
use duetime_switch::{
    Classifier, Config, End, Fabric, InterfaceConfig, LinkConfig, PortConfig, SharedBufferConfig,
};
use libfuzzer_sys::fuzz_target;
use std::net::Ipv4Addr;

const MAX_FRAME_BYTES: usize = 1_600;

fn config() -> Config {
    let interface = |number: u8| InterfaceConfig {
        name: format!("if{number}"),
        host: format!("h{number}"),
        address: (number > 0).then(|| Ipv4Addr::new(10, 0, 0, number)),
        mac: (number > 1).then_some([2, 0, 0, 0, 0, number]),
        node: 0,
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
    let mut config = Config::star("s", (0..3).map(interface).collect(), &port, Some(shared));
    config.options.buffers = 16;
    config.options.classifier = Classifier::Vlan;
    config
}

fuzz_target!(|bytes: &[u8]| {
    let mut fabric = Fabric::new(&config(), MAX_FRAME_BYTES).expect("the network is valid");
    let (mut now, mut frames, mut rest) = (Time::ZERO, Vec::new(), bytes);
    while let [interface, gap, high, low, after @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(after.len());
        let (frame, after) = after.split_at(length);
        rest = after;
        now += Span::from_us(u64::from(*gap));
        if fabric.offer(now, usize::from(interface % 3), frame).is_ok() {
            frames.push(frame);
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
    assert!(
        fabric
            .ports()
            .iter()
            .all(|port| port.marks_made <= port.marks_asked)
    );
});
