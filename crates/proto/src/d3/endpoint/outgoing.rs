//! Sending of datagrams, and their order.

use super::super::wire::{Header, Kind, encode};
use super::super::{Packet, Sender};
use super::interface::Requester;
use super::stream::{Phase, Queued};
use super::{Endpoint, Event, StreamError};
use crate::Transmit;
use core::net::SocketAddr;
use duetime_core::Time;

/// Number of datagrams that a stream may send before the next stream's turn.
const TURN: u32 = 16;

impl Endpoint {
    /// Appends the next datagram that may be sent now to `out`. The round trip of a request starts here, so call this
    /// only when the datagram can be sent.
    pub fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
        if !self.uplink.pace.is_free(now) {
            return None;
        }
        if let Some((peer, header)) = self.answers.pop_front() {
            return self.send(now, peer, header, (None, Requester::Flow), out);
        }
        while let Some(&id) = self.with_answers.front() {
            let stream = self.streams.get_mut(&id).filter(|s| s.has_answers());
            let Some(stream) = stream else {
                self.with_answers.pop_front();
                self.update_queued(id, |queued| queued.answers = false);
                continue;
            };
            let peer = stream.peer;
            if let Some(header) = stream.poll_answer(id) {
                let requester = stream.reply_requester(&header.packet);
                return self.send(now, peer, header, (None, requester), out);
            }
        }
        while let Some(&id) = self.with_data.front() {
            let stream = self.streams.get_mut(&id).filter(|s| s.has_data());
            let Some(stream) = stream else {
                self.with_data.pop_front();
                self.turn = 0;
                self.update_queued(id, |queued| queued.data = false);
                continue;
            };
            if self.turn >= TURN {
                self.turn = 0;
                self.with_data.rotate_left(1);
                continue;
            }
            self.turn += 1;
            let peer = stream.peer;
            if let Some(header) = stream.poll_data(now, id) {
                let sent = self.send(now, peer, header, (Some(id), Requester::Flow), out);
                self.settle(now, id);
                return sent;
            }
        }
        None
    }

    /// Returns true if [`poll_transmit`](Self::poll_transmit) would return a datagram when the uplink is free.
    pub fn has_datagrams(&self) -> bool {
        !self.answers.is_empty() || !self.with_answers.is_empty() || !self.with_data.is_empty()
    }

    /// Returns the time at which to call [`timeout`](Self::timeout), followed by
    /// [`poll_transmit`](Self::poll_transmit), or [`Time::MAX`] for never.
    pub fn next_timeout(&self) -> Time {
        let timer = self.timers.first().map_or(Time::MAX, |timer| timer.0);
        let link = if self.has_datagrams() {
            self.uplink.pace.next_free()
        } else {
            Time::MAX
        };
        timer
            .min(link)
            .min(self.uplink.next_timeout())
            .min(self.downlink.next_timeout())
    }

    /// Handles expired timers. Called at [`next_timeout`](Self::next_timeout); no effect if called early.
    pub fn timeout(&mut self, now: Time) {
        self.uplink.timeout(now);
        self.downlink.timeout(&self.options.config, now);
        while let Some(&(due, id)) = self.timers.first()
            && due <= now
        {
            self.timers.pop_first();
            self.expire(now, id);
            self.settle(now, id);
        }
    }

    fn expire(&mut self, now: Time, id: u64) {
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        stream.scheduled = Time::MAX;
        if stream.failure.is_some() {
            return;
        }
        if let Phase::Lingering(until) = stream.phase
            && until <= now
        {
            self.remove(id);
            return;
        }
        if stream.is_silent(&self.options, now) || stream.is_stalled() {
            self.fail(now, id, StreamError::TimedOut);
            return;
        }
        if stream.should_ping(&self.options, now) {
            let ping = stream.header(id, Kind::Ping, Packet::default(), 0);
            let peer = stream.peer;
            self.answers.push_back((peer, ping));
        }
        stream.timeout(now);
    }

    /// Updates the queues and timers after a change of a stream.
    pub(super) fn settle(&mut self, now: Time, id: u64) {
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        stream.close_if_announced();
        if stream.released && stream.phase == Phase::Open && stream.is_sent() {
            stream.phase = Phase::Lingering(now + self.options.linger);
            stream.outgoing.clear();
            stream.incoming.clear();
            self.lingering.push_back(id);
        }
        if stream.has_answers() && !stream.queued.answers {
            stream.queued.answers = true;
            self.with_answers.push_back(id);
        }
        if stream.has_data() && !stream.queued.data {
            stream.queued.data = true;
            self.with_data.push_back(id);
        }
        let overdue = stream.sender.as_ref().map_or(0, Sender::overdue);
        self.uplink.overdue = self.uplink.overdue - stream.overdue + overdue;
        stream.overdue = overdue;
        let next = stream.next_timeout(&self.options);
        if next < stream.scheduled {
            self.timers.remove(&(stream.scheduled, id));
            self.timers.insert((next, id));
            stream.scheduled = next;
        }
        if stream.update_view(&self.options) && !stream.queued.event {
            stream.queued.event = true;
            self.events.push_back(Event::Changed(super::StreamId(id)));
        }
    }

    fn update_queued(&mut self, id: u64, change: impl FnOnce(&mut Queued)) {
        if let Some(stream) = self.streams.get_mut(&id) {
            change(&mut stream.queued);
        }
    }

    /// Sends a datagram. `id` is the stream if the datagram is from its sender; `requester` is the requester at the
    /// uplink.
    fn send(
        &mut self,
        now: Time,
        peer: SocketAddr,
        mut header: Header,
        (id, requester): (Option<u64>, Requester),
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let packet = &mut header.packet;
        self.uplink
            .answer(now, packet.flags, packet.request.as_mut(), requester);
        let wire_bytes = u64::from(packet.wire_bytes(&self.options.config));
        let payload = id
            .and_then(|id| self.streams.get(&id))
            .map_or((&[][..], &[][..]), |stream| stream.payload(&header.packet));
        let bytes = encode(&header, payload, out);
        debug_assert!(bytes.is_ok(), "all sent datagrams can be encoded");
        self.uplink.depart(wire_bytes);
        self.totals.sent += 1;
        bytes.ok().map(|bytes| Transmit { peer, bytes })
    }
}
