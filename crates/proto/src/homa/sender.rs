//! Sender of all messages of a host. It transmits what is unscheduled or granted, the message with the fewest remaining
//! bytes first.

use super::{Body, Config, Control, Data, Outline, Plan};
use duetime_core::{Span, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Factor of the repetition interval while the receiver knows the message. It requests what is missing, so the sender
/// repeats only for a receiver that lost its state.
const KNOWN_FACTOR: u64 = 16;
/// Maximum of the repetition interval, in resend intervals. Receivers remember finished messages for longer.
const MAX_FACTOR: u64 = 64;
/// Part of the resend interval that is at least between two searches for messages without a reply.
const SEARCH_PART: u64 = 8;
/// Limit of the packets of a message that wait for retransmission.
const MAX_RESEND: usize = 4_096;
/// Limit of the requests for unknown messages that wait for a reply.
const MAX_UNKNOWN: usize = 1_024;

/// Position in the transmission order: packets without payload first, then remaining bytes, then the message's number.
type Urgency = (bool, u64, u64);

/// Sender of all messages of a host.
#[derive(Debug)]
pub struct Sender<T> {
    config: Config,
    plan: Plan,
    messages: BTreeMap<u64, Outgoing<T>>,
    /// Messages with packets to send.
    ready: BTreeSet<Urgency>,
    /// Requests for messages that the sender does not have.
    unknown: VecDeque<(u64, T)>,
    timer: Time,
}

#[derive(Debug)]
struct Outgoing<T> {
    tag: T,
    outline: Outline,
    packets: u64,
    /// Class of unscheduled packets.
    unscheduled_class: u8,
    /// Class of granted packets.
    class: u8,
    /// Packets below are unscheduled.
    unscheduled: u64,
    /// Packets below may be sent.
    granted: u64,
    /// Next packet that was never sent.
    next: u64,
    /// Packets below have arrived.
    arrived: u64,
    resend: BTreeSet<u64>,
    /// Class of the packets in `resend`.
    resend_class: u8,
    sends_busy: bool,
    sends_unknown: bool,
    is_aborted: bool,
    /// Position in `ready`, or `None` if the message has nothing to send.
    urgency: Option<Urgency>,
    /// Time at which packet 0 is sent again.
    repeat_at: Time,
    interval: Span,
    counters: Counters,
}

/// Counters of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that were sent again.
    pub retransmissions: u32,
    /// First packets that were repeated because no reply came.
    pub timeouts: u32,
}

impl<T: Clone> Sender<T> {
    /// Creates a sender without messages.
    pub fn new(config: &Config, plan: Plan) -> Self {
        Self {
            config: *config,
            plan,
            messages: BTreeMap::new(),
            ready: BTreeSet::new(),
            unknown: VecDeque::new(),
            timer: Time::MAX,
        }
    }

    /// Submits a message. `number` must differ from the numbers of all messages that the receiver may remember.
    pub fn send(&mut self, now: Time, number: u64, outline: impl Into<Outline>, tag: T) {
        let outline = outline.into();
        let packets = self.config.packets(outline.bytes);
        let unscheduled = packets.min(self.plan.unscheduled(outline));
        let mut message = Outgoing {
            tag,
            outline,
            packets,
            unscheduled_class: self.plan.unscheduled_class(outline.bytes),
            class: self.plan.lowest_class(),
            unscheduled,
            granted: unscheduled,
            next: 0,
            arrived: 0,
            resend: BTreeSet::new(),
            resend_class: 0,
            sends_busy: false,
            sends_unknown: false,
            is_aborted: false,
            urgency: None,
            repeat_at: now + self.plan.resend_interval,
            interval: self.plan.resend_interval,
            counters: Counters::default(),
        };
        self.timer = self.timer.min(message.repeat_at);
        message.reorder(&self.config, number, &mut self.ready);
        self.messages.insert(number, message);
    }

    /// Processes a packet from a receiver. `tag` returns the driver's data for a reply about a message that the sender
    /// does not have. Returns the message that the packet completed, unless the message was aborted.
    pub fn input(
        &mut self,
        now: Time,
        number: u64,
        control: Control,
        tag: impl FnOnce() -> T,
    ) -> Option<(T, Counters)> {
        let Some(message) = self.messages.get_mut(&number) else {
            if matches!(control, Control::Resend { .. }) && self.unknown.len() < MAX_UNKNOWN {
                self.unknown.push_back((number, tag()));
            }
            return None;
        };
        message.interval = self.plan.resend_interval * KNOWN_FACTOR;
        message.repeat_at = now + message.interval;
        match control {
            Control::Grant { .. } | Control::Resend { .. } if message.is_aborted => {
                message.sends_unknown = true;
            }
            Control::Grant {
                up_to,
                arrived,
                class,
            } => {
                message.arrived = message.arrived.max(arrived.min(message.next));
                // Grants may arrive out of order.
                if up_to > message.granted {
                    message.granted = up_to.min(message.packets);
                    message.class = class;
                }
            }
            Control::Resend { from, to, class } => {
                let to = to.min(message.packets);
                message.granted = message.granted.max(to);
                let free = MAX_RESEND.saturating_sub(message.resend.len());
                message
                    .resend
                    .extend((from..to.min(message.next)).take(free));
                message.resend_class = class;
                message.reorder(&self.config, number, &mut self.ready);
                // More urgent messages delay the reply (Homa §3.7).
                let is_next = self.ready.first().is_some_and(|first| first.2 == number);
                message.sends_busy |= message.urgency.is_some() && !is_next;
            }
            Control::Done => {
                if let Some(urgency) = message.urgency {
                    self.ready.remove(&urgency);
                }
                let message = self.messages.remove(&number)?;
                return (!message.is_aborted).then_some((message.tag, message.counters));
            }
        }
        message.reorder(&self.config, number, &mut self.ready);
        None
    }

    /// Returns the next packet with the driver's data of its message.
    pub fn poll_transmit(&mut self, now: Time) -> Option<(Data, T)> {
        if let Some((message, tag)) = self.unknown.pop_front() {
            let data = Data {
                message,
                outline: Outline::from(0),
                body: Body::Unknown,
                class: 0,
            };
            return Some((data, tag));
        }
        let &(_, _, number) = self.ready.first()?;
        let message = self.messages.get_mut(&number)?;
        let data = message.transmit(number);
        message.reorder(&self.config, number, &mut self.ready);
        if message.urgency.is_none() {
            // Silence counts from the last packet. The timer may be early.
            message.repeat_at = now + message.interval;
        }
        Some((data, message.tag.clone()))
    }

    /// Returns true if `poll_transmit` would return a packet.
    pub fn can_transmit(&self) -> bool {
        !self.ready.is_empty() || !self.unknown.is_empty()
    }

    /// Returns the time at which to call `timeout`, or [`Time::MAX`].
    pub const fn next_timeout(&self) -> Time {
        self.timer
    }

    /// Repeats the first packets of messages without a reply. Returns the driver's data of these messages.
    pub fn timeout(&mut self, now: Time) -> Vec<T> {
        let mut repeated = Vec::new();
        if now < self.timer {
            return repeated;
        }
        let interval = self.plan.resend_interval;
        let mut next = Time::MAX;
        for (&number, message) in &mut self.messages {
            if message.repeat_at <= now {
                if message.urgency.is_none() {
                    message.repeat();
                    message.reorder(&self.config, number, &mut self.ready);
                    repeated.push(message.tag.clone());
                    message.interval = (message.interval * 2).min(interval * MAX_FACTOR);
                }
                message.repeat_at = now + message.interval;
            }
            next = next.min(message.repeat_at);
        }
        let earliest = now + (interval / SEARCH_PART).max(Span::from_ps(1));
        self.timer = if next == Time::MAX {
            Time::MAX
        } else {
            next.max(earliest)
        };
        repeated
    }

    /// Aborts the first message for which `matches` returns true and which has unsent packets. Returns the driver's
    /// data. If the receiver may know the message, it is notified, and the message remains until it replies.
    pub fn abort(&mut self, matches: impl Fn(&T) -> bool) -> Option<T> {
        let is_meant = |message: &Outgoing<T>| {
            !message.is_aborted && message.next < message.packets && matches(&message.tag)
        };
        let mut messages = self.messages.iter_mut();
        let (&number, message) = messages.find(|(_, message)| is_meant(message))?;
        let tag = message.tag.clone();
        message.is_aborted = true;
        message.sends_unknown = message.next > 0;
        message.sends_busy = false;
        message.granted = message.next;
        message.resend.clear();
        message.reorder(&self.config, number, &mut self.ready);
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
    /// Returns the position of the message among those with packets to send, or `None` if it has none.
    fn find_urgency(&self, config: &Config, number: u64) -> Option<Urgency> {
        if self.sends_unknown || self.sends_busy {
            return Some((false, 0, number));
        }
        if self.next == self.granted && self.resend.is_empty() {
            return None;
        }
        let resend = (self.resend.len() as u64).saturating_mul(config.payload());
        let unsent = config.bytes_from(self.outline.bytes, self.next);
        Some((true, unsent.saturating_add(resend), number))
    }

    /// Moves the message to its position in `ready`.
    #[inline]
    fn reorder(&mut self, config: &Config, number: u64, ready: &mut BTreeSet<Urgency>) {
        let urgency = self.find_urgency(config, number);
        if urgency == self.urgency {
            return;
        }
        if let Some(old) = self.urgency {
            ready.remove(&old);
        }
        ready.extend(urgency);
        self.urgency = urgency;
    }

    /// Removes and returns the next packet: a notification, a retransmission or a new packet.
    fn transmit(&mut self, message: u64) -> Data {
        let (body, class) = if std::mem::take(&mut self.sends_unknown) {
            (Body::Unknown, 0)
        } else if std::mem::take(&mut self.sends_busy) {
            (Body::Busy, 0)
        } else {
            let resent = self.resend.pop_first();
            let number = resent.unwrap_or(self.next);
            let is_retransmission = resent.is_some();
            self.next = self.next.max(number + 1);
            self.counters.retransmissions += u32::from(is_retransmission);
            let class = if is_retransmission {
                self.resend_class
            } else if number < self.unscheduled {
                self.unscheduled_class
            } else {
                self.class
            };
            let body = Body::Payload {
                number,
                is_retransmission,
            };
            (body, class)
        };
        Data {
            message,
            outline: self.outline,
            body,
            class,
        }
    }

    /// Sends the first packet or the notification of an abort again.
    fn repeat(&mut self) {
        self.counters.timeouts += 1;
        if self.is_aborted {
            self.sends_unknown = true;
        } else {
            self.resend.insert(0);
            self.resend_class = 0;
        }
    }
}
