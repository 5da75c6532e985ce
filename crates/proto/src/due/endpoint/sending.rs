//! Outgoing messages.

use super::super::wire::{self, Announced, Body, Datagram, Layout, MAX_TIME_LEFT, Reason};
use super::super::{self as due, Control};
use super::{Endpoint, Event, Failure, Outcome, Outgoing, SendError, Transmit};
use core::net::SocketAddr;
use duetime_core::Time;
use std::sync::Arc;

/// Packets without a reply after which a message fails at [`reply_timeout`](super::Options::reply_timeout).
const MIN_UNANSWERED: u32 = 3;

/// Outgoing message.
#[derive(Debug)]
pub(super) struct Message {
    peer: SocketAddr,
    identity: u64,
    bytes: Arc<Vec<u8>>,
    layout: Layout,
    deadline: Option<Time>,
    query: Option<u64>,
    is_request: bool,
    /// Packets below may be sent.
    granted: u32,
    is_background: bool,
    /// True if the receiver has replied, other than with a challenge.
    is_known: bool,
    /// Token of the last packet 0.
    token_sent: u64,
    /// Time of the first packet since the last reply, and the number of packets since then.
    unanswered: Option<(Time, u32)>,
    /// True if a check of the replies is scheduled.
    is_checked: bool,
    is_aborted: bool,
    /// True if the application does not take the outcome.
    is_forgotten: bool,
}

impl Endpoint {
    /// Returns `Ok` if [`send`](Self::send) accepts a message of `bytes` bytes now. After [`SendError::Blocked`],
    /// [`Event::Writable`] is emitted when the call can be repeated.
    pub fn may_send(&mut self, bytes: u64) -> Result<(), SendError> {
        let max = self.options.max_message_bytes;
        if bytes > max {
            return Err(SendError::TooLong { max });
        }
        // Datagrams carry 32 bits of a message's number.
        let oldest = self.outgoing.keys().next().copied();
        let is_ambiguous =
            oldest.is_some_and(|oldest| self.next_number - oldest > u64::from(u32::MAX));
        if is_ambiguous
            || self.outgoing.len() + self.outcomes.len() >= self.options.max_outgoing
            || self.outgoing_bytes + bytes > self.options.max_outgoing_bytes
        {
            self.is_blocked = true;
            return Err(SendError::Blocked);
        }
        Ok(())
    }

    /// Submits a message and returns its number. The message is dropped if the call fails;
    /// [`may_send`](Self::may_send) checks before.
    pub fn send(&mut self, now: Time, message: Outgoing) -> Result<u64, SendError> {
        let bytes = message.bytes.len() as u64;
        self.may_send(bytes)?;
        let config = &self.options.config;
        let layout = Layout::new(bytes, config.mtu, message.peer).ok_or(SendError::TooLong {
            max: u64::from(u32::MAX) * u64::from(wire::MIN_AREA),
        })?;
        let number = self.next_number;
        self.next_number += 1;
        self.outgoing_bytes += bytes;
        let deadline = message.deadline.map(|left| now + left.min(MAX_TIME_LEFT));
        let announcement = due::Announcement {
            // The sender counts packets, and the endpoint divides the message into packets.
            bytes: layout.packets() * config.payload(),
            deadline,
            query: message.query,
            is_request: message.is_request,
        };
        self.sender.send(config, now, number, announcement, ());
        let outgoing = Message {
            peer: message.peer,
            identity: self.keys.identity(message.peer),
            bytes: message.bytes,
            layout,
            deadline,
            query: message.query,
            is_request: message.is_request,
            granted: 1,
            is_background: false,
            is_known: false,
            token_sent: 0,
            unanswered: None,
            is_checked: false,
            is_aborted: false,
            is_forgotten: false,
        };
        self.outgoing.insert(number, outgoing);
        Ok(number)
    }

    /// Removes and returns the outcome of a message, or returns `None` while it is under way or if the number is
    /// unknown.
    pub fn outcome(&mut self, number: u64) -> Option<Outcome> {
        let outcome = self.outcomes.remove(&number);
        self.notify_writable();
        outcome
    }

    /// Discards the outcome of a message, now or when it ends. The message is still sent.
    pub fn forget(&mut self, number: u64) {
        if let Some(message) = self.outgoing.get_mut(&number) {
            message.is_forgotten = true;
        }
        self.outcomes.remove(&number);
        self.notify_writable();
    }

    /// Aborts a message: unsent bytes are discarded, and the receiver is notified. The outcome is
    /// [`Outcome::Aborted`], even if the message arrives completely. No effect on an ended message.
    pub fn abort(&mut self, number: u64) {
        let Some(message) = self.outgoing.get_mut(&number) else {
            return;
        };
        if message.is_aborted {
            return;
        }
        message.is_aborted = true;
        self.outgoing_bytes -= message.bytes.len() as u64;
        message.bytes = Arc::default();
        if !message.is_forgotten {
            self.outcomes.insert(number, Outcome::Aborted);
            self.events.push_back(Event::Ended(number));
        }
        if !self.sender.abort_number(number) {
            self.outgoing.remove(&number);
        }
        self.notify_writable();
    }

    /// Fails the messages to `peer` with [`Failure::TooLong`], except those whose datagrams fit into packets of 576
    /// bytes. Called when a datagram to `peer` is too long for the interface.
    pub fn too_long(&mut self, peer: SocketAddr) {
        let max = u64::from(wire::MIN_MTU - wire::ip_udp_bytes(peer));
        self.fail_all(Failure::TooLong, |message| {
            message.peer == peer && message.layout.longest() > max
        });
    }

    /// Fails the messages that wait for a first reply of `peer` with [`Failure::Unreachable`]. Called when the network
    /// reports that the peer's port is closed. Other messages continue, since anyone can forge a report.
    pub fn port_closed(&mut self, peer: SocketAddr) {
        self.fail_all(Failure::Unreachable, |message| {
            message.peer == peer && !message.is_known
        });
    }

    fn fail_all(&mut self, failure: Failure, is_affected: impl Fn(&Message) -> bool) {
        let messages = self.outgoing.iter();
        let affected = messages.filter(|(_, message)| is_affected(message));
        let numbers: Vec<u64> = affected.map(|(&number, _)| number).collect();
        for number in numbers {
            self.sender.forget(number);
            self.end(number, Outcome::Failed(failure));
        }
    }

    /// Removes a message and reports its outcome.
    fn end(&mut self, number: u64, outcome: Outcome) {
        let Some(message) = self.outgoing.remove(&number) else {
            return;
        };
        self.outgoing_bytes -= message.bytes.len() as u64;
        if !message.is_aborted {
            self.totals.delivered += u64::from(outcome == Outcome::Delivered);
            if !message.is_forgotten {
                self.outcomes.insert(number, outcome);
                self.events.push_back(Event::Ended(number));
            }
        }
        self.notify_writable();
    }

    /// Emits the event for a blocked call to `send` when a quarter of the memory is free.
    fn notify_writable(&mut self) {
        let max_bytes = self.options.max_outgoing_bytes;
        let messages = self.outgoing.len() + self.outcomes.len();
        if self.is_blocked
            && self.outgoing_bytes <= max_bytes - max_bytes / 4
            && messages < self.options.max_outgoing
        {
            self.is_blocked = false;
            self.events.push_back(Event::Writable);
        }
    }

    /// Processes a datagram from the receiver of a message.
    pub(super) fn input_reply(&mut self, now: Time, peer: SocketAddr, datagram: &Datagram<'_>) {
        let Some(number) = self.find(peer, datagram) else {
            self.totals.stale += 1;
            if matches!(datagram.body, Body::Grant { .. } | Body::Resend { .. }) {
                self.totals.resets += 1;
                self.answer_to(peer, datagram, 0, Body::Reset(Reason::Unknown));
            }
            return;
        };
        let Some(message) = self.outgoing.get_mut(&number) else {
            return;
        };
        if datagram.token != 0 {
            self.tokens.insert(now, peer, datagram.token);
        }
        let control = match datagram.body {
            Body::Challenge => {
                if message.token_sent != datagram.token {
                    message.token_sent = datagram.token;
                    self.sender.repeat(number);
                }
                return;
            }
            Body::Reset(_) => {
                self.sender.forget(number);
                self.end(number, Outcome::Failed(Failure::Refused));
                return;
            }
            Body::Resend { from, to } => Control::Resend {
                from: from.into(),
                to: to.into(),
            },
            Body::Grant {
                up_to,
                is_background,
            } => {
                let is_new = !message.is_known
                    || up_to > message.granted
                    || is_background != message.is_background;
                message.granted = message.granted.max(up_to);
                message.is_background = is_background;
                message.unanswered = None;
                message.is_known = true;
                if !is_new {
                    // Only confirms that the receiver knows the message: the announcement need not be repeated sooner.
                    return;
                }
                Control::Grant {
                    up_to: up_to.into(),
                    arrived: 0,
                    class: 0,
                    is_background,
                }
            }
            _ => Control::Done,
        };
        message.unanswered = None;
        message.is_known = true;
        self.sender.input(now, number, control);
        if control == Control::Done {
            self.end(number, Outcome::Delivered);
        }
    }

    /// Returns the number of the outgoing message that a reply of `peer` names.
    fn find(&self, peer: SocketAddr, datagram: &Datagram<'_>) -> Option<u64> {
        const RANGE: u64 = 1 << u32::BITS;
        let number = self.next_number / RANGE * RANGE + u64::from(datagram.number);
        let number = if number < self.next_number {
            number
        } else {
            number.checked_sub(RANGE)?
        };
        let message = self.outgoing.get(&number)?;
        (message.peer == peer && message.identity == datagram.identity).then_some(number)
    }

    /// Appends the next data packet or abort to `out`.
    pub(super) fn poll_data(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
        while let Some((data, _, ())) = self.sender.poll_transmit() {
            let number = data.message;
            let Some(message) = self.outgoing.get_mut(&number) else {
                self.sender.forget(number);
                continue;
            };
            let peer = message.peer;
            let token = self.tokens.get(peer);
            let Some(body) = message.body(now, data.body) else {
                continue;
            };
            let datagram = Datagram {
                identity: message.identity,
                number: number as u32,
                token,
                body,
            };
            let padding = match body {
                Body::Data { packet, .. } => message.layout.padding(packet),
                _ => 0,
            };
            let bytes = wire::encode_padded(&datagram, padding, out);
            if matches!(body, Body::First { .. }) {
                message.token_sent = token;
            }
            let (since, packets) = message.unanswered.unwrap_or((now, 0));
            message.unanswered = Some((since, packets.saturating_add(1)));
            if !message.is_checked {
                message.is_checked = true;
                let timeout = self.options.timeout(message.is_known);
                self.checks.insert((since + timeout, number));
            }
            self.depart(peer, bytes);
            return Some(Transmit { peer, bytes });
        }
        None
    }

    /// Fails the messages whose receivers do not reply.
    pub(super) fn check_replies(&mut self, now: Time) {
        while let Some(&(at, number)) = self.checks.first()
            && at <= now
        {
            self.checks.pop_first();
            let Some(message) = self.outgoing.get_mut(&number) else {
                continue;
            };
            message.is_checked = false;
            let Some((since, packets)) = message.unanswered else {
                continue; // the next packet schedules the next check
            };
            // Packets may wait for the link, but receivers do not remember finished messages for ever.
            let is_patient = message.is_known || packets < MIN_UNANSWERED;
            let fails_at = since + self.options.timeout(is_patient);
            if fails_at > now {
                message.is_checked = true;
                self.checks.insert((fails_at, number));
            } else {
                self.sender.forget(number);
                self.end(number, Outcome::Failed(Failure::TimedOut));
            }
        }
    }
}

impl Message {
    /// Returns the contents of a packet, or `None` if the message has no such packet.
    fn body(&self, now: Time, body: due::Body) -> Option<Body<'_>> {
        let due::Body::Payload { number, .. } = body else {
            return Some(Body::Abort);
        };
        let packet = u32::try_from(number).ok()?;
        let (start, length) = self.layout.range(packet)?;
        let start = usize::try_from(start).ok()?;
        let payload = self.bytes.get(start..start.checked_add(length)?)?;
        if packet > 0 {
            return Some(Body::Data { packet, payload });
        }
        let announcement = Announced {
            bytes: self.layout.bytes(),
            left: self.deadline.map(|deadline| deadline.since(now)),
            query: self.query,
            is_request: self.is_request,
        };
        Some(Body::First {
            announcement,
            payload,
        })
    }
}
