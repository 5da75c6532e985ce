//! Processing of received datagrams.

use super::super::wire::{DatagramError, HEADER_BYTES, Header, Kind, Reason, decode};
use super::super::{Allocation, Downlink, Flags, Packet};
use super::stream::{Phase, Stream};
use super::{Endpoint, Event, Options, StreamError};
use core::hash::Hasher;
use core::net::SocketAddr;
use duetime_core::Time;

/// Maximum number of queued replies without a stream.
const MAX_ANSWERS: usize = 256;
/// Minimum validity of a challenge, in seconds; the maximum is twice as long.
const COOKIE_SECONDS: u64 = 4;

impl Endpoint {
    /// Processes a datagram from `peer`. No content makes this panic.
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
        debug_assert!(datagram.len() >= HEADER_BYTES, "replies must not be longer");
        if self.streams.contains_key(&header.destination) {
            self.process_stream(now, peer, &mut header, payload);
        } else if header.kind == Kind::Packet && is_opening(&header.packet) {
            self.opening(now, peer, &mut header);
        } else {
            self.stray(peer, &header);
        }
    }

    /// Processes a datagram whose destination is a stream.
    fn process_stream(&mut self, now: Time, peer: SocketAddr, header: &mut Header, payload: &[u8]) {
        let local = header.destination;
        let Some(stream) = self.streams.get_mut(&local) else {
            return;
        };
        if stream.peer != peer {
            self.totals.other_addresses += 1; // streams do not migrate
            return;
        }
        if stream.phase == Phase::Opening {
            self.answer_to_syn(now, local, header);
        } else if stream.remote == header.source {
            self.process_verified(now, local, header, payload);
        } else {
            self.totals.stale += 1;
        }
        self.settle(now, local);
    }

    /// Processes a datagram for an opening stream: the acceptor's SYN, a challenge or a reset.
    fn answer_to_syn(&mut self, now: Time, local: u64, header: &mut Header) {
        let Some(stream) = self.streams.get_mut(&local) else {
            return;
        };
        let answer = Flags::SYN | Flags::ACK;
        match header.kind {
            Kind::Packet if header.packet.flags.contains(answer) && header.source != 0 => {
                stream.remote = header.source;
                stream.phase = Phase::Open;
                stream.touch(now);
                arrive(&self.options, &mut self.downlink, stream, now, header);
                stream.acknowledgement(now, header);
            }
            Kind::Challenge if header.source != 0 && stream.remote == 0 => {
                stream.remote = header.source;
                if let Some(sender) = &mut stream.sender {
                    sender.repeat_syn(&stream.config);
                }
            }
            // The reset has the identifiers of our SYN, which no other host knows.
            Kind::Reset if header.source == stream.remote => match failure(header) {
                Some(error) => self.fail(now, local, error),
                None => self.totals.stale += 1,
            },
            _ => self.totals.stale += 1,
        }
    }

    /// Processes a datagram with both identifiers of a stream.
    fn process_verified(&mut self, now: Time, local: u64, header: &mut Header, payload: &[u8]) {
        let Some(stream) = self.streams.get_mut(&local) else {
            return;
        };
        if header.kind == Kind::Reset {
            match failure(header) {
                Some(error) => self.fail(now, local, error),
                None => self.totals.stale += 1,
            }
            return;
        }
        stream.touch(now);
        let peer = stream.peer;
        if stream.phase == Phase::HalfOpen {
            // Only the receiver of our SYN knows our identifier.
            stream.phase = Phase::Backlog;
            self.downlink.withdraw(&mut stream.offer);
            self.half_open -= 1;
            self.backlog.push_back(local);
            self.events.push_back(Event::Incoming);
        }
        arrive(&self.options, &mut self.downlink, stream, now, header);
        let packet = &header.packet;
        match header.kind {
            Kind::Ping => {
                let answer = stream.header(local, Kind::Pong, Packet::default(), 0);
                self.answer(peer, answer);
            }
            Kind::Packet if packet.flags.contains(Flags::ACK) => {
                stream.acknowledgement(now, header);
            }
            Kind::Packet => {
                if stream.released && !payload.is_empty() && !stream.is_received() {
                    self.reset(peer, header, Reason::Abandoned);
                } else if !stream.data(packet, payload) {
                    self.totals.out_of_window += 1;
                }
            }
            Kind::Pong | Kind::Reset | Kind::Challenge => {}
        }
    }

    /// Processes a SYN without a stream: the first of a new stream, or one that was repeated before its answer arrived.
    fn opening(&mut self, now: Time, peer: SocketAddr, header: &mut Header) {
        if header.source == 0 || header.packet.len > 0 {
            self.totals.strays += 1;
            return;
        }
        if let Some(&local) = self.openings.get(&(peer, header.source)) {
            if let Some(stream) = self.streams.get_mut(&local)
                && stream.phase == Phase::HalfOpen
            {
                arrive(&self.options, &mut self.downlink, stream, now, header);
                stream.data(&header.packet, &[]);
                self.settle(now, local);
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
        let peer_streams = self.peers.get(&peer.ip()).copied().unwrap_or(0);
        if self.half_open + self.backlog.len() >= self.max_backlog
            || peer_streams >= self.options.max_streams_per_peer
            || !self.admits_stream()
        {
            self.totals.over_limit += 1; // the peer will repeat the SYN
            return;
        }
        let max_half_open = self.options.max_half_open.min(self.max_backlog / 2);
        if !proven && self.half_open >= max_half_open {
            self.challenge(now, peer, header);
            return;
        }
        let local = self.draw_identifier();
        let phase = if proven {
            self.backlog.push_back(local);
            self.events.push_back(Event::Incoming);
            Phase::Backlog
        } else {
            self.half_open += 1;
            Phase::HalfOpen
        };
        let mut stream = Stream::new(&self.options, now, peer, phase, header.source);
        arrive(&self.options, &mut self.downlink, &mut stream, now, header);
        stream.data(&header.packet, &[]);
        self.streams.insert(local, Box::new(stream));
        self.openings.insert((peer, header.source), local);
        self.peers.insert(peer.ip(), peer_streams + 1);
        self.settle(now, local);
    }

    /// Sends a challenge, by which the sender of the SYN must prove its address.
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

    /// Returns the cookie of a challenge. It is recomputed to check a reply, so nothing is stored.
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

    /// Processes a datagram without a stream. Resets are never answered, so that two endpoints cannot reset each other
    /// for ever.
    fn stray(&mut self, peer: SocketAddr, header: &Header) {
        self.totals.strays += 1;
        if header.kind != Kind::Reset {
            self.reset(peer, header, Reason::Unknown);
        }
    }

    /// Processes a datagram of another version. Only a first SYN is answered, and only the answer to a first SYN is
    /// trusted, because nothing but the identifiers is known of either.
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

    /// Sends a reset to the sender of `header`.
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

    /// Queues a reply without a stream. Each received datagram causes at most one, which is never longer.
    fn answer(&mut self, peer: SocketAddr, header: Header) {
        if self.answers.len() < MAX_ANSWERS {
            self.answers.push_back((peer, header));
        } else {
            self.totals.unanswered += 1;
        }
    }
}

/// Passes a datagram of a stream to the downlink, which answers its request unless routers have done so.
fn arrive(
    options: &Options,
    downlink: &mut Downlink,
    stream: &mut Stream,
    now: Time,
    header: &mut Header,
) {
    let config = &options.config;
    if config.router.allocation == Allocation::Routers {
        return;
    }
    let packet = &mut header.packet;
    let bytes = u64::from(packet.wire_bytes(config));
    let (flags, mut request) = (packet.flags, packet.request.as_mut());
    let answer = if stream.phase == Phase::HalfOpen {
        downlink.offer(config, bytes, flags, request, &mut stream.offer)
    } else if stream.uncounted_in && !flags.contains(Flags::ACK) && request.is_some() {
        if flags.contains(Flags::FIN) {
            // The flow is not counted, so it has nothing to return.
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

/// Returns true if the packet is a sender's SYN.
fn is_opening(packet: &Packet) -> bool {
    packet.flags.contains(Flags::SYN) && !packet.flags.contains_any(Flags::ACK | Flags::FIN)
}

/// Returns the error that a reset causes. A reset that names a version, in our own version, answers a damaged SYN and
/// is ignored.
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
