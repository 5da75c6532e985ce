//! Sender of all messages of a host. It transmits unscheduled prefixes and what receivers give credit for.

mod ready;

use super::{Announcement, Body, CLASSES, Config, Control, Data, Link, Sizes, round};
use duetime_core::{Span, Time};
use ready::{Position, Ready};
use std::collections::{BTreeMap, BTreeSet};

/// Round trips after which the start of a message is repeated if no reply came. An unscheduled burst of many senders
/// delays replies by many round trips.
const REPEAT_ROUND_TRIPS: u64 = 20;
/// Factor of the interval while the receiver knows the message. It reclaims credit, so the sender repeats only for a
/// receiver that lost its state.
const KNOWN_FACTOR: u64 = 16;
/// Maximum of the interval, unless the first is longer. Receivers remember finished messages for longer.
const MAX_INTERVAL: Span = Span::from_secs(1);
/// Limit of the packets of a message that wait for retransmission.
const MAX_RESEND: usize = 4_096;
/// Messages with unsent packets below which the sender never marks: the excess credit of a single message cannot be used
/// by another receiver. The paper's simulator has the same rule.
const MIN_MARKING_MESSAGES: usize = 2;

/// Sender of all messages of a host.
#[derive(Debug)]
pub struct Sender<T> {
    sizes: Sizes,
    unscheduled_limit: u64,
    threshold: u64,
    /// Class of scheduled packets.
    scheduled_class: u8,
    messages: BTreeMap<u64, Outgoing<T>>,
    /// Messages of which a request or an abort must be sent.
    controls: BTreeSet<u64>,
    ready: Ready,
    /// Unused credit in bytes, unscheduled prefixes included.
    credit: u64,
    /// Unused credit by receiver. A receiver without messages has no entry.
    receivers: BTreeMap<u32, Peer>,
    /// Number of messages with packets that were never sent.
    unsent: usize,
    /// Times of checks, one for each message.
    checks: BTreeSet<(Time, u64)>,
    first_interval: Span,
    known_interval: Span,
    max_interval: Span,
}

/// Receiver of some messages.
#[derive(Debug, Default)]
struct Peer {
    credit: u64,
    messages: usize,
}

#[derive(Debug)]
struct Outgoing<T> {
    tag: T,
    receiver: u32,
    announcement: Announcement,
    packets: u64,
    /// Next packet that was never sent.
    next: u64,
    /// Packets below have arrived.
    arrived: u64,
    /// Packets below may be sent.
    permitted: u64,
    resend: BTreeSet<u64>,
    /// Unused credit in bytes.
    credit: u64,
    /// True if the receiver may know the message.
    is_announced: bool,
    is_aborted: bool,
    /// Position in the order, or `None` if no packet may be sent.
    position: Option<Position>,
    /// Time at which the start is repeated.
    repeat_at: Time,
    interval: Span,
    counters: Counters,
}

/// Counters of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that were sent again.
    pub retransmissions: u32,
    /// Starts that were repeated because no reply came.
    pub timeouts: u32,
}

impl<T> Outgoing<T> {
    const fn has_unsent(&self) -> bool {
        self.next < self.packets && !self.is_aborted
    }

    fn position(&self, number: u64) -> Option<Position> {
        let may_send = self.next < self.permitted || !self.resend.is_empty();
        may_send.then(|| (round(self.packets - self.next), number))
    }
}

impl<T> Sender<T> {
    /// Creates a sender without messages.
    pub fn new(config: &Config, link: &Link) -> Self {
        let sizes = Sizes::new(config, link);
        let first_interval = sizes.round_trip * REPEAT_ROUND_TRIPS;
        let max_interval = first_interval.max(MAX_INTERVAL);
        Self {
            sizes,
            unscheduled_limit: sizes.of_bdp(config.unscheduled_permille),
            threshold: sizes.of_bdp(config.sender_threshold_permille),
            scheduled_class: (CLASSES - 1).min(link.classes.saturating_sub(1)),
            messages: BTreeMap::new(),
            controls: BTreeSet::new(),
            ready: Ready::default(),
            credit: 0,
            receivers: BTreeMap::new(),
            unsent: 0,
            checks: BTreeSet::new(),
            first_interval,
            known_interval: (first_interval * KNOWN_FACTOR).min(max_interval),
            max_interval,
        }
    }

    /// Submits a message of `bytes` to a receiver. `number` must differ from the numbers of all messages that the
    /// receiver may remember. Returns the number of unscheduled packets.
    pub fn send(
        &mut self,
        config: &Config,
        now: Time,
        number: u64,
        (receiver, bytes): (u32, u64),
        tag: T,
    ) -> u64 {
        let packets = config.packets(bytes);
        let peer = self.receivers.entry(receiver).or_default();
        peer.messages += 1;
        let unscheduled = unscheduled(&self.sizes, self.unscheduled_limit, peer, bytes, packets);
        let message = Outgoing {
            tag,
            receiver,
            announcement: Announcement { bytes, unscheduled },
            packets,
            next: 0,
            arrived: 0,
            permitted: 0,
            resend: BTreeSet::new(),
            credit: 0,
            is_announced: false,
            is_aborted: false,
            position: None,
            repeat_at: now + self.first_interval,
            interval: self.first_interval,
            counters: Counters::default(),
        };
        self.unsent += 1;
        self.checks.insert((message.repeat_at, number));
        self.messages.insert(number, message);
        if unscheduled == 0 {
            self.controls.insert(number);
        } else {
            self.permit(number, unscheduled);
        }
        unscheduled
    }

    /// Processes a packet from a receiver. Returns the message that it completed, unless the message was aborted.
    pub fn input(&mut self, now: Time, number: u64, control: Control) -> Option<(T, Counters)> {
        let message = self.messages.get_mut(&number)?;
        message.interval = self.known_interval;
        message.repeat_at = now + message.interval;
        match control {
            Control::Credit { .. } | Control::Resend { .. } if message.is_aborted => {
                self.controls.insert(number);
            }
            Control::Credit { up_to, arrived } => {
                message.arrived = message.arrived.max(arrived.min(message.next));
                self.permit(number, up_to);
            }
            Control::Resend { number: packet } if packet >= message.next => {
                self.permit(number, packet.saturating_add(1));
            }
            Control::Resend { number: packet } => self.permit_again(number, packet),
            Control::Done => {
                let message = self.remove(number)?;
                return (!message.is_aborted).then_some((message.tag, message.counters));
            }
        }
        None
    }

    /// Returns the next packet with its message's announcement and the driver's data. Requests and aborts are sent before
    /// data.
    pub fn poll_transmit(&mut self) -> Option<(Data, Announcement, &T)> {
        while let Some(number) = self.controls.pop_first() {
            if self.messages.contains_key(&number) {
                return self.control(number);
            }
        }
        let number = self.ready.next()?;
        let message = self.messages.get_mut(&number)?;
        let resent = message.resend.pop_first();
        let packet = resent.unwrap_or(message.next);
        let is_unscheduled = packet < message.announcement.unscheduled;
        message.is_announced = true;
        let bytes = (self.sizes).wire_bytes(message.announcement.bytes, packet, packet + 1);
        self.use_credit(number, bytes);
        let is_congested = self.credit > self.threshold && self.unsent >= MIN_MARKING_MESSAGES;
        let message = self.messages.get_mut(&number)?;
        if resent.is_some() {
            message.counters.retransmissions += 1;
        } else {
            message.next += 1;
            self.unsent -= usize::from(message.next == message.packets);
        }
        self.reorder(number);
        let body = Body::Payload {
            number: packet,
            is_retransmission: resent.is_some(),
            is_congested,
        };
        let class = if is_unscheduled {
            0
        } else {
            self.scheduled_class
        };
        let message = self.messages.get(&number)?;
        let data = Data {
            message: number,
            body,
            class,
        };
        Some((data, message.announcement, &message.tag))
    }

    /// Returns true if `poll_transmit` would return a packet.
    pub fn can_transmit(&self) -> bool {
        !self.ready.is_empty() || !self.controls.is_empty()
    }

    /// Returns the time at which to call `timeout`, or [`Time::MAX`].
    pub fn next_timeout(&self) -> Time {
        self.checks.first().map_or(Time::MAX, |&(at, _)| at)
    }

    /// Repeats the starts of messages without a reply. Returns the driver's data of these messages.
    pub fn timeout(&mut self, now: Time) -> Vec<T>
    where
        T: Clone,
    {
        let mut repeated = Vec::new();
        while let Some(&(at, number)) = self.checks.first()
            && at <= now
        {
            self.checks.pop_first();
            let Some(message) = self.messages.get_mut(&number) else {
                continue;
            };
            if message.repeat_at <= now {
                message.interval = (message.interval * 2).min(self.max_interval);
                message.repeat_at = now + message.interval;
                if message.is_announced && message.position.is_none() {
                    message.counters.timeouts += 1;
                    repeated.push(message.tag.clone());
                    if message.is_aborted || message.announcement.unscheduled == 0 {
                        self.controls.insert(number);
                    } else {
                        self.permit_again(number, 0);
                    }
                }
            }
            if let Some(message) = self.messages.get(&number) {
                self.checks.insert((message.repeat_at, number));
            }
        }
        repeated
    }

    /// Aborts the first message for which `matches` returns true and which has unsent packets. Returns the driver's
    /// data. If the receiver may know the message, it is notified, and the message remains until it replies.
    pub fn abort(&mut self, matches: impl Fn(&T) -> bool) -> Option<T>
    where
        T: Clone,
    {
        let mut messages = self.messages.iter();
        let (&number, message) =
            messages.find(|(_, message)| message.has_unsent() && matches(&message.tag))?;
        let (tag, credit) = (message.tag.clone(), message.credit);
        if !message.is_announced {
            self.remove(number);
            return Some(tag);
        }
        self.unsent -= 1;
        self.use_credit(number, credit);
        if let Some(message) = self.messages.get_mut(&number) {
            message.is_aborted = true;
            message.permitted = message.next;
            message.resend.clear();
        }
        self.reorder(number);
        self.controls.insert(number);
        Some(tag)
    }

    /// Returns the messages that are not complete, with their counters and the number of packets that have arrived
    /// without a gap.
    pub fn open(&self) -> impl Iterator<Item = (&T, Counters, u64)> {
        let messages = self.messages.values();
        messages.map(|message| (&message.tag, message.counters, message.arrived))
    }

    /// Returns the unused credit of all receivers in bytes, unscheduled prefixes included.
    pub const fn unused_credit(&self) -> u64 {
        self.credit
    }

    /// Returns the request or the abort of a message.
    fn control(&mut self, number: u64) -> Option<(Data, Announcement, &T)> {
        let message = self.messages.get_mut(&number)?;
        message.is_announced = true;
        let body = if message.is_aborted {
            Body::Abort
        } else {
            Body::Request
        };
        let data = Data {
            message: number,
            body,
            class: 0,
        };
        Some((data, message.announcement, &message.tag))
    }

    /// Permits the packets below `up_to`.
    fn permit(&mut self, number: u64, up_to: u64) {
        let Some(message) = self.messages.get_mut(&number) else {
            return;
        };
        let up_to = up_to.min(message.packets);
        if up_to <= message.permitted {
            return;
        }
        let bytes = (self.sizes).wire_bytes(message.announcement.bytes, message.permitted, up_to);
        message.permitted = up_to;
        self.add_credit(number, bytes);
        self.reorder(number);
    }

    /// Permits a packet that was sent before.
    fn permit_again(&mut self, number: u64, packet: u64) {
        let Some(message) = self.messages.get_mut(&number) else {
            return;
        };
        if packet >= message.next || message.resend.len() >= MAX_RESEND {
            return;
        }
        if message.resend.insert(packet) {
            let bytes = (self.sizes).wire_bytes(message.announcement.bytes, packet, packet + 1);
            self.add_credit(number, bytes);
            self.reorder(number);
        }
    }

    fn add_credit(&mut self, number: u64, bytes: u64) {
        let Some(message) = self.messages.get_mut(&number) else {
            return;
        };
        // Credit for a message without end saturates and is used up in the same steps.
        let bytes = bytes.min(MAX_CREDIT - self.credit.min(MAX_CREDIT));
        message.credit += bytes;
        self.credit += bytes;
        if let Some(peer) = self.receivers.get_mut(&message.receiver) {
            peer.credit += bytes;
        }
    }

    fn use_credit(&mut self, number: u64, bytes: u64) {
        let Some(message) = self.messages.get_mut(&number) else {
            return;
        };
        let bytes = bytes.min(message.credit);
        message.credit -= bytes;
        self.credit -= bytes;
        if let Some(peer) = self.receivers.get_mut(&message.receiver) {
            peer.credit -= bytes;
        }
    }

    /// Moves the message to its position in the order, which seldom changes.
    #[inline]
    fn reorder(&mut self, number: u64) {
        let Some(message) = self.messages.get_mut(&number) else {
            return;
        };
        let position = message.position(number);
        if position == message.position {
            return;
        }
        if let Some(old) = message.position {
            self.ready.remove(message.receiver, old);
        }
        if let Some(new) = position {
            self.ready.insert(message.receiver, new);
        }
        message.position = position;
    }

    fn remove(&mut self, number: u64) -> Option<Outgoing<T>> {
        let credit = self.messages.get(&number)?.credit;
        self.use_credit(number, credit);
        let message = self.messages.remove(&number)?;
        if let Some(position) = message.position {
            self.ready.remove(message.receiver, position);
        }
        self.unsent -= usize::from(message.has_unsent());
        self.controls.remove(&number);
        if let Some(peer) = self.receivers.get_mut(&message.receiver) {
            peer.messages -= 1;
            if peer.messages == 0 {
                self.receivers.remove(&message.receiver);
            }
        }
        Some(message)
    }
}

/// Limit of the unused credit of a host in bytes, which no honest receiver reaches.
const MAX_CREDIT: u64 = u64::MAX / 2;

/// Returns the number of packets that a message sends without credit. A message up to `UnschT` sends up to a BDP, minus
/// the sender's unused credit of that receiver, and at least one packet. Longer messages send none.
fn unscheduled(sizes: &Sizes, limit: u64, peer: &Peer, bytes: u64, packets: u64) -> u64 {
    if sizes.wire_bytes(bytes, 0, packets) > limit {
        return 0;
    }
    let left = sizes.bdp.saturating_sub(peer.credit);
    let full = left / sizes.packet();
    // The last packet of a message is shorter.
    if sizes.wire_bytes(bytes, 0, packets) <= left {
        packets
    } else {
        full.clamp(1, packets)
    }
}
