//! The protocol's endpoint as `duetime-udp` drives it.

use crate::error::send_error;
use crate::shared_link::SharedLink;
use crate::{Message, Received};
use duetime_core::Time;
use duetime_proto::Transmit;
use duetime_proto::due::endpoint::{Endpoint, Event, Outcome, Outgoing, SendError};
use duetime_udp::{Protocol, span};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

/// Implements the driver's trait for the protocol's endpoint.
#[derive(Debug)]
pub struct Messages {
    pub endpoint: Endpoint,
    /// Link that the socket shares with others.
    pub shared_link: Option<SharedLink>,
}

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
        let sent = messages.endpoint.may_send(bytes).and_then(|()| {
            let outgoing = Outgoing {
                peer: self.peer,
                bytes: Arc::clone(&self.message.bytes),
                deadline: self
                    .deadline
                    .map(|deadline| deadline.since(now.min(deadline))),
                query: self.message.query,
                is_request: self.message.is_request,
            };
            messages.endpoint.send(now, outgoing)
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
        let Some(incoming) = self.endpoint.receive() else {
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

    #[inline]
    fn read_others(&mut self, now: Time) {
        if let Some(link) = &mut self.shared_link {
            link.read(now, &mut self.endpoint);
        }
    }

    #[inline]
    fn write_own(&mut self, now: Time) {
        if let Some(link) = &mut self.shared_link {
            link.write(now, &mut self.endpoint);
        }
    }

    /// Returns the end of a message.
    pub fn outcome(&mut self, number: u64) -> Poll<Outcome> {
        let outcome = self.endpoint.outcome(number);
        outcome.map_or(Poll::Pending, Poll::Ready)
    }
}

impl Protocol for Messages {
    type Key = Key;

    fn reads_marks(&self) -> bool {
        self.endpoint.options().config.core_window
    }

    fn input(&mut self, now: Time, peer: SocketAddr, datagram: &[u8], is_marked: bool) {
        self.read_others(now);
        self.endpoint.input(now, peer, datagram, is_marked);
        self.write_own(now);
    }

    fn timeout(&mut self, now: Time) {
        self.read_others(now);
        self.endpoint.timeout(now);
        self.write_own(now);
    }

    fn next_timeout(&self) -> Time {
        self.endpoint.next_timeout()
    }

    fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
        self.endpoint.poll_transmit(now, out)
    }

    fn poll_event(&mut self) -> Option<Key> {
        Some(match self.endpoint.poll_event()? {
            Event::Incoming => Key::Incoming,
            Event::Ended(number) => Key::Ended(number),
            Event::Writable => Key::Writable,
        })
    }

    fn too_long(&mut self, _now: Time, peer: SocketAddr) {
        self.endpoint.too_long(peer);
    }

    fn port_closed(&mut self, _now: Time, peer: SocketAddr) {
        self.endpoint.port_closed(peer);
    }

    fn is_sending(&self) -> bool {
        // Replies too: the source of a message waits for the last one.
        self.endpoint.is_sending() || self.endpoint.has_datagrams()
    }

    fn stop(&mut self) {
        self.endpoint.listen(0);
    }
}
