//! Stream: an outgoing flow, an incoming flow, and their buffers.

use super::super::wire::{Header, Kind};
use super::super::{Config, Flags, Grants, Offer, Packet, Receiver, Sender};
use super::interface::Requester;
use super::ring::Ring;
use super::{Options, Statistics, StreamError};
use crate::{Length, Message};
use core::net::SocketAddr;
use duetime_core::{Rate, Span, Time};

/// Number of retransmission timeouts without progress after which a stream times out (eight seconds with the minimum
/// timeout of 10 ms). The peer may still answer requests while datagrams with data do not reach it.
const MAX_STALLS: u8 = 16;
/// Number of pings per idle timeout.
const PINGS: u64 = 4;

#[derive(Debug)]
pub(super) struct Stream {
    pub peer: SocketAddr,
    /// Identifier of the peer; in an opening stream, zero or the cookie of a challenge.
    pub remote: u64,
    pub phase: Phase,
    /// True if the peer opened the stream.
    pub is_incoming: bool,
    /// True if the application has released the stream.
    pub released: bool,
    /// Reason why the stream ended with an error.
    pub failure: Option<StreamError>,
    pub config: Config,
    pub sender: Option<Sender>,
    pub receiver: Receiver,
    /// Origins of the answers to the incoming flow's requests.
    pub grants: Grants,
    /// Offer to the incoming flow before its sender has proven its address.
    pub offer: Offer,
    /// True if the incoming flow had an offer and is not counted at our downlink.
    pub uncounted_in: bool,
    /// True if our replies were sent before the peer had proven its address, and are not counted at our uplink.
    pub uncounted_out: bool,
    /// Bytes from the first unacknowledged one on.
    pub outgoing: Ring,
    pub written: u64,
    announced: u64,
    /// True if the application has finished writing.
    pub finished: bool,
    /// True if the application has aborted its flow.
    aborted: bool,
    /// True if the flow could not meet its deadline from the start. It ends as soon as the peer can be notified.
    is_infeasible: bool,
    exceeded: bool,
    /// True if nothing more is sent: all data was delivered but the peer left before acknowledging the FIN, or there
    /// was nothing to send.
    concluded: bool,
    /// First position beyond the peer's receive window.
    peer_limit: u64,
    delivered_at: Option<Time>,
    /// Bytes from the first unread one on.
    pub incoming: Ring,
    /// Size of the receive buffer in bytes.
    receive_buffer: u64,
    /// First position beyond the window last advertised to the peer.
    advertised_limit: u64,
    opened: Time,
    /// Time of the last datagram from the peer.
    last_heard: Time,
    pinged: Time,
    /// Latest time at which the stream's timers must be checked.
    pub scheduled: Time,
    pub queued: Queued,
    /// Share of the queue at the interface.
    pub overdue: u64,
    /// State last reported to the application.
    view: View,
}

/// Phase of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Our SYN has not been answered.
    Opening,
    /// The peer's SYN was answered, and the peer has not proven its address.
    HalfOpen,
    /// Waiting to be accepted.
    Backlog,
    Open,
    /// Released and sent; kept to answer a repeated FIN.
    Lingering(Time),
}

/// Membership in the endpoint's queues.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Queued {
    pub answers: bool,
    pub data: bool,
    pub event: bool,
}

/// State of a stream that is visible to the application.
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
            is_incoming: phase != Phase::Opening,
            released: false,
            failure: None,
            config: options.config,
            sender: None,
            receiver: Receiver::new(),
            grants: Grants::default(),
            offer: Offer::default(),
            uncounted_in: phase == Phase::HalfOpen,
            uncounted_out: phase == Phase::HalfOpen,
            outgoing: Ring::default(),
            written: 0,
            announced: 0,
            finished: false,
            aborted: false,
            is_infeasible: false,
            exceeded: false,
            concluded: false,
            peer_limit: 0,
            delivered_at: None,
            incoming: Ring::default(),
            receive_buffer: receive_buffer as u64,
            advertised_limit: receive_buffer as u64,
            opened: now,
            last_heard: now,
            pinged: now,
            scheduled: Time::MAX,
            queued: Queued::default(),
            overdue: 0,
            view: View::default(),
        }
    }

    /// Opens the outgoing flow. Returns false if its deadline cannot be met from the start and quenching is enabled.
    pub fn open(&mut self, config: Config, now: Time, uplink: Rate, message: Message) -> bool {
        self.config = config;
        self.announced = message.length.bytes();
        let mut sender = Sender::new(&config, now, uplink, message);
        self.is_infeasible = sender.is_closed();
        if self.is_infeasible {
            // The peer expects this flow and must be notified that there will be none.
            self.config.host.policy.quench = false;
            let message = Message::new(self.announced.max(1), None);
            sender = Sender::new(&self.config, now, uplink, message);
        }
        sender.persist();
        self.sender = Some(sender);
        self.update_limit();
        !self.is_infeasible
    }

    /// Stores as much of `data` as fits into the send buffer.
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
        let accepted = (data.len() as u64).min(free);
        if accepted == 0 && !data.is_empty() {
            return Err(StreamError::Blocked);
        }
        self.outgoing.put(self.written, &data[..accepted as usize]);
        self.written += accepted;
        if let Some(sender) = &mut self.sender
            && self.written > self.announced
        {
            self.exceeded = true;
            sender.extend(&self.config, self.written);
        }
        self.update_limit();
        Ok(accepted as usize)
    }

    /// Ends the outgoing flow after the data written so far.
    pub fn finish(&mut self, options: &Options, now: Time) {
        if self.finished {
            return;
        }
        if self.sender.is_none() {
            self.open_unannounced(options, now);
        }
        self.finished = true;
        if let Some(sender) = &mut self.sender
            && !self.is_infeasible
            && !self.aborted
        {
            sender.end_at(&self.config, self.written);
        }
        self.update_limit();
    }

    /// Aborts the outgoing flow.
    pub fn abort(&mut self, options: &Options, now: Time) {
        if self.sender.is_none() {
            self.open_unannounced(options, now);
        }
        self.aborted = true;
        self.close_if_announced();
    }

    fn open_unannounced(&mut self, options: &Options, now: Time) {
        let message = Message::new(Length::Endless, None);
        self.open(self.config, now, options.uplink, message);
    }

    /// Ends an aborted or infeasible flow after its SYN was sent, so that the peer is notified.
    pub fn close_if_announced(&mut self) {
        if let Some(sender) = &mut self.sender
            && (self.is_infeasible || self.aborted)
            && sender.counters().requests > 0
            && !sender.is_quenched()
        {
            if !self.finished {
                // Ensures that bytes are missing even if all announced ones were sent.
                sender.extend(&self.config, self.written + 1);
            }
            sender.close();
        }
    }

    /// Releases the stream. Written data is still sent.
    pub fn release(&mut self, options: &Options, now: Time) {
        self.released = true;
        if !self.concluded {
            self.finish(options, now);
        }
    }

    /// Reads received bytes in order.
    pub fn read(&mut self, out: &mut [u8]) -> Result<usize, StreamError> {
        let position = self.incoming.start();
        let readable = (self.receiver.delivered() - position).min(out.len() as u64) as usize;
        if readable > 0 {
            let (first, second) = self.incoming.get(position, readable);
            out[..first.len()].copy_from_slice(first);
            out[first.len()..readable].copy_from_slice(second);
            self.incoming.advance(position + readable as u64);
            if self.limit() - self.advertised_limit >= self.receive_buffer / 2 {
                self.receiver.request_acknowledgement();
            }
            return Ok(readable);
        }
        if out.is_empty() || self.receiver.is_finished() {
            return Ok(0);
        }
        Err(if self.receiver.is_abandoned() {
            StreamError::PeerAborted
        } else {
            self.failure.unwrap_or(StreamError::Blocked)
        })
    }

    /// Enlarges the receive buffer.
    pub fn set_receive_buffer(&mut self, bytes: usize) {
        self.receive_buffer = self.receive_buffer.max(bytes as u64);
        self.receiver.request_acknowledgement();
    }

    /// Processes a packet for the sender.
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

    /// Processes a packet for the receiver. Returns false if it has data beyond the receive window.
    pub fn data(&mut self, packet: &Packet, payload: &[u8]) -> bool {
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
        self.receiver.input(packet);
        true
    }

    /// Returns the receiver's next packet, as a datagram of this stream.
    pub fn poll_answer(&mut self, id: u64) -> Option<Header> {
        let packet = self.receiver.poll_transmit(&self.config)?;
        self.advertised_limit = self.limit();
        let window = self.advertised_limit - self.receiver.delivered();
        Some(self.header(id, Kind::Packet, packet, window as u32))
    }

    /// Returns the requester at our uplink, hop 0, for a packet of the receiver.
    pub fn reply_requester(&mut self, packet: &Packet) -> Requester {
        if !self.uncounted_out || packet.request.is_none() {
            Requester::Flow
        } else if self.phase == Phase::HalfOpen || packet.flags.contains(Flags::FIN) {
            Requester::Unproven
        } else {
            self.uncounted_out = false;
            Requester::Proven
        }
    }

    /// Returns the sender's next packet, as a datagram of this stream.
    pub fn poll_data(&mut self, now: Time, id: u64) -> Option<Header> {
        let packet = self.sender.as_mut()?.poll_transmit(&self.config, now)?;
        self.close_if_announced();
        Some(self.header(id, Kind::Packet, packet, 0))
    }

    /// Returns the header of a datagram of this stream.
    pub fn header(&self, id: u64, kind: Kind, packet: Packet, window: u32) -> Header {
        Header {
            kind,
            destination: self.remote,
            source: id,
            window,
            packet,
        }
    }

    /// Records a sign of life from the peer.
    pub fn touch(&mut self, now: Time) {
        self.last_heard = now;
    }

    /// Returns the latest time at which `timeout` must be called.
    pub fn next_timeout(&self, options: &Options) -> Time {
        if self.failure.is_some() || self.is_over() && !self.released {
            return Time::MAX; // nothing is expected from the peer
        }
        let phase_timeout = match self.phase {
            Phase::Opening => self.opened + options.connect_timeout,
            Phase::HalfOpen => self.opened + options.half_open_timeout,
            Phase::Backlog | Phase::Open => self.next_ping(options),
            Phase::Lingering(until) => until,
        };
        let sender = self.sender.as_ref().filter(|_| !self.concluded);
        phase_timeout.min(sender.map_or(Time::MAX, Sender::next_timeout))
    }

    /// Handles the sender's timer. No effect before [`next_timeout`](Self::next_timeout).
    pub fn timeout(&mut self, now: Time) {
        if let Some(sender) = &mut self.sender
            && !self.concluded
        {
            sender.timeout(&self.config, now);
        }
    }

    /// Returns true if the peer has been silent for too long.
    pub fn is_silent(&self, options: &Options, now: Time) -> bool {
        match self.phase {
            Phase::Opening => self.opened + options.connect_timeout <= now,
            Phase::HalfOpen => self.opened + options.half_open_timeout <= now,
            Phase::Backlog | Phase::Open => self.last_heard + options.idle_timeout <= now,
            Phase::Lingering(_) => false,
        }
    }

    /// Returns true if data repeatedly fails to arrive.
    pub fn is_stalled(&self) -> bool {
        let stalled = |sender: &Sender| sender.stalled() >= MAX_STALLS;
        !self.concluded && self.sender.as_ref().is_some_and(stalled)
    }

    /// Returns true if a ping is due, and records it.
    pub fn should_ping(&mut self, options: &Options, now: Time) -> bool {
        let due =
            matches!(self.phase, Phase::Backlog | Phase::Open) && self.next_ping(options) <= now;
        if due {
            self.pinged = now;
        }
        due
    }

    fn next_ping(&self, options: &Options) -> Time {
        self.last_heard.max(self.pinged) + Span::from_ps(options.idle_timeout.as_ps() / PINGS)
    }

    pub fn has_answers(&self) -> bool {
        self.failure.is_none() && self.receiver.can_transmit()
    }

    pub fn has_data(&self) -> bool {
        let can = |sender: &Sender| sender.can_transmit(&self.config);
        self.failure.is_none() && !self.concluded && self.sender.as_ref().is_some_and(can)
    }

    /// Returns true if the outgoing flow has ended in any way.
    pub fn is_sent(&self) -> bool {
        self.concluded || self.sender.as_ref().is_some_and(Sender::is_closed)
    }

    /// Returns true if both flows have ended in any way.
    fn is_over(&self) -> bool {
        self.is_sent() && self.is_received()
    }

    /// Returns true if the incoming flow has ended in any way.
    pub fn is_received(&self) -> bool {
        self.receiver.is_finished() || self.receiver.is_abandoned()
    }

    /// Concludes the stream if only the answer to our FIN is missing, because the peer is gone. Returns true if it did.
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

    /// Concludes a stream on which nothing is sent.
    pub fn conclude_unanswered(&mut self) {
        self.concluded = true;
    }

    /// Returns the reason why nothing can be written, or `None`.
    pub fn sending_error(&self) -> Option<StreamError> {
        let quenched = self.is_infeasible || self.sender.as_ref().is_some_and(Sender::is_quenched);
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

    /// Returns `Ok` if all written data and the end of the flow were delivered.
    pub fn delivery(&self) -> Result<(), StreamError> {
        if self.delivered_at.is_some() {
            return Ok(());
        }
        Err(match self.sending_error() {
            None | Some(StreamError::Finished) => StreamError::Blocked,
            Some(error) => error,
        })
    }

    /// Updates the state visible to the application. Returns true if it changed.
    pub fn update_view(&mut self, options: &Options) -> bool {
        let view = View {
            open: !matches!(self.phase, Phase::Opening | Phase::HalfOpen),
            readable: self.receiver.delivered(),
            ended: self.is_received(),
            // Avoids waking a writer for each acknowledged packet.
            writable: self.unacknowledged() <= options.send_buffer as u64 / 4 * 3,
            sending: self.sending_error(),
            delivered: self.delivery().is_ok(),
            failure: self.failure,
        };
        core::mem::replace(&mut self.view, view) != view && !self.released
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

    /// Returns the payload of a packet of the sender.
    pub fn payload(&self, packet: &Packet) -> (&[u8], &[u8]) {
        if packet.flags.contains(Flags::ACK) {
            return (&[], &[]);
        }
        self.outgoing.get(packet.seq, packet.len as usize)
    }

    fn unacknowledged(&self) -> u64 {
        self.written - self.outgoing.start()
    }

    /// Returns the first position beyond the receive window.
    fn limit(&self) -> u64 {
        self.incoming.start() + self.receive_buffer
    }

    /// Sets the sender's limit to the written data within the peer's receive window, and permits the FIN after all
    /// data.
    fn update_limit(&mut self) {
        let limit = if self.finished && self.peer_limit >= self.written {
            u64::MAX
        } else {
            self.written.min(self.peer_limit)
        };
        if let Some(sender) = &mut self.sender {
            sender.set_receiver_full(self.peer_limit < self.written);
            sender.set_limit(&self.config, limit);
        }
    }
}
