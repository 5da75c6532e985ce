//! Both sides of the loopback example as threads: the endpoint over real sockets.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the test uses sockets and a thread"
)]

#[path = "../../examples/d3_loopback.rs"]
#[allow(dead_code, reason = "only `exchange` is used")]
mod example;

use std::net::{Ipv4Addr, UdpSocket};

#[test]
fn transfers_survive_dropped_datagrams() {
    let listener = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let second = std::thread::spawn(move || {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        example::exchange(socket, Some(address), 2).unwrap()
    });
    let first = example::exchange(listener, None, 1).unwrap();
    let second = second.join().unwrap();
    assert_eq!((first.sent, first.received), (second.received, second.sent));
    assert!(
        first.dropped > 20 && second.dropped > 20,
        "{} and {}",
        first.dropped,
        second.dropped
    );
    assert!(
        first.statistics.counters.retransmits > 0 && second.statistics.counters.retransmits > 0
    );
}
