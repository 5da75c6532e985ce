//! What leaves an endpoint, and in which order.

use super::super::datagram::{Header, Kind, encode};
use super::super::{Packet, Sender};
use super::interface::Asker;
use super::stream::{Phase, Waits};
use super::{Endpoint, Event, StreamError, Transmit};
use core::net::SocketAddr;
use duetime_core::Time;

/// Datagrams of one stream that leave before the next stream's.
const TURN: u32 = 16;

impl Endpoint {
    /// The next datagram that may leave now, appended to `out`. A request's round trip starts here, so call it when the
    /// datagram can leave.
    pub fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
        if !self.uplink.is_free(now) {
            return None;
        }
        if let Some((peer, header)) = self.answers.pop_front() {
            return self.send(now, peer, header, (None, Asker::Flow), out);
        }
        while let Some(&own) = self.with_answers.front() {
            let stream = self.streams.get_mut(&own).filter(|s| s.has_answers());
            let Some(stream) = stream else {
                self.with_answers.pop_front();
                self.settle_waits(own, |waits| waits.answers = false);
                continue;
            };
            let peer = stream.peer;
            if let Some(header) = stream.poll_answer(now, own) {
                let asker = stream.answers_as(&header.packet);
                return self.send(now, peer, header, (None, asker), out);
            }
        }
        while let Some(&own) = self.with_data.front() {
            let stream = self.streams.get_mut(&own).filter(|s| s.has_data());
            let Some(stream) = stream else {
                self.with_data.pop_front();
                self.turn = 0;
                self.settle_waits(own, |waits| waits.data = false);
                continue;
            };
            if self.turn >= TURN {
                self.turn = 0;
                self.with_data.rotate_left(1);
                continue;
            }
            self.turn += 1;
            let peer = stream.peer;
            if let Some(header) = stream.poll_data(now, own) {
                let sent = self.send(now, peer, header, (Some(own), Asker::Flow), out);
                self.settle(now, own);
                return sent;
            }
        }
        None
    }

    /// Whether [`poll_transmit`](Self::poll_transmit) would give a datagram once the uplink is free.
    pub fn has_datagrams(&self) -> bool {
        !self.answers.is_empty() || !self.with_answers.is_empty() || !self.with_data.is_empty()
    }

    /// When [`timeout`](Self::timeout) must be called, and [`poll_transmit`](Self::poll_transmit) after it;
    /// [`Time::MAX`]: never.
    pub fn next_timeout(&self) -> Time {
        let timer = self.timers.first().map_or(Time::MAX, |timer| timer.0);
        let link = if self.has_datagrams() {
            self.uplink.next_free()
        } else {
            Time::MAX
        };
        timer
            .min(link)
            .min(self.uplink.next_timeout())
            .min(self.downlink.next_timeout())
    }

    /// Call when [`next_timeout`](Self::next_timeout) has come; harmless otherwise.
    pub fn timeout(&mut self, now: Time) {
        self.uplink.timeout(now);
        self.downlink.timeout(&self.options.config, now);
        while let Some(&(due, own)) = self.timers.first()
            && due <= now
        {
            self.timers.pop_first();
            self.expire(now, own);
            self.settle(now, own);
        }
    }

    fn expire(&mut self, now: Time, own: u64) {
        let Some(stream) = self.streams.get_mut(&own) else {
            return;
        };
        stream.scheduled = Time::MAX;
        if stream.failure.is_some() {
            return;
        }
        if let Phase::Lingering(until) = stream.phase
            && until <= now
        {
            self.remove(own);
            return;
        }
        if stream.is_silent(&self.options, now) || stream.is_stalled() {
            self.fail(now, own, StreamError::TimedOut);
            return;
        }
        if stream.should_ping(&self.options, now) {
            let ping = stream.header(own, Kind::Ping, Packet::default(), 0);
            let peer = stream.peer;
            self.answers.push_back((peer, ping));
        }
        stream.timeout(now);
    }

    /// Brings the queues and timers up to date with a stream that something has happened to.
    pub(super) fn settle(&mut self, now: Time, own: u64) {
        let Some(stream) = self.streams.get_mut(&own) else {
            return;
        };
        stream.give_up_when_told();
        if stream.released && stream.phase == Phase::Open && stream.is_sent() {
            stream.phase = Phase::Lingering(now + self.options.linger);
            stream.outgoing.clear();
            stream.incoming.clear();
            self.lingering.push_back(own);
        }
        if stream.has_answers() && !stream.waits.answers {
            stream.waits.answers = true;
            self.with_answers.push_back(own);
        }
        if stream.has_data() && !stream.waits.data {
            stream.waits.data = true;
            self.with_data.push_back(own);
        }
        let overdue = stream.sender.as_ref().map_or(0, Sender::overdue);
        self.uplink.overdue = self.uplink.overdue - stream.overdue + overdue;
        stream.overdue = overdue;
        let next = stream.next_timeout(&self.options);
        if next < stream.scheduled {
            self.timers.remove(&(stream.scheduled, own));
            self.timers.insert((next, own));
            stream.scheduled = next;
        }
        if stream.has_news(&self.options) && !stream.waits.event {
            stream.waits.event = true;
            self.events.push_back(Event::Changed(super::StreamId(own)));
        }
    }

    fn settle_waits(&mut self, own: u64, change: impl FnOnce(&mut Waits)) {
        if let Some(stream) = self.streams.get_mut(&own) {
            change(&mut stream.waits);
        }
    }

    /// Lets a datagram leave; `own`: the stream whose sender it is of, and as whom it asks the uplink.
    fn send(
        &mut self,
        now: Time,
        peer: SocketAddr,
        mut header: Header,
        (own, asker): (Option<u64>, Asker),
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let packet = &mut header.packet;
        self.uplink
            .ask(now, packet.flags, packet.request.as_mut(), asker);
        let wire_bytes = u64::from(packet.wire_bytes(&self.options.config));
        let payload = own
            .and_then(|own| self.streams.get(&own))
            .map_or((&[][..], &[][..]), |stream| stream.payload(&header.packet));
        let bytes = encode(&header, payload, out);
        debug_assert!(bytes.is_ok(), "what an endpoint sends has a form");
        self.uplink.depart(wire_bytes);
        self.totals.sent += 1;
        bytes.ok().map(|bytes| Transmit { peer, bytes })
    }
}
