//! Endpoint with many streams over one socket, for drivers on UDP.
//!
//! A *stream* carries bytes in both directions, in order. Each direction is a separate D3 flow. The connecting side
//! announces its flow and opens it with the SYN. The accepting side announces its own flow when it has data to send
//! ([`Endpoint::open`]), possibly much later, like the answer to a query. The exchanges of a flow are those of D3
//! Figure 7, and all rules of D3 are implemented by [`Sender`](super::Sender), [`Receiver`](super::Receiver) and
//! [`PortDriver`]. The endpoint assigns datagrams to streams, buffers bytes, bounds the resources of a peer, and
//! answers requests at its own uplink, hop 0, and at its own downlink if no router has ([`Downlink`]).
//!
//! # The driver contract
//!
//! The endpoint has no socket and no clock. A driver must:
//! - pass each received datagram to [`Endpoint::input`];
//! - call [`Endpoint::timeout`] at [`Endpoint::next_timeout`], which may change with every call;
//! - after either call, and after a call by the application, send the datagrams that [`Endpoint::poll_transmit`]
//!   returns, until it returns `None`. Datagrams leave at the uplink's rate: if datagrams are waiting, `next_timeout`
//!   is the time at which the next may leave;
//! - wake the application on [`Endpoint::poll_event`].
//!
//! Time is an argument and never goes back. A datagram that cannot be sent must be dropped; the protocol handles it
//! like a loss in the network. The secret passed to [`Endpoint::new`] must be random, because identifiers and cookies
//! are derived from it.
//!
//! # Bytes
//!
//! The endpoint owns the bytes of its streams: written bytes until they are acknowledged, and received bytes until they
//! are read, in buffers that grow up to the limits in [`Options`]. It advertises the free part of a receive buffer as
//! the receive window. An application ends its flow with [`Endpoint::finish`], or by releasing the stream. Before that,
//! if the application wrote
//! - fewer bytes than announced, the flow ends at the last written byte;
//! - more bytes than announced, the flow continues without a deadline, and [`Statistics::exceeded`] is set;
//! - nothing, the flow is opened and ended.
//!
//! # Resource limits per peer
//!
//! | limit | if exceeded |
//! |---|---|
//! | backlog of [`Endpoint::listen`], including half-open streams | SYNs are dropped; the sender repeats them |
//! | half-open streams, for [`Options::half_open_timeout`] each | SYNs are answered with a challenge, statelessly |
//! | streams of one peer, streams in total | SYNs are dropped |
//! | bytes of a stream | they are not sent, or not accepted |
//!
//! A peer has proven its address when it shows the identifier that was sent to it. Until then it receives at most one
//! datagram per datagram sent, and never a longer one. Datagrams with a wrong checksum, identifier, address or position
//! have no effect, and are counted ([`Totals`]).

mod incoming;
mod interface;
mod options;
mod outgoing;
mod ring;
mod stream;

pub use crate::Transmit;
pub use options::{Options, OptionsError, Statistics, StreamError, Totals};

use super::wire::Header;
use super::{Config, Downlink, Policy, PortDriver};
use crate::Message;
use core::hash::Hasher;
use core::net::{IpAddr, SocketAddr};
use duetime_core::{Span, Time};
use interface::Interface;
use siphasher::sip::SipHasher24;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use stream::{Phase, Stream};

/// Handle of a stream: the identifier to which the peer sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(u64);

impl StreamId {
    /// Returns the identifier, as in datagrams.
    pub const fn as_u64(self) -> u64 {
        self.0
    }
}

/// Event for the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// [`Endpoint::accept`] would return a stream.
    Incoming,
    /// The state of a stream changed: it became readable or writable, or it ended.
    Changed(StreamId),
}

/// Endpoint with many streams; see the [module](self).
#[derive(Debug)]
pub struct Endpoint {
    options: Options,
    secret: [u64; 2],
    /// Number of identifiers drawn so far.
    drawn: u64,
    /// Streams by local identifier.
    streams: BTreeMap<u64, Box<Stream>>,
    /// Incoming streams by the address and identifier of the peer.
    openings: BTreeMap<(SocketAddr, u64), u64>,
    /// Number of incoming streams per peer.
    peers: BTreeMap<IpAddr, usize>,
    half_open: usize,
    max_backlog: usize,
    backlog: VecDeque<u64>,
    /// Lingering streams, oldest first; some may already be removed.
    lingering: VecDeque<u64>,
    /// Queued replies that belong to no flow.
    answers: VecDeque<(SocketAddr, Header)>,
    /// Streams whose receiver has a packet to send.
    with_answers: VecDeque<u64>,
    /// Streams whose sender has a packet to send.
    with_data: VecDeque<u64>,
    /// Datagrams that the first of `with_data` has sent in its turn.
    turn: u32,
    timers: BTreeSet<(Time, u64)>,
    events: VecDeque<Event>,
    uplink: Interface,
    downlink: Downlink,
    totals: Totals,
}

impl Endpoint {
    /// Creates an endpoint that does not accept streams yet. `secret` must be random, so that others cannot guess
    /// identifiers. Fails if an option is invalid.
    pub fn new(options: Options, secret: [u64; 2]) -> Result<Self, OptionsError> {
        options.check()?;
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

    /// Starts to accept streams, of which up to `backlog` may wait for [`accept`](Self::accept). Zero stops accepting.
    pub fn listen(&mut self, backlog: usize) {
        self.max_backlog = backlog;
    }

    /// Opens a stream to `peer` and its outgoing flow. The stream can be written at once. Fails if there are too many
    /// streams, or if the deadline cannot be met and the policy quenches; nothing is sent in that case.
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
        let config = self.config_with(policy);
        if !stream.open(config, now, self.options.uplink, message) {
            return Err(StreamError::Quenched);
        }
        let id = self.draw_identifier();
        self.streams.insert(id, Box::new(stream));
        self.settle(now, id);
        Ok(StreamId(id))
    }

    /// Returns the next incoming stream and its peer, or `None`.
    pub fn accept(&mut self, now: Time) -> Option<(StreamId, SocketAddr)> {
        let id = self.backlog.pop_front()?;
        let stream = self.streams.get_mut(&id)?;
        stream.phase = Phase::Open;
        stream.set_receive_buffer(self.options.receive_buffer);
        let peer = stream.peer;
        self.settle(now, id);
        Some((StreamId(id), peer))
    }

    /// Announces the outgoing flow of an accepted stream. Without this call, the first write opens a flow of unknown
    /// length without a deadline. Fails with [`StreamError::Quenched`] if the deadline cannot be met and the policy
    /// quenches; the peer is then notified that the flow is abandoned.
    pub fn open(
        &mut self,
        now: Time,
        id: StreamId,
        message: Message,
        policy: &Policy,
    ) -> Result<(), StreamError> {
        let config = self.config_with(policy);
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

    /// Writes bytes to the stream. Returns the number of bytes accepted, at least one if `data` is not empty.
    pub fn write(&mut self, now: Time, id: StreamId, data: &[u8]) -> Result<usize, StreamError> {
        let options = self.options;
        let written = self.stream(id)?.write(&options, now, data);
        self.settle(now, id.0);
        written
    }

    /// Ends the outgoing flow: the FIN is sent with the last byte.
    pub fn finish(&mut self, now: Time, id: StreamId) -> Result<(), StreamError> {
        let options = self.options;
        self.stream(id)?.finish(&options, now);
        self.settle(now, id.0);
        Ok(())
    }

    /// Aborts the outgoing flow: unsent bytes are discarded, and the peer is notified.
    pub fn abort(&mut self, now: Time, id: StreamId) -> Result<(), StreamError> {
        let options = self.options;
        self.stream(id)?.abort(&options, now);
        self.settle(now, id.0);
        Ok(())
    }

    /// Reads bytes in order. Returns their number, or 0 at the end of the peer's flow.
    pub fn read(&mut self, now: Time, id: StreamId, out: &mut [u8]) -> Result<usize, StreamError> {
        let read = self.stream(id)?.read(out);
        self.settle(now, id.0);
        read
    }

    /// Returns `Ok` if all written data and the end of the flow were delivered, or [`StreamError::Blocked`] while
    /// delivery is pending.
    pub fn delivery(&self, id: StreamId) -> Result<(), StreamError> {
        self.streams
            .get(&id.0)
            .ok_or(StreamError::NoStream)?
            .delivery()
    }

    /// Returns `Ok` if the peer has answered the SYN, or [`StreamError::Blocked`] while the answer is pending.
    pub fn connection(&self, id: StreamId) -> Result<(), StreamError> {
        let stream = self.streams.get(&id.0).ok_or(StreamError::NoStream)?;
        match (stream.failure, stream.phase) {
            (Some(error), _) => Err(error),
            (None, Phase::Opening) => Err(StreamError::Blocked),
            (None, _) => Ok(()),
        }
    }

    /// Releases the stream. Written data is still sent; received data is no longer accepted.
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

    /// Releases a stream without a flow in return: one whose incoming flow has ended and on which nothing was sent. The
    /// peer must not expect a flow, because it is not notified. A repeated FIN is still answered. Other streams are
    /// [released](Self::release).
    pub fn release_one_way(&mut self, now: Time, id: StreamId) {
        if let Ok(stream) = self.stream(id)
            && stream.sender.is_none()
            && stream.is_received()
        {
            stream.conclude_unanswered();
        }
        self.release(now, id);
    }

    /// Fails all streams to `peer` with [`StreamError::TooLong`]. Called when a datagram to `peer` is too long for the
    /// interface.
    pub fn too_long(&mut self, now: Time, peer: SocketAddr) {
        self.fail_all(now, StreamError::TooLong, |stream| stream.peer == peer);
    }

    /// Fails the streams that wait for a first reply of `peer` with [`StreamError::Refused`]. Called when the network
    /// reports that the peer's port is closed. Other streams continue, since anyone can forge a report.
    pub fn port_closed(&mut self, now: Time, peer: SocketAddr) {
        self.fail_all(now, StreamError::Refused, |stream| {
            stream.peer == peer && stream.phase == Phase::Opening
        });
    }

    fn fail_all(&mut self, now: Time, error: StreamError, is_affected: impl Fn(&Stream) -> bool) {
        let ids = self
            .streams
            .iter()
            .filter(|(_, stream)| is_affected(stream));
        let ids: Vec<u64> = ids.map(|(id, _)| *id).collect();
        for id in ids {
            self.fail(now, id, error);
            self.settle(now, id);
        }
    }

    /// Returns the peer's identifier of the stream, or `None` while it is unknown.
    pub fn peer_stream(&self, id: StreamId) -> Option<StreamId> {
        let stream = self.streams.get(&id.0)?;
        (stream.remote != 0 && stream.phase != Phase::Opening).then_some(StreamId(stream.remote))
    }

    /// Returns the statistics of a stream.
    pub fn statistics(&self, id: StreamId) -> Result<Statistics, StreamError> {
        let stream = self.streams.get(&id.0).ok_or(StreamError::NoStream)?;
        Ok(stream.statistics())
    }

    /// Returns the next event, or `None`.
    pub fn poll_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        if let Event::Changed(id) = event
            && let Some(stream) = self.streams.get_mut(&id.0)
        {
            stream.queued.event = false;
        }
        Some(event)
    }

    /// Returns the datagram counters.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Returns the number of streams, including lingering ones.
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// Returns true if any stream, released or not, still has something to send.
    pub fn is_sending(&self) -> bool {
        self.streams.values().any(|stream| {
            stream.failure.is_none()
                && stream.sender.is_some()
                && !stream.is_sent()
                && stream.phase != Phase::HalfOpen
        })
    }

    /// Returns the allocator of the uplink, hop 0.
    pub fn uplink(&self) -> &PortDriver {
        self.uplink.port()
    }

    /// Returns the allocator of the downlink, with counts of the requests that it or routers have answered.
    pub fn downlink(&self) -> &Downlink {
        &self.downlink
    }

    /// Returns the options of the endpoint.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Returns the options of D3 for a flow with this policy.
    fn config_with(&self, policy: &Policy) -> Config {
        self.options
            .config
            .with(|config| config.host.policy = *policy)
    }

    fn stream(&mut self, id: StreamId) -> Result<&mut Stream, StreamError> {
        let stream = self.streams.get_mut(&id.0);
        stream
            .filter(|stream| !stream.released)
            .map(Box::as_mut)
            .ok_or(StreamError::NoStream)
    }

    /// Returns true if one more stream is allowed, after removing lingering streams, oldest first, if needed.
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

    /// Ends a stream with an error. Readable data is kept until the application releases the stream.
    fn fail(&mut self, now: Time, id: u64, error: StreamError) {
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        if stream.conclude(now) {
            return;
        }
        let is_visible = matches!(stream.phase, Phase::Opening | Phase::Open) && !stream.released;
        if is_visible {
            stream.failure.get_or_insert(error);
            stream.outgoing.clear();
        } else {
            self.remove(id);
        }
    }

    fn remove(&mut self, id: u64) {
        let Some(mut stream) = self.streams.remove(&id) else {
            return;
        };
        self.downlink.withdraw(&mut stream.offer);
        self.timers.remove(&(stream.scheduled, id));
        self.uplink.overdue -= stream.overdue;
        match stream.phase {
            Phase::HalfOpen => self.half_open -= 1,
            Phase::Backlog => self.backlog.retain(|&waiting| waiting != id),
            Phase::Lingering(_) => {
                let is_removed = |oldest: &u64| !self.streams.contains_key(oldest);
                while self.lingering.front().is_some_and(is_removed) {
                    self.lingering.pop_front();
                }
            }
            Phase::Opening | Phase::Open => {}
        }
        if stream.is_incoming
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
