//! Streams over real sockets on loopback.

#![allow(
    clippy::cast_possible_truncation,
    reason = "the numbers of a test are small"
)]

use duetime_d3::{
    Endpoint, Flow, Listener, Options, Policy, Rate, Stream, StreamError, stream_error,
};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;

fn endpoint() -> Endpoint {
    Endpoint::bind("127.0.0.1:0", Options::new(Rate::from_gbps(1))).unwrap()
}

fn listening() -> (Listener, SocketAddr) {
    let endpoint = endpoint();
    (endpoint.listen(64), endpoint.local_addr().unwrap())
}

fn flow(bytes: usize) -> Flow {
    Flow {
        bytes: bytes as u64,
        deadline: None,
    }
}

fn bytes(length: usize, seed: u32) -> Vec<u8> {
    (0..length as u32)
        .map(|i| (i.wrapping_mul(seed) >> 7) as u8)
        .collect()
}

/// Answers each stream with what came, reversed.
fn serve(listener: Listener, streams: usize) -> thread::JoinHandle<io::Result<()>> {
    thread::spawn(move || {
        let mut serving = Vec::new();
        for _ in 0..streams {
            let (mut stream, _) = listener.accept()?;
            serving.push(thread::spawn(move || -> io::Result<()> {
                let mut query = Vec::new();
                stream.read_to_end(&mut query)?;
                query.reverse();
                stream.open(Flow {
                    bytes: query.len() as u64,
                    deadline: Some(Duration::from_secs(5)),
                })?;
                stream.write_all(&query)?;
                stream.close()
            }));
        }
        serving
            .into_iter()
            .try_for_each(|one| one.join().expect("no panic"))
    })
}

#[test]
fn bytes_come_back_in_order() {
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
    stream.delivered().unwrap();
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
fn one_thread_reads_while_another_writes() {
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
    let stream = Stream::connect(address, flow(5_000_000)).unwrap();
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
fn more_and_less_than_announced_arrive() {
    let (listener, address) = listening();
    let serving = serve(listener, 3);
    for (announced, written, exceeded) in
        [(1_000, 70_000, true), (70_000, 1_000, false), (0, 0, false)]
    {
        let deadline = Some(Duration::from_secs(10));
        let mut stream = Stream::connect(
            address,
            Flow {
                bytes: announced,
                deadline,
            },
        )
        .unwrap();
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
fn a_hopeless_deadline_is_an_error_of_its_own() {
    let (listener, address) = listening();
    let endpoint = endpoint();
    let quench = Policy {
        quench: true,
        ..Policy::of(&Options::new(Rate::from_gbps(1)).config)
    };
    // 100 MB in a millisecond.
    let hopeless = Flow {
        bytes: 100_000_000,
        deadline: Some(Duration::from_millis(1)),
    };
    let refused = endpoint
        .connect_with(address, hopeless, &quench)
        .unwrap_err();
    assert_eq!(stream_error(&refused), Some(StreamError::Quenched));
    // Without quenching it is only late.
    let mut late = endpoint.connect(address, hopeless).unwrap();
    late.write_all(b"query").unwrap();
    late.finish().unwrap();
    // An answer that cannot be in time: the server is told, and so is who waits for it.
    let (mut server, _) = listener.accept().unwrap();
    server.read_to_end(&mut Vec::new()).unwrap();
    let answer = server.open_with(hopeless, &quench).unwrap_err();
    assert_eq!(stream_error(&answer), Some(StreamError::Quenched));
    let never = late.read(&mut [0; 9]).unwrap_err();
    assert_eq!(stream_error(&never), Some(StreamError::GivenUp));
}

#[test]
fn an_endpoint_that_accepts_nothing_says_so() {
    let deaf = endpoint();
    let refused = endpoint()
        .connect(deaf.local_addr().unwrap(), flow(1))
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    assert_eq!(stream_error(&refused), Some(StreamError::Refused));
}

#[test]
fn a_peer_that_vanishes_is_an_error_in_time() {
    let options = Options {
        connect_timeout: duetime_d3::Span::from_ms(300),
        idle_timeout: duetime_d3::Span::from_ms(300),
        ..Options::new(Rate::from_gbps(1))
    };
    // A socket that never answers.
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let endpoint = Endpoint::bind("127.0.0.1:0", options).unwrap();
    let nobody = endpoint
        .connect(silent.local_addr().unwrap(), flow(1))
        .unwrap_err();
    assert_eq!(stream_error(&nobody), Some(StreamError::TimedOut));
}

#[test]
fn reads_can_be_given_a_time() {
    let (_listener, address) = listening();
    let mut stream = Stream::connect(address, flow(1)).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(5)));
    assert_eq!(
        stream.read(&mut [0; 1]).unwrap_err().kind(),
        ErrorKind::WouldBlock
    );
}

#[test]
fn packets_keep_to_the_limit_of_the_path() {
    let mut small = Options::new(Rate::from_gbps(1));
    small.config.mtu = 576;
    // What arrives is looked at before it is passed on.
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
fn options_that_make_no_sense_are_refused() {
    let mut options = Options::new(Rate::from_gbps(1));
    options.config.mtu = 100;
    let error = Endpoint::bind("127.0.0.1:0", options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("largest packet"), "{error}");
}
