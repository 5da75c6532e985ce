//! An event loop of one thread serves several streams, with the descriptors of the listener and the streams.

#![allow(clippy::cast_possible_truncation, reason = "test values are small")]

use duetime_d3::{Endpoint, Flow, Listener, Options, Rate, Stream};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

const STREAMS: usize = 8;
const BYTES: usize = 1_000_000;
const PATIENCE: Timespec = Timespec {
    tv_sec: 20,
    tv_nsec: 0,
};

fn endpoint() -> Endpoint {
    Endpoint::bind("127.0.0.1:0", Options::new(Rate::from_gbps(1))).unwrap()
}

/// Stream of the server, which returns the bytes that it gets.
struct Echo {
    stream: Stream,
    /// Bytes to send.
    pending: Vec<u8>,
    /// True when the peer's flow has ended.
    is_complete: bool,
    is_finished: bool,
}

impl Echo {
    fn new((stream, _): (Stream, SocketAddr)) -> Self {
        stream.open(Flow::new(BYTES as u64, None)).unwrap();
        Self {
            stream,
            pending: Vec::new(),
            is_complete: false,
            is_finished: false,
        }
    }

    /// Moves bytes in both directions until every call would wait.
    fn advance(&mut self) {
        let mut part = [0; 4_096];
        while !self.is_complete {
            match self.stream.try_read(&mut part).unwrap() {
                None => break,
                Some(0) => self.is_complete = true,
                Some(bytes) => self.pending.extend(&part[..bytes]),
            }
        }
        while !self.pending.is_empty() {
            match self.stream.try_write(&self.pending).unwrap() {
                None => break,
                Some(bytes) => drop(self.pending.drain(..bytes)),
            }
        }
        if self.is_complete && self.pending.is_empty() && !self.is_finished {
            self.stream.finish().unwrap();
            self.is_finished = true;
        }
    }
}

/// Serves `STREAMS` streams.
fn serve(listener: &Listener) {
    let mut open: Vec<Echo> = Vec::new();
    let mut accepted = 0;
    while accepted < STREAMS || open.iter().any(|echo| !echo.is_finished) {
        let incoming = listener.incoming_fd().unwrap();
        let mut polled = vec![PollFd::new(&incoming, PollFlags::IN)];
        let changed: Vec<_> = open
            .iter()
            .map(|echo| echo.stream.changed_fd().unwrap())
            .collect();
        polled.extend(changed.iter().map(|fd| PollFd::new(fd, PollFlags::IN)));
        assert!(
            poll(&mut polled, Some(&PATIENCE)).unwrap() > 0,
            "no progress"
        );
        let is_ready: Vec<bool> = polled.iter().map(|fd| !fd.revents().is_empty()).collect();
        for (echo, _) in open
            .iter_mut()
            .zip(&is_ready[1..])
            .filter(|(_, ready)| **ready)
        {
            echo.advance();
        }
        if is_ready[0] {
            while let Some(stream) = listener.try_accept().unwrap() {
                open.push(Echo::new(stream));
                accepted += 1;
            }
        }
    }
}

#[test]
fn one_thread_serves_many_streams() {
    let server = endpoint();
    let listener = server.listen(64);
    let address = server.local_addr().unwrap();
    let clients: Vec<_> = (0..STREAMS)
        .map(|client| {
            thread::spawn(move || {
                let deadline = Some(Duration::from_secs(5));
                let flow = Flow::new(BYTES as u64, deadline);
                let stream = endpoint().connect(address, flow).unwrap();
                let sent: Vec<u8> = (0..BYTES)
                    .map(|byte| (byte * (client + 3) / 7) as u8)
                    .collect();
                let mut received = Vec::new();
                thread::scope(|scope| {
                    scope.spawn(|| {
                        (&stream).write_all(&sent).unwrap();
                        stream.finish().unwrap();
                    });
                    (&stream).read_to_end(&mut received).unwrap();
                });
                assert!(received == sent, "client {client}");
            })
        })
        .collect();
    serve(&listener);
    for client in clients {
        client.join().unwrap();
    }
}
