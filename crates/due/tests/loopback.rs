//! Messages over real sockets on loopback.

use duetime_due::{Failure, Message, Options, Rate, Received, Socket, Span, failure, random_query};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

const GIGABIT: Rate = Rate::from_gbps(1);
const LIMIT: Duration = Duration::from_secs(20);

fn socket() -> (Socket, SocketAddr) {
    let socket = Socket::bind("127.0.0.1:0", Options::new(GIGABIT)).unwrap();
    let address = socket.local_addr().unwrap();
    (socket, address)
}

fn receive(socket: &Socket) -> Received {
    let received = socket.receive_timeout(LIMIT).unwrap();
    received.expect("a message arrives")
}

/// Returns an address to which no socket is bound.
fn closed_port() -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap()
}

fn bytes(length: usize, seed: u8) -> Vec<u8> {
    (0..length)
        .map(|i| {
            i.to_be_bytes()
                .iter()
                .fold(seed, |sum, byte| sum.wrapping_mul(31) ^ byte)
        })
        .collect()
}

/// Sends a query to two workers, which answer within its deadline.
fn query_two_workers(host: &str) -> io::Result<()> {
    let bind = || Socket::bind((host, 0), Options::new(GIGABIT));
    let (parent, query) = (bind()?, random_query()?);
    let mut working = Vec::new();
    for worker in 0..2 {
        let socket = bind()?;
        let message = Message::new(bytes(3_000, worker))
            .within(LIMIT)
            .of_query(query);
        parent.send(socket.local_addr()?, message)?;
        working.push(thread::spawn(move || -> io::Result<()> {
            let received = receive(&socket);
            assert_eq!(received.query, Some(query));
            assert!(
                received
                    .time_left
                    .is_some_and(|left| left < LIMIT && !left.is_zero())
            );
            let mut answer = received.bytes.repeat(50);
            answer.reverse();
            socket.send(received.from, received.answer(answer))?.wait()
        }));
    }
    let mut answers: Vec<Received> = (0..2).map(|_| receive(&parent)).collect();
    answers.sort_by_key(|answer| answer.bytes != reversed(0));
    for (worker, answer) in (0..2).zip(&answers) {
        assert!(answer.bytes == reversed(worker));
        assert_eq!(answer.query, Some(query));
        assert!(
            answer
                .time_left
                .is_some_and(|left| left < LIMIT && !left.is_zero())
        );
    }
    for worker in working {
        worker.join().expect("no panic")?;
    }
    Ok(())
}

fn reversed(worker: u8) -> Vec<u8> {
    let mut answer = bytes(3_000, worker).repeat(50);
    answer.reverse();
    answer
}

#[test]
fn workers_answer_a_query() {
    query_two_workers("127.0.0.1").unwrap();
}

#[test]
#[expect(clippy::print_stdout, reason = "a skipped test prints its reason")]
fn workers_answer_a_query_over_ipv6() {
    if let Err(error) = UdpSocket::bind("[::1]:0") {
        println!("skipped: no IPv6 on loopback ({error})");
        return;
    }
    query_two_workers("::1").unwrap();
}

#[test]
fn messages_of_all_lengths_arrive() {
    let ((sender, _), (receiver, address)) = (socket(), socket());
    for length in [0, 1, 1_000, 1_440, 1_441, 100_000, 3_000_000] {
        let sending = sender
            .send(address, Message::new(bytes(length, 5)))
            .unwrap();
        let received = receive(&receiver);
        assert!(received.bytes == bytes(length, 5), "{length}");
        assert_eq!((received.time_left, received.query), (None, None));
        sending.wait().unwrap();
    }
}

#[test]
fn messages_share_bytes_and_reuse_memory() {
    let ((sender, _), (receiver, to)) = (socket(), socket());
    let all = [bytes(70_000, 1), bytes(50_000, 2), bytes(70_000, 3)];
    let messages = all.clone().map(Message::new);
    for _ in 0..4 {
        for (message, bytes) in messages.iter().zip(&all) {
            sender.send(to, message.clone()).unwrap();
            let received = receive(&receiver).bytes;
            assert_eq!(&received, bytes);
            receiver.reuse(received);
        }
    }
}

#[test]
fn late_messages_arrive() {
    let ((sender, _), (receiver, address)) = (socket(), socket());
    let message = Message::new(bytes(50_000, 1)).within(Duration::ZERO);
    sender.send(address, message).unwrap().wait().unwrap();
    assert_eq!(receive(&receiver).time_left, Some(Duration::ZERO));
}

#[test]
fn fifty_senders_reach_one_receiver() {
    let (receiver, address) = socket();
    let senders: Vec<_> = (0..50_u8)
        .map(|number| {
            thread::spawn(move || {
                let message = Message::new(bytes(20_000, number)).within(LIMIT);
                socket().0.send(address, message).unwrap().wait().unwrap();
            })
        })
        .collect();
    let mut received: Vec<Vec<u8>> = (0..50).map(|_| receive(&receiver).bytes).collect();
    let mut expected: Vec<Vec<u8>> = (0..50).map(|number| bytes(20_000, number)).collect();
    received.sort();
    expected.sort();
    assert!(received == expected);
    for sender in senders {
        sender.join().unwrap();
    }
}

#[test]
fn clones_are_one_socket() {
    let ((sender, _), (receiver, address)) = (socket(), socket());
    thread::scope(|scope| {
        for number in 0..8 {
            let sender = sender.clone();
            scope.spawn(move || {
                let message = Message::request([number]);
                sender.send(address, message).unwrap().wait().unwrap();
            });
        }
    });
    let mut numbers: Vec<u8> = (0..8).map(|_| receive(&receiver).bytes[0]).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn closed_ports_refuse_at_once() {
    let sent = Instant::now();
    let sending = socket()
        .0
        .send(closed_port(), Message::new("query"))
        .unwrap();
    let error = sending.wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused, "{error}");
    assert!(sent.elapsed() < Duration::from_secs(1));
    assert_eq!(failure(&error), Some(Failure::Unreachable));
}

#[test]
fn peers_of_another_family_are_refused() {
    let (socket, address) = socket();
    let error = socket
        .send("[::1]:7000", Message::new("query"))
        .unwrap_err();
    let text = format!("the peer has no IPv4 address, but the endpoint is bound to {address}");
    assert_eq!(
        (error.kind(), error.to_string()),
        (ErrorKind::InvalidInput, text)
    );
}

#[test]
fn waits_end_after_their_timeout() {
    // Bound, and never read.
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (socket, _) = socket();
    let message = Message::new("query");
    let mut sending = socket.send(silent.local_addr().unwrap(), message).unwrap();
    let timeout = Duration::from_millis(30);
    let waited = Instant::now();
    assert!(!sending.wait_timeout(timeout).unwrap());
    assert!(socket.receive_timeout(timeout).unwrap().is_none());
    assert!(waited.elapsed() >= timeout * 2);
    sending.abort();
}

#[test]
fn outcome_of_a_message_is_kept() {
    let ((sender, _), (_receiver, address)) = (socket(), socket());
    let mut sending = sender.send(address, Message::new("query")).unwrap();
    assert!(sending.wait_timeout(LIMIT).unwrap());
    assert!(sending.wait_timeout(LIMIT).unwrap());
    sending.wait().unwrap();
}

#[test]
fn aborted_messages_do_not_arrive() {
    let ((sender, _), (receiver, address)) = (socket(), socket());
    // 0.4 s at the receiver's rate.
    let long = Message::new(vec![7; 50_000_000]);
    let mut sending = sender.send(address, long).unwrap();
    assert!(!sending.wait_timeout(Duration::from_millis(20)).unwrap());
    sending.abort();
    let next = Message::new("the next message");
    sender.send(address, next).unwrap().wait().unwrap();
    assert_eq!(receive(&receiver).bytes, b"the next message");
    let other = receiver
        .receive_timeout(Duration::from_millis(500))
        .unwrap();
    assert_eq!(other, None);
}

#[test]
fn dropped_sockets_send_their_messages() {
    let (receiver, address) = socket();
    let message = Message::new(bytes(200_000, 9));
    drop(socket().0.send(address, message).unwrap());
    assert!(receive(&receiver).bytes == bytes(200_000, 9));
}

#[test]
fn messages_over_the_limit_are_not_sent() {
    let options = Options {
        max_message_bytes: 10_000,
        ..Options::new(GIGABIT)
    };
    let (receiver, address) = socket();
    let sender = Socket::bind("127.0.0.1:0", options).unwrap();
    let error = sender
        .send(address, Message::new(vec![0; 10_001]))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("10000"), "{error}");
    sender
        .send(address, Message::new(vec![0; 10_000]))
        .unwrap()
        .wait()
        .unwrap();
    assert_eq!(receive(&receiver).bytes.len(), 10_000);
}

#[test]
fn sends_wait_for_memory() {
    let options = Options {
        max_message_bytes: 100_000,
        max_outgoing_bytes: 100_000,
        ..Options::new(GIGABIT)
    };
    let (receiver, address) = socket();
    let sender = Socket::bind("127.0.0.1:0", options).unwrap();
    for number in 0..30 {
        let message = Message::new(bytes(70_000, number)).within(LIMIT);
        sender.send(address, message).unwrap();
    }
    let mut received: Vec<Vec<u8>> = (0..30).map(|_| receive(&receiver).bytes).collect();
    let mut expected: Vec<Vec<u8>> = (0..30).map(|number| bytes(70_000, number)).collect();
    received.sort();
    expected.sort();
    assert!(received == expected);
}

#[test]
fn earlier_deadlines_arrive_first() {
    // The first message takes 0.8 s at this rate.
    let slow = Options::new(Rate::from_mbps(200));
    let receiver = Socket::bind("127.0.0.1:0", slow).unwrap();
    let address = receiver.local_addr().unwrap();
    let ((first, _), (second, _)) = (socket(), socket());
    let long = Message::new(vec![1; 20_000_000]).within(LIMIT);
    let short = Message::new(vec![2; 1_000_000]).within(LIMIT / 4);
    first.send(address, long).unwrap();
    second.send(address, short).unwrap();
    assert_eq!(receive(&receiver).bytes.len(), 1_000_000);
    assert_eq!(receive(&receiver).bytes.len(), 20_000_000);
}

#[test]
fn receivers_refuse_messages_over_their_limits() {
    let small = Options {
        max_message_bytes: 10_000,
        ..Options::new(GIGABIT)
    };
    let closed = Options {
        backlog: 0,
        ..Options::new(GIGABIT)
    };
    for options in [small, closed] {
        let receiver = Socket::bind("127.0.0.1:0", options).unwrap();
        let message = Message::new(vec![0; 10_001]);
        let sending = socket().0.send(receiver.local_addr().unwrap(), message);
        let error = sending.unwrap().wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        assert_eq!(failure(&error), Some(Failure::Refused));
    }
}

#[test]
fn silent_peers_time_out() {
    let options = Options {
        reply_timeout: Span::from_ms(200),
        silence_timeout: Span::from_ms(400),
        ..Options::new(GIGABIT)
    };
    // Bound, and never read.
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let sender = Socket::bind("127.0.0.1:0", options).unwrap();
    let sending = sender.send(silent.local_addr().unwrap(), Message::new("query"));
    let error = sending.unwrap().wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert_eq!(failure(&error), Some(Failure::TimedOut));
}

#[test]
fn invalid_options_are_refused() {
    let options = Options::new(Rate::from_bps(0));
    let error = Socket::bind("127.0.0.1:0", options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
}
