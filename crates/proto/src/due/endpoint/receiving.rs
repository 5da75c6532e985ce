//! Incoming messages.

use super::super::wire::{Announced, Body, DATAGRAM_HEADER_BYTES, Datagram, Layout, Reason};
use super::super::{self as due, MessageId, UNSCHEDULED_PACKETS};
use super::assembly::Assembly;
use super::keys::Keys;
use super::{Endpoint, Event, Incoming, Tag};
use core::net::SocketAddr;
use duetime_core::Time;

/// Number of packets that a source may send of a message before it has proven its address.
const UNPROVEN_PACKETS: u64 = UNSCHEDULED_PACKETS + 1;
/// Length of a reply in bytes.
const REPLY_BYTES: u64 = DATAGRAM_HEADER_BYTES as u64;

/// Incomplete message.
#[derive(Debug)]
pub(super) struct Arriving {
    peer: SocketAddr,
    deadline: Option<Time>,
    query: Option<u64>,
    is_request: bool,
    assembly: Assembly,
    /// Bytes received minus bytes sent in reply, or `None` if the source has proven its address.
    credit: Option<u64>,
}

/// Data packet in a datagram.
pub(super) struct DataPacket<'a> {
    pub datagram: Datagram<'a>,
    /// Length of the datagram.
    pub bytes: usize,
    /// True if the network marked it (CE).
    pub is_marked: bool,
}

impl Endpoint {
    /// Processes a data packet.
    pub(super) fn input_data(&mut self, now: Time, peer: SocketAddr, packet: &DataPacket<'_>) {
        let datagram = &packet.datagram;
        let known = self.sources.find(&(peer, datagram.identity));
        let was_proven = known.is_some_and(|source| self.sources.is_proven(source));
        let is_token = |keys: &Keys| keys.is_token(now, peer, datagram.identity, datagram.token);
        let is_proven = was_proven || is_token(&self.keys);
        if let Some(source) = known {
            if is_proven && !was_proven {
                self.prove(now, source);
            }
            let id = message_id(source, datagram);
            if self.continue_message(now, peer, id, packet) {
                return;
            }
            if self.receiver.is_finished(id) {
                let token = self.keys.token(now, peer, datagram.identity);
                self.answer_to(peer, datagram, token, Body::Done);
                return;
            }
        }
        if let Body::First {
            announcement,
            payload,
        } = datagram.body
        {
            let source = (known, is_proven);
            self.admit(now, peer, packet, (announcement, payload), source);
        } else {
            // This process was restarted, or forgot the message. Its source is asked for packet 0.
            self.totals.strays += 1;
            self.challenge(now, peer, datagram);
        }
    }

    /// Processes a packet of an incomplete message. Returns false, without effect, if the message is not incomplete.
    fn continue_message(
        &mut self,
        now: Time,
        peer: SocketAddr,
        id: MessageId,
        data: &DataPacket<'_>,
    ) -> bool {
        let datagram = &data.datagram;
        let free = self.free_memory();
        let Some(arriving) = self.arriving.get_mut(&id) else {
            return false;
        };
        let layout = arriving.assembly.layout;
        let (packet, payload) = match datagram.body {
            Body::First {
                announcement,
                payload,
            } if announcement.bytes == layout.bytes() => (0, payload),
            Body::Data { packet, payload } => (packet, payload),
            _ => {
                self.totals.malformed += 1;
                return true;
            }
        };
        let Some((start, payload)) = layout.contents(packet, payload) else {
            self.totals.malformed += 1;
            return true;
        };
        if let Some(credit) = &mut arriving.credit {
            *credit += data.bytes as u64;
        }
        let is_unproven = arriving.credit.is_some();
        let granted = self.receiver.expects(id, packet.into());
        if let Some(granted) = granted {
            let assembly = &mut arriving.assembly;
            let before = assembly.memory();
            let is_stored = assembly.put(start, payload, granted, (free, &mut self.spare));
            self.incoming_bytes += assembly.memory() - before;
            if !is_stored {
                self.receiver.forget(&self.options.config, now, id);
                self.discard(now, id);
                self.totals.resets += 1;
                self.answer_to(peer, datagram, 0, Body::Reset(Reason::NoMemory));
                return true;
            }
        }
        let body = payload_body(packet, layout);
        let config = &self.options.config;
        let is_marked = data.is_marked;
        if self
            .receiver
            .input(config, now, id, body, || None, is_marked)
        {
            self.deliver(now, id);
        } else if packet == 0 && granted.is_none() {
            self.confirm(now, peer, id, datagram);
        } else if is_unproven && self.is_affordable(id) {
            self.challenge(now, peer, datagram);
        }
        true
    }

    /// Replies to a repeated announcement of an incomplete message with its current grant, so that the source knows
    /// that this process is alive.
    fn confirm(&mut self, now: Time, peer: SocketAddr, id: MessageId, datagram: &Datagram<'_>) {
        if self.is_affordable(id)
            && let Some(grant) = self.receiver.current_grant(id)
        {
            let identity = datagram.identity;
            let reply = self.reply(now, &Tag { peer, identity, id }, grant);
            self.answer(peer, reply);
        }
    }

    /// Processes packet 0 of a message that is not known. `source` is the number of the known source, and true if it
    /// has proven its address.
    fn admit(
        &mut self,
        now: Time,
        peer: SocketAddr,
        packet: &DataPacket<'_>,
        (announcement, payload): (Announced, &[u8]),
        (known, is_proven): (Option<u32>, bool),
    ) {
        let datagram = &packet.datagram;
        if self.backlog == 0 {
            self.refuse(peer, datagram, Reason::Refused);
            return;
        }
        if announcement.bytes > self.options.max_message_bytes {
            self.refuse(peer, datagram, Reason::TooLong);
            return;
        }
        let Some(layout) = Layout::received(announcement.bytes, payload.len()) else {
            self.totals.malformed += 1;
            return;
        };
        let mut assembly = Assembly::new(layout);
        let free = self.free_memory();
        if self.incoming() >= self.backlog || !assembly.put(0, payload, 1, (free, &mut self.spare))
        {
            self.totals.over_limit += 1; // the source repeats the announcement
            return;
        }
        let counts = |source| self.unproven.contains(message_id(source, datagram));
        if !is_proven && !known.is_some_and(counts) && self.unproven.is_full() {
            self.challenge(now, peer, datagram);
            return;
        }
        let Some(source) = known.or_else(|| self.add_source(now, (peer, datagram.identity))) else {
            self.totals.over_limit += 1;
            return;
        };
        let id = message_id(source, datagram);
        let credit = if is_proven {
            self.sources.prove(source);
            None
        } else {
            self.unproven.insert(now, id);
            Some((DATAGRAM_HEADER_BYTES + payload.len()) as u64)
        };
        self.sources.start(source);
        self.incoming_bytes += assembly.memory();
        let deadline = announcement.left.map(|left| now + left);
        let arriving = Arriving {
            peer,
            deadline,
            query: announcement.query,
            is_request: announcement.is_request,
            assembly,
            credit,
        };
        self.arriving.insert(id, arriving);
        self.receiver.limit_new(if is_proven {
            u64::MAX
        } else {
            UNPROVEN_PACKETS
        });
        let description = due::Announcement {
            bytes: announcement.bytes,
            deadline,
            query: announcement.query,
            is_request: announcement.is_request,
        };
        let identity = datagram.identity;
        let described = || Some((description, Tag { peer, identity, id }));
        let body = payload_body(0, layout);
        let config = &self.options.config;
        let is_marked = packet.is_marked;
        if self
            .receiver
            .input(config, now, id, body, described, is_marked)
        {
            self.deliver(now, id);
        } else if !self.receiver.contains(id) {
            self.discard(now, id);
        }
    }

    /// Adds a source after removing idle ones. Returns `None` if there are too many.
    fn add_source(&mut self, now: Time, process: (SocketAddr, u64)) -> Option<u32> {
        while let Some(idle) = self.sources.expire(now) {
            self.receiver.forget_source(idle);
        }
        self.sources.add(process)
    }

    /// Notes that a source has proven its address, and removes the limits of its messages.
    fn prove(&mut self, now: Time, source: u32) {
        self.sources.prove(source);
        for id in self.unproven.remove_source(source) {
            if let Some(arriving) = self.arriving.get_mut(&id) {
                arriving.credit = None;
            }
            self.receiver.lift_limit(&self.options.config, now, id);
        }
    }

    fn is_unproven(&self, id: MessageId) -> bool {
        let arriving = self.arriving.get(&id);
        arriving.is_some_and(|arriving| arriving.credit.is_some())
    }

    /// Accounts for a reply to an incomplete message. Returns false if its source has not proven its address and would
    /// receive more bytes than it sent.
    pub(super) fn is_affordable(&mut self, id: MessageId) -> bool {
        let Some(arriving) = self.arriving.get_mut(&id) else {
            return true;
        };
        match &mut arriving.credit {
            Some(credit) if *credit < REPLY_BYTES => false,
            Some(credit) => {
                *credit -= REPLY_BYTES;
                true
            }
            None => true,
        }
    }

    fn free_memory(&self) -> u64 {
        let max = self.options.max_incoming_bytes;
        max.saturating_sub(self.incoming_bytes)
    }

    /// Moves a complete message to the application.
    fn deliver(&mut self, now: Time, id: MessageId) {
        while self.receiver.take_delivered().is_some() {}
        let Some(arriving) = self.arriving.remove(&id) else {
            return;
        };
        self.sources.end(now, id.source);
        self.totals.complete += 1;
        let memory = arriving.assembly.memory();
        let message = Incoming {
            peer: arriving.peer,
            bytes: arriving.assembly.into_bytes(),
            deadline: arriving.deadline,
            query: arriving.query,
            is_request: arriving.is_request,
        };
        self.complete.push_back((message, memory));
        self.events.push_back(Event::Incoming);
    }

    /// Frees the memory of an incomplete message.
    fn discard(&mut self, now: Time, id: MessageId) {
        if let Some(arriving) = self.arriving.remove(&id) {
            self.totals.discarded += 1;
            self.incoming_bytes -= arriving.assembly.memory();
            self.sources.end(now, id.source);
        }
    }

    /// Processes an abort.
    pub(super) fn input_abort(&mut self, now: Time, peer: SocketAddr, datagram: &Datagram<'_>) {
        let known = self.sources.find(&(peer, datagram.identity));
        let id = known.map(|source| message_id(source, datagram));
        let id = id.filter(|id| self.arriving.contains_key(id));
        let Some(id) = id else {
            // A finished message, or one that never arrived: nothing is stored for it.
            self.totals.strays += 1;
            let token = self.keys.token(now, peer, datagram.identity);
            self.answer_to(peer, datagram, token, Body::Done);
            return;
        };
        self.discard(now, id);
        let identity = datagram.identity;
        let description = due::Announcement {
            bytes: 0,
            deadline: None,
            query: None,
            is_request: false,
        };
        let described = || Some((description, Tag { peer, identity, id }));
        let config = &self.options.config;
        self.receiver
            .input(config, now, id, due::Body::Abort, described, false);
    }

    /// Discards a message that its source does not know: it was aborted, or the source was restarted.
    pub(super) fn input_unknown(&mut self, now: Time, peer: SocketAddr, datagram: &Datagram<'_>) {
        let known = self.sources.find(&(peer, datagram.identity));
        let id = known.map(|source| message_id(source, datagram));
        let Some(id) = id.filter(|id| self.arriving.contains_key(id)) else {
            self.totals.stale += 1;
            return;
        };
        self.receiver.forget(&self.options.config, now, id);
        self.discard(now, id);
    }

    /// Handles the receiver's timers.
    pub(super) fn expire_incoming(&mut self, now: Time) {
        for tag in self.receiver.timeout(&self.options.config, now) {
            self.discard(now, tag.id);
        }
        while let Some(id) = self.unproven.expire(now) {
            if self.is_unproven(id) {
                self.receiver.forget(&self.options.config, now, id);
                self.discard(now, id);
            }
        }
    }

    /// Requests packet 0 with a token, without storing state.
    fn challenge(&mut self, now: Time, peer: SocketAddr, cause: &Datagram<'_>) {
        self.totals.challenges += 1;
        let token = self.keys.token(now, peer, cause.identity);
        self.answer_to(peer, cause, token, Body::Challenge);
    }

    fn refuse(&mut self, peer: SocketAddr, cause: &Datagram<'_>, reason: Reason) {
        self.totals.resets += 1;
        self.answer_to(peer, cause, 0, Body::Reset(reason));
    }
}

fn message_id(source: u32, datagram: &Datagram<'_>) -> MessageId {
    MessageId {
        source,
        number: datagram.number.into(),
    }
}

/// Returns the packet as the receiver counts it.
fn payload_body(packet: u32, layout: Layout) -> due::Body {
    let number = u64::from(packet);
    due::Body::Payload {
        number,
        is_retransmission: false,
        announced: layout.packets(),
        is_last: number + 1 == layout.packets(),
    }
}
