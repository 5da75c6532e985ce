//! `proto`'s fault tests over real sockets: a relay between two sockets loses, duplicates, damages and delays datagrams,
//! and falls silent in some runs.

#![allow(clippy::print_stderr, reason = "a failure prints how to repeat it")]

#[path = "../../../tests/counts.rs"]
mod counts;
#[path = "../../udp/tests/relay/mod.rs"]
#[allow(clippy::cast_possible_truncation, reason = "test values are small")]
mod relay;

use duetime_due::{Failure, Message, Options, Rate, Received, Socket, Span, failure, random_query};
use relay::{Faults, Relay, Route};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const LOOPBACK: &str = "127.0.0.1:0";
/// Time after which a call counts as hanging.
const HANG: Duration = Duration::from_mins(1);
const MESSAGES: u64 = 16;
/// Messages have a header with their number.
const HEADER_BYTES: usize = 8;

/// Opens a socket with timeouts of two seconds.
fn socket() -> Socket {
    let timeout = Span::from_secs(2);
    let options = Options {
        reply_timeout: timeout,
        silence_timeout: timeout,
        ..Options::new(Rate::from_gbps(1))
    };
    Socket::bind(LOOPBACK, options).unwrap()
}

/// Returns message `number` of a run, which has up to 300,000 bytes.
fn content(seed: u64, number: u64) -> Vec<u8> {
    let length = (seed * 7_919 + number * 20_011) % 300_000;
    let mut bytes = number.to_be_bytes().to_vec();
    bytes.extend((0..length).map(|at| (at * (number + 3) / 7).to_be_bytes()[7]));
    bytes
}

/// Returns the number of a received message, and asserts that the message is intact.
fn number(seed: u64, received: &Received) -> u64 {
    let header = received.bytes[..HEADER_BYTES].try_into().unwrap();
    let number = u64::from_be_bytes(header);
    assert!(received.bytes == content(seed, number), "seed {seed}");
    number
}

/// Returns every message to its source, until `stop`. Returns the numbers of the messages.
fn echo(server: &Socket, seed: u64, stop: &AtomicBool) -> BTreeSet<u64> {
    let mut numbers = BTreeSet::new();
    while !stop.load(Ordering::Relaxed) {
        let received = server.receive_timeout(Duration::from_millis(20)).unwrap();
        if let Some(received) = received {
            assert!(numbers.insert(number(seed, &received)), "once, seed {seed}");
            let answer = received.answer(received.bytes.clone());
            server.send(received.from, answer).unwrap();
        }
    }
    numbers
}

/// Sends all messages and waits for their ends. Without silence, all must be delivered, and returned once each. Returns
/// the numbers of the delivered messages.
fn exchange(client: &Socket, to: SocketAddr, seed: u64, falls_silent: bool) -> Vec<u64> {
    let query = random_query().unwrap();
    let sendings: Vec<_> = (0..MESSAGES)
        .map(|number| {
            let mut message = Message::new(content(seed, number));
            if number % 2 == 0 {
                let deadline = Duration::from_millis(5 + seed * number % 50);
                message = message.within(deadline).of_query(query);
            }
            client.send(to, message).unwrap()
        })
        .collect();
    let mut delivered = Vec::new();
    for (number, mut sending) in (0..).zip(sendings) {
        match sending.wait_timeout(HANG) {
            Ok(is_delivered) => {
                assert!(is_delivered, "seed {seed} hangs");
                delivered.push(number);
            }
            Err(error) => {
                assert!(falls_silent, "seed {seed}: {error}");
                assert_eq!(failure(&error), Some(Failure::TimedOut));
            }
        }
    }
    if falls_silent {
        return delivered;
    }
    let mut returned = BTreeSet::new();
    while (returned.len() as u64) < MESSAGES {
        let received = client.receive_timeout(HANG).unwrap().expect("an answer");
        assert!(
            returned.insert(number(seed, &received)),
            "once, seed {seed}"
        );
    }
    delivered
}

/// Returns the number of received datagrams that were recognised as damaged.
fn damaged(socket: &Socket) -> u64 {
    let totals = socket.totals();
    totals.damaged + totals.malformed + totals.other_versions
}

/// Runs 8 seeds. `DUE_SOCKET_SEEDS=0..200` runs more, and `=7..8` repeats one.
#[test]
fn messages_survive_faults_and_all_end() {
    let seeds = std::env::var("DUE_SOCKET_SEEDS").unwrap_or_else(|_| "0..8".to_owned());
    let (first, end) = seeds.split_once("..").expect("FIRST..END");
    for seed in first.parse().unwrap()..end.parse::<u64>().unwrap() {
        eprintln!("DUE_SOCKET_SEEDS={seed}..{}", seed + 1);
        let (client, server) = (socket(), socket());
        let faults = Faults::new(seed);
        let route = Route {
            address: LOOPBACK.parse().unwrap(),
            server: server.local_addr().unwrap(),
        };
        let relay = Relay::start(route, faults, seed, ());
        let falls_silent = faults.silent_after.is_some();
        let stop = AtomicBool::new(false);
        let (delivered, numbers) = thread::scope(|scope| {
            let echoing = scope.spawn(|| echo(&server, seed, &stop));
            let delivered = exchange(&client, relay.address(), seed, falls_silent);
            stop.store(true, Ordering::Relaxed);
            (delivered, echoing.join().unwrap())
        });
        assert!(falls_silent || numbers.len() as u64 == MESSAGES);
        // The last damaged datagram may still be on its way.
        let (counted, since) = (|| damaged(&client) + damaged(&server), Instant::now());
        while relay.damaged() > 0 && counted() == 0 && since.elapsed() < HANG {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(counted() > 0, relay.damaged() > 0, "seed {seed}");
        let bytes = delivered
            .iter()
            .map(|&number| content(seed, number).len() as u64);
        let messages = [
            ("executions", 1),
            ("messages", MESSAGES),
            ("delivered", delivered.len() as u64),
            ("bytes", bytes.sum()),
        ];
        counts::report(&[&messages[..], &relay.counts()].concat());
    }
}
