//! Many streams over one socket: the endpoint that a driver puts on UDP.
//!
//! A *stream* carries bytes both ways, in order. Each way is a D3 flow of its own: who connects announces the flow that
//! it will send, and opens it with the SYN; who accepts announces its own when it has something to say
//! ([`Endpoint::open`]), perhaps much later, as the answer to a query is. The exchanges of a flow are those of D3
//! Figure 7, and every rule of D3 is [`Sender`](super::Sender)'s, [`Receiver`](super::Receiver)'s and the [`PortDriver`]'s: the endpoint finds the
//! stream of a datagram, keeps its bytes, bounds what a peer may cost, and answers requests at its own uplink, hop 0, and
//! at its own downlink if no router has ([`Downlink`]).
//!
//! # What a driver does
//!
//! The endpoint has no socket and no clock. A driver
//! - gives each datagram that arrives to [`Endpoint::input`];
//! - calls [`Endpoint::timeout`] when [`Endpoint::next_timeout`] has come, which may move with every call;
//! - after either, and after a call of the application, sends what [`Endpoint::poll_transmit`] gives, until it gives
//!   nothing. Datagrams leave at the uplink's rate: when nothing comes although some wait, `next_timeout` is when the
//!   next may leave;
//! - wakes the application by [`Endpoint::poll_event`].
//!
//! Time is an argument and never goes back. A datagram that cannot be sent is lost like one that the network loses: the
//! driver throws it away. The secret given to [`Endpoint::new`] must be random: identifiers and cookies come from it.
//!
//! # Bytes
//!
//! The endpoint owns the bytes of its streams: those written until they are acknowledged, those received until they are
//! read, in buffers that grow to the limits in [`Options`]. The free part of a receive buffer is advertised as the receive window. An
//! application ends its flow with [`Endpoint::finish`], or by releasing the stream. Until then:
//! - fewer bytes than announced: the flow ends where it is finished;
//! - more: it goes on without a deadline, and [`Statistics::exceeded`] says so;
//! - none: it is opened and ended.
//!
//! # What a peer can cost
//!
//! | limit | above it |
//! |---|---|
//! | backlog of [`Endpoint::listen`], half-open streams included | the SYN is not taken; its sender repeats it |
//! | half-open streams, for [`Options::half_open_timeout`] each | SYNs are answered by a challenge and not remembered |
//! | streams of one peer, streams of all | the SYN is not taken |
//! | bytes of a stream | they are not sent, or not taken |
//!
//! A peer has proven its address when it shows the identifier that it was sent; until then it is answered datagram by
//! datagram, never by more or longer ones than it sends. Datagrams with a wrong checksum, identifier, address or
//! position change nothing, and are counted ([`Totals`]).

mod incoming;
mod interface;
mod options;
mod outgoing;
mod ring;
mod stream;

pub use options::{Options, Policy, Statistics, StreamError, Totals};

use super::datagram::Header;
use super::{Downlink, PortDriver};
use crate::Message;
use core::hash::Hasher;
use core::net::{IpAddr, SocketAddr};
use duetime_core::{Span, Time};
use interface::Interface;
use siphasher::sip::SipHasher24;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use stream::{Phase, Stream};

/// A stream of an endpoint. It is the identifier that the peer sends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(u64);

impl StreamId {
    /// The identifier, as it stands in datagrams.
    pub const fn as_u64(self) -> u64 {
        self.0
    }
}

/// A datagram that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Where to.
    pub peer: SocketAddr,
    /// Its length.
    pub bytes: usize,
}

/// What an application may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// [`Endpoint::accept`] has a stream.
    Incoming,
    /// Something about a stream is other than it was: it can be read, written, or is at its end.
    Changed(StreamId),
}

/// See the [module](self).
#[derive(Debug)]
pub struct Endpoint {
    options: Options,
    secret: [u64; 2],
    /// Identifiers drawn so far.
    drawn: u64,
    /// By our identifier.
    streams: BTreeMap<u64, Box<Stream>>,
    /// Incoming streams by the address and identifier of their peer.
    openings: BTreeMap<(SocketAddr, u64), u64>,
    /// Incoming streams of each peer.
    peers: BTreeMap<IpAddr, usize>,
    half_open: usize,
    max_backlog: usize,
    backlog: VecDeque<u64>,
    /// Oldest first; some may be gone already.
    lingering: VecDeque<u64>,
    /// Answers that belong to no stream's flow.
    answers: VecDeque<(SocketAddr, Header)>,
    /// Streams whose receiver has a packet.
    with_answers: VecDeque<u64>,
    /// Streams whose sender has a packet.
    with_data: VecDeque<u64>,
    /// Datagrams that the first of them has sent in its turn.
    turn: u32,
    timers: BTreeSet<(Time, u64)>,
    events: VecDeque<Event>,
    uplink: Interface,
    downlink: Downlink,
    totals: Totals,
}

impl Endpoint {
    /// An endpoint that accepts nothing yet. `secret` must be random, so that nobody can guess identifiers. Fails with
    /// [`Options::problem`].
    pub fn new(options: Options, secret: [u64; 2]) -> Result<Self, &'static str> {
        if let Some(problem) = options.problem() {
            return Err(problem);
        }
        Ok(Self {
            options,
            secret,
            drawn: 0,
            streams: BTreeMap::new(),
            openings: BTreeMap::new(),
            peers: BTreeMap::new(),
            half_open: 0,
            max_backlog: 0,
            backlog: VecDeque::new(),
            lingering: VecDeque::new(),
            answers: VecDeque::new(),
            with_answers: VecDeque::new(),
            with_data: VecDeque::new(),
            turn: 0,
            timers: BTreeSet::new(),
            events: VecDeque::new(),
            uplink: Interface::new(&options),
            downlink: Downlink::new(&options.config, options.downlink, Span::ZERO),
            totals: Totals::default(),
        })
    }

    /// Accepts streams from now on, of which up to `backlog` may wait for [`accept`](Self::accept); none with 0.
    pub fn listen(&mut self, backlog: usize) {
        self.max_backlog = backlog;
    }

    /// Opens a stream to `peer`, and its flow out. It can be written at once. Fails if there are too many, or if the
    /// deadline cannot be met and the policy is to quench: then nothing is sent.
    pub fn connect(
        &mut self,
        now: Time,
        peer: SocketAddr,
        message: Message,
        policy: &Policy,
    ) -> Result<StreamId, StreamError> {
        if !self.admits_stream() {
            return Err(StreamError::TooMany);
        }
        let mut stream = Stream::new(&self.options, now, peer, Phase::Opening, 0);
        let config = policy.apply(&self.options.config);
        if !stream.open(config, now, self.options.uplink, message) {
            return Err(StreamError::Quenched);
        }
        let own = self.draw_identifier();
        self.streams.insert(own, Box::new(stream));
        self.settle(now, own);
        Ok(StreamId(own))
    }

    /// The next incoming stream, if one waits, and its peer.
    pub fn accept(&mut self, now: Time) -> Option<(StreamId, SocketAddr)> {
        let own = self.backlog.pop_front()?;
        let stream = self.streams.get_mut(&own)?;
        stream.phase = Phase::Open;
        stream.set_receive_buffer(self.options.receive_buffer);
        let peer = stream.peer;
        self.settle(now, own);
        Some((StreamId(own), peer))
    }

    /// Announces the flow out of an accepted stream. A stream that is written without it has a flow of unknown length
    /// and no deadline. Fails with [`StreamError::Quenched`] if the deadline cannot be met and the policy is to quench:
    /// the peer learns that the flow is given up.
    pub fn open(
        &mut self,
        now: Time,
        id: StreamId,
        message: Message,
        policy: &Policy,
    ) -> Result<(), StreamError> {
        let config = policy.apply(&self.options.config);
        let uplink = self.options.uplink;
        let stream = self.stream(id)?;
        if stream.sender.is_some() {
            return Err(StreamError::AlreadyOpen);
        }
        let opened = stream.open(config, now, uplink, message);
        self.settle(now, id.0);
        if opened {
            Ok(())
        } else {
            Err(StreamError::Quenched)
        }
    }

    /// Submits bytes; the answer is how many the send buffer took, at least one.
    pub fn write(&mut self, now: Time, id: StreamId, data: &[u8]) -> Result<usize, StreamError> {
        let options = self.options;
        let written = self.stream(id)?.write(&options, now, data);
        self.settle(now, id.0);
        written
    }

    /// The application writes no more to this stream: its FIN leaves with the last byte.
    pub fn finish(&mut self, now: Time, id: StreamId) -> Result<(), StreamError> {
        let options = self.options;
        self.stream(id)?.finish(&options, now);
        self.settle(now, id.0);
        Ok(())
    }

    /// Gives the flow out up: bytes that have not left are not sent, and the peer learns of it.
    pub fn abort(&mut self, now: Time, id: StreamId) -> Result<(), StreamError> {
        let options = self.options;
        self.stream(id)?.abort(&options, now);
        self.settle(now, id.0);
        Ok(())
    }

    /// Reads bytes in order; the answer is how many, and 0 at the end of the peer's flow.
    pub fn read(&mut self, now: Time, id: StreamId, out: &mut [u8]) -> Result<usize, StreamError> {
        let read = self.stream(id)?.read(out);
        self.settle(now, id.0);
        read
    }

    /// Whether all that was written, and the end, has arrived: [`StreamError::Blocked`] while it may still.
    pub fn delivery(&self, id: StreamId) -> Result<(), StreamError> {
        self.streams
            .get(&id.0)
            .ok_or(StreamError::NoStream)?
            .delivery()
    }

    /// Whether the peer has answered the SYN: [`StreamError::Blocked`] while it may still.
    pub fn connection(&self, id: StreamId) -> Result<(), StreamError> {
        let stream = self.streams.get(&id.0).ok_or(StreamError::NoStream)?;
        match (stream.failure, stream.phase) {
            (Some(error), _) => Err(error),
            (None, Phase::Opening) => Err(StreamError::Blocked),
            (None, _) => Ok(()),
        }
    }

    /// The application drops the stream. What it has written is still sent; what comes is not taken any more.
    pub fn release(&mut self, now: Time, id: StreamId) {
        let options = self.options;
        let Ok(stream) = self.stream(id) else {
            return;
        };
        if stream.failure.is_some() {
            self.remove(id.0);
            return;
        }
        stream.release(&options, now);
        self.settle(now, id.0);
    }

    /// The application drops a stream whose flow in has ended and that it has sent nothing to. The peer must not wait for
    /// a flow back: nothing tells it that there is none. A repeated FIN is still answered.
    pub fn dismiss(&mut self, now: Time, id: StreamId) {
        if let Ok(stream) = self.stream(id)
            && stream.sender.is_none()
            && stream.is_received()
        {
            stream.conclude_unanswered();
        }
        self.release(now, id);
    }

    /// A datagram to `peer` was refused because it is too long for the interface: streams to it cannot go on, and end with
    /// [`StreamError::TooLong`].
    pub fn too_long(&mut self, now: Time, peer: SocketAddr) {
        let of_peer = self
            .streams
            .iter()
            .filter(|(_, stream)| stream.peer == peer);
        let of_peer: Vec<u64> = of_peer.map(|(own, _)| *own).collect();
        for own in of_peer {
            self.fail(now, own, StreamError::TooLong);
            self.settle(now, own);
        }
    }

    /// The stream as the peer's endpoint names it; `None` while that is unknown.
    pub fn peer_stream(&self, id: StreamId) -> Option<StreamId> {
        let stream = self.streams.get(&id.0)?;
        (stream.remote != 0 && stream.phase != Phase::Opening).then_some(StreamId(stream.remote))
    }

    /// What has happened to a stream.
    pub fn statistics(&self, id: StreamId) -> Result<Statistics, StreamError> {
        let stream = self.streams.get(&id.0).ok_or(StreamError::NoStream)?;
        Ok(stream.statistics())
    }

    /// What has happened since the last call.
    pub fn poll_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        if let Event::Changed(id) = event
            && let Some(stream) = self.streams.get_mut(&id.0)
        {
            stream.waits.event = false;
        }
        Some(event)
    }

    /// Datagrams, and what became of them.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Streams that are kept, lingering ones included.
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// Whether a stream still has something to send, dropped by its application or not.
    pub fn is_sending(&self) -> bool {
        self.streams.values().any(|stream| {
            stream.failure.is_none()
                && stream.sender.is_some()
                && !stream.is_sent()
                && stream.phase != Phase::HalfOpen
        })
    }

    /// The allocator of the uplink, hop 0.
    pub fn uplink(&self) -> &PortDriver {
        self.uplink.port()
    }

    /// The allocator of the downlink, and how many requests it or routers have answered.
    pub fn downlink(&self) -> &Downlink {
        &self.downlink
    }

    /// The options that it was made with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    fn stream(&mut self, id: StreamId) -> Result<&mut Stream, StreamError> {
        let stream = self.streams.get_mut(&id.0);
        stream
            .filter(|stream| !stream.released)
            .map(Box::as_mut)
            .ok_or(StreamError::NoStream)
    }

    /// Whether one more stream is allowed. The oldest that lingers is removed for it.
    fn admits_stream(&mut self) -> bool {
        while self.streams.len() >= self.options.max_streams {
            let Some(oldest) = self.lingering.pop_front() else {
                return false;
            };
            self.remove(oldest);
        }
        true
    }

    fn draw_identifier(&mut self) -> u64 {
        loop {
            self.drawn += 1;
            let mut hasher = self.hasher();
            hasher.write_u8(b'i');
            hasher.write(&self.drawn.to_be_bytes());
            let identifier = hasher.finish();
            if identifier != 0 && !self.streams.contains_key(&identifier) {
                return identifier;
            }
        }
    }

    fn hasher(&self) -> SipHasher24 {
        SipHasher24::new_with_keys(self.secret[0], self.secret[1])
    }

    /// The stream ends as a whole. What can still be read stays until the application drops it.
    fn fail(&mut self, now: Time, own: u64, error: StreamError) {
        let Some(stream) = self.streams.get_mut(&own) else {
            return;
        };
        if stream.conclude(now) {
            return;
        }
        let seen = matches!(stream.phase, Phase::Opening | Phase::Open) && !stream.released;
        if seen {
            stream.failure.get_or_insert(error);
            stream.outgoing.clear();
        } else {
            self.remove(own);
        }
    }

    fn remove(&mut self, own: u64) {
        let Some(mut stream) = self.streams.remove(&own) else {
            return;
        };
        self.downlink.withdraw(&mut stream.offer);
        self.timers.remove(&(stream.scheduled, own));
        self.uplink.overdue -= stream.overdue;
        match stream.phase {
            Phase::HalfOpen => self.half_open -= 1,
            Phase::Backlog => self.backlog.retain(|&waiting| waiting != own),
            Phase::Lingering(_) => {
                let gone = |oldest: &u64| !self.streams.contains_key(oldest);
                while self.lingering.front().is_some_and(gone) {
                    self.lingering.pop_front();
                }
            }
            Phase::Opening | Phase::Open => {}
        }
        if stream.is_theirs
            && self
                .openings
                .remove(&(stream.peer, stream.remote))
                .is_some()
            && let Some(count) = self.peers.get_mut(&stream.peer.ip())
        {
            *count -= 1;
            if *count == 0 {
                self.peers.remove(&stream.peer.ip());
            }
        }
    }
}
