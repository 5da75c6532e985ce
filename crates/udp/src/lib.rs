//! UDP sockets for protocols that are written as state machines without I/O or clock.
//!
//! A type that implements [`Protocol`] decides which datagrams to send and when its timers expire. [`Socket::bind`]
//! opens a UDP socket and starts a thread that owns the clock and moves the datagrams, several per system call if the
//! kernel supports it. The application's threads and tasks share the protocol with that thread: [`Socket::call`] calls
//! it, [`Socket::wait`] and [`Socket::poll`] repeat a call until it is ready, and a [`Descriptor`] is for event loops.
//!
//! `duetime-d3` and `duetime-due` build their sockets on this crate.

#![forbid(unsafe_code)]

#[cfg(unix)]
pub mod c;
#[cfg(unix)]
mod descriptor;
#[cfg(unix)]
mod driver;
#[cfg(target_os = "linux")]
mod reports;
#[cfg(unix)]
mod shared;
#[cfg(unix)]
mod socket;
/// Primitives of the shared state. `tests/loom/` compiles it with those of a model checker.
#[cfg(unix)]
mod sync {
    pub use std::os::unix::net::UnixStream;
    pub use std::sync::{Condvar, Mutex, MutexGuard};
}

#[cfg(unix)]
pub use descriptor::Descriptor;
pub use duetime_proto::Transmit;
#[cfg(unix)]
pub use socket::{Socket, random};

use duetime_core::{Span, Time};
use std::fmt::Debug;
use std::net::SocketAddr;
use std::time::Duration;

/// Endpoint of a protocol over datagrams, without I/O or clock. Time is an argument and never goes back. No datagram
/// may cause a panic.
pub trait Protocol: Debug + Send + 'static {
    /// Condition that threads and tasks of the application wait for, such as a change of one stream.
    type Key: Ord + Clone + Debug + Send;

    /// Returns true if datagrams are sent ECN-capable, as ECT(0), because the protocol reads their marks.
    fn reads_marks(&self) -> bool;

    /// Processes a datagram received from `peer`. `is_marked` is true if the network marked it (CE).
    fn input(&mut self, now: Time, peer: SocketAddr, datagram: &[u8], is_marked: bool);

    /// Runs the timers that have expired.
    fn timeout(&mut self, now: Time);

    /// Returns the time of the next call of [`timeout`](Self::timeout) or [`poll_transmit`](Self::poll_transmit), or
    /// [`Time::MAX`] if nothing is pending.
    fn next_timeout(&self) -> Time;

    /// Appends the next datagram that may leave now to `out`, and returns its length and destination. Returns `None` if
    /// no datagram may leave. A datagram that the socket cannot send is lost.
    fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit>;

    /// Returns the next key whose waiters must repeat their calls, or `None`.
    fn poll_event(&mut self) -> Option<Self::Key>;

    /// Called when a datagram to `peer` is too long for the interface.
    fn too_long(&mut self, now: Time, peer: SocketAddr);

    /// Called when the network reports that the port of `peer` is closed. Anyone can forge a report.
    fn port_closed(&mut self, now: Time, peer: SocketAddr);

    /// Returns true while data is not delivered. A socket without handles runs until then, for at most 10 s.
    fn is_sending(&self) -> bool;

    /// Stops accepting data from peers. Called when the application has dropped the socket.
    fn stop(&mut self);
}

/// Longest result of [`span`]: about 13 days.
const MAX_SPAN: Span = Span::from_ns(1 << 50);

/// Converts a duration of the application, limited to about 13 days.
pub fn span(duration: Duration) -> Span {
    let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    Span::from_ns(nanoseconds.min(MAX_SPAN.as_ns()))
}
