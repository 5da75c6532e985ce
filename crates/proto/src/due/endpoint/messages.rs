//! Messages, outcomes, errors and events, as the application sees them.

use core::fmt;
use core::net::SocketAddr;
use duetime_core::{Span, Time};
use std::sync::Arc;

/// Message to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Address of the receiver.
    pub peer: SocketAddr,
    /// Contents, which several messages can share.
    pub bytes: Arc<Vec<u8>>,
    /// Time from now until the whole message is due, or `None`. More than
    /// [`MAX_TIME_LEFT`](super::super::wire::MAX_TIME_LEFT) counts as that.
    pub deadline: Option<Span>,
    /// Query that the message answers. The answers of one query are useful together. A parent must draw the number at
    /// random, so that only its workers know it.
    pub query: Option<u64>,
    /// True for a request that another host waits for. Without a deadline and up to four packets long, it is granted
    /// before all other messages.
    pub is_request: bool,
}

/// Complete message that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// Address of the source.
    pub peer: SocketAddr,
    /// Contents.
    pub bytes: Vec<u8>,
    /// Time at which the message was due by the receiver's clock: the time that was left when the announcement left its
    /// source, added to the time of its arrival.
    pub deadline: Option<Time>,
    /// Query that the message answers.
    pub query: Option<u64>,
    /// True if the source announced a request.
    pub is_request: bool,
}

/// End of an outgoing message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The receiver's endpoint has the whole message. Its application may not have read it.
    Delivered,
    /// The application aborted the message.
    Aborted,
    /// The message was not delivered, as far as known.
    Failed(Failure),
}

/// Reason why a message was not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The network reported that the peer's port is closed.
    Unreachable,
    /// The peer did not reply in time.
    TimedOut,
    /// The peer refused the message: it accepts no messages, none of this size, or has no memory.
    Refused,
    /// The interface does not accept datagrams of the configured length.
    TooLong,
}

/// Reason why a message cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// Too many bytes or messages are under way; [`Event::Writable`] is emitted when the call can be repeated.
    Blocked,
    /// The message is longer than permitted.
    TooLong {
        /// Maximum size of a message in bytes.
        max: u64,
    },
}

/// Event for the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// [`Endpoint::receive`](super::Endpoint::receive) would return a message. One event per message.
    Incoming,
    /// The outgoing message with this number has ended; its outcome can be taken.
    Ended(u64),
    /// A call to [`Endpoint::send`](super::Endpoint::send) that was blocked can be repeated.
    Writable,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreachable => "the peer's port is closed",
            Self::TimedOut => "the peer did not reply in time",
            Self::Refused => "the peer refused the message",
            Self::TooLong => "the interface does not accept packets of the configured length",
        })
    }
}

impl core::error::Error for Failure {}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blocked => f.write_str("too many bytes or messages are under way"),
            Self::TooLong { max } => write!(f, "the message is longer than {max} bytes"),
        }
    }
}

impl core::error::Error for SendError {}
