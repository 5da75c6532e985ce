//! D3 streams over UDP. Flows declare their length and deadline, and hosts request the required rate from the network.
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
//!     // The answer is a separate flow with its own deadline.
//!     let answer = query.to_uppercase();
//!     stream.open(Flow::new(answer.len() as u64, Some(Duration::from_millis(50))))?;
//!     stream.write_all(answer.as_bytes())?;
//!     stream.close() // waits until all data has arrived
//! });
//!
//! // A client.
//! let query = b"better never than late";
//! let flow = Flow::new(query.len() as u64, Some(Duration::from_millis(50)));
//! let mut stream = Stream::connect(address, Rate::from_gbps(1), flow)?;
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
//! A stream carries bytes in both directions, in order; each direction is a D3 flow. [`Stream::connect`] opens the
//! first flow. The acceptor opens its own with [`Stream::open`]; if it writes without that, its flow has neither length
//! nor deadline.
//! - [`finish`](Stream::finish) ends a flow, which may have fewer bytes than declared. A flow with more bytes continues
//!   without a deadline, and [`Statistics::exceeded`] is set. [`close`](Stream::close) also waits until the peer has
//!   received everything.
//! - [`abort`](Stream::abort) abandons a flow: unsent data is dropped, and the peer gets an error.
//! - A dropped stream is finished; its data is sent in the background while the process runs.
//! - A flow that is *quenched* because it cannot meet its deadline fails with an error that [`stream_error`]
//!   identifies. [`Policy`] sets quenching, speculative quenching and the requests of late flows, per flow.
//!
//! # Endpoints
//!
//! An [`Endpoint`] consists of a UDP socket, a thread, and the protocol's endpoint ([`duetime_proto::d3::endpoint`]),
//! which the simulator's tests run unchanged. Its [`Options`] contain the rate of the interface, which hop 0 divides
//! among the flows, and limits on the cost of peers. `config.wire.mtu` in the options is the largest packet, including
//! the IP header. Datagrams are not fragmented, so set it to the path's MTU. [`Stream::connect`] without an endpoint
//! creates a new one; programs with many streams should share one, because the streams share the interface.
//!
//! With the feature `tokio`, streams implement `AsyncRead` and `AsyncWrite`, and `Endpoint::connect_async` and
//! `Listener::accept_async` exist. They work on any runtime.
//!
//! The feature `c` provides a C interface, declared in `include/duetime_d3.h` and documented in `man/duetime_d3.3`.
//! `script/library d3` builds the library.

#[cfg(all(unix, feature = "tokio"))]
mod asynchronous;
#[cfg(all(unix, feature = "c"))]
pub mod c;
#[cfg(unix)]
mod endpoint;
#[cfg(unix)]
mod shared;
#[cfg(unix)]
mod stream;

pub use duetime_core::{Rate, Span};
pub use duetime_proto::Length;
pub use duetime_proto::d3::endpoint::{Options, OptionsError, Statistics, StreamError, Totals};
pub use duetime_proto::d3::{Late, Policy, Speculation};
#[cfg(unix)]
pub use endpoint::{Endpoint, Listener};
#[cfg(unix)]
pub use stream::Stream;

use std::io;
use std::time::Duration;

/// Length and deadline of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Length in bytes, or [`Length::Endless`] if it is unknown.
    pub length: Length,
    /// Time until the flow should be delivered, or `None` without a deadline. A deadline of zero has already passed:
    /// with quenching the flow ends at once, otherwise it is late.
    pub deadline: Option<Duration>,
}

impl Flow {
    /// Creates a flow of `bytes` bytes.
    pub const fn new(bytes: u64, deadline: Option<Duration>) -> Self {
        Self {
            length: Length::Bytes(bytes),
            deadline,
        }
    }

    /// Creates a flow of unknown length without a deadline.
    pub const fn unknown() -> Self {
        Self {
            length: Length::Endless,
            deadline: None,
        }
    }
}

/// Returns the protocol's error in an error of this crate, or `None` if it has another cause.
pub fn stream_error(error: &io::Error) -> Option<StreamError> {
    error.get_ref()?.downcast_ref().copied()
}

/// Converts a protocol error to an I/O error.
fn io_error(error: StreamError) -> io::Error {
    let kind = match error {
        StreamError::Blocked => io::ErrorKind::WouldBlock,
        StreamError::NoStream | StreamError::AlreadyOpen => io::ErrorKind::InvalidInput,
        StreamError::TooMany => io::ErrorKind::QuotaExceeded,
        StreamError::TooLong => io::ErrorKind::InvalidData,
        StreamError::Finished => io::ErrorKind::BrokenPipe,
        StreamError::Quenched | StreamError::Aborted => io::ErrorKind::Other,
        StreamError::PeerAborted => io::ErrorKind::ConnectionAborted,
        StreamError::Refused => io::ErrorKind::ConnectionRefused,
        StreamError::Reset => io::ErrorKind::ConnectionReset,
        StreamError::TimedOut => io::ErrorKind::TimedOut,
        StreamError::Version(_) => io::ErrorKind::Unsupported,
    };
    io::Error::new(kind, error)
}

/// Compiles the code of the guide with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/d3.md")]
struct Guide;
