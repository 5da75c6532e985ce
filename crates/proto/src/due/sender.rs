//! Sender of all messages of a host. It transmits what is granted, the most urgent message first.

mod single;

use super::{Announcement, Body, Config, Control, Data, Link, UNSCHEDULED_PACKETS};
use duetime_core::{Span, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Round trips after which an announcement without a reply is repeated.
const ANNOUNCE_ROUND_TRIPS: u64 = 20;

/// Factor of the repetition interval while the receiver knows the message. It asks for what is missing, so the sender
/// repeats only for a receiver that lost its state.
const KNOWN_FACTOR: u64 = 16;

/// Maximum of the repetition interval, unless the first interval is longer. Receivers remember finished messages for
/// longer.
const MAX_INTERVAL: Span = Span::from_secs(1);

/// Limit of the packets of a message that wait for retransmission.
const MAX_RESEND: usize = 4_096;

/// Position in the transmission order: level, then deadline or remaining packets.
type Urgency = (u8, u64, u64);

/// Sender of all messages of a host.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sender<T> {
    messages: BTreeMap<u64, Outgoing<T>>,
    ready: Ready,
    announce_interval: Span,
    /// Interval while the receiver knows the message.
    known_interval: Span,
    max_interval: Span,
    timer: Time,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Outgoing<T> {
    tag: T,
    announcement: Announcement,
    packets: u64,
    /// Number of packets that the source announces. It is doubled when that many are sent and more follow.
    announced: u64,
    /// Next packet that was never sent.
    next: u64,
    /// Packets below have arrived.
    arrived: u64,
    /// Packets below may be sent.
    granted: u64,
    class: u8,
    is_background: bool,
    resend: BTreeSet<u64>,
    /// True if an abort must be sent.
    sends_abort: bool,
    is_aborted: bool,
    /// Position in `ready`, or `None` if the message has nothing to send.
    urgency: Option<Urgency>,
    /// Time at which the message is announced again.
    announce_at: Time,
    interval: Span,
    counters: Counters,
}

/// Counters of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counters {
    /// Packets that were sent again.
    pub retransmissions: u32,
    /// Announcements that were repeated because no reply came.
    pub timeouts: u32,
}

impl<T> Outgoing<T> {
    fn has_packets(&self) -> bool {
        self.sends_abort || self.next < self.granted || !self.resend.is_empty()
    }

    /// Orders messages by deadline, requests first; then late messages by deadline; then the others by remaining
    /// packets, rounded so that not every packet moves its message. Their packets 0 come first: behind the granted packets
    /// of others, the receiver would learn of a message too late to grant it without a gap.
    fn urgency(&self) -> Urgency {
        let left = round(self.announced.saturating_sub(self.next));
        match self.announcement.deadline {
            _ if self.is_aborted => (0, 0, 0),
            Some(deadline) => (u8::from(self.is_background), deadline.as_ps(), left),
            None if self.announcement.is_request => (0, 0, left),
            None if self.next == 0 => (2, 0, 0),
            None => (2, left, 0),
        }
    }
}

/// Messages with packets to send. The first is apart from the others, because there is often no other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Ready {
    /// The most urgent message.
    first: Option<(Urgency, u64)>,
    others: BTreeSet<(Urgency, u64)>,
}

impl Ready {
    fn insert(&mut self, message: (Urgency, u64)) {
        match self.first {
            Some(first) if first < message => {
                self.others.insert(message);
            }
            first => {
                self.others.extend(first);
                self.first = Some(message);
            }
        }
    }

    fn remove_first(&mut self) {
        self.first = self.others.pop_first();
    }

    fn remove(&mut self, message: (Urgency, u64)) {
        if self.first == Some(message) {
            self.remove_first();
        } else {
            self.others.remove(&message);
        }
    }
}

/// Returns the number with its four highest bits and zeros.
const fn round(packets: u64) -> u64 {
    let bits = u64::BITS - packets.leading_zeros();
    let low = bits.saturating_sub(4);
    packets >> low << low
}

impl<T> Sender<T> {
    /// Creates a sender without messages.
    pub fn new(config: &Config, link: &Link) -> Self {
        let round_trip = link.network_round_trip(config) + config.host_delay;
        let announce_interval = round_trip * ANNOUNCE_ROUND_TRIPS;
        let max_interval = announce_interval.max(MAX_INTERVAL);
        Self {
            messages: BTreeMap::new(),
            ready: Ready::default(),
            announce_interval,
            known_interval: (announce_interval * KNOWN_FACTOR).min(max_interval),
            max_interval,
            timer: Time::MAX,
        }
    }

    /// Submits a message. `number` must differ from the numbers of all messages that the receiver may remember.
    pub fn send(
        &mut self,
        config: &Config,
        now: Time,
        number: u64,
        announcement: Announcement,
        tag: T,
    ) {
        let packets = config.packets(announcement.bytes);
        let mut message = Outgoing {
            tag,
            announcement,
            packets,
            announced: config.announced(packets),
            next: 0,
            arrived: 0,
            granted: packets.min(UNSCHEDULED_PACKETS),
            class: 0,
            is_background: false,
            resend: BTreeSet::new(),
            sends_abort: false,
            is_aborted: false,
            urgency: None,
            announce_at: now + self.announce_interval,
            interval: self.announce_interval,
            counters: Counters::default(),
        };
        self.timer = self.timer.min(message.announce_at);
        message.reorder(number, &mut self.ready);
        self.messages.insert(number, message);
    }

    /// Processes a packet from a receiver. Returns the message that it completed, unless the message was aborted.
    pub fn input(&mut self, now: Time, number: u64, control: Control) -> Option<(T, Counters)> {
        let message = self.messages.get_mut(&number)?;
        message.interval = self.known_interval;
        message.announce_at = now + message.interval;
        match control {
            Control::Grant { .. } | Control::Resend { .. } if message.is_aborted => {
                message.sends_abort = true;
            }
            Control::Grant {
                up_to,
                arrived,
                class,
                is_background,
            } => {
                message.granted = message.granted.max(up_to.min(message.packets));
                message.arrived = message.arrived.max(arrived.min(message.next));
                message.class = class;
                message.is_background = is_background;
            }
            Control::Resend { from, to } => {
                message.granted = message.granted.max(to.min(message.packets));
                let free = MAX_RESEND.saturating_sub(message.resend.len());
                let missing = from..to.min(message.next);
                message.resend.extend(missing.take(free));
            }
            Control::Done => {
                if let Some(urgency) = message.urgency {
                    self.ready.remove((urgency, number));
                }
                let message = self.messages.remove(&number)?;
                return (!message.is_aborted).then_some((message.tag, message.counters));
            }
        }
        message.reorder(number, &mut self.ready);
        None
    }

    /// Returns the next packet with the message's announcement and the driver's data.
    pub fn poll_transmit(&mut self) -> Option<(Data, &Announcement, &T)> {
        let (_, number) = self.ready.first?;
        let message = self.messages.get_mut(&number)?;
        let data = message.transmit(number);
        if message.has_packets() {
            message.reorder(number, &mut self.ready);
        } else {
            message.urgency = None;
            self.ready.remove_first();
        }
        Some((data, &message.announcement, &message.tag))
    }

    /// Returns true if `poll_transmit` would return a packet.
    pub fn can_transmit(&self) -> bool {
        self.ready.first.is_some()
    }

    /// Returns the time at which to call `timeout`, or [`Time::MAX`].
    pub const fn next_timeout(&self) -> Time {
        self.timer
    }

    /// Repeats the announcements of messages without a reply. Returns the driver's data of these messages.
    pub fn timeout(&mut self, now: Time) -> Vec<T>
    where
        T: Clone,
    {
        let mut repeated = Vec::new();
        if now < self.timer {
            return Vec::new();
        }
        self.timer = Time::MAX;
        for (&number, message) in &mut self.messages {
            if message.announce_at <= now {
                if message.next > 0 && message.urgency.is_none() {
                    message.repeat();
                    message.reorder(number, &mut self.ready);
                    repeated.push(message.tag.clone());
                }
                message.interval = (message.interval * 2).min(self.max_interval);
                message.announce_at = now + message.interval;
            }
            self.timer = self.timer.min(message.announce_at);
        }
        repeated
    }

    /// Aborts the first message for which `matches` returns true and which has unsent packets. Returns the driver's
    /// data. If the receiver may know the message, it is notified, and the message remains until it replies.
    pub fn abort(&mut self, matches: impl Fn(&T) -> bool) -> Option<T>
    where
        T: Clone,
    {
        let is_meant = |message: &Outgoing<T>| {
            !message.is_aborted && message.next < message.packets && matches(&message.tag)
        };
        let (&number, message) = self
            .messages
            .iter_mut()
            .find(|(_, message)| is_meant(message))?;
        let tag = message.tag.clone();
        message.is_aborted = true;
        message.sends_abort = message.next > 0;
        message.granted = message.next;
        message.resend.clear();
        message.reorder(number, &mut self.ready);
        if message.next == 0 {
            self.messages.remove(&number);
        }
        Some(tag)
    }

    /// Returns the messages that are not complete, with their counters and the number of packets that have arrived
    /// without a gap.
    pub fn open(&self) -> impl Iterator<Item = (&T, Counters, u64)> {
        let messages = self.messages.values();
        messages.map(|message| (&message.tag, message.counters, message.arrived))
    }
}

impl<T> Outgoing<T> {
    /// Moves the message to its position in `ready`, which seldom changes.
    #[inline]
    fn reorder(&mut self, number: u64, ready: &mut Ready) {
        let urgency = self.has_packets().then(|| self.urgency());
        if urgency != self.urgency {
            self.move_to(urgency, number, ready);
        }
    }

    #[inline(never)]
    fn move_to(&mut self, urgency: Option<Urgency>, number: u64, ready: &mut Ready) {
        if let Some(old) = self.urgency {
            ready.remove((old, number));
        }
        if let Some(new) = urgency {
            ready.insert((new, number));
        }
        self.urgency = urgency;
    }

    /// Removes and returns the next packet: an abort, a retransmission or a new packet.
    fn transmit(&mut self, message: u64) -> Data {
        if std::mem::take(&mut self.sends_abort) {
            let body = Body::Abort;
            return Data {
                message,
                body,
                class: 0,
            };
        }
        let resent = self.resend.pop_first();
        let number = resent.unwrap_or(self.next);
        self.next = self.next.max(number + 1);
        self.counters.retransmissions += u32::from(resent.is_some());
        let is_retransmission = resent.is_some();
        let is_unscheduled = number < UNSCHEDULED_PACKETS;
        let is_last = number + 1 == self.packets;
        if number + 1 >= self.announced && !is_last {
            self.announced = self.announced.saturating_mul(2);
        }
        Data {
            message,
            body: Body::Payload {
                number,
                is_retransmission,
                announced: self.announced,
                is_last,
            },
            class: if is_unscheduled || is_retransmission {
                0
            } else {
                self.class
            },
        }
    }

    /// Sends the first packet or the abort again.
    fn repeat(&mut self) {
        self.counters.timeouts += 1;
        if self.is_aborted {
            self.sends_abort = true;
        } else {
            self.resend.insert(0);
        }
    }
}
