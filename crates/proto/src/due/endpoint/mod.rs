//! Endpoint for messages between socket addresses, for drivers on UDP. docs/due-wire.md specifies datagrams and limits.
//!
//! A message goes from one endpoint to another. [`Sender`] and [`Receiver`] decide which packets are sent; the endpoint
//! assigns datagrams to messages, keeps the bytes of both directions, limits the memory that peers can use, and paces
//! datagrams at the link's rate. Replies of an application are further messages: a request names its sender in
//! [`Incoming::peer`].
//!
//! The receiver schedules the messages to its own endpoint only. Several endpoints behind one link compete for it.
//!
//! # The driver contract
//!
//! The endpoint has no socket and no clock. A driver must:
//! - pass each received datagram to [`Endpoint::input`];
//! - call [`Endpoint::timeout`] at [`Endpoint::next_timeout`], which may change with every call;
//! - after either call, and after a call by the application, send the datagrams that [`Endpoint::poll_transmit`]
//!   returns, until it returns `None`. If datagrams are waiting, `next_timeout` is the time at which the next may
//!   leave;
//! - wake the application on [`Endpoint::poll_event`], which it must poll.
//!
//! Time is an argument and never goes back. A datagram that cannot be sent must be dropped; the protocol handles it
//! like a loss in the network. The secret passed to [`Endpoint::new`] must be random and new in each process, because
//! identities and tokens are derived from it.
//!
//! Two endpoints without loss:
//!
//! ```
//! use duetime_core::{Rate, Span, Time};
//! use duetime_proto::due::endpoint::{Endpoint, Options, Outcome, Outgoing};
//! use std::net::SocketAddr;
//!
//! let options = Options::new(Rate::from_gbps(1));
//! let addresses: [SocketAddr; 2] = ["10.0.0.1:7000".parse()?, "10.0.0.2:7000".parse()?];
//! // Fixed secrets; a program draws them at random.
//! let mut endpoints = [Endpoint::new(options, [1, 2])?, Endpoint::new(options, [3, 4])?];
//! let mut now = Time::ZERO;
//! let answer = Outgoing {
//!     peer: addresses[1],
//!     bytes: vec![7; 100_000].into(),
//!     deadline: Some(Span::from_ms(5)),
//!     query: Some(0x5eed),
//!     is_request: false,
//! };
//! let number = endpoints[0].send(now, answer)?;
//! while endpoints[0].is_sending() {
//!     // Both drivers: each datagram arrives 20 us after it is sent.
//!     let mut arriving = Vec::new();
//!     for host in 0..2 {
//!         let mut bytes = Vec::new();
//!         while let Some(transmit) = endpoints[host].poll_transmit(now, &mut bytes) {
//!             let to = usize::from(transmit.peer == addresses[1]);
//!             arriving.push((to, addresses[host], std::mem::take(&mut bytes)));
//!         }
//!     }
//!     now += Span::from_us(20);
//!     for (to, from, datagram) in arriving {
//!         endpoints[to].input(now, from, &datagram, false);
//!     }
//!     for endpoint in &mut endpoints {
//!         endpoint.timeout(now);
//!     }
//! }
//! assert_eq!(endpoints[0].outcome(number), Some(Outcome::Delivered));
//! let message = endpoints[1].receive().expect("delivered");
//! assert_eq!((message.peer, message.bytes), (addresses[0], vec![7; 100_000]));
//! assert!(message.deadline.is_some_and(|deadline| now < deadline));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod assembly;
mod keys;
mod messages;
mod options;
mod receiving;
mod replies;
mod sending;
mod shared_link;
mod sources;
mod spare;

pub use crate::Transmit;
pub use messages::{Event, Failure, Incoming, Outcome, Outgoing, SendError};
pub use options::{Options, OptionsError, Totals};

use super::wire::{self, Body, DATAGRAM_HEADER_BYTES, Datagram, ip_udp_bytes};
use super::{Control, MessageId, Receiver, Sender};
use crate::pace::Pace;
use core::net::SocketAddr;
use duetime_core::{Span, Time};
use keys::{Keys, Tokens};
use options::{MAX_BACKLOG, MEMORY};
use receiving::{Arriving, DataPacket};
use replies::Replies;
use sending::Message;
use sources::{Sources, Unproven};
use spare::Spare;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Part of the memory for incoming messages up to which the application can return memory.
const SPARE_PART: u64 = 4;
/// Maximum number of queued replies without a message of the receiver.
const MAX_ANSWERS: usize = 256;

/// Endpoint for messages between socket addresses; see the [module](self).
#[derive(Debug)]
pub struct Endpoint {
    options: Options,
    keys: Keys,
    pace: Pace,
    /// Queued replies without a message of the receiver.
    answers: VecDeque<(SocketAddr, Datagram<'static>)>,
    events: VecDeque<Event>,
    totals: Totals,

    sender: Sender<()>,
    /// Outgoing messages by number, including aborted ones that the receiver has not confirmed.
    outgoing: BTreeMap<u64, Message>,
    /// Outcomes that the application has not taken.
    outcomes: BTreeMap<u64, Outcome>,
    /// Bytes of outgoing messages.
    outgoing_bytes: u64,
    /// Number of the next message.
    next_number: u64,
    /// Times at which to check whether a message has replies.
    checks: BTreeSet<(Time, u64)>,
    tokens: Tokens,
    /// True if a call to `send` was blocked since the last [`Event::Writable`].
    is_blocked: bool,

    receiver: Receiver<Tag>,
    replies: Replies,
    arriving: BTreeMap<MessageId, Arriving>,
    /// Complete messages with their memory in bytes.
    complete: VecDeque<(Incoming, u64)>,
    /// Memory of `arriving` and `complete` in bytes.
    incoming_bytes: u64,
    /// Memory that the application has returned, which `incoming_bytes` does not include.
    spare: Spare,
    backlog: usize,
    sources: Sources,
    unproven: Unproven,
}

/// Address for replies to a message that arrives.
#[derive(Clone, Copy, Debug)]
struct Tag {
    peer: SocketAddr,
    identity: u64,
    id: MessageId,
}

impl Endpoint {
    /// Creates an endpoint. `secret` must be random, so that others cannot guess identities and tokens. Fails if an
    /// option is invalid.
    pub fn new(mut options: Options, secret: [u64; 2]) -> Result<Self, OptionsError> {
        options.check()?;
        options.config.announced_permille = 1_000;
        let mut receiver = Receiver::new(&options.config, &options.link);
        receiver.remember_for(MEMORY);
        Ok(Self {
            options,
            keys: Keys(secret),
            pace: Pace::new(options.link.rate, options.batch, options.catch_up),
            answers: VecDeque::new(),
            events: VecDeque::new(),
            totals: Totals::default(),
            sender: Sender::new(&options.config, &options.link),
            outgoing: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            outgoing_bytes: 0,
            next_number: 0,
            checks: BTreeSet::new(),
            tokens: Tokens::default(),
            is_blocked: false,
            receiver,
            replies: Replies::default(),
            arriving: BTreeMap::new(),
            complete: VecDeque::new(),
            incoming_bytes: 0,
            spare: Spare::new(options.max_incoming_bytes / SPARE_PART),
            backlog: options.backlog.min(MAX_BACKLOG),
            // A finished message must not outlive the number of its source.
            sources: Sources::new(options.max_sources, MEMORY + Span::from_ms(1)),
            unproven: Unproven::new(options.max_unproven, options.unproven_timeout),
        })
    }

    /// Removes and returns the next complete message, or `None`.
    pub fn receive(&mut self) -> Option<Incoming> {
        let (message, memory) = self.complete.pop_front()?;
        self.incoming_bytes -= memory;
        Some(message)
    }

    /// Stores the memory of a received message for a later one, unless a quarter of `max_incoming_bytes` is stored.
    pub fn reuse(&mut self, bytes: Vec<u8>) {
        self.spare.put(bytes);
    }

    /// Sets the maximum number of incoming messages, incomplete or not taken by the application, up to 65,536. Zero
    /// refuses new messages; those under way continue.
    pub fn listen(&mut self, backlog: usize) {
        self.backlog = backlog.min(MAX_BACKLOG);
    }

    /// Processes a datagram from `peer`. `is_marked` is true if its IP header has the ECN codepoint CE. No content makes
    /// this panic.
    pub fn input(&mut self, now: Time, peer: SocketAddr, datagram: &[u8], is_marked: bool) {
        self.totals.received += 1;
        let decoded = match wire::decode(datagram) {
            Ok(decoded) => decoded,
            Err(error) => {
                let count = match error {
                    wire::DatagramError::Version(_) => &mut self.totals.other_versions,
                    wire::DatagramError::Checksum => &mut self.totals.damaged,
                    _ => &mut self.totals.malformed,
                };
                *count += 1;
                return;
            }
        };
        match decoded.body {
            Body::First { .. } | Body::Data { .. } => {
                let packet = DataPacket {
                    datagram: decoded,
                    bytes: datagram.len(),
                    is_marked,
                };
                self.input_data(now, peer, &packet);
            }
            Body::Abort => self.input_abort(now, peer, &decoded),
            Body::Reset(wire::Reason::Unknown) => self.input_unknown(now, peer, &decoded),
            Body::Grant { .. }
            | Body::Resend { .. }
            | Body::Done
            | Body::Challenge
            | Body::Reset(_) => self.input_reply(now, peer, &decoded),
        }
    }

    /// Appends the next datagram that may be sent now to `out`. Replies precede data.
    pub fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
        if !self.has_datagrams() || !self.pace.is_free(now) {
            return None;
        }
        if let Some((peer, datagram)) = self.answers.pop_front() {
            return Some(self.transmit(peer, &datagram, out));
        }
        while let Some((tag, control)) = self.receiver.poll_transmit() {
            self.replies.push(tag, control);
        }
        while let Some((tag, control)) = self.replies.pop() {
            if self.is_affordable(tag.id) {
                let reply = self.reply(now, &tag, control);
                return Some(self.transmit(tag.peer, &reply, out));
            }
        }
        self.poll_data(now, out)
    }

    /// Returns true if [`poll_transmit`](Self::poll_transmit) may return a datagram when the link is free.
    pub fn has_datagrams(&self) -> bool {
        !self.answers.is_empty()
            || !self.replies.is_empty()
            || self.receiver.can_transmit()
            || self.sender.can_transmit()
    }

    /// Returns the time at which to call [`timeout`](Self::timeout), followed by
    /// [`poll_transmit`](Self::poll_transmit), or [`Time::MAX`] for never.
    pub fn next_timeout(&self) -> Time {
        let link = if self.has_datagrams() {
            self.pace.next_free()
        } else {
            Time::MAX
        };
        let check = self.checks.first().map_or(Time::MAX, |check| check.0);
        link.min(check)
            .min(self.sender.next_timeout())
            .min(self.receiver.next_timeout())
            .min(self.unproven.next_timeout())
    }

    /// Handles expired timers. Called at [`next_timeout`](Self::next_timeout); no effect if called early.
    pub fn timeout(&mut self, now: Time) {
        self.sender.timeout(now);
        self.check_replies(now);
        self.expire_incoming(now);
    }

    /// Returns the next event, or `None`.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Returns true if any outgoing message is under way, or its abort is not confirmed.
    pub fn is_sending(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// Returns the counters.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Returns the options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Returns the memory of incoming messages in bytes, including complete ones that the application has not taken.
    pub fn incoming_bytes(&self) -> u64 {
        self.incoming_bytes
    }

    /// Returns the bytes of outgoing messages that are not delivered.
    pub fn outgoing_bytes(&self) -> u64 {
        self.outgoing_bytes
    }

    /// Returns the number of incoming messages, incomplete or not taken by the application.
    pub fn incoming(&self) -> usize {
        self.arriving.len() + self.complete.len()
    }

    /// Returns the number of known sources.
    pub fn sources(&self) -> usize {
        self.sources.len()
    }

    /// Returns the receiver's packet as a datagram.
    fn reply(&self, now: Time, tag: &Tag, control: Control) -> Datagram<'static> {
        let packet = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let body = match control {
            Control::Grant {
                up_to,
                is_background,
                ..
            } => Body::Grant {
                up_to: packet(up_to),
                is_background,
            },
            Control::Resend { from, to } => Body::Resend {
                from: packet(from),
                to: packet(to),
            },
            Control::Done => Body::Done,
        };
        Datagram {
            identity: tag.identity,
            number: tag.id.number as u32,
            token: self.keys.token(now, tag.peer, tag.identity),
            body,
        }
    }

    /// Queues a reply without a message of the receiver. Each received datagram causes at most one, which is never
    /// longer.
    fn answer(&mut self, peer: SocketAddr, datagram: Datagram<'static>) {
        if self.answers.len() < MAX_ANSWERS {
            self.answers.push_back((peer, datagram));
        } else {
            self.totals.unanswered += 1;
        }
    }

    /// Queues a reply to the source of `cause`.
    fn answer_to(
        &mut self,
        peer: SocketAddr,
        cause: &Datagram<'_>,
        token: u64,
        body: Body<'static>,
    ) {
        let answer = Datagram {
            identity: cause.identity,
            number: cause.number,
            token,
            body,
        };
        self.answer(peer, answer);
    }

    /// Appends a datagram to `out`.
    fn transmit(
        &mut self,
        peer: SocketAddr,
        datagram: &Datagram<'_>,
        out: &mut Vec<u8>,
    ) -> Transmit {
        let bytes = wire::encode(datagram, out);
        self.depart(peer, bytes);
        Transmit { peer, bytes }
    }

    /// Accounts for a sent datagram.
    fn depart(&mut self, peer: SocketAddr, bytes: usize) {
        debug_assert!(bytes >= DATAGRAM_HEADER_BYTES);
        self.totals.sent += 1;
        let headers = ip_udp_bytes(peer) + self.options.link.framing_bytes;
        self.pace.depart(bytes as u64 + u64::from(headers));
    }
}
