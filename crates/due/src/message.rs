//! Messages that a program sends and receives.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Message to send. Clones share its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub(crate) bytes: Arc<Vec<u8>>,
    pub(crate) deadline: Option<Duration>,
    pub(crate) query: Option<u64>,
    pub(crate) is_request: bool,
}

impl Message {
    /// Creates a message without a deadline.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            bytes: Arc::new(bytes.into()),
            deadline: None,
            query: None,
            is_request: false,
        }
    }

    /// Creates a request: a message without a deadline that another host waits for, such as a query. Receivers grant
    /// requests of at most four packets before all other messages.
    pub fn request(bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            is_request: true,
            ..Self::new(bytes)
        }
    }

    /// Sets the time from [`Socket::send`](crate::Socket::send) to the deadline, at most 1,000,000 s. A message with a
    /// deadline is not a request.
    #[must_use]
    pub fn within(self, deadline: Duration) -> Self {
        Self {
            deadline: Some(deadline),
            is_request: false,
            ..self
        }
    }

    /// Sets the query that the message belongs to. The receiver schedules the answers of a query together, since the
    /// query needs all of them. Query numbers must be random ([`random_query`](crate::random_query)), so that
    /// only the workers of a query know its number.
    #[must_use]
    pub fn of_query(self, query: u64) -> Self {
        Self {
            query: Some(query),
            ..self
        }
    }
}

/// Received message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Contents of the message.
    pub bytes: Vec<u8>,
    /// Address of the sender.
    pub from: SocketAddr,
    /// Time to the message's deadline when it was received: zero if the deadline had passed, `None` without a deadline.
    pub time_left: Option<Duration>,
    /// Query that the message belongs to.
    pub query: Option<u64>,
    /// Time at which the application received the message.
    pub(crate) taken_at: Instant,
}

impl Received {
    /// Creates an answer with the query and deadline of this message.
    pub fn answer(&self, bytes: impl Into<Vec<u8>>) -> Message {
        let elapsed = self.taken_at.elapsed();
        Message {
            deadline: self.time_left.map(|left| left.saturating_sub(elapsed)),
            query: self.query,
            ..Message::new(bytes)
        }
    }
}
