//! The loopback example's two sides as threads: the endpoint over real sockets.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the test has a socket and a thread of its own"
)]

#[path = "../examples/d3_loopback.rs"]
#[allow(dead_code, reason = "only its sides are run")]
mod example;

use std::net::{Ipv4Addr, UdpSocket};

#[test]
fn ten_megabytes_each_way_survive_dropped_datagrams() {
    let listener = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let other = std::thread::spawn(move || {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        example::exchange(socket, Some(address), 2).unwrap()
    });
    let one = example::exchange(listener, None, 1).unwrap();
    let other = other.join().unwrap();
    assert_eq!((one.sent, one.received), (other.received, other.sent));
    assert!(
        one.dropped > 20 && other.dropped > 20,
        "{} and {}",
        one.dropped,
        other.dropped
    );
    assert!(one.statistics.counters.retransmits > 0 && other.statistics.counters.retransmits > 0);
}
