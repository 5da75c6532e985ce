//! Hand-computed values: times, marks, classes, shared buffers, samples.

use crate::frames::Packet;
use crate::networks::{chain, star};
use duetime_core::random::Streams;
use duetime_core::{Rate, Span, Time};
use duetime_link::Limit;
use duetime_switch::{Config, Fabric, PortReport, Sampling, SharedBufferConfig};

fn fabric(config: &Config) -> Fabric {
    Fabric::new(config, 1_600).expect("a valid network")
}

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// Returns due time in nanoseconds, interface and frame of all frames in flight.
fn all(fabric: &mut Fabric) -> Vec<(u64, usize, Vec<u8>)> {
    all_by(fabric, us(1_000_000))
}

/// Returns due time in nanoseconds, interface and frame of all frames that arrive by `now`.
fn all_by(fabric: &mut Fabric, now: Time) -> Vec<(u64, usize, Vec<u8>)> {
    let mut all = Vec::new();
    while let Some(outgoing) = fabric.poll_transmit(now) {
        let frame = fabric.bytes(&outgoing).to_vec();
        all.push((outgoing.due.as_ns(), outgoing.interface, frame));
        fabric.release(outgoing);
    }
    all
}

fn report(fabric: &mut Fabric, name: &str) -> PortReport {
    let ports = fabric.ports();
    let port = ports.into_iter().find(|port| port.name == name);
    port.expect("a known port")
}

#[test]
fn packets_take_the_time_of_each_link() {
    let mut config = chain();
    for interface in &mut config.interfaces {
        interface.uplink.rate = Rate::from_mbps(100);
        interface.uplink.latency = Span::from_us(5);
    }
    for node in &mut config.nodes {
        for port in &mut node.ports {
            port.latency = Span::from_us(10);
        }
    }
    let mut fabric = fabric(&config);
    let frame = Packet::new(0, 2, 1_000, 7).frame();
    assert_eq!(fabric.offer(us(3), 0, &frame), Ok(()));
    // 80 us on each of four links.
    assert_eq!(
        fabric.next_timeout(),
        us(3 + 85),
        "arrival at the first node"
    );
    assert_eq!(all(&mut fabric), [((3 + 85 + 3 * 90) * 1_000, 2, frame)]);
}

#[test]
fn overhead_is_counted_but_not_sent() {
    let mut config = star(2);
    config.options.overhead_bytes = 38;
    let mut fabric = fabric(&config);
    let frame = Packet::new(0, 1, 1_462, 7).frame();
    assert_eq!(fabric.offer(Time::ZERO, 0, &frame), Ok(()));
    // 1,500 bytes at 10 Gbps and at 100 Mbps.
    assert_eq!(all(&mut fabric), [(1_200 + 120_000, 1, frame)]);
    assert_eq!(report(&mut fabric, "s->h1").bytes, 1_500);
}

#[test]
fn padding_is_not_counted() {
    let mut fabric = fabric(&star(2));
    let mut frame = Packet::new(0, 1, 104, 7).frame();
    frame.resize(200, 0);
    assert_eq!(fabric.offer(Time::ZERO, 0, &frame), Ok(()));
    assert_eq!(all(&mut fabric).len(), 1);
    assert_eq!(report(&mut fabric, "s->h1").bytes, 104);
}

#[test]
fn only_ecn_capable_packets_are_marked() {
    let mut config = star(2);
    config.nodes[0].ports[1].mark_at = Some(Limit::Packets(4));
    let mut fabric = fabric(&config);
    let packets: Vec<Packet> = (0..12)
        .map(|number| Packet {
            ecn: (number % 4) as u8,
            ..Packet::new(0, 1, 1_500, number)
        })
        .collect();
    for packet in &packets {
        assert_eq!(fabric.offer(Time::ZERO, 0, &packet.frame()), Ok(()));
    }
    // The first packet is in service when the second arrives, so the fifth finds four.
    let expected = packets.iter().map(|packet| match packet {
        Packet {
            number: 4..,
            ecn: 1..,
            ..
        } => packet.marked().frame(),
        _ => packet.frame(),
    });
    let frames = all(&mut fabric).into_iter().map(|(_, _, frame)| frame);
    assert!(frames.eq(expected));
    let port = report(&mut fabric, "s->h1");
    assert_eq!((port.marks_asked, port.marks_made), (8, 6));
}

/// Sends `sent` packets from host 0 to host 1 over links that lose a tenth. Returns the numbers of the delivered
/// packets and the reports of both links.
fn survivors(streams: Streams, sent: u32) -> (Vec<u32>, [PortReport; 2]) {
    let mut config = star(2);
    config.options.streams = streams;
    config.interfaces[0].uplink.loss = 0.1;
    config.nodes[0].ports[1].loss = 0.1;
    let mut fabric = fabric(&config);
    let mut arrived = Vec::new();
    for number in 0..sent {
        let frame = Packet::new(0, 1, 1_500, number).frame();
        let now = us(200 * u64::from(number));
        assert_eq!(fabric.offer(now, 0, &frame), Ok(()));
        for (.., found) in all_by(&mut fabric, now + Span::from_us(199)) {
            assert_eq!(found, frame);
            arrived.push(number);
        }
    }
    assert_eq!(fabric.buffers_in_use(), 0);
    let links = ["h0->s", "s->h1"].map(|name| report(&mut fabric, name));
    (arrived, links)
}

#[test]
fn links_lose_their_share() {
    const SENT: u32 = 10_000;
    let (arrived, [uplink, port]) = survivors(Streams::new(7, 3), SENT);
    for (link, offered) in [(&uplink, u64::from(SENT)), (&port, port.packets)] {
        assert_eq!((link.packets, link.drops), (offered, 0));
        // Five standard deviations.
        let mean = offered as f64 * 0.1;
        assert!((link.losses as f64 - mean).abs() < 5.0 * (mean * 0.9).sqrt());
        assert_eq!(link.loss_bytes, link.losses * 1_500);
    }
    assert_eq!(port.packets, u64::from(SENT) - uplink.losses);
    assert_eq!(arrived.len() as u64, port.packets - port.losses);
    assert_eq!(
        survivors(Streams::new(7, 3), SENT).0,
        arrived,
        "same streams"
    );
    assert_ne!(
        survivors(Streams::new(7, 4), SENT).0,
        arrived,
        "another run"
    );
}

#[test]
fn drops_are_counted_at_their_port() {
    let mut config = star(2);
    config.nodes[0].ports[1].limit = Limit::Packets(3);
    let mut fabric = fabric(&config);
    for number in 0..5 {
        let packet = Packet::new(0, 1, 1_500, number);
        assert_eq!(fabric.offer(Time::ZERO, 0, &packet.frame()), Ok(()));
    }
    assert_eq!(all(&mut fabric).len(), 3);
    let port = report(&mut fabric, "s->h1");
    assert_eq!((port.packets, port.drops, port.drop_bytes), (3, 2, 3_000));
    assert_eq!(fabric.buffers_in_use(), 0);
}

#[test]
fn higher_classes_are_served_first() {
    let mut config = star(3);
    config.nodes[0].ports[2].classes = 8;
    let mut fabric = fabric(&config);
    let packet = |dscp, number| Packet {
        dscp,
        ..Packet::new(0, 2, 1_250, number)
    };
    let packets = [
        packet(0, 0),
        packet(8, 1),
        packet(0, 2),
        packet(56, 3),
        packet(8, 4),
        packet(46, 5),
    ];
    for packet in &packets {
        assert_eq!(fabric.offer(Time::ZERO, 0, &packet.frame()), Ok(()));
    }
    let order: Vec<u64> = all(&mut fabric)
        .into_iter()
        .map(|(due, _, frame)| {
            let number = packets.iter().position(|packet| packet.frame() == frame);
            due * 10 + number.expect("a sent packet") as u64
        })
        .collect();
    // Each packet takes 1 us on the uplink and 100 us on the link.
    let expected = [(0, 0), (1, 3), (2, 5), (3, 1), (4, 4), (5, 2)];
    let expected =
        expected.map(|(position, number)| (1_000 + 100_000 * (position + 1)) * 10 + number);
    assert_eq!(order, expected);
}

#[test]
fn nics_serve_higher_classes_first() {
    let mut config = star(2);
    config.interfaces[0].uplink.rate = Rate::from_mbps(100);
    config.interfaces[0].uplink.classes = 8;
    let mut fabric = fabric(&config);
    let packets = [(0, 0), (1, 0), (2, 56)].map(|(number, dscp)| Packet {
        dscp,
        ..Packet::new(0, 1, 1_250, number)
    });
    for packet in &packets {
        assert_eq!(fabric.offer(Time::ZERO, 0, &packet.frame()), Ok(()));
    }
    let order: Vec<Option<usize>> = all(&mut fabric)
        .into_iter()
        .map(|(_, _, frame)| packets.iter().position(|packet| packet.frame() == frame))
        .collect();
    assert_eq!(order, [Some(0), Some(2), Some(1)]);
    config.interfaces[0].uplink.classes = 33;
    let error = config.check().unwrap_err().to_string();
    assert!(error.contains("33 classes; allowed: 1 to 32"), "{error}");
}

#[test]
fn ports_of_a_node_share_its_buffer() {
    let mut config = star(3);
    let shared = SharedBufferConfig {
        bytes: 6_000,
        alpha: 1.0,
    };
    config.nodes[0].shared_buffer = Some(shared);
    let mut fabric = fabric(&config);
    for number in 0..8 {
        let to = 1 + (number % 2) as u8;
        let frame = Packet::new(0, to, 1_000, number).frame();
        assert_eq!(fabric.offer(Time::ZERO, 0, &frame), Ok(()));
    }
    assert_eq!(all(&mut fabric).len(), 4);
    // With alpha 1, each port may hold as much as is free: 2,000 bytes.
    for name in ["s->h1", "s->h2"] {
        let port = report(&mut fabric, name);
        assert_eq!((port.packets, port.drops), (2, 2), "{name}");
    }
}

#[test]
fn samples_show_the_queue() {
    let mut config = star(2);
    let sampling = Sampling {
        every: Span::from_us(100),
        keep: 6,
    };
    config.options.sampling = Some(sampling);
    let mut fabric = fabric(&config);
    for number in 0..4 {
        let frame = Packet::new(0, 1, 1_500, number).frame();
        assert_eq!(fabric.offer(us(150), 0, &frame), Ok(()));
    }
    assert_eq!(all(&mut fabric).len(), 4);
    let series = fabric.series();
    let series = series.iter().find(|series| series.port == "s->h1");
    let samples = &series.expect("each port has a series").samples;
    let seen: Vec<(u64, u32, u32)> = samples
        .iter()
        .map(|sample| (sample.time_ns / 1_000, sample.packets, sample.bytes))
        .collect();
    // The packets arrive at 151.2 us and leave every 120 us from 271.2 us on.
    let expected = [(0, 0), (100, 0), (200, 4), (300, 3), (400, 2), (500, 2)];
    assert_eq!(
        seen,
        expected.map(|(at, packets)| (at, packets, 1_500 * packets))
    );
}

#[test]
fn late_frames_arrive_now() {
    let mut fabric = fabric(&star(2));
    assert!(fabric.poll_transmit(us(50)).is_none());
    let frame = Packet::new(0, 1, 1_250, 1).frame();
    assert_eq!(fabric.offer(us(20), 0, &frame), Ok(()));
    assert_eq!(all(&mut fabric), [(50_000 + 1_000 + 100_000, 1, frame)]);
}
