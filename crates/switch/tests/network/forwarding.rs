//! Networks of several nodes, and hosts without configured addresses.

use crate::bench::{Bench, interfaces, link};
use crate::port;
use duetime_core::{Rate, Span};
use duetime_switch::{Config, End, NodeConfig, Options, PortChoice, PortConfig};
use std::net::UdpSocket;
use std::time::{Duration, Instant};

fn socket(bench: &Bench, host: u8, number: u16) -> UdpSocket {
    let address = format!("10.9.0.{}:{number}", host + 1);
    let socket = bench.in_host(usize::from(host), || {
        UdpSocket::bind(address).expect("a socket")
    });
    socket
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a timeout");
    socket
}

/// Sends a datagram of `bytes` there and back and returns the time.
fn trip(client: &UdpSocket, server: &UdpSocket, bytes: usize) -> Duration {
    let start = Instant::now();
    let mut buffer = [0; 2_000];
    let to = server.local_addr().expect("bound");
    client.send_to(&vec![7; bytes], to).expect("sent");
    let (got, from) = server.recv_from(&mut buffer).expect("delivered");
    server.send_to(&buffer[..got], from).expect("sent");
    assert_eq!(client.recv(&mut buffer).expect("delivered"), bytes);
    start.elapsed()
}

/// Returns a network with hosts 0 and 1 at leaf 0, 2 and 3 at leaf 1, and two spines.
fn leaf_spine() -> Config {
    let to = |to| PortConfig { to, ..port() };
    let leaf = |leaf: usize| NodeConfig {
        name: format!("leaf{leaf}"),
        ports: vec![
            to(End::Interface(2 * leaf)),
            to(End::Interface(2 * leaf + 1)),
            to(End::Node(2)),
            to(End::Node(3)),
        ],
        next_port: (0..4)
            .map(|host| {
                if host / 2 == leaf {
                    PortChoice::One(host % 2)
                } else {
                    PortChoice::Hashed(vec![2, 3])
                }
            })
            .collect(),
        shared_buffer: None,
    };
    let spine = |spine: usize| NodeConfig {
        name: format!("spine{spine}"),
        ports: vec![to(End::Node(0)), to(End::Node(1))],
        next_port: (0..4).map(|host| PortChoice::One(host / 2)).collect(),
        shared_buffer: None,
    };
    let mut interfaces = interfaces(4, link(Rate::from_mbps(100), Span::from_ms(1)));
    for (number, interface) in interfaces.iter_mut().enumerate() {
        interface.node = number / 2;
    }
    Config {
        nodes: vec![leaf(0), leaf(1), spine(0), spine(1)],
        interfaces,
        options: Options::default(),
    }
}

#[test]
fn datagrams_cross_a_network_of_nodes() {
    let Some(bench) = Bench::new(&leaf_spine()) else {
        return;
    };
    let mut trips = Vec::new();
    for number in 0..24 {
        let (client, server) = (socket(&bench, 0, 4_000 + number), socket(&bench, 3, 5_000));
        trips.push(trip(&client, &server, 972));
    }
    // In each direction, four links take 80 us for 1000 bytes and 1 ms of latency.
    let exact = Duration::from_micros(8 * 1_080);
    trips.sort();
    assert!(trips[0] >= exact, "{:?} is too early", trips[0]);
    let near = trip(&socket(&bench, 0, 4_000), &socket(&bench, 1, 5_000), 972);
    assert!(near >= exact / 2, "{near:?} within a leaf is too early");
    let report = bench.stop();
    let packets = |name: &str| {
        let port = report.ports.iter().find(|port| port.name == name);
        port.expect("a known port").packets
    };
    let paths = [packets("leaf0->spine0"), packets("leaf0->spine1")];
    // The probability that all 24 flows take one path is 1 in 8 million.
    assert!(
        paths[0] + paths[1] >= 24 && paths[0].min(paths[1]) > 0,
        "{paths:?}"
    );
    assert!(packets("spine0->leaf1") + packets("spine1->leaf1") >= 24);
}

#[test]
fn addresses_are_learned() {
    let mut unknown = interfaces(3, link(Rate::from_mbps(100), Span::ZERO));
    for interface in &mut unknown {
        (interface.address, interface.mac) = (None, None);
    }
    let config = Config::star("star", unknown, &port(), None);
    let Some(bench) = Bench::new(&config) else {
        return;
    };
    let (client, server) = (socket(&bench, 0, 4_000), socket(&bench, 1, 4_000));
    for _ in 0..20 {
        trip(&client, &server, 972);
    }
    let report = bench.stop();
    let sent: Vec<u64> = report
        .interfaces
        .iter()
        .map(|interface| interface.sent_packets)
        .collect();
    // An ARP request goes to all hosts; the reply and the datagrams only to their destination.
    assert!(sent[0] >= 21 && sent[1] >= 21, "{sent:?}");
    assert!((1..10).contains(&sent[2]), "{sent:?}");
}
