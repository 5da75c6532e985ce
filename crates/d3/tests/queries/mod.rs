//! Queries and answers over D3 sockets, with every byte checked, and the expected results under network faults.

#[path = "../../../proto/tests/integration/d3_endpoint/content.rs"]
mod content;

use content::{byte, query_byte};
use duetime_d3::{
    Endpoint, Flow, Listener, Options, Rate, Span, Stream, StreamError, stream_error,
};
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

/// Timeout of reads and writes, after which a test counts as hanging.
const HANG: Duration = Duration::from_mins(1);
/// Number of concurrent queries.
const QUERIES: u64 = 4;

/// Returns the seeds in the environment variable, written as `0..200`, or `default`.
pub fn seeds(variable: &str, default: std::ops::Range<u64>) -> std::ops::Range<u64> {
    let Ok(range) = std::env::var(variable) else {
        return default;
    };
    let (first, end) = range.split_once("..").expect("FIRST..END");
    first.parse().expect("a number")..end.parse().expect("a number")
}

/// Returns the options of an endpoint on an interface of this rate, with timeouts of four seconds.
pub fn options(rate: Rate) -> Options {
    Options {
        connect_timeout: Span::from_secs(4),
        idle_timeout: Span::from_secs(4),
        ..Options::new(rate)
    }
}

/// Sends concurrent queries to `to`, answered by `listener`, while `meanwhile` runs. All must succeed, or fail with a
/// timeout if the network `falls_silent`. Returns counts of the queries for `counts::report`.
pub fn exchange(
    client: &Endpoint,
    to: SocketAddr,
    listener: &Listener,
    (seed, falls_silent): (u64, bool),
    meanwhile: impl FnOnce(),
) -> Vec<(&'static str, u64)> {
    let sizes = |number: u64| (16 + number * 20_011, seed * 7_919 % 150_000);
    let results: Vec<io::Result<()>> = thread::scope(|scope| {
        let clients: Vec<_> = (0..QUERIES)
            .map(|number| scope.spawn(move || ask(client, to, number, sizes(number))))
            .collect();
        meanwhile();
        // If the network falls silent, some streams never arrive.
        if !falls_silent {
            for result in serve(listener, QUERIES) {
                assert!(result.is_ok(), "seed {seed}: {result:?}");
            }
        }
        let clients = clients.into_iter();
        clients
            .map(|client| client.join().expect("no panic"))
            .collect()
    });
    let (mut delivered, mut bytes) = (0, 0);
    for (number, result) in (0..).zip(results) {
        let good = match &result {
            Ok(()) => !falls_silent,
            Err(error) => falls_silent && timed_out(error),
        };
        assert!(good, "seed {seed}: {result:?}");
        if result.is_ok() {
            let (query, answer) = sizes(number);
            delivered += 1;
            bytes += query + answer;
        }
    }
    vec![
        ("executions", 1),
        ("messages", QUERIES),
        ("delivered", delivered),
        ("bytes", bytes),
    ]
}

/// Reads all of a peer's flow and compares each byte with `expected`.
fn read_checked(stream: &mut Stream, expected: impl Fn(u64) -> u8) -> io::Result<u64> {
    let (mut position, mut buffer) = (0, [0; 5_000]);
    loop {
        let length = stream.read(&mut buffer)?;
        if length == 0 {
            return Ok(position);
        }
        for byte in &buffer[..length] {
            assert_eq!(*byte, expected(position), "a corrupted byte at {position}");
            position += 1;
        }
    }
}

/// Sends a query and reads its answer.
fn ask(endpoint: &Endpoint, to: SocketAddr, number: u64, sizes: (u64, u64)) -> io::Result<()> {
    let (bytes, answer) = sizes;
    let deadline = number
        .is_multiple_of(2)
        .then(|| Duration::from_millis(5 + number));
    let mut stream = endpoint.connect(to, Flow::new(bytes, deadline))?;
    stream.set_read_timeout(Some(HANG));
    stream.set_write_timeout(Some(HANG));
    let query: Vec<u8> = (0..bytes).map(|p| query_byte(number, answer, p)).collect();
    stream.write_all(&query)?;
    stream.finish()?;
    let length = read_checked(&mut stream, |p| byte(!number, p))?;
    assert_eq!(length, answer, "part of an answer without an error");
    stream.close()
}

/// Answers one query.
fn answer(mut stream: Stream) -> io::Result<()> {
    stream.set_read_timeout(Some(HANG));
    stream.set_write_timeout(Some(HANG));
    let mut head = [0; 16];
    stream.read_exact(&mut head)?;
    let [number, answer] = [&head[..8], &head[8..]]
        .map(|half| u64::from_be_bytes(half.try_into().expect("eight bytes")));
    read_checked(&mut stream, |p| query_byte(number, answer, p + 16))?;
    let bytes: Vec<u8> = (0..answer).map(|p| byte(!number, p)).collect();
    let deadline = Some(Duration::from_millis(20));
    stream.open(Flow::new(answer, deadline))?;
    stream.write_all(&bytes)?;
    stream.close()
}

fn serve(listener: &Listener, streams: u64) -> Vec<io::Result<()>> {
    let (mut serving, mut ended) = (Vec::new(), Vec::new());
    for _ in 0..streams {
        match listener.accept() {
            Ok((stream, _)) => serving.push(thread::spawn(move || answer(stream))),
            Err(error) => ended.push(Err(error)),
        }
    }
    ended.extend(
        serving
            .into_iter()
            .map(|thread| thread.join().expect("no panic")),
    );
    ended
}

/// Returns true if a stream ended because its peer is silent or has forgotten it.
pub fn timed_out(error: &io::Error) -> bool {
    assert_ne!(error.kind(), ErrorKind::WouldBlock, "the stream hangs");
    matches!(
        stream_error(error),
        Some(StreamError::TimedOut | StreamError::Reset)
    )
}
