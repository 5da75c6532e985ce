//! Random schedules with the same departures, marks, drops and counters as the reference network.

use crate::frames::{self, MIN_BYTES};
use crate::networks::{chain, leaf_spine, star};
use crate::plain::{self, Counts, Network, Reached};
use duetime_core::random::{Purpose, Stream, Streams};
use duetime_core::{Rate, Span, Time};
use duetime_link::Limit;
use duetime_switch::{
    Classifier, Config, Fabric, PortChoice, PortConfig, PortReport, Refused, SharedBufferConfig,
};
use std::panic::{AssertUnwindSafe, catch_unwind};

const SCHEDULES: u64 = 4_000;

/// Coverage over all schedules, to detect trivial comparisons.
#[derive(Debug, Default)]
struct Coverage {
    reached: usize,
    marked: usize,
    drops: u64,
    refused: usize,
    asked_only: u64,
}

#[test]
fn results_equal_the_reference_network() {
    let mut seen = Coverage::default();
    for number in 0..SCHEDULES {
        let played = catch_unwind(AssertUnwindSafe(|| play(number, &mut seen)));
        assert!(played.is_ok(), "schedule {number} differs");
    }
    println!("{seen:?}");
    let many = SCHEDULES as usize;
    assert!(seen.reached > 20 * many && seen.marked > many && seen.refused > many / 10);
    assert!(seen.drops > SCHEDULES && seen.asked_only > SCHEDULES / 4);
}

fn play(number: u64, seen: &mut Coverage) {
    let mut draws = Streams::new(number, 0).stream(0, Purpose::Arrival);
    let draws = &mut draws;
    let config = network(draws);
    let mut fabric = Fabric::new(&config, 2_000).expect("a valid network");
    let mut plain = Network::new(&config);
    let hosts = config.interfaces.len() as u64;
    let (mut sent, mut reached) = (Vec::new(), Vec::new());
    let mut now = 0;
    let mut left = draws.between(1, 80) as u32;
    while left > 0 {
        now = later(now, &plain, draws);
        if draws.chance(0.3) {
            take(&mut fabric, now, &sent, &mut reached);
        }
        let burst = if draws.chance(0.3) {
            draws.between(2, 12) as u32
        } else {
            1
        };
        for _ in 0..burst.min(left) {
            left -= 1;
            let packet = packet(sent.len() as u32, hosts, draws);
            let (at, from) = (Time::from_ps(now), usize::from(packet.from));
            let frames = [packet.frame(), packet.marked().frame()];
            let offer = fabric.offer(at, from, &frames[0]);
            let expected = plain.offer(now, from, as_plain(&packet, &config));
            assert_eq!(
                offer,
                if expected {
                    Ok(())
                } else {
                    Err(Refused::Dropped)
                }
            );
            seen.refused += usize::from(!expected);
            let to = packet.to;
            sent.push(Sent { to, frames });
        }
        if draws.chance(0.2) {
            assert_eq!(counts(&mut fabric), plain.counts(), "the ports at {now}");
        }
    }
    // A driver that follows the timeouts must not miss a frame.
    while fabric.next_timeout() < Time::MAX {
        let timeout = fabric.next_timeout();
        take(&mut fabric, timeout.as_ps(), &sent, &mut reached);
    }
    plain.run(u64::MAX - 1);
    // The order among hosts at one instant is undefined.
    let by_host = |reached: &mut Vec<Reached>| {
        reached.sort_by_key(|packet| (packet.interface, packet.time_ps));
    };
    by_host(&mut reached);
    by_host(&mut plain.reached);
    assert_eq!(reached, plain.reached);
    assert_eq!(fabric.buffers_in_use(), 0);
    assert_eq!(counts(&mut fabric), plain.counts());
    seen.reached += reached.len();
    seen.marked += reached.iter().filter(|packet| packet.marked).count();
    for count in plain.counts() {
        seen.drops += count[2];
        seen.asked_only += count[4] - count[5];
    }
}

/// Returns a time often at, just before or just after an event.
fn later(now: u64, plain: &Network, draws: &mut Stream) -> u64 {
    let next = plain.next_event();
    let gap = match draws.below(8) {
        0 => 0,
        1..4 if next < u64::MAX => (next + draws.below(3)).saturating_sub(now + 1),
        4..7 => draws.below(200_000_000),
        _ => draws.below(4_000_000_000),
    };
    now + gap
}

fn packet(number: u32, hosts: u64, draws: &mut Stream) -> frames::Packet {
    let from = draws.below(hosts);
    let to = (from + draws.between(1, hosts - 1)) % hosts;
    let bytes =
        [MIN_BYTES, 576, 1_500, MIN_BYTES + draws.below(1_400) as u16][draws.below(4) as usize];
    let v6 = draws.chance(0.2);
    frames::Packet {
        dscp: draws.below(64) as u8,
        ecn: draws.below(4) as u8,
        ports: [draws.below(1 << 16) as u16, draws.below(1 << 16) as u16],
        tcp: draws.chance(0.5),
        v6,
        options: if v6 { 0 } else { draws.below(11) as u8 },
        vlan: draws.chance(0.2).then(|| draws.below(1 << 16) as u16),
        ..frames::Packet::new(from as u8, to as u8, bytes, number)
    }
}

fn as_plain(packet: &frames::Packet, config: &Config) -> plain::Packet {
    let class = match &config.options.classifier {
        Classifier::Precedence => 7 - (packet.dscp >> 3),
        Classifier::Dscp(classes) => classes[usize::from(packet.dscp)],
        Classifier::Vlan => 7 - (packet.vlan.unwrap_or(0) >> 13) as u8,
    };
    plain::Packet {
        number: packet.number,
        to: usize::from(packet.to),
        bytes: u64::from(packet.bytes) + u64::from(config.options.overhead_bytes),
        class: usize::from(class),
        ecn_capable: packet.ecn != 0,
        marked: packet.ecn == 3,
    }
}

/// Destination of a sent packet, and its frame without and with CE.
struct Sent {
    to: u8,
    frames: [Vec<u8>; 2],
}

/// Takes due frames and checks that at most CE and the header checksum have changed.
fn take(fabric: &mut Fabric, now: u64, sent: &[Sent], reached: &mut Vec<Reached>) {
    while let Some(outgoing) = fabric.poll_transmit(Time::from_ps(now)) {
        let frame = fabric.bytes(&outgoing);
        let found = sent
            .iter()
            .position(|sent| sent.frames.iter().any(|candidate| candidate == frame));
        let number = found.unwrap_or_else(|| panic!("unknown frame {frame:x?}"));
        assert_eq!(usize::from(sent[number].to), outgoing.interface);
        assert!(outgoing.due.as_ps() <= now);
        reached.push(Reached {
            number: number as u32,
            interface: outgoing.interface,
            time_ps: outgoing.due.as_ps(),
            marked: sent[number].frames[1] == frame,
        });
        fabric.release(outgoing);
    }
}

fn counts(fabric: &mut Fabric) -> Vec<Counts> {
    let count = |port: PortReport| {
        [
            port.packets,
            port.bytes,
            port.drops,
            port.drop_bytes,
            port.marks_asked,
            port.marks_made,
            port.queue_max_bytes,
            u64::from(port.queue_packets),
            port.queue_bytes,
        ]
    };
    fabric.ports().into_iter().map(count).collect()
}

fn network(draws: &mut Stream) -> Config {
    let mut config = match draws.below(4) {
        0 | 1 => star(draws.between(2, 5) as u8),
        2 => chain(),
        _ => leaf_spine(2, |to| PortChoice::One(to % 2)),
    };
    let options = &mut config.options;
    options.overhead_bytes = [0, 18, 38][draws.below(3) as usize];
    options.classifier = match draws.below(3) {
        0 => Classifier::Precedence,
        1 => Classifier::Dscp([(); 64].map(|()| draws.below(4) as u8)),
        _ => Classifier::Vlan,
    };
    for interface in &mut config.interfaces {
        let uplink = &mut interface.uplink;
        (uplink.rate, uplink.latency) = (rate(draws), latency(draws));
        uplink.limit = limit(draws);
    }
    for node in &mut config.nodes {
        for port in &mut node.ports {
            let random = PortConfig {
                rate: rate(draws),
                latency: latency(draws),
                loss: 0.0,
                limit: limit(draws),
                mark_at: match limit(draws) {
                    Limit::Unlimited => None,
                    threshold => Some(threshold),
                },
                classes: [1, 1, 2, 8][draws.below(4) as usize],
                d3: false,
                to: port.to,
            };
            *port = random;
        }
        node.shared_buffer = draws.chance(0.3).then(|| SharedBufferConfig {
            bytes: draws.between(2_000, 40_000),
            alpha: [0.25, 1.0, 8.0][draws.below(3) as usize],
        });
    }
    config
}

fn rate(draws: &mut Stream) -> Rate {
    let mbps = [10, 100, 100, 1_000, 7, 3_000][draws.below(6) as usize];
    Rate::from_mbps(mbps)
}

fn latency(draws: &mut Stream) -> Span {
    Span::from_ps([0, 1, 20_000_000, draws.below(1_000_000_000)][draws.below(4) as usize])
}

fn limit(draws: &mut Stream) -> Limit {
    match draws.below(4) {
        0 | 1 => Limit::Unlimited,
        2 => Limit::Packets(draws.between(1, 12) as u32),
        _ => Limit::Bytes(draws.between(1_500, 15_000)),
    }
}
