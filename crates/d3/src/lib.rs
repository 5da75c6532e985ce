//! D3 as sockets over UDP: streams whose flows state their length and their deadline, and hosts that ask the network for
//! the rate which that takes.
//!
//! ```
//! use duetime_d3::{Endpoint, Flow, Options, Rate, Stream};
//! use std::io::{Read, Write};
//! use std::time::Duration;
//!
//! // A server, on an interface of 1 Gbps.
//! let server = Endpoint::bind("127.0.0.1:0", Options::new(Rate::from_gbps(1)))?;
//! let address = server.local_addr()?;
//! let listener = server.listen(128);
//! let serving = std::thread::spawn(move || -> std::io::Result<()> {
//!     let (mut stream, _peer) = listener.accept()?;
//!     let mut query = String::new();
//!     stream.read_to_string(&mut query)?;
//!     // The answer is a flow of its own, with a deadline of its own.
//!     let answer = query.to_uppercase();
//!     stream.open(Flow { bytes: answer.len() as u64, deadline: Some(Duration::from_millis(50)) })?;
//!     stream.write_all(answer.as_bytes())?;
//!     stream.close() // waits until all has arrived
//! });
//!
//! // A client.
//! let query = b"better never than late";
//! let flow = Flow { bytes: query.len() as u64, deadline: Some(Duration::from_millis(50)) };
//! let mut stream = Stream::connect(address, flow)?;
//! stream.write_all(query)?;
//! stream.finish()?;
//! let mut answer = String::new();
//! stream.read_to_string(&mut answer)?;
//! assert_eq!(answer, "BETTER NEVER THAN LATE");
//! serving.join().unwrap()?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Flows
//!
//! A stream carries bytes both ways, in order; each way is a D3 flow. [`Stream::connect`] announces the first one. The
//! acceptor announces its own with [`Stream::open`], or has one without length and deadline when it just writes.
//! - [`finish`](Stream::finish) ends a flow: fewer bytes than announced are in order. More are too: the flow goes on
//!   without a deadline, and [`Statistics::exceeded`] says so.
//! - [`close`](Stream::close) also waits until the peer has all. A stream that is dropped is sent in the background, as
//!   long as the process lives.
//! - A flow that is *quenched* because its deadline cannot be met is an error of its own: [`stream_error`] tells it from
//!   others. Quenching, speculative quenching and what a late flow asks for are options of a flow ([`Policy`]).
//!
//! # Endpoints
//!
//! An [`Endpoint`] is a UDP socket, one thread, and the protocol's own endpoint ([`duetime_proto::d3::endpoint`]), which
//! runs in the simulator's tests unchanged. Its [`Options`] name the rate of the interface, which hop 0 divides among the
//! flows, and the limits on what peers may cost. [`Options::config`]'s `mtu` is the largest packet, IP header included:
//! datagrams are not fragmented, so set it to what the path takes. [`Stream::connect`] without an endpoint makes one of
//! its own; a program with many streams to send shares one, as they share the interface.
//!
//! With the feature `tokio`, streams are `AsyncRead` and `AsyncWrite`, and `Endpoint::connect_async` and
//! `Listener::accept_async` go with them. They need no runtime of their own.
//!
//! With the feature `c` there are functions for C and for whatever calls C: `include/duetime_d3.h` declares them, and
//! `man/duetime_d3.3` documents them. `cargo rustc --release -p duetime-d3 --features c --crate-type cdylib` makes the
//! library.

#[cfg(all(unix, feature = "tokio"))]
mod asynchronous;
#[cfg(all(unix, feature = "c"))]
pub mod c;
#[cfg(unix)]
mod driver;
#[cfg(unix)]
mod endpoint;
#[cfg(unix)]
mod shared;
#[cfg(unix)]
mod stream;

pub use duetime_core::{Rate, Span};
pub use duetime_proto::d3::endpoint::{Options, Policy, Statistics, StreamError, Totals};
pub use duetime_proto::d3::{Late, Speculation};
#[cfg(unix)]
pub use endpoint::{Endpoint, Listener};
#[cfg(unix)]
pub use stream::Stream;

use std::io;
use std::time::Duration;

/// What a flow announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Its length in bytes.
    pub bytes: u64,
    /// When it should have been delivered, from now on; `None`: whenever it can. Zero is past already: with quenching
    /// the flow ends at once, otherwise it is late.
    pub deadline: Option<Duration>,
}

impl Flow {
    /// A flow whose length is not known; it has no deadline.
    pub const fn unknown() -> Self {
        Self {
            bytes: u64::MAX / 2,
            deadline: None,
        }
    }
}

/// What the protocol says in an error of this crate, if it is the protocol's.
pub fn stream_error(error: &io::Error) -> Option<StreamError> {
    error.get_ref()?.downcast_ref().copied()
}

/// The protocol's errors as those of a socket.
fn io_error(error: StreamError) -> io::Error {
    let kind = match error {
        StreamError::Blocked => io::ErrorKind::WouldBlock,
        StreamError::NoStream | StreamError::AlreadyOpen => io::ErrorKind::InvalidInput,
        StreamError::TooMany => io::ErrorKind::QuotaExceeded,
        StreamError::TooLong => io::ErrorKind::InvalidData,
        StreamError::Finished => io::ErrorKind::BrokenPipe,
        StreamError::Quenched | StreamError::Aborted => io::ErrorKind::Other,
        StreamError::GivenUp => io::ErrorKind::ConnectionAborted,
        StreamError::Refused => io::ErrorKind::ConnectionRefused,
        StreamError::Reset => io::ErrorKind::ConnectionReset,
        StreamError::TimedOut => io::ErrorKind::TimedOut,
        StreamError::Version(_) => io::ErrorKind::Unsupported,
    };
    io::Error::new(kind, error)
}

/// The code of the guide is compiled with the other documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/d3.md")]
struct Guide;
