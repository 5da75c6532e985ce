//! What a datagram does to an endpoint.

use super::super::datagram::{DatagramError, HEADER_BYTES, Header, Kind, Reason, decode};
use super::super::{Allocation, Downlink, Flags, Packet};
use super::stream::{Phase, Stream};
use super::{Endpoint, Event, Options, StreamError};
use core::hash::Hasher;
use core::net::SocketAddr;
use duetime_core::Time;

/// Answers without a stream that may wait to leave.
const MAX_ANSWERS: usize = 256;
/// So long a challenge can be answered at least, and twice as long at most, in seconds.
const COOKIE_SECONDS: u64 = 4;

impl Endpoint {
    /// A datagram that came from `peer`. Nothing that it may contain makes this panic.
    pub fn input(&mut self, now: Time, peer: SocketAddr, datagram: &[u8]) {
        self.totals.received += 1;
        let (mut header, payload) = match decode(datagram) {
            Ok(read) => read,
            Err(DatagramError::Header(_)) => {
                self.totals.malformed += 1;
                return;
            }
            Err(DatagramError::Checksum) => {
                self.totals.damaged += 1;
                return;
            }
            Err(DatagramError::Version {
                theirs,
                destination,
                source,
            }) => {
                self.totals.other_versions += 1;
                self.other_version(now, peer, theirs, (destination, source));
                return;
            }
        };
        debug_assert!(datagram.len() >= HEADER_BYTES, "no answer is longer");
        if self.streams.contains_key(&header.destination) {
            self.known(now, peer, &mut header, payload);
        } else if header.kind == Kind::Packet && is_opening(&header.packet) {
            self.opening(now, peer, &mut header);
        } else {
            self.stray(peer, &header);
        }
    }

    /// A datagram for a stream.
    fn known(&mut self, now: Time, peer: SocketAddr, header: &mut Header, payload: &[u8]) {
        let own = header.destination;
        let Some(stream) = self.streams.get_mut(&own) else {
            return;
        };
        if stream.peer != peer {
            self.totals.other_addresses += 1; // a stream does not move
            return;
        }
        if stream.phase == Phase::Opening {
            self.answer_to_syn(now, own, header);
        } else if stream.remote == header.source {
            self.of_the_peer(now, own, header, payload);
        } else {
            self.totals.stale += 1;
        }
        self.settle(now, own);
    }

    /// Of all that may come to an opening stream: the acceptor's SYN, a challenge or a reset.
    fn answer_to_syn(&mut self, now: Time, own: u64, header: &mut Header) {
        let Some(stream) = self.streams.get_mut(&own) else {
            return;
        };
        let answer = Flags::SYN | Flags::ACK;
        match header.kind {
            Kind::Packet if header.packet.flags.contains(answer) && header.source != 0 => {
                stream.remote = header.source;
                stream.phase = Phase::Open;
                stream.hear(now);
                arrive(&self.options, &mut self.downlink, stream, now, header);
                stream.acknowledgement(now, header);
            }
            Kind::Challenge if header.source != 0 && stream.remote == 0 => {
                stream.remote = header.source;
                if let Some(sender) = &mut stream.sender {
                    sender.open_again(&stream.config);
                }
            }
            // It shows the identifiers of our SYN: nobody else knows them.
            Kind::Reset if header.source == stream.remote => match failure(header) {
                Some(error) => self.fail(now, own, error),
                None => self.totals.stale += 1,
            },
            _ => self.totals.stale += 1,
        }
    }

    /// A datagram that shows both identifiers of a stream.
    fn of_the_peer(&mut self, now: Time, own: u64, header: &mut Header, payload: &[u8]) {
        let Some(stream) = self.streams.get_mut(&own) else {
            return;
        };
        if header.kind == Kind::Reset {
            match failure(header) {
                Some(error) => self.fail(now, own, error),
                None => self.totals.stale += 1,
            }
            return;
        }
        stream.hear(now);
        let peer = stream.peer;
        if stream.phase == Phase::HalfOpen {
            // Only who received our SYN knows our identifier.
            stream.phase = Phase::Backlog;
            self.downlink.withdraw(&mut stream.offer);
            self.half_open -= 1;
            self.backlog.push_back(own);
            self.events.push_back(Event::Incoming);
        }
        arrive(&self.options, &mut self.downlink, stream, now, header);
        let packet = &header.packet;
        match header.kind {
            Kind::Ping => {
                let answer = stream.header(own, Kind::Pong, Packet::default(), 0);
                self.answer(peer, answer);
            }
            Kind::Packet if packet.flags.contains(Flags::ACK) => {
                stream.acknowledgement(now, header);
            }
            Kind::Packet => {
                if stream.released && !payload.is_empty() && !stream.is_received() {
                    self.reset(peer, header, Reason::Abandoned);
                } else if !stream.data(now, packet, payload) {
                    self.totals.out_of_window += 1;
                }
            }
            Kind::Pong | Kind::Reset | Kind::Challenge => {}
        }
    }

    /// A SYN for no stream: the first of a new one, or one that was sent again before its answer came.
    fn opening(&mut self, now: Time, peer: SocketAddr, header: &mut Header) {
        if header.source == 0 || header.packet.len > 0 {
            self.totals.strays += 1;
            return;
        }
        if let Some(&own) = self.openings.get(&(peer, header.source)) {
            if let Some(stream) = self.streams.get_mut(&own)
                && stream.phase == Phase::HalfOpen
            {
                arrive(&self.options, &mut self.downlink, stream, now, header);
                stream.data(now, &header.packet, &[]);
                self.settle(now, own);
            } else {
                self.totals.stale += 1;
            }
            return;
        }
        let proven = header.destination != 0;
        if proven && !self.is_cookie(now, peer, header) {
            self.stray(peer, header);
            return;
        }
        if self.max_backlog == 0 {
            self.reset(peer, header, Reason::Refused);
            return;
        }
        let of_peer = self.peers.get(&peer.ip()).copied().unwrap_or(0);
        if self.half_open + self.backlog.len() >= self.max_backlog
            || of_peer >= self.options.max_streams_per_peer
            || !self.admits_stream()
        {
            self.totals.over_limit += 1; // it will ask again
            return;
        }
        let max_half_open = self.options.max_half_open.min(self.max_backlog / 2);
        if !proven && self.half_open >= max_half_open {
            self.challenge(now, peer, header);
            return;
        }
        let own = self.draw_identifier();
        let phase = if proven {
            self.backlog.push_back(own);
            self.events.push_back(Event::Incoming);
            Phase::Backlog
        } else {
            self.half_open += 1;
            Phase::HalfOpen
        };
        let mut stream = Stream::new(&self.options, now, peer, phase, header.source);
        arrive(&self.options, &mut self.downlink, &mut stream, now, header);
        stream.data(now, &header.packet, &[]);
        self.streams.insert(own, Box::new(stream));
        self.openings.insert((peer, header.source), own);
        self.peers.insert(peer.ip(), of_peer + 1);
        self.settle(now, own);
    }

    /// Asks for the proof that the SYN's sender is where it says.
    fn challenge(&mut self, now: Time, peer: SocketAddr, header: &Header) {
        self.totals.challenges += 1;
        let answer = Header {
            kind: Kind::Challenge,
            destination: header.source,
            source: self.cookie(period(now), peer, header.source),
            window: 0,
            packet: Packet::default(),
        };
        self.answer(peer, answer);
    }

    /// What a challenge asks to be shown; nothing is remembered of it.
    fn cookie(&self, period: u64, peer: SocketAddr, source: u64) -> u64 {
        let mut hasher = self.hasher();
        hasher.write_u8(b'c');
        match peer {
            SocketAddr::V4(peer) => hasher.write(&peer.ip().octets()),
            SocketAddr::V6(peer) => hasher.write(&peer.ip().octets()),
        }
        hasher.write(&peer.port().to_be_bytes());
        hasher.write(&source.to_be_bytes());
        hasher.write(&period.to_be_bytes());
        hasher.finish().max(1)
    }

    fn is_cookie(&self, now: Time, peer: SocketAddr, header: &Header) -> bool {
        let newest = period(now);
        [newest, newest.saturating_sub(1)]
            .iter()
            .any(|&period| self.cookie(period, peer, header.source) == header.destination)
    }

    /// A datagram for no stream. A reset is never answered, so that two endpoints do not reset each other for ever.
    fn stray(&mut self, peer: SocketAddr, header: &Header) {
        self.totals.strays += 1;
        if header.kind != Kind::Reset {
            self.reset(peer, header, Reason::Unknown);
        }
    }

    /// A datagram of another version. Only a first SYN is answered, and only the answer to one is believed: the
    /// identifiers are all that is known of either.
    fn other_version(
        &mut self,
        now: Time,
        peer: SocketAddr,
        theirs: u8,
        (destination, source): (u64, u64),
    ) {
        if destination == 0 && source != 0 {
            let header = Header {
                kind: Kind::Packet,
                destination,
                source,
                window: 0,
                packet: Packet::default(),
            };
            self.reset(peer, &header, Reason::Version);
        } else if let Some(stream) = self.streams.get(&destination)
            && (stream.phase, stream.peer, source) == (Phase::Opening, peer, 0)
        {
            self.fail(now, destination, StreamError::Version(theirs));
            self.settle(now, destination);
        }
    }

    /// Tells the sender of `header` that nobody takes it.
    fn reset(&mut self, peer: SocketAddr, header: &Header, reason: Reason) {
        let answer = Header {
            kind: Kind::Reset,
            destination: header.source,
            source: header.destination,
            window: 0,
            packet: Packet {
                seq: reason.code(),
                ..Packet::default()
            },
        };
        self.totals.resets += 1;
        self.answer(peer, answer);
    }

    /// Sends a datagram that belongs to no queue: one for one that came, and never a longer one.
    fn answer(&mut self, peer: SocketAddr, header: Header) {
        if self.answers.len() < MAX_ANSWERS {
            self.answers.push_back((peer, header));
        } else {
            self.totals.unanswered += 1;
        }
    }
}

/// A datagram of a stream has come over the downlink: its request is answered, unless routers have done so.
fn arrive(
    options: &Options,
    downlink: &mut Downlink,
    stream: &mut Stream,
    now: Time,
    header: &mut Header,
) {
    let config = &options.config;
    if config.allocation == Allocation::Routers {
        return;
    }
    let packet = &mut header.packet;
    let bytes = u64::from(packet.wire_bytes(config));
    let (flags, mut request) = (packet.flags, packet.request.as_mut());
    let answer = if stream.phase == Phase::HalfOpen {
        downlink.offer(config, bytes, flags, request, &mut stream.offer)
    } else if stream.uncounted_in && !flags.contains(Flags::ACK) && request.is_some() {
        if flags.contains(Flags::FIN) {
            // There is nothing to return.
            request = None;
        } else {
            stream.uncounted_in = false;
        }
        downlink.admit(config, now, bytes, flags, request)
    } else {
        downlink.arrive(config, now, bytes, flags, request)
    };
    if !packet.flags.contains(Flags::ACK) {
        stream.grants.count(answer);
    }
}

/// A sender's SYN.
fn is_opening(packet: &Packet) -> bool {
    packet.flags.contains(Flags::SYN) && !packet.flags.contains_any(Flags::ACK | Flags::FIN)
}

/// What a reset makes of a stream. One that names a version, in our own, answers a SYN that was damaged.
fn failure(reset: &Header) -> Option<StreamError> {
    match Reason::from_code(reset.packet.seq) {
        Reason::Refused => Some(StreamError::Refused),
        Reason::Unknown | Reason::Abandoned => Some(StreamError::Reset),
        Reason::Version => None,
    }
}

fn period(now: Time) -> u64 {
    now.as_ps() / (COOKIE_SECONDS * 1_000_000_000_000)
}
