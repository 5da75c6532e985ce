//! One stream: a flow out, a flow in, and their bytes.

use super::super::datagram::{Header, Kind};
use super::super::{Config, Flags, Grants, Offer, Packet, Receiver, Sender};
use super::interface::Asker;
use super::ring::Ring;
use super::{Options, Statistics, StreamError};
use crate::Message;
use core::net::SocketAddr;
use duetime_core::{Rate, Span, Time};

/// A flow of unknown length.
const UNKNOWN_LENGTH: u64 = u64::MAX / 2;
/// After so many retransmission timeouts without progress, eight seconds with the smallest timeout of 10 ms, a stream is
/// given up, although its peer may answer requests: what has bytes does not reach it.
const MOST_STALLS: u8 = 16;
/// So often the peer is asked in an idle timeout whether it is there.
const PINGS: u64 = 4;

#[derive(Debug)]
pub(super) struct Stream {
    pub peer: SocketAddr,
    /// The peer's identifier; in an opening stream zero or the cookie of a challenge.
    pub remote: u64,
    pub phase: Phase,
    /// The peer opened it.
    pub is_theirs: bool,
    /// The application has dropped it.
    pub released: bool,
    /// Why it ended as a whole.
    pub failure: Option<StreamError>,
    pub config: Config,
    pub sender: Option<Sender>,
    pub receiver: Receiver,
    /// Who answered the requests of the flow in.
    pub grants: Grants,
    /// What the flow in was offered before its sender had proven its address.
    pub offer: Offer,
    /// The flow in had an offer, and is not counted at our downlink.
    pub uncounted_in: bool,
    /// Our answers to it left before its sender had proven its address, and are not counted at our uplink.
    pub uncounted_out: bool,
    /// From the first byte that is not acknowledged.
    pub outgoing: Ring,
    pub written: u64,
    announced: u64,
    /// The application writes no more.
    pub finished: bool,
    /// The application gives its flow up.
    aborted: bool,
    /// The flow was hopeless before it began, and ends as soon as the peer can be told.
    hopeless: bool,
    exceeded: bool,
    /// Nothing more is sent: all has arrived, but the peer is gone before it could say so of the FIN; or there was nothing
    /// to send at all.
    concluded: bool,
    /// First position beyond the peer's receive window.
    peer_limit: u64,
    delivered_at: Option<Time>,
    /// From the first byte that the application has not read.
    pub incoming: Ring,
    /// Bytes that the receive buffer holds.
    receive_buffer: u64,
    /// First position that the peer was told not to send.
    told_limit: u64,
    opened: Time,
    /// When the peer was heard last.
    heard: Time,
    pinged: Time,
    /// When the stream is called next at the latest.
    pub scheduled: Time,
    pub waits: Waits,
    /// Share of the interface's queue.
    pub overdue: u64,
    /// What the application was told last.
    seen: View,
}

/// Where a stream stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Our SYN is not answered.
    Opening,
    /// Theirs is, and they have not shown that they know it.
    HalfOpen,
    /// Waits to be accepted.
    Backlog,
    Open,
    /// Released and sent: stays to answer a repeated FIN.
    Lingering(Time),
}

/// In which of the endpoint's queues it is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waits {
    pub answers: bool,
    pub data: bool,
    pub event: bool,
}

/// What an application can see of a stream without being called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct View {
    open: bool,
    readable: u64,
    ended: bool,
    writable: bool,
    sending: Option<StreamError>,
    delivered: bool,
    failure: Option<StreamError>,
}

impl Stream {
    pub fn new(options: &Options, now: Time, peer: SocketAddr, phase: Phase, remote: u64) -> Self {
        let receive_buffer = match phase {
            Phase::Opening => options.receive_buffer,
            _ => options.unaccepted_buffer,
        };
        Self {
            peer,
            remote,
            phase,
            is_theirs: phase != Phase::Opening,
            released: false,
            failure: None,
            config: options.config,
            sender: None,
            receiver: Receiver::new(&options.config),
            grants: Grants::default(),
            offer: Offer::default(),
            uncounted_in: phase == Phase::HalfOpen,
            uncounted_out: phase == Phase::HalfOpen,
            outgoing: Ring::default(),
            written: 0,
            announced: 0,
            finished: false,
            aborted: false,
            hopeless: false,
            exceeded: false,
            concluded: false,
            peer_limit: 0,
            delivered_at: None,
            incoming: Ring::default(),
            receive_buffer: receive_buffer as u64,
            told_limit: receive_buffer as u64,
            opened: now,
            heard: now,
            pinged: now,
            scheduled: Time::MAX,
            waits: Waits::default(),
            overdue: 0,
            seen: View::default(),
        }
    }

    /// Opens the flow out. False if its deadline cannot be met from the start, and quenching is on.
    pub fn open(&mut self, config: Config, now: Time, uplink: Rate, message: Message) -> bool {
        self.config = config;
        self.announced = message.bytes.min(UNKNOWN_LENGTH);
        let mut sender = Sender::new(&config, now, uplink, message);
        self.hopeless = sender.is_closed();
        if self.hopeless {
            // The peer waits for this flow, and is told that there will be none.
            self.config.quench = false;
            let message = Message {
                bytes: message.bytes.max(1),
                deadline: None,
            };
            sender = Sender::new(&self.config, now, uplink, message);
        }
        sender.persist();
        self.sender = Some(sender);
        self.update_limit();
        !self.hopeless
    }

    /// Takes as much of `data` as the send buffer can.
    pub fn write(
        &mut self,
        options: &Options,
        now: Time,
        data: &[u8],
    ) -> Result<usize, StreamError> {
        if let Some(error) = self.sending_error() {
            return Err(error);
        }
        if self.sender.is_none() {
            self.open_unannounced(options, now);
        }
        let free = options.send_buffer as u64 - self.unacknowledged();
        let taken = (data.len() as u64).min(free);
        if taken == 0 && !data.is_empty() {
            return Err(StreamError::Blocked);
        }
        self.outgoing.put(self.written, &data[..taken as usize]);
        self.written += taken;
        if let Some(sender) = &mut self.sender
            && self.written > self.announced
        {
            self.exceeded = true;
            sender.extend(&self.config, self.written);
        }
        self.update_limit();
        Ok(taken as usize)
    }

    /// The application writes no more: the flow ends with what has been written.
    pub fn finish(&mut self, options: &Options, now: Time) {
        if self.finished {
            return;
        }
        if self.sender.is_none() {
            self.open_unannounced(options, now);
        }
        self.finished = true;
        if let Some(sender) = &mut self.sender
            && !self.hopeless
            && !self.aborted
        {
            sender.end_at(&self.config, self.written);
        }
        self.update_limit();
    }

    /// The application gives its flow up.
    pub fn abort(&mut self, options: &Options, now: Time) {
        if self.sender.is_none() {
            self.open_unannounced(options, now);
        }
        self.aborted = true;
        self.give_up_when_told();
    }

    fn open_unannounced(&mut self, options: &Options, now: Time) {
        let message = Message {
            bytes: UNKNOWN_LENGTH,
            deadline: None,
        };
        self.open(self.config, now, options.uplink, message);
    }

    /// Ends the flow out, once its SYN has left: the peer has to learn of it.
    pub fn give_up_when_told(&mut self) {
        if let Some(sender) = &mut self.sender
            && (self.hopeless || self.aborted)
            && sender.counters().requests > 0
            && !sender.is_quenched()
        {
            if !self.finished {
                // Even if all that was announced has left.
                sender.extend(&self.config, self.written + 1);
            }
            sender.close();
        }
    }

    /// The application drops the stream. What it has written is still sent.
    pub fn release(&mut self, options: &Options, now: Time) {
        self.released = true;
        if !self.concluded {
            self.finish(options, now);
        }
    }

    /// Reads what has come in order.
    pub fn read(&mut self, out: &mut [u8]) -> Result<usize, StreamError> {
        let position = self.incoming.start();
        let readable = (self.receiver.delivered() - position).min(out.len() as u64) as usize;
        if readable > 0 {
            let (first, second) = self.incoming.get(position, readable);
            out[..first.len()].copy_from_slice(first);
            out[first.len()..readable].copy_from_slice(second);
            self.incoming.advance(position + readable as u64);
            if self.limit() - self.told_limit >= self.receive_buffer / 2 {
                self.receiver.acknowledge_again();
            }
            return Ok(readable);
        }
        if out.is_empty() || self.receiver.is_finished() {
            return Ok(0);
        }
        Err(if self.receiver.is_given_up() {
            StreamError::GivenUp
        } else {
            self.failure.unwrap_or(StreamError::Blocked)
        })
    }

    /// The receive buffer holds this much from now on.
    pub fn set_receive_buffer(&mut self, bytes: usize) {
        self.receive_buffer = self.receive_buffer.max(bytes as u64);
        self.receiver.acknowledge_again();
    }

    /// A packet for the sender.
    pub fn acknowledgement(&mut self, now: Time, header: &Header) {
        let Some(sender) = &mut self.sender else {
            return;
        };
        if header.packet.seq <= self.written + 1 {
            let limit = header.packet.seq.saturating_add(u64::from(header.window));
            self.peer_limit = self.peer_limit.max(limit);
        }
        sender.input(&self.config, now, &header.packet);
        self.outgoing.advance(sender.acked());
        if sender.is_closed() && !sender.is_quenched() && self.delivered_at.is_none() {
            self.delivered_at = Some(now);
        }
        self.update_limit();
    }

    /// A packet for the receiver; false if it has data beyond the receive window.
    pub fn data(&mut self, now: Time, packet: &Packet, payload: &[u8]) -> bool {
        let end = packet.seq.saturating_add(payload.len() as u64);
        if !payload.is_empty() && end > self.limit() {
            return false;
        }
        let delivered = self.receiver.delivered();
        let known = delivered
            .saturating_sub(packet.seq)
            .min(payload.len() as u64);
        self.incoming
            .put(packet.seq.max(delivered), &payload[known as usize..]);
        self.receiver.input(&self.config, now, packet);
        true
    }

    /// The next packet of the receiver, as a datagram of this stream.
    pub fn poll_answer(&mut self, now: Time, own: u64) -> Option<Header> {
        let packet = self.receiver.poll_transmit(&self.config, now)?;
        self.told_limit = self.limit();
        let window = self.told_limit - self.receiver.delivered();
        Some(self.header(own, Kind::Packet, packet, window as u32))
    }

    /// As whom a packet of the receiver asks our uplink, hop 0 of its way.
    pub fn answers_as(&mut self, packet: &Packet) -> Asker {
        if !self.uncounted_out || packet.request.is_none() {
            Asker::Flow
        } else if self.phase == Phase::HalfOpen || packet.flags.contains(Flags::FIN) {
            Asker::Unproven
        } else {
            self.uncounted_out = false;
            Asker::Proven
        }
    }

    /// The next packet of the sender, as a datagram of this stream.
    pub fn poll_data(&mut self, now: Time, own: u64) -> Option<Header> {
        let packet = self.sender.as_mut()?.poll_transmit(&self.config, now)?;
        self.give_up_when_told();
        Some(self.header(own, Kind::Packet, packet, 0))
    }

    /// A datagram of this stream.
    pub fn header(&self, own: u64, kind: Kind, packet: Packet, window: u32) -> Header {
        Header {
            kind,
            destination: self.remote,
            source: own,
            window,
            packet,
        }
    }

    /// The peer has shown that it is there.
    pub fn hear(&mut self, now: Time) {
        self.heard = now;
    }

    /// When the stream must be called at the latest.
    pub fn next_timeout(&self, options: &Options) -> Time {
        if self.failure.is_some() || self.is_over() && !self.released {
            return Time::MAX; // nothing is awaited from the peer
        }
        let own = match self.phase {
            Phase::Opening => self.opened + options.connect_timeout,
            Phase::HalfOpen => self.opened + options.half_open_timeout,
            Phase::Backlog | Phase::Open => self.next_ping(options),
            Phase::Lingering(until) => until,
        };
        let sender = self.sender.as_ref().filter(|_| !self.concluded);
        own.min(sender.map_or(Time::MAX, Sender::next_timeout))
    }

    /// Call when [`next_timeout`](Self::next_timeout) has come; harmless otherwise.
    pub fn timeout(&mut self, now: Time) {
        if let Some(sender) = &mut self.sender
            && !self.concluded
        {
            sender.timeout(&self.config, now);
        }
    }

    /// Whether the peer has been silent for too long.
    pub fn is_silent(&self, options: &Options, now: Time) -> bool {
        match self.phase {
            Phase::Opening => self.opened + options.connect_timeout <= now,
            Phase::HalfOpen => self.opened + options.half_open_timeout <= now,
            Phase::Backlog | Phase::Open => self.heard + options.idle_timeout <= now,
            Phase::Lingering(_) => false,
        }
    }

    /// Whether what is sent does not arrive, time after time.
    pub fn is_stalled(&self) -> bool {
        let stalled = |sender: &Sender| sender.stalled() >= MOST_STALLS;
        !self.concluded && self.sender.as_ref().is_some_and(stalled)
    }

    /// Whether the peer should be asked now if it is there.
    pub fn should_ping(&mut self, options: &Options, now: Time) -> bool {
        let due =
            matches!(self.phase, Phase::Backlog | Phase::Open) && self.next_ping(options) <= now;
        if due {
            self.pinged = now;
        }
        due
    }

    fn next_ping(&self, options: &Options) -> Time {
        self.heard.max(self.pinged) + Span::from_ps(options.idle_timeout.as_ps() / PINGS)
    }

    pub fn has_answers(&self) -> bool {
        self.failure.is_none() && self.receiver.can_transmit(&self.config)
    }

    pub fn has_data(&self) -> bool {
        let can = |sender: &Sender| sender.can_transmit(&self.config);
        self.failure.is_none() && !self.concluded && self.sender.as_ref().is_some_and(can)
    }

    /// The flow out has ended, in whatever way.
    pub fn is_sent(&self) -> bool {
        self.concluded || self.sender.as_ref().is_some_and(Sender::is_closed)
    }

    /// Both flows have ended, in whatever way.
    fn is_over(&self) -> bool {
        self.is_sent() && self.is_received()
    }

    /// The flow in has ended, in whatever way.
    pub fn is_received(&self) -> bool {
        self.receiver.is_finished() || self.receiver.is_given_up()
    }

    /// The peer is gone. True if nothing is missing but its answer to our FIN.
    pub fn conclude(&mut self, now: Time) -> bool {
        let acked = |sender: &Sender| sender.acked() == self.written;
        let complete =
            self.finished && self.sender.as_ref().is_some_and(acked) && self.is_received();
        if complete && !self.concluded {
            self.concluded = true;
            self.delivered_at.get_or_insert(now);
        }
        complete
    }

    /// Nothing is sent back.
    pub fn conclude_unanswered(&mut self) {
        self.concluded = true;
    }

    /// Why nothing can be written.
    pub fn sending_error(&self) -> Option<StreamError> {
        let quenched = self.hopeless || self.sender.as_ref().is_some_and(Sender::is_quenched);
        if self.aborted {
            Some(StreamError::Aborted)
        } else if quenched {
            Some(StreamError::Quenched)
        } else if self.failure.is_some() {
            self.failure
        } else {
            self.finished.then_some(StreamError::Finished)
        }
    }

    /// Whether all that was written, and the end, has arrived.
    pub fn delivery(&self) -> Result<(), StreamError> {
        if self.delivered_at.is_some() {
            return Ok(());
        }
        Err(match self.sending_error() {
            None | Some(StreamError::Finished) => StreamError::Blocked,
            Some(error) => error,
        })
    }

    /// True if the application can see something that it could not see before.
    pub fn has_news(&mut self, options: &Options) -> bool {
        let view = View {
            open: !matches!(self.phase, Phase::Opening | Phase::HalfOpen),
            readable: self.receiver.delivered(),
            ended: self.is_received(),
            // Whoever waits for space is not woken for each packet.
            writable: self.unacknowledged() <= options.send_buffer as u64 / 4 * 3,
            sending: self.sending_error(),
            delivered: self.delivery().is_ok(),
            failure: self.failure,
        };
        core::mem::replace(&mut self.seen, view) != view && !self.released
    }

    pub fn statistics(&self) -> Statistics {
        let sender = self.sender.as_ref();
        Statistics {
            granted: sender.map_or(Rate::from_bps(0), |sender| {
                sender.rate().to_rate(self.config.exponent())
            }),
            hops: sender.map_or(0, Sender::hops),
            srtt: sender.and_then(Sender::srtt),
            counters: sender.map(Sender::counters).unwrap_or_default(),
            written: self.written,
            acked: sender.map_or(0, Sender::acked),
            received: self.receiver.delivered(),
            grants: self.grants,
            exceeded: self.exceeded,
            deadline: sender.and_then(Sender::deadline),
            delivered_at: self.delivered_at,
        }
    }

    /// The bytes of a packet of the sender.
    pub fn payload(&self, packet: &Packet) -> (&[u8], &[u8]) {
        if packet.flags.contains(Flags::ACK) {
            return (&[], &[]);
        }
        self.outgoing.get(packet.seq, packet.len as usize)
    }

    fn unacknowledged(&self) -> u64 {
        self.written - self.outgoing.start()
    }

    /// First position beyond the receive window.
    fn limit(&self) -> u64 {
        self.incoming.start() + self.receive_buffer
    }

    /// What the flow out may send: what has been written, and what the receive window of the peer allows; its FIN once all is written.
    fn update_limit(&mut self) {
        let limit = if self.finished && self.peer_limit >= self.written {
            u64::MAX
        } else {
            self.written.min(self.peer_limit)
        };
        if let Some(sender) = &mut self.sender {
            sender.set_lack_of_space(self.peer_limit < self.written);
            sender.set_limit(&self.config, limit);
        }
    }
}
