//! Streams over real sockets on loopback.

#![allow(clippy::cast_possible_truncation, reason = "test values are small")]

use duetime_d3::{
    Endpoint, Flow, Listener, Options, Policy, Rate, Stream, StreamError, stream_error,
};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;

const GIGABIT: Rate = Rate::from_gbps(1);

fn endpoint() -> Endpoint {
    Endpoint::bind("127.0.0.1:0", Options::new(GIGABIT)).unwrap()
}

fn listening() -> (Listener, SocketAddr) {
    let endpoint = endpoint();
    (endpoint.listen(64), endpoint.local_addr().unwrap())
}

fn flow(bytes: usize) -> Flow {
    Flow::new(bytes as u64, None)
}

fn bytes(length: usize, seed: u32) -> Vec<u8> {
    (0..length as u32)
        .map(|i| (i.wrapping_mul(seed) >> 7) as u8)
        .collect()
}

/// Answers each stream with its data, reversed.
fn serve(listener: Listener, streams: usize) -> thread::JoinHandle<io::Result<()>> {
    thread::spawn(move || {
        let mut serving = Vec::new();
        for _ in 0..streams {
            let (mut stream, _) = listener.accept()?;
            serving.push(thread::spawn(move || -> io::Result<()> {
                let mut query = Vec::new();
                stream.read_to_end(&mut query)?;
                query.reverse();
                stream.open(Flow::new(query.len() as u64, Some(Duration::from_secs(5))))?;
                stream.write_all(&query)?;
                stream.close()
            }));
        }
        serving
            .into_iter()
            .try_for_each(|thread| thread.join().expect("no panic"))
    })
}

#[test]
fn bytes_arrive_in_order() {
    let (listener, address) = listening();
    let serving = serve(listener, 1);
    let query = bytes(3_000_000, 77);
    let mut stream = endpoint().connect(address, flow(query.len())).unwrap();
    let mut answer = Vec::new();
    stream.write_all(&query).unwrap();
    stream.finish().unwrap();
    stream.read_to_end(&mut answer).unwrap();
    answer.reverse();
    assert!(answer == query);
    stream.close().unwrap();
    let statistics = stream.statistics();
    assert_eq!(
        (statistics.acked, statistics.received),
        (3_000_000, 3_000_000)
    );
    assert!(statistics.counters.requests > 2 && statistics.srtt.is_some());
    assert!(!statistics.exceeded && statistics.delivered_at.is_some());
    serving.join().unwrap().unwrap();
}

#[test]
fn many_streams_share_an_endpoint() {
    let (listener, address) = listening();
    let serving = serve(listener, 30);
    let endpoint = endpoint();
    let clients: Vec<_> = (0..30)
        .map(|number| {
            let endpoint = endpoint.clone();
            thread::spawn(move || {
                let query = bytes(1 + number * 3_333, number as u32 + 3);
                let mut stream = endpoint.connect(address, flow(query.len())).unwrap();
                stream.write_all(&query).unwrap();
                stream.finish().unwrap();
                let mut answer = Vec::new();
                stream.read_to_end(&mut answer).unwrap();
                answer.reverse();
                assert!(answer == query, "{number}");
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
    serving.join().unwrap().unwrap();
    assert_eq!(endpoint.totals().damaged + endpoint.totals().malformed, 0);
}

#[test]
fn streams_are_read_and_written_concurrently() {
    let (listener, address) = listening();
    let echoing = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut buffer = [0; 10_000];
        loop {
            let length = (&stream).read(&mut buffer).unwrap();
            if length == 0 {
                return stream.close().unwrap();
            }
            (&stream).write_all(&buffer[..length]).unwrap();
        }
    });
    let stream = Stream::connect(address, GIGABIT, flow(5_000_000)).unwrap();
    let data = bytes(5_000_000, 99);
    thread::scope(|scope| {
        scope.spawn(|| {
            (&stream).write_all(&data).unwrap();
            stream.finish().unwrap();
        });
        let mut back = Vec::new();
        (&stream).read_to_end(&mut back).unwrap();
        assert!(back == data);
    });
    echoing.join().unwrap();
}

#[test]
fn flows_may_differ_from_their_declared_length() {
    let (listener, address) = listening();
    let serving = serve(listener, 3);
    for (announced, written, exceeded) in
        [(1_000, 70_000, true), (70_000, 1_000, false), (0, 0, false)]
    {
        let deadline = Some(Duration::from_secs(10));
        let mut stream = Stream::connect(address, GIGABIT, Flow::new(announced, deadline)).unwrap();
        stream.write_all(&bytes(written, 5)).unwrap();
        stream.finish().unwrap();
        assert_eq!(stream.read_to_end(&mut Vec::new()).unwrap(), written);
        let statistics = stream.statistics();
        assert_eq!(
            (statistics.exceeded, statistics.deadline.is_none()),
            (exceeded, exceeded)
        );
        let more = stream.write(b"more").unwrap_err();
        assert_eq!(
            (more.kind(), stream_error(&more)),
            (ErrorKind::BrokenPipe, Some(StreamError::Finished))
        );
    }
    serving.join().unwrap().unwrap();
}

#[test]
fn infeasible_deadlines_are_quenched() {
    let (listener, address) = listening();
    let endpoint = endpoint();
    let quench = Policy {
        quench: true,
        ..Policy::default()
    };
    // 100 MB in a millisecond.
    let infeasible = Flow::new(100_000_000, Some(Duration::from_millis(1)));
    let refused = endpoint
        .connect_with(address, infeasible, &quench)
        .unwrap_err();
    assert_eq!(stream_error(&refused), Some(StreamError::Quenched));
    // Without quenching the flow is only late.
    let mut late = endpoint.connect(address, infeasible).unwrap();
    late.write_all(b"query").unwrap();
    late.finish().unwrap();
    // If an answer cannot meet its deadline, both the server and the client get an error.
    let (mut server, _) = listener.accept().unwrap();
    server.read_to_end(&mut Vec::new()).unwrap();
    let answer = server.open_with(infeasible, &quench).unwrap_err();
    assert_eq!(stream_error(&answer), Some(StreamError::Quenched));
    let never = late.read(&mut [0; 9]).unwrap_err();
    assert_eq!(stream_error(&never), Some(StreamError::PeerAborted));
}

#[test]
fn connecting_without_listener_is_refused() {
    let closed = endpoint();
    let refused = endpoint()
        .connect(closed.local_addr().unwrap(), flow(1))
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    assert_eq!(stream_error(&refused), Some(StreamError::Refused));
}

/// Returns an address to which no socket is bound.
fn closed_port(host: &str) -> SocketAddr {
    let socket = UdpSocket::bind((host, 0)).unwrap();
    socket.local_addr().unwrap()
}

#[test]
fn closed_ports_refuse() {
    for host in ["127.0.0.1", "::1"] {
        let endpoint = Endpoint::bind((host, 0), Options::new(GIGABIT)).unwrap();
        let refused = endpoint.connect(closed_port(host), flow(1)).unwrap_err();
        assert_eq!(stream_error(&refused), Some(StreamError::Refused), "{host}");
    }
}

#[test]
fn closed_ports_do_not_end_other_streams() {
    let (listener, address) = listening();
    let serving = serve(listener, 1);
    let endpoint = endpoint();
    let sent = bytes(2_000_000, 7);
    let mut stream = endpoint.connect(address, flow(sent.len())).unwrap();
    for piece in sent.chunks(100_000) {
        stream.write_all(piece).unwrap();
        let refused = endpoint
            .connect(closed_port("127.0.0.1"), flow(1))
            .unwrap_err();
        assert_eq!(stream_error(&refused), Some(StreamError::Refused));
    }
    stream.finish().unwrap();
    let mut received = Vec::new();
    stream.read_to_end(&mut received).unwrap();
    received.reverse();
    assert!(received == sent);
    serving.join().unwrap().unwrap();
}

#[test]
fn addresses_of_the_wrong_family_are_invalid() {
    let (listener, v4) = listening();
    let v6 = SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], v4.port()));
    let refused = endpoint().connect(v6, flow(1)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
    let text = refused.to_string();
    assert!(
        text.contains("no IPv4 address") && text.contains("127.0.0.1:"),
        "{text}"
    );
    // Of a name's addresses, the first of the right family is used.
    let stream = endpoint().connect(&[v6, v4][..], flow(1)).unwrap();
    assert_eq!(stream.peer_addr(), v4);
    drop(listener);
}

#[test]
fn silent_peers_time_out() {
    let options = Options {
        connect_timeout: duetime_d3::Span::from_ms(300),
        idle_timeout: duetime_d3::Span::from_ms(300),
        ..Options::new(Rate::from_gbps(1))
    };
    // A socket that never answers.
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let endpoint = Endpoint::bind("127.0.0.1:0", options).unwrap();
    let error = endpoint
        .connect(silent.local_addr().unwrap(), flow(1))
        .unwrap_err();
    assert_eq!(stream_error(&error), Some(StreamError::TimedOut));
}

#[test]
fn reads_can_time_out() {
    let (_listener, address) = listening();
    let mut stream = Stream::connect(address, GIGABIT, flow(1)).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(5)));
    assert_eq!(
        stream.read(&mut [0; 1]).unwrap_err().kind(),
        ErrorKind::WouldBlock
    );
}

#[test]
fn packets_respect_the_mtu() {
    let mut small = Options::new(Rate::from_gbps(1));
    small.config.wire.mtu = 576;
    // The relay records datagram lengths.
    let relay = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (listener, address) = listening();
    let serving = serve(listener, 1);
    let front = relay.local_addr().unwrap();
    relay
        .set_read_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    let relaying = thread::spawn(move || {
        let (mut client, mut largest) = (None, 0);
        let mut datagram = [0; 9_000];
        // Ends when both sides have been silent for a while.
        while let Ok((length, from)) = relay.recv_from(&mut datagram) {
            let to = if from == address {
                client
            } else {
                largest = largest.max(length);
                client = Some(from);
                Some(address)
            };
            if let Some(to) = to {
                relay.send_to(&datagram[..length], to).unwrap();
            }
        }
        largest
    });
    let mut stream = Endpoint::bind("127.0.0.1:0", small)
        .unwrap()
        .connect(front, flow(50_000))
        .unwrap();
    stream.write_all(&vec![5; 50_000]).unwrap();
    stream.finish().unwrap();
    assert_eq!(stream.read_to_end(&mut Vec::new()).unwrap(), 50_000);
    drop(stream);
    serving.join().unwrap().unwrap();
    assert_eq!(
        relaying.join().unwrap(),
        576 - 28,
        "the IP and UDP headers are 28 bytes"
    );
}

#[test]
fn invalid_options_are_rejected() {
    let mut options = Options::new(Rate::from_gbps(1));
    options.config.wire.mtu = 100;
    let error = Endpoint::bind("127.0.0.1:0", options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("mtu must hold"), "{error}");
}
