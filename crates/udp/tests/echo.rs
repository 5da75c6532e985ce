//! A small protocol on real sockets: requests that the peer echoes, repeated until the echo arrives.

use duetime_core::{Span, Time};
use duetime_udp::{Protocol, Socket, Transmit};
use quinn_udp::{EcnCodepoint, RecvMeta, UdpSockRef, UdpSocketState};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Interval after which a request is repeated.
const REPEAT: Span = Span::from_ms(5);
const REQUEST: u8 = 0;
const ECHO: u8 = 1;
const POISON: u8 = 2;

#[derive(Debug, Default)]
struct Echo {
    /// Requests without an echo, with the time of the next repetition.
    requests: BTreeMap<u8, (SocketAddr, Time)>,
    echoes: VecDeque<(SocketAddr, u8)>,
    refused: Vec<SocketAddr>,
    events: VecDeque<u8>,
    /// Number of requests to ignore, as if they were lost.
    ignored: u32,
    /// Number of marked datagrams received.
    marked: u32,
    stopped: bool,
}

impl Echo {
    fn request(&mut self, now: Time, peer: SocketAddr, number: u8) {
        self.requests.insert(number, (peer, now));
    }

    /// Ready with true after the echo, or with false if the peer's port is closed.
    fn ended(&self, peer: SocketAddr, number: u8) -> Poll<bool> {
        if self.refused.contains(&peer) {
            Poll::Ready(false)
        } else if self.requests.contains_key(&number) {
            Poll::Pending
        } else {
            Poll::Ready(true)
        }
    }
}

impl Protocol for Echo {
    type Key = u8;

    fn reads_marks(&self) -> bool {
        true
    }

    fn input(&mut self, _: Time, peer: SocketAddr, datagram: &[u8], is_marked: bool) {
        self.marked += u32::from(is_marked);
        match *datagram {
            [REQUEST, _] if self.ignored > 0 => self.ignored -= 1,
            [REQUEST, number] if !self.stopped => self.echoes.push_back((peer, number)),
            [ECHO, number] => {
                self.requests.remove(&number);
                self.events.push_back(number);
            }
            [POISON, _] => panic!("a panic for the test"),
            _ => {}
        }
    }

    fn timeout(&mut self, _: Time) {}

    fn next_timeout(&self) -> Time {
        let next = self.requests.values().map(|(_, at)| *at).min();
        if self.echoes.is_empty() {
            next.unwrap_or(Time::MAX)
        } else {
            Time::ZERO
        }
    }

    fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
        if let Some((peer, number)) = self.echoes.pop_front() {
            out.extend([ECHO, number]);
            return Some(Transmit { peer, bytes: 2 });
        }
        let mut due = self.requests.iter_mut().filter(|(_, (_, at))| *at <= now);
        let (number, (peer, at)) = due.next()?;
        *at = now + REPEAT;
        out.extend([REQUEST, *number]);
        Some(Transmit {
            peer: *peer,
            bytes: 2,
        })
    }

    fn poll_event(&mut self) -> Option<u8> {
        self.events.pop_front()
    }

    fn too_long(&mut self, _: Time, _: SocketAddr) {}

    fn port_closed(&mut self, _: Time, peer: SocketAddr) {
        self.refused.push(peer);
        self.events.extend(self.requests.keys());
    }

    fn is_sending(&self) -> bool {
        !self.requests.is_empty()
    }

    fn stop(&mut self) {
        self.stopped = true;
    }
}

fn socket() -> Socket<Echo> {
    Socket::bind("127.0.0.1:0", "echo", |_, _| Ok(Echo::default())).unwrap()
}

fn ask(socket: &Socket<Echo>, peer: SocketAddr, number: u8) -> io::Result<Option<bool>> {
    socket.call(|echo, now| echo.request(now, peer, number));
    socket.wait_timeout(&number, Duration::from_secs(10), |echo, _| {
        echo.ended(peer, number)
    })
}

#[test]
fn threads_share_a_socket() {
    let (server, client) = (socket(), socket());
    let address = server.local_addr();
    thread::scope(|scope| {
        for number in 0..50 {
            let client = &client;
            scope.spawn(move || assert_eq!(ask(client, address, number).unwrap(), Some(true)));
        }
    });
}

#[test]
fn timers_repeat_lost_datagrams() {
    let (server, client) = (socket(), socket());
    server.call(|echo, _| echo.ignored = 3);
    let asked = Instant::now();
    assert_eq!(ask(&client, server.local_addr(), 1).unwrap(), Some(true));
    assert!(asked.elapsed() >= Duration::from_millis(15));
}

#[test]
fn waits_end_after_their_timeout() {
    // Bound, and never read.
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (socket, peer) = (socket(), silent.local_addr().unwrap());
    socket.call(|echo, now| echo.request(now, peer, 1));
    let (timeout, asked) = (Duration::from_millis(30), Instant::now());
    let ended = socket.wait_timeout(&1, timeout, |echo, _| echo.ended(peer, 1));
    assert_eq!(ended.unwrap(), None);
    assert!(asked.elapsed() >= timeout);
}

/// Sends a request with an ECN codepoint from a socket, and returns the codepoint of the echo.
fn exchange(peer: SocketAddr, ecn: Option<EcnCodepoint>) -> Option<EcnCodepoint> {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let state = UdpSocketState::new(UdpSockRef::from(&socket)).unwrap();
    let request = quinn_udp::Transmit {
        destination: peer,
        ecn,
        contents: &[REQUEST, 1],
        segment_size: None,
        src_ip: None,
    };
    state.try_send(UdpSockRef::from(&socket), &request).unwrap();
    let mut bytes = [0; 64];
    let (mut metas, started) = ([RecvMeta::default()], Instant::now());
    loop {
        let mut pieces = [IoSliceMut::new(&mut bytes)];
        match state.recv(UdpSockRef::from(&socket), &mut pieces, &mut metas) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                assert!(started.elapsed() < Duration::from_secs(10), "no echo");
                thread::sleep(Duration::from_millis(1));
            }
            received => {
                assert_eq!(received.unwrap(), 1);
                return metas[0].ecn;
            }
        }
    }
}

#[test]
fn marks_are_read_and_datagrams_can_be_marked() {
    let server = socket();
    for (ecn, marked) in [
        (None, 0),
        (Some(EcnCodepoint::Ect0), 0),
        (Some(EcnCodepoint::Ce), 1),
    ] {
        let echo = exchange(server.local_addr(), ecn);
        assert_eq!(echo, Some(EcnCodepoint::Ect0));
        assert_eq!(server.call(|echo, _| echo.marked), marked);
    }
}

#[test]
fn closed_ports_are_reported() {
    let unbound = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr();
    assert_eq!(ask(&socket(), unbound.unwrap(), 1).unwrap(), Some(false));
}

#[test]
fn dropped_sockets_send_their_data() {
    let (server, client) = (socket(), socket());
    server.call(|echo, _| echo.ignored = 3);
    client.call(|echo, now| echo.request(now, server.local_addr(), 1));
    drop(client);
    let counted = Instant::now();
    while server.call(|echo, _| echo.ignored) > 0 {
        assert!(counted.elapsed() < Duration::from_secs(5));
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn panics_end_the_waits() {
    let socket = socket();
    let poison = UdpSocket::bind("127.0.0.1:0").unwrap();
    let sent = poison.send_to(&[POISON, 0], socket.local_addr()).unwrap();
    assert_eq!(sent, 2);
    let waited = socket.wait(&1, |_, _| Poll::<()>::Pending);
    assert_eq!(
        waited.unwrap_err().to_string(),
        "the endpoint's thread panicked"
    );
}

#[test]
fn tasks_are_woken() {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let (server, client) = (socket(), socket());
    let peer = server.local_addr();
    server.call(|echo, _| echo.ignored = 2);
    client.call(|echo, now| echo.request(now, peer, 1));
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let ended = loop {
        match client.poll(&1, &mut context, |echo, _| echo.ended(peer, 1)) {
            Poll::Ready(ended) => break ended.unwrap(),
            Poll::Pending => thread::park_timeout(Duration::from_secs(10)),
        }
    };
    assert!(ended);
}

#[test]
fn peers_of_another_family_are_refused() {
    let socket = socket();
    let error = socket.peer_address("[::1]:7000").unwrap_err();
    let text = format!(
        "the peer has no IPv4 address, but the endpoint is bound to {}",
        socket.local_addr()
    );
    assert_eq!(
        (error.kind(), error.to_string()),
        (ErrorKind::InvalidInput, text)
    );
    assert!(socket.peer_address("127.0.0.1:7000").is_ok());
}
