//! Queries and answers over D3's sockets, of which each byte is checked, and what must come of them when the network does
//! what it likes.

#[path = "../../../proto/tests/d3_endpoint/content.rs"]
mod content;

use content::{byte, query_byte};
use duetime_d3::{
    Endpoint, Flow, Listener, Options, Rate, Span, Stream, StreamError, stream_error,
};
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

/// A read that waits for so long hangs.
const HANG: Duration = Duration::from_mins(1);
/// Queries at once.
const QUERIES: u64 = 4;

/// Seeds of a test: those of the environment's `variable`, written as `0..200`, or `plain`.
pub fn seeds(variable: &str, plain: std::ops::Range<u64>) -> std::ops::Range<u64> {
    let Ok(range) = std::env::var(variable) else {
        return plain;
    };
    let (first, end) = range.split_once("..").expect("FIRST..END");
    first.parse().expect("a number")..end.parse().expect("a number")
}

/// Of an endpoint whose interface has this rate: a peer that is silent is given up after four seconds.
pub fn options(rate: Rate) -> Options {
    Options {
        connect_timeout: Span::from_secs(4),
        idle_timeout: Span::from_secs(4),
        ..Options::new(rate)
    }
}

/// Some queries of a client to `to` at once, which `listener` answers; `meanwhile` runs beside them. All end well, or,
/// where the network `falls_silent`, with the error that says so.
pub fn exchange(
    client: &Endpoint,
    to: SocketAddr,
    listener: &Listener,
    (seed, falls_silent): (u64, bool),
    meanwhile: impl FnOnce(),
) {
    let asked: Vec<io::Result<()>> = thread::scope(|scope| {
        let asking: Vec<_> = (0..QUERIES)
            .map(|number| {
                let sizes = (16 + number * 20_011, seed * 7_919 % 150_000);
                scope.spawn(move || ask(client, to, number, sizes))
            })
            .collect();
        meanwhile();
        // Of a network that falls silent some never arrive.
        if !falls_silent {
            for one in serve(listener, QUERIES) {
                assert!(one.is_ok(), "seed {seed}: {one:?}");
            }
        }
        let asked = asking.into_iter();
        asked.map(|one| one.join().expect("no panic")).collect()
    });
    for one in asked {
        let good = match &one {
            Ok(()) => !falls_silent,
            Err(error) => falls_silent && timed_out(error),
        };
        assert!(good, "seed {seed}: {one:?}");
    }
}

/// Reads all of a peer's flow, of which each byte must be the right one.
fn read_checked(stream: &mut Stream, right: impl Fn(u64) -> u8) -> io::Result<u64> {
    let (mut position, mut buffer) = (0, [0; 5_000]);
    loop {
        let length = stream.read(&mut buffer)?;
        if length == 0 {
            return Ok(position);
        }
        for read in &buffer[..length] {
            assert_eq!(*read, right(position), "a corrupted byte at {position}");
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
    let mut stream = endpoint.connect(to, Flow { bytes, deadline })?;
    stream.set_read_timeout(Some(HANG));
    stream.set_write_timeout(Some(HANG));
    let query: Vec<u8> = (0..bytes).map(|p| query_byte(number, answer, p)).collect();
    stream.write_all(&query)?;
    stream.finish()?;
    let read = read_checked(&mut stream, |p| byte(!number, p))?;
    assert_eq!(read, answer, "part of an answer without an error");
    stream.delivered()
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
    stream.open(Flow {
        bytes: answer,
        deadline,
    })?;
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
    ended.extend(serving.into_iter().map(|one| one.join().expect("no panic")));
    ended
}

/// Whether a stream ended because its peer is silent, or has forgotten it.
pub fn timed_out(error: &io::Error) -> bool {
    assert_ne!(error.kind(), ErrorKind::WouldBlock, "it hangs");
    matches!(
        stream_error(error),
        Some(StreamError::TimedOut | StreamError::Reset)
    )
}
