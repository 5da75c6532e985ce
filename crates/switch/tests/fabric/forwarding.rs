//! Forwarding: addresses, learning, broadcast, multiple paths.

use crate::frames::{Packet, mac};
use crate::networks::{chain, leaf_spine, star};
use duetime_core::{Span, Time};
use duetime_switch::{Config, Fabric, PortChoice, Refused};
use std::collections::BTreeSet;

fn fabric(config: &Config) -> Fabric {
    Fabric::new(config, 1_600).expect("a valid network")
}

/// Returns interface and bytes of all frames in flight.
fn all(fabric: &mut Fabric) -> Vec<(usize, Vec<u8>)> {
    let mut all = Vec::new();
    while fabric.next_timeout() < Time::MAX {
        let timeout = fabric.next_timeout();
        while let Some(outgoing) = fabric.poll_transmit(timeout) {
            all.push((outgoing.interface, fabric.bytes(&outgoing).to_vec()));
            fabric.release(outgoing);
        }
    }
    all
}

/// Sends a frame from `from` and returns its receivers.
fn receivers(fabric: &mut Fabric, from: usize, frame: &[u8]) -> Vec<usize> {
    let now = fabric.clock() + Span::from_us(1);
    assert_eq!(fabric.offer(now, from, frame), Ok(()));
    let mut receivers: Vec<usize> = all(fabric).into_iter().map(|(to, _)| to).collect();
    receivers.sort_unstable();
    receivers
}

/// Returns an ARP request of a host.
fn arp(from: u8) -> Vec<u8> {
    let mut frame = vec![0xff; 6];
    frame.extend(mac(from));
    frame.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
    frame.resize(60, 0);
    frame
}

fn without_addresses(mut config: Config) -> Config {
    for interface in &mut config.interfaces {
        (interface.address, interface.mac) = (None, None);
    }
    config
}

#[test]
fn broadcasts_reach_every_other_host_once() {
    for config in [
        star(5),
        chain(),
        leaf_spine(3, |_| PortChoice::Hashed(vec![0, 1, 2])),
    ] {
        let hosts = config.interfaces.len();
        let mut fabric = fabric(&config);
        for from in 0..hosts {
            let others: Vec<usize> = (0..hosts).filter(|&to| to != from).collect();
            assert_eq!(receivers(&mut fabric, from, &arp(from as u8)), others);
        }
        assert_eq!(fabric.buffers_in_use(), 0);
    }
}

#[test]
fn unknown_addresses_are_learned() {
    for config in [star(4), leaf_spine(2, |to| PortChoice::One(to % 2))] {
        let mut fabric = fabric(&without_addresses(config));
        let to_3 = Packet::new(0, 3, 200, 1).frame();
        assert_eq!(
            receivers(&mut fabric, 0, &to_3),
            [1, 2, 3],
            "host 3 is unknown"
        );
        assert_eq!(receivers(&mut fabric, 3, &arp(3)), [0, 1, 2]);
        assert_eq!(receivers(&mut fabric, 0, &to_3), [3]);
        // Host 3 moves to host 2's interface.
        assert_eq!(receivers(&mut fabric, 2, &arp(3)), [0, 1, 3]);
        assert_eq!(receivers(&mut fabric, 0, &to_3), [2]);
    }
}

#[test]
fn configured_addresses_are_fixed() {
    let mut fabric = fabric(&star(3));
    assert_eq!(receivers(&mut fabric, 1, &arp(2)), [0, 2]);
    assert_eq!(
        receivers(&mut fabric, 0, &Packet::new(0, 2, 200, 1).frame()),
        [2]
    );
}

#[test]
fn ip_addresses_take_precedence() {
    let mut fabric = fabric(&star(3));
    let right = Packet::new(0, 2, 200, 1).frame();
    let mut wrong = right.clone();
    wrong[..6].copy_from_slice(&mac(1));
    assert_eq!(fabric.offer(Time::ZERO, 0, &wrong), Ok(()));
    assert_eq!(
        all(&mut fabric),
        [(2, right)],
        "with the host's link-layer address"
    );
}

#[test]
fn frames_to_their_sender_are_refused() {
    let mut fabric = fabric(&star(2));
    let frame = Packet::new(1, 0, 200, 1).frame();
    assert_eq!(fabric.offer(Time::ZERO, 0, &frame), Err(Refused::Returning));
    assert_eq!(fabric.interfaces()[0].returning, 1);
    assert_eq!(fabric.buffers_in_use(), 0);
}

#[test]
fn flows_keep_one_path_and_use_all_paths() {
    let spines = 4;
    let config = leaf_spine(spines, |_| PortChoice::Hashed((0..spines).collect()));
    let mut fabric = fabric(&config);
    let ups: Vec<String> = (0..spines)
        .map(|spine| format!("leaf0->spine{spine}"))
        .collect();
    let mut used = vec![0; spines];
    let count = |fabric: &mut Fabric| {
        let ports = fabric.ports();
        let packets = ups.iter().map(|up| {
            let port = ports.iter().find(|port| port.name == *up);
            port.expect("a known port").packets
        });
        packets.collect::<Vec<_>>()
    };
    for flow in 0..400_u16 {
        let before = count(&mut fabric);
        for number in 0..3 {
            let packet = Packet {
                ports: [10_000 + flow, 80],
                tcp: true,
                v6: flow % 2 == 1,
                // These may change within a flow.
                ecn: (number % 4) as u8,
                ..Packet::new(0, 3, 200 + 100 * number as u16, number)
            };
            assert_eq!(receivers(&mut fabric, 0, &packet.frame()), [3]);
        }
        let after = count(&mut fabric);
        let took: Vec<usize> = (0..spines).filter(|&up| after[up] > before[up]).collect();
        assert_eq!(took.len(), 1, "one path per flow");
        used[took[0]] += 1;
    }
    // The mean is 100, with a standard deviation of 8.7.
    assert!(
        used.iter().all(|flows| (60..140).contains(flows)),
        "{used:?}"
    );
}

#[test]
fn nodes_choose_independently() {
    let mut config = leaf_spine(2, |_| PortChoice::Hashed(vec![0, 1]));
    // Two links from each spine to leaf 1.
    for spine in &mut config.nodes[2..] {
        let copy = spine.ports[1].clone();
        spine.ports.push(copy);
        spine.next_port[2] = PortChoice::Hashed(vec![1, 2]);
        spine.next_port[3] = PortChoice::Hashed(vec![1, 2]);
    }
    let mut fabric = fabric(&config);
    for flow in 0..400 {
        let packet = Packet {
            ports: [flow, 80],
            ..Packet::new(0, 2, 200, 0)
        };
        assert_eq!(receivers(&mut fabric, 0, &packet.frame()), [2]);
    }
    let paths: Vec<u64> = fabric
        .ports()
        .iter()
        .filter(|port| port.name.starts_with("spine") && port.name.ends_with("leaf1"))
        .map(|port| port.packets)
        .collect();
    assert_eq!(paths.len(), 4);
    assert!(
        paths.iter().all(|packets| (60..140).contains(packets)),
        "{paths:?}"
    );
}

#[test]
fn full_buffers_are_counted() {
    let mut config = star(3);
    config.options.buffers = 2;
    let mut fabric = fabric(&config);
    let frame = |number| Packet::new(0, 1, 1_000, number).frame();
    assert_eq!(fabric.offer(Time::ZERO, 0, &frame(0)), Ok(()));
    assert_eq!(fabric.offer(Time::ZERO, 0, &frame(1)), Ok(()));
    assert_eq!(
        fabric.offer(Time::ZERO, 0, &frame(2)),
        Err(Refused::NoBuffer)
    );
    let numbers: BTreeSet<Vec<u8>> = all(&mut fabric)
        .into_iter()
        .map(|(_, frame)| frame)
        .collect();
    assert_eq!(numbers, BTreeSet::from([frame(0), frame(1)]));
    // A broadcast needs a buffer for itself and one for each copy.
    let now = fabric.clock();
    assert_eq!(fabric.offer(now, 0, &arp(0)), Ok(()));
    assert_eq!(all(&mut fabric).len(), 1);
    assert_eq!(fabric.interfaces()[0].no_buffer, 2);
    assert_eq!(fabric.buffers_in_use(), 0);
}
