//! The protocol's endpoint as `duetime-udp` drives it.

use crate::error::send_error;
use crate::{Message, Received};
use duetime_core::Time;
use duetime_proto::Transmit;
use duetime_proto::due::endpoint::{Endpoint, Event, Outcome, Outgoing, SendError};
use duetime_udp::{Protocol, span};
use std::io;
use std::net::SocketAddr;
use std::task::Poll;
use std::time::{Duration, Instant};

/// Implements the driver's trait for the protocol's endpoint.
#[derive(Debug)]
pub struct Messages(pub Endpoint);

/// Condition that threads and tasks wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// A message arrived.
    Incoming,
    /// The outgoing message with this number ended.
    Ended(u64),
    /// Another message can be sent.
    Writable,
}

/// Message that is not submitted yet.
#[derive(Debug)]
pub struct Submission {
    peer: SocketAddr,
    message: Message,
    /// Deadline by the endpoint's clock, after the first attempt.
    deadline: Option<Time>,
}

impl Submission {
    pub fn new(peer: SocketAddr, message: Message) -> Self {
        Self {
            peer,
            message,
            deadline: None,
        }
    }

    /// Submits the message, unless too much is under way. Returns its number.
    pub fn attempt(&mut self, messages: &mut Messages, now: Time) -> Poll<io::Result<u64>> {
        let within = self.message.deadline;
        self.deadline = self.deadline.or(within.map(|within| now + span(within)));
        let bytes = self.message.bytes.len() as u64;
        let sent = messages.0.may_send(bytes).and_then(|()| {
            let outgoing = Outgoing {
                peer: self.peer,
                bytes: std::mem::take(&mut self.message.bytes),
                deadline: self
                    .deadline
                    .map(|deadline| deadline.since(now.min(deadline))),
                query: self.message.query,
                is_request: self.message.is_request,
            };
            messages.0.send(now, outgoing)
        });
        match sent {
            Err(SendError::Blocked) => Poll::Pending,
            sent => Poll::Ready(sent.map_err(send_error)),
        }
    }
}

impl Messages {
    /// Returns the next message.
    pub fn receive(&mut self, now: Time) -> Poll<Received> {
        let Some(incoming) = self.0.receive() else {
            return Poll::Pending;
        };
        let left = |deadline: Time| deadline.since(now.min(deadline)).as_ns();
        Poll::Ready(Received {
            bytes: incoming.bytes,
            from: incoming.peer,
            time_left: incoming.deadline.map(|at| Duration::from_nanos(left(at))),
            query: incoming.query,
            taken_at: Instant::now(),
        })
    }

    /// Returns the end of a message.
    pub fn outcome(&mut self, number: u64) -> Poll<Outcome> {
        let outcome = self.0.outcome(number);
        outcome.map_or(Poll::Pending, Poll::Ready)
    }
}

impl Protocol for Messages {
    type Key = Key;

    fn input(&mut self, now: Time, peer: SocketAddr, datagram: &[u8]) {
        self.0.input(now, peer, datagram);
    }

    fn timeout(&mut self, now: Time) {
        self.0.timeout(now);
    }

    fn next_timeout(&self) -> Time {
        self.0.next_timeout()
    }

    fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
        self.0.poll_transmit(now, out)
    }

    fn poll_event(&mut self) -> Option<Key> {
        Some(match self.0.poll_event()? {
            Event::Incoming => Key::Incoming,
            Event::Ended(number) => Key::Ended(number),
            Event::Writable => Key::Writable,
        })
    }

    fn too_long(&mut self, _now: Time, peer: SocketAddr) {
        self.0.too_long(peer);
    }

    fn port_closed(&mut self, _now: Time, peer: SocketAddr) {
        self.0.port_closed(peer);
    }

    fn is_sending(&self) -> bool {
        // Replies too: the source of a message waits for the last one.
        self.0.is_sending() || self.0.has_datagrams()
    }

    fn stop(&mut self) {
        self.0.listen(0);
    }
}
