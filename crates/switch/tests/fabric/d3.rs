//! D3 endpoints across a switch whose ports have D3's router.

use crate::frames::mac;
use crate::networks::{leaf_spine, star};
use crate::world::{LONGEST, SCALE, World};
use duetime_core::{Rate, Span, Time};
use duetime_proto::d3::wire::{self, DatagramError, Header, Kind};
use duetime_proto::d3::{EncodedRate, Flags, Packet, Request};
use duetime_switch::{Config, D3Report, Fabric, PortChoice};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Enables D3 at every port of a network.
pub fn routed(mut config: Config) -> Config {
    for port in config.nodes.iter_mut().flat_map(|node| &mut node.ports) {
        port.d3 = true;
        port.latency = Span::from_us(20);
    }
    config
}

/// Frame format of a UDP datagram.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    pub v6: bool,
    pub tagged: bool,
    /// True if the frame has a UDP checksum.
    pub summed: bool,
}

pub const PLAIN: Form = Form {
    v6: false,
    tagged: false,
    summed: true,
};

impl Form {
    /// Returns the offset of the datagram.
    pub fn datagram_at(self) -> usize {
        14 + if self.tagged { 4 } else { 0 } + if self.v6 { 40 } else { 20 } + 8
    }
}

pub fn sum(bytes: &[u8]) -> u32 {
    let words = bytes
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| u32::from(low)));
    words.fold(0, |sum, word| {
        let sum = sum + word;
        (sum & 0xffff) + (sum >> 16)
    })
}

/// Returns all bytes covered by the UDP checksum of a frame.
pub fn covered(frame: &[u8], form: Form) -> Vec<u8> {
    let udp = form.datagram_at() - 8;
    let addresses = if form.v6 { 32 } else { 8 };
    let length = (frame.len() - udp) as u16;
    let pseudo = [0, 17, (length >> 8) as u8, length as u8];
    [&frame[udp - addresses..udp], &pseudo, &frame[udp..]].concat()
}

pub fn framed(from: u8, to: u8, datagram: &[u8], form: Form) -> Vec<u8> {
    let mut frame = [mac(to), mac(from)].concat();
    if form.tagged {
        frame.extend([0x81, 0, 0, 5]);
    }
    let udp = (8 + datagram.len()) as u16;
    if form.v6 {
        frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
        frame.extend(udp.to_be_bytes());
        frame.extend([17, 64]);
        for host in [from, to] {
            frame.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host + 1]);
        }
    } else {
        frame.extend([8, 0, 0x45, 0]);
        frame.extend((20 + udp).to_be_bytes());
        frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
        frame.extend([10, 9, 0, from + 1, 10, 9, 0, to + 1]);
    }
    frame.extend([0x1b, 0x58, 0x1b, 0x58]);
    frame.extend(udp.to_be_bytes());
    frame.extend([0, 0]);
    frame.extend(datagram);
    if form.summed {
        let at = form.datagram_at() - 2;
        let checksum = !(sum(&covered(&frame, form)) as u16);
        frame[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
    }
    frame
}

/// Returns a datagram that opens a flow and requests this many units.
pub fn asking(units: u8, payload: &[u8]) -> Vec<u8> {
    let header = Header {
        kind: Kind::Packet,
        destination: 0,
        source: 7,
        window: 0,
        packet: Packet {
            flags: Flags::SYN,
            len: payload.len() as u32,
            request: Some(Request {
                desired: EncodedRate::from_byte(units),
                scale: SCALE,
                ..Request::default()
            }),
            ..Packet::default()
        },
    };
    let mut bytes = Vec::new();
    wire::encode(&header, (payload, &[]), &mut bytes).expect("an encodable header");
    bytes
}

/// Sends a frame from host 0 to host 1. Returns the delivered bytes and the router's report, before its first update.
fn through(config: &Config, frame: &[u8]) -> (Vec<u8>, Option<D3Report>) {
    let mut fabric = Fabric::new(config, LONGEST).expect("a valid network");
    fabric.offer(Time::ZERO, 0, frame).expect("accepted");
    let out = fabric
        .poll_transmit(Time::ZERO + Span::from_us(200))
        .expect("a due frame");
    let bytes = fabric.bytes(&out).to_vec();
    fabric.release(out);
    let mut ports = fabric.ports().into_iter();
    let port = ports.find(|port| port.name.ends_with("->h1"));
    (bytes, port.and_then(|port| port.d3))
}

#[test]
fn requests_are_answered_in_all_frame_formats() {
    let datagram = asking(40, b"hello");
    for bits in 0..8 {
        let form = Form {
            v6: bits & 1 != 0,
            tagged: bits & 2 != 0,
            summed: bits & 4 != 0,
        };
        let (frame, report) = through(&routed(star(2)), &framed(0, 1, &datagram, form));
        let (header, payload) = wire::decode(&frame[form.datagram_at()..]).expect("intact");
        let request = header.packet.request.expect("a request");
        assert_eq!((request.index, payload), (1, &b"hello"[..]));
        assert_eq!(request.allocations[0], EncodedRate::from_byte(40));
        let report = report.expect("the port has a router");
        let counters = (report.flows, report.demand_bps, report.allocated_bps);
        assert_eq!(counters, (1, 40_000_000, 40_000_000));
        assert_eq!((report.capacity_bps, report.scale), (100_000_000, SCALE));
        assert_eq!(
            (report.requests, report.denied, report.unanswered),
            (1, 0, 0)
        );
        let at = form.datagram_at() - 2;
        if form.summed {
            assert_eq!(sum(&covered(&frame, form)), 0xffff, "{form:?}");
        } else {
            assert_eq!(frame[at..at + 2], [0, 0]);
        }
    }
}

#[test]
fn every_hop_answers_and_grants_never_grow() {
    let mut config = leaf_spine(2, |_| PortChoice::Hashed(vec![0, 1]));
    config.nodes[0]
        .ports
        .iter_mut()
        .for_each(|port| port.rate = Rate::from_mbps(30));
    let mut config = routed(config);
    config.options.d3.wire.scale = Some(SCALE);
    let (to, hosts) = (config.interfaces.len() - 1, config.interfaces.len());
    let mut fabric = Fabric::new(&config, LONGEST).expect("a valid network");
    let frame = framed(0, to as u8, &asking(80, b""), PLAIN);
    fabric.offer(Time::ZERO, 0, &frame).expect("accepted");
    let mut now = Time::ZERO;
    let out = loop {
        now = fabric.next_timeout().max(now);
        if let Some(out) = fabric.poll_transmit(now) {
            break out;
        }
    };
    assert_eq!(out.interface, to);
    let (header, _) = wire::decode(&fabric.bytes(&out)[PLAIN.datagram_at()..]).expect("intact");
    fabric.release(out);
    let request = header.packet.request.expect("a request");
    assert_eq!(request.index, 3, "leaf, spine, leaf");
    assert_eq!(request.allocations[0], EncodedRate::from_byte(30));
    assert!(request.allocations[..3].is_sorted_by(|a, b| a >= b));
    let ports = fabric.ports();
    let with_flow = ports
        .iter()
        .filter(|port| port.d3.is_some_and(|d3| d3.flows == 1));
    assert_eq!(with_flow.count(), 3);
    assert!(ports[..hosts].iter().all(|uplink| uplink.d3.is_none()));
}

#[test]
fn damage_stays_detectable() {
    let mut frame = framed(0, 1, &asking(40, b"hello"), PLAIN);
    *frame.last_mut().expect("a byte") ^= 4;
    let (frame, report) = through(&routed(star(2)), &frame);
    assert_eq!(report.map(|report| report.requests), Some(1));
    let read = wire::decode(&frame[PLAIN.datagram_at()..]);
    assert_eq!(read, Err(DatagramError::Checksum));
    assert_ne!(sum(&covered(&frame, PLAIN)), 0xffff);
}

#[test]
fn other_packets_pass_unchanged() {
    let good = framed(0, 1, &asking(40, b"hello"), PLAIN);
    let at = PLAIN.datagram_at();
    // Changes to: magic, congestion flag, payload length, version, kind, UDP length, protocol, fragment.
    let changes = [
        (at, 0xd2),
        (at + 1, 1),
        (at + 3, 4),
        (at + 18, 0),
        (at + 19, 1),
        (at - 3, 70),
        (23, 6),
        (20, 0x20),
    ];
    let passes = |config: &Config, frame: &[u8]| {
        let (after, report) = through(config, frame);
        assert_eq!(after, frame);
        report
    };
    for (at, value) in changes {
        let mut frame = good.clone();
        assert_ne!(frame[at], value, "byte {at}");
        frame[at] = value;
        let report = passes(&routed(star(2)), &frame);
        assert_eq!(report.map(|report| report.requests), Some(0), "byte {at}");
    }
    assert_eq!(passes(&star(2), &good), None, "D3 is off");
}

#[test]
fn broadcast_requests_are_not_answered() {
    let config = routed(star(3));
    let mut frame = framed(0, 1, &asking(40, b""), PLAIN);
    frame[..6].fill(0xff);
    let mut fabric = Fabric::new(&config, LONGEST).expect("a valid network");
    fabric.offer(Time::ZERO, 0, &frame).expect("accepted");
    let end = Time::ZERO + Span::from_secs(1);
    let mut copies = 0;
    while let Some(out) = fabric.poll_transmit(end) {
        assert_eq!(fabric.bytes(&out), frame);
        fabric.release(out);
        copies += 1;
    }
    assert_eq!(copies, 2);
    let mut routers = fabric.ports().into_iter().filter_map(|port| port.d3);
    assert!(routers.all(|d3| d3.requests == 0));
}

#[test]
fn unanswered_requests_are_counted() {
    let asking = |change: fn(&mut Request)| {
        let datagram = asking(40, b"");
        let (mut header, _) = wire::decode(&datagram).expect("intact");
        change(header.packet.request.as_mut().expect("a request"));
        let mut changed = Vec::new();
        wire::encode(&header, (&[], &[]), &mut changed).expect("an encodable header");
        changed
    };
    let other = asking(|request| request.scale = 0);
    let far = asking(|request| request.index = 6);
    for datagram in [other, far] {
        let (frame, report) = through(&routed(star(2)), &framed(0, 1, &datagram, PLAIN));
        let report = report.expect("the port has a router");
        assert_eq!(
            (report.requests, report.unanswered, report.flows),
            (1, 1, 0)
        );
        wire::decode(&frame[PLAIN.datagram_at()..]).expect("intact");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 20_000,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    })]

    #[test]
    fn routers_change_only_requests_and_checksums(
        bits in 0..4_u8,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..5),
        congestion in any::<[u8; 22]>(),
        cut in any::<Option<prop::sample::Index>>(),
    ) {
        let form = Form { v6: bits & 1 != 0, tagged: bits & 2 != 0, summed: true };
        let mut datagram = asking(40, b"hello");
        datagram[44..66].copy_from_slice(&congestion);
        let mut frame = framed(0, 1, &datagram, form);
        for (position, value) in changes {
            // Keep the link-layer addresses.
            let at = 12 + position.index(frame.len() - 12);
            frame[at] = value;
        }
        if let Some(cut) = cut {
            frame.truncate(14 + cut.index(frame.len() - 14));
        }
        let (after, report) = through(&routed(star(2)), &frame);
        prop_assert_eq!(after.len(), frame.len());
        if report.is_none_or(|report| report.requests == 0) {
            prop_assert_eq!(after, frame);
        } else {
            let changed = (0..frame.len()).filter(|&at| frame[at] != after[at]);
            let (first, last) = (changed.clone().min(), changed.max());
            let spread = last.unwrap_or(0) - first.unwrap_or(0);
            prop_assert!(spread < 2 + 66, "from {first:?} to {last:?}");
        }
    }
}

const BYTES: usize = 800_000;
/// Requires 64 of 100 Mbps, more than half.
const NEAR: Span = Span::from_ms(100);
/// Requires 16 Mbps.
const FAR: Span = Span::from_ms(400);

#[test]
fn deadlines_are_met_where_fair_shares_miss() {
    let mut world = World::star(3);
    world.open(0, 2, BYTES, Some(NEAR));
    world.open(1, 2, BYTES, Some(FAR));
    world.run_until(Time::ZERO + Span::from_ms(40));
    let [_, _, bottleneck] = world.routers()[..] else {
        panic!("three ports");
    };
    assert_eq!(bottleneck.flows, 2);
    let demand = bottleneck.demand_bps / 1_000_000;
    assert!((70..=95).contains(&demand), "{bottleneck:?}");
    assert!(
        bottleneck.allocated_bps >= bottleneck.demand_bps,
        "{bottleneck:?}"
    );
    assert!(
        (90_000_000..=110_000_000).contains(&bottleneck.capacity_bps),
        "{bottleneck:?}"
    );
    assert_ne!(bottleneck.capacity_bps, 100_000_000, "adapted");
    assert!(world.granted(0) >= 60_000_000, "{}", world.granted(0));
    assert!(world.granted(1) >= 14_000_000, "{}", world.granted(1));

    world.run_until(Time::ZERO + Span::from_ms(500));
    for (flow, deadline) in world.flows.iter().zip([NEAR, FAR]) {
        let delivered = flow.delivered_at.expect("delivered");
        assert!(
            delivered <= Time::ZERO + deadline,
            "{}",
            delivered.as_secs_f64()
        );
    }
    assert_eq!(world.received, 2 * BYTES);

    let mut fair = World::star(3);
    fair.open(0, 2, BYTES, None);
    fair.open(1, 2, BYTES, None);
    fair.run_until(Time::ZERO + Span::from_ms(500));
    for flow in &fair.flows {
        let delivered = flow.delivered_at.expect("delivered");
        assert!(delivered > Time::ZERO + NEAR, "{}", delivered.as_secs_f64());
    }
}

#[test]
fn routers_forget_ended_flows() {
    let mut world = World::star(3);
    world.open(0, 2, BYTES, Some(NEAR));
    world.open(1, 2, BYTES, None);
    world.run_until(Time::ZERO + Span::from_ms(300));
    assert!(world.flows.iter().all(|flow| flow.delivered_at.is_some()));
    // Wait for the streams to linger and for a few idle updates.
    world.run_until(Time::ZERO + Span::from_ms(320));
    for router in world.routers() {
        assert!(router.requests > 10, "{router:?}");
        let left = (router.flows, router.demand_bps, router.allocated_bps);
        assert_eq!(left, (0, 0, 0));
        assert_eq!(router.capacity_bps, 100_000_000);
    }
}
