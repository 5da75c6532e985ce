//! Test networks.

use crate::frames::mac;
use duetime_core::{Rate, Span};
use duetime_link::Limit;
use duetime_switch::{
    Config, End, InterfaceConfig, LinkConfig, NodeConfig, Options, PortChoice, PortConfig,
};
use std::net::Ipv4Addr;

/// Returns a port at 100 Mbps without limit, threshold, latency or classes.
pub fn port(to: End) -> PortConfig {
    PortConfig {
        rate: Rate::from_mbps(100),
        latency: Span::ZERO,
        loss: 0.0,
        limit: Limit::Unlimited,
        mark_at: None,
        classes: 1,
        d3: false,
        to,
    }
}

/// Returns a host on a node, with a fast NIC and known addresses.
pub fn host(number: u8, node: usize) -> InterfaceConfig {
    InterfaceConfig {
        name: format!("if{number}"),
        host: format!("h{number}"),
        address: Some(Ipv4Addr::new(10, 9, 0, number + 1)),
        mac: Some(mac(number)),
        node,
        uplink: LinkConfig {
            rate: Rate::from_gbps(10),
            latency: Span::ZERO,
            loss: 0.0,
            limit: Limit::Unlimited,
            classes: 1,
        },
    }
}

/// Returns hosts on one switch.
pub fn star(hosts: u8) -> Config {
    let interfaces = (0..hosts).map(|number| host(number, 0)).collect();
    let mut config = Config::star("s", interfaces, &port(End::Interface(0)), None);
    config.options = options();
    config
}

fn options() -> Options {
    Options {
        buffers: 1_024,
        ..Options::default()
    }
}

/// Returns a chain of three nodes, with one host at the first and two at the last.
pub fn chain() -> Config {
    let node = |name: &str, ends: &[End], next: &[usize]| NodeConfig {
        name: name.to_owned(),
        ports: ends.iter().copied().map(port).collect(),
        next_port: next.iter().copied().map(PortChoice::One).collect(),
        shared_buffer: None,
    };
    let (to, host_at) = (End::Node, End::Interface);
    Config {
        nodes: vec![
            node("a", &[host_at(0), to(1)], &[0, 1, 1]),
            node("b", &[to(0), to(2)], &[0, 1, 1]),
            node("c", &[to(1), host_at(1), host_at(2)], &[0, 1, 2]),
        ],
        interfaces: vec![host(0, 0), host(1, 2), host(2, 2)],
        options: options(),
    }
}

/// Returns two leaves with two hosts each (nodes 0 and 1) and `spines` spines. `choose` returns the spines towards a
/// destination at the other leaf.
pub fn leaf_spine(spines: usize, choose: impl Fn(usize) -> PortChoice) -> Config {
    let leaf = |leaf: usize| {
        let hosts = (0..2).map(|host| End::Interface(2 * leaf + host));
        let up = (0..spines).map(|spine| End::Node(2 + spine));
        let above = |choice: PortChoice| match choice {
            PortChoice::One(spine) => PortChoice::One(2 + spine),
            PortChoice::Hashed(spines) => {
                PortChoice::Hashed(spines.into_iter().map(|spine| 2 + spine).collect())
            }
        };
        NodeConfig {
            name: format!("leaf{leaf}"),
            ports: hosts.chain(up).map(port).collect(),
            next_port: (0..4)
                .map(|to| {
                    if to / 2 == leaf {
                        PortChoice::One(to % 2)
                    } else {
                        above(choose(to))
                    }
                })
                .collect(),
            shared_buffer: None,
        }
    };
    let spine = |number: usize| NodeConfig {
        name: format!("spine{number}"),
        ports: vec![port(End::Node(0)), port(End::Node(1))],
        next_port: (0..4).map(|to| PortChoice::One(to / 2)).collect(),
        shared_buffer: None,
    };
    let mut nodes = vec![leaf(0), leaf(1)];
    nodes.extend((0..spines).map(spine));
    Config {
        nodes,
        interfaces: (0..4)
            .map(|number| host(number, usize::from(number) / 2))
            .collect(),
        options: options(),
    }
}
