//! CE as seen by the receiving kernel.

use crate::bench::{Bench, link};
use crate::port;
use duetime_core::{Rate, Span};
use duetime_link::Limit;
use duetime_switch::PortConfig;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use std::io::{IoSliceMut, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// Sends 40 datagrams in a row through a port of 10 Mbps with K = 5 packets and returns the received traffic classes.
fn burst(bench: &Bench, traffic_class: i32) -> Vec<i32> {
    let server = bench.in_host(1, || UdpSocket::bind("10.9.0.2:4000").expect("a socket"));
    let client = bench.in_host(0, || UdpSocket::bind("10.9.0.1:4000").expect("a socket"));
    setsockopt(&client, sockopt::Ipv4Tos, &traffic_class).expect("a traffic class");
    setsockopt(&server, sockopt::IpRecvTos, &true).expect("traffic classes");
    server
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a timeout");
    for _ in 0..40 {
        client.send_to(&[7; 972], "10.9.0.2:4000").expect("sent");
    }
    let receive = |_| {
        let mut bytes = [0; 2_000];
        let mut space = nix::cmsg_space!(u8);
        let mut vector = [IoSliceMut::new(&mut bytes)];
        let flags = MsgFlags::empty();
        let message = recvmsg::<()>(server.as_raw_fd(), &mut vector, Some(&mut space), flags);
        let message = message.expect("delivered");
        let class = message
            .cmsgs()
            .expect("control messages")
            .find_map(|control| match control {
                ControlMessageOwned::Ipv4Tos(class) => Some(i32::from(class)),
                _ => None,
            });
        class.expect("a traffic class")
    };
    (0..40).map(receive).collect()
}

fn slow_port() -> PortConfig {
    PortConfig {
        rate: Rate::from_mbps(10),
        mark_at: Some(Limit::Packets(5)),
        ..port()
    }
}

#[test]
fn ecn_capable_datagrams_are_marked() {
    let uplink = link(Rate::from_gbps(1), Span::ZERO);
    let Some(bench) = Bench::star(2, uplink, &slow_port()) else {
        return;
    };
    // ECT(1) with DSCP 10, which must not change.
    let classes = burst(&bench, 10 << 2 | 1);
    let report = bench.stop();
    let marked = classes
        .iter()
        .filter(|&&class| class == (10 << 2 | 3))
        .count() as u64;
    let unmarked = classes
        .iter()
        .filter(|&&class| class == (10 << 2 | 1))
        .count() as u64;
    assert_eq!(marked + unmarked, 40, "{classes:?}");
    let port = &report.ports[3];
    assert_eq!(
        (port.marks_asked, port.marks_made),
        (marked, marked),
        "{port:?}"
    );
    assert!(marked > 0 && unmarked >= 5, "{classes:?}");
}

#[test]
fn other_datagrams_are_not_marked() {
    let uplink = link(Rate::from_gbps(1), Span::ZERO);
    let Some(bench) = Bench::star(2, uplink, &slow_port()) else {
        return;
    };
    assert_eq!(burst(&bench, 10 << 2), [10 << 2; 40]);
    let report = bench.stop();
    let port = &report.ports[3];
    assert!(port.marks_asked > 0, "{port:?}");
    assert_eq!((port.marks_made, port.drops), (0, 0), "{port:?}");
}

/// Returns the requested and applied marks of a second of TCP, with or without ECN.
fn tcp_marks(ecn: bool) -> Option<(u64, u64)> {
    let uplink = link(Rate::from_gbps(1), Span::from_us(50));
    let bench = Bench::star(2, uplink, &port())?;
    bench.set_in_hosts("tcp_ecn", if ecn { "1" } else { "0" });
    let listener = bench.in_host(1, || TcpListener::bind("10.9.0.2:5000").expect("a port"));
    let receiver = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        std::io::copy(&mut stream, &mut std::io::sink()).expect("bytes")
    });
    let mut stream = bench.in_host(0, || {
        TcpStream::connect("10.9.0.2:5000").expect("connected")
    });
    let data = vec![3; 1 << 16];
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(1) {
        stream.write_all(&data).expect("written");
    }
    drop(stream);
    assert!(receiver.join().expect("received") > 1_000_000);
    let report = bench.stop();
    Some((report.ports[3].marks_asked, report.ports[3].marks_made))
}

#[test]
fn tcp_is_marked_if_it_negotiated_ecn() {
    let Some((asked, made)) = tcp_marks(true) else {
        return;
    };
    assert!(made > 10 && made <= asked, "{made} of {asked}");
    // Only SYNs, pure acknowledgements and retransmissions are not ECN-capable.
    assert!(asked - made < made, "{made} of {asked}");
    let (asked, made) = tcp_marks(false).expect("root");
    assert!(asked > 10 && made == 0, "{made} of {asked}");
}
