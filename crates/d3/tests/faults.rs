//! The bodies of `proto`'s tests of faults over real sockets: a relay between client and server loses, repeats, damages
//! and delays datagrams, answers their requests as a router that restarts, and in some runs falls silent.

#![allow(
    clippy::cast_possible_truncation,
    reason = "the numbers of a test are small"
)]
#![allow(clippy::print_stderr, reason = "a failure says how to run it again")]

#[path = "../../proto/tests/d3_endpoint/content.rs"]
mod content;
mod relay;

use content::{byte, query_byte};
use duetime_d3::{
    Endpoint, Flow, Listener, Options, Rate, Span, Stream, StreamError, stream_error,
};
use relay::{Faults, Relay};
use std::io::{self, ErrorKind, Read, Write};
use std::thread;
use std::time::Duration;

/// Runs of a plain test; `D3_SOCKET_SEEDS=0..200` runs more, and `=7..8` one again.
const SEEDS: std::ops::Range<u64> = 0..12;
/// A read that waits for so long hangs.
const HANG: Duration = Duration::from_mins(1);

fn seeds() -> std::ops::Range<u64> {
    let Ok(range) = std::env::var("D3_SOCKET_SEEDS") else {
        return SEEDS;
    };
    let (first, end) = range.split_once("..").expect("D3_SOCKET_SEEDS=FIRST..END");
    first.parse().expect("a number")..end.parse().expect("a number")
}

fn options() -> Options {
    Options {
        connect_timeout: Span::from_secs(4),
        idle_timeout: Span::from_secs(4),
        ..Options::new(Rate::from_gbps(1))
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
fn ask(
    endpoint: &Endpoint,
    to: std::net::SocketAddr,
    number: u64,
    sizes: (u64, u64),
) -> io::Result<()> {
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

fn serve(listener: &Listener, streams: usize) -> Vec<io::Result<()>> {
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

fn timed_out(error: &io::Error) -> bool {
    assert_ne!(error.kind(), ErrorKind::WouldBlock, "it hangs");
    matches!(
        stream_error(error),
        Some(StreamError::TimedOut | StreamError::Reset)
    )
}

#[test]
fn whatever_a_network_of_sockets_does_bytes_are_right_and_all_ends() {
    for seed in seeds() {
        eprintln!("D3_SOCKET_SEEDS={seed}..{}", seed + 1);
        let faults = Faults {
            lost: seed % 3 * 40,
            repeated: seed % 2 * 100,
            damaged: seed % 5 * 10,
            delayed: seed % 4 * 60,
        };
        let silent_after = (seed % 4 == 3).then(|| 20 + seed * 7 % 50);
        let server = Endpoint::bind("127.0.0.1:0", options()).unwrap();
        let listener = server.listen(16);
        let relay = Relay::start(server.local_addr().unwrap(), faults, silent_after, seed);
        let client = Endpoint::bind("127.0.0.1:0", options()).unwrap();
        let asked: Vec<io::Result<()>> = thread::scope(|scope| {
            let asking: Vec<_> = (0..4)
                .map(|number| {
                    let (client, relay) = (&client, &relay);
                    let sizes = (16 + number * 20_011, seed * 7_919 % 150_000);
                    scope.spawn(move || ask(client, relay.address(), number, sizes))
                })
                .collect();
            // A silent relay lets some never arrive.
            if silent_after.is_none() {
                for one in serve(&listener, 4) {
                    assert!(one.as_ref().is_ok_and(|()| true), "{faults:?}: {one:?}");
                }
            }
            asking
                .into_iter()
                .map(|one| one.join().expect("no panic"))
                .collect()
        });
        for one in asked {
            let good = match &one {
                Ok(()) => silent_after.is_none(),
                Err(error) => silent_after.is_some() && timed_out(error),
            };
            assert!(good, "{faults:?}: {one:?}");
        }
        let totals = (client.totals().damaged, server.totals().damaged);
        assert_eq!(totals.0 + totals.1 > 0, relay.damaged() > 0, "{totals:?}");
    }
}
