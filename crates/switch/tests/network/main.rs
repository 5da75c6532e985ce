//! Tests of the switch between network namespaces; skipped without root.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout, reason = "tests print skips and measurements")]

mod bench;
mod d3;
mod ends;
mod faults;
mod flood;
mod forwarding;
mod marks;
mod namespace;

use bench::{Bench, link};
use duetime_core::{Rate, Span};
use duetime_link::Limit;
use duetime_switch::PortConfig;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

/// Returns a port at 100 Mbps with K = 20 packets and a latency of 1 ms.
fn port() -> PortConfig {
    PortConfig {
        rate: Rate::from_mbps(100),
        latency: Span::from_ms(1),
        loss: 0.0,
        limit: Limit::Packets(100),
        mark_at: Some(Limit::Packets(20)),
        classes: 1,
        d3: false,
        to: duetime_switch::End::Interface(0),
    }
}

#[test]
fn datagrams_take_the_time_of_their_links() {
    let Some(bench) = Bench::star(2, link(Rate::from_mbps(100), Span::from_ms(1)), &port()) else {
        return;
    };
    let server = bench.in_host(1, || UdpSocket::bind("10.9.0.2:4000").expect("a socket"));
    let client = bench.in_host(0, || UdpSocket::bind("10.9.0.1:4000").expect("a socket"));
    for socket in [&server, &client] {
        socket
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("a timeout");
    }
    client.connect("10.9.0.2:4000").expect("an address");
    server.connect("10.9.0.1:4000").expect("an address");
    let mut trips = Vec::new();
    let mut buffer = [0; 2000];
    for _ in 0..50 {
        let start = Instant::now();
        client.send(&[7; 972]).expect("sent");
        let got = server.recv(&mut buffer).expect("delivered");
        server.send(&buffer[..got]).expect("sent");
        client.recv(&mut buffer).expect("delivered");
        trips.push(start.elapsed());
    }
    trips.sort();
    // Each of the four links takes 80 us for 1000 bytes and 1 ms of latency.
    let exact = Duration::from_micros(4 * 1_080);
    let median = trips[trips.len() / 2];
    assert!(trips[0] >= exact, "{:?} is too early", trips[0]);
    println!("round trip: median {median:?}, {exact:?} without processing");
    let report = bench.stop();
    assert_eq!(report.kernel_drops, 0);
    let names: Vec<&str> = report.ports.iter().map(|port| port.name.as_str()).collect();
    assert_eq!(
        names,
        ["host0->star", "host1->star", "star->host0", "star->host1"]
    );
    assert!(report.ports[3].bytes >= 50 * 1_000);
}

#[test]
fn tcp_does_not_exceed_the_link_rate() {
    let Some(bench) = Bench::star(2, link(Rate::from_mbps(100), Span::from_us(100)), &port())
    else {
        return;
    };
    let listener = bench.in_host(1, || TcpListener::bind("10.9.0.2:5000").expect("a port"));
    let receiver = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut buffer = vec![0; 1 << 16];
        let (mut total, mut start) = (0, None);
        loop {
            let got = stream.read(&mut buffer).expect("bytes");
            if got == 0 {
                return (total, start.map(|start: Instant| start.elapsed()));
            }
            start.get_or_insert_with(Instant::now);
            total += got;
        }
    });
    let mut stream = bench.in_host(0, || {
        TcpStream::connect("10.9.0.2:5000").expect("connected")
    });
    let data = vec![3; 1 << 16];
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(3) {
        stream.write_all(&data).expect("written");
    }
    // Published statistics are several tenths of a second old.
    assert!(bench.report().ports[3].packets > 1_000);
    drop(stream);
    let (bytes, time) = receiver.join().expect("received");
    let rate = bytes as f64 * 8.0 / time.expect("data").as_secs_f64();
    let report = bench.stop();
    println!("{:.2} Mbps of payload; {:?}", rate / 1e6, report.lateness);
    // 52 of 1500 bytes are headers.
    assert!(rate < 100e6 * 1448.0 / 1500.0 * 1.005, "{rate}");
    assert_eq!(report.interfaces[0].too_long, 0);
}
