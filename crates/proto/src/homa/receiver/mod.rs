//! Receiver of all messages into a host. It grants and requests packets.

mod message;
mod order;

use super::{Body, Config, Control, MessageId, Outline, Plan};
use crate::recent::Recent;
use duetime_core::{Span, Time};
use message::Incoming;
use order::Order;
use std::collections::{BTreeMap, VecDeque};

/// Maximum of the interval between requests that no packet answers, in resend intervals. It doubles from one, so that
/// requests do not fill a slow link with copies.
const MAX_FACTOR: u64 = 16;
/// Requests without a packet after which a message is forgotten. Its sender starts again if it still exists. The Linux
/// module's ratio of `timeout_ticks` to `resend_interval`.
const MAX_UNANSWERED: u32 = 20;
/// Time for which finished messages are remembered, in resend intervals: several of the longest intervals at which a
/// sender that missed the last reply repeats a packet.
const FINISHED_INTERVALS: u64 = 256;
/// Minimum of that time, because a packet that was repeated early can wait in a queue for long.
const MIN_FINISHED: Span = Span::from_secs(5);
/// Part of the resend interval that is at least between two searches for silent messages.
const SEARCH_PART: u64 = 8;
/// Class of retransmitted packets: the highest, because they are late.
const RESEND_CLASS: u8 = 0;
/// Limits of the memory that senders can use.
const MAX_MESSAGES: usize = 1 << 16;
const MAX_FINISHED: usize = 1 << 18;

/// Receiver of all messages into a host.
#[derive(Debug)]
pub struct Receiver<T> {
    config: Config,
    plan: Plan,
    messages: Vec<Option<Incoming<T>>>,
    free: Vec<u32>,
    index: BTreeMap<MessageId, u32>,
    /// Messages with ungranted packets.
    order: Order,
    /// Scratch buffer of [`Self::grant`], empty between calls.
    active: Vec<u32>,
    finished: Recent<MessageId>,
    /// Number of messages so far.
    serial: u64,
    replies: VecDeque<(T, Control)>,
    delivered: VecDeque<T>,
    /// Time of the next search for silent messages.
    timer: Time,
    /// Time at which an active message may have more packets in flight.
    grow_at: Time,
}

impl<T: Clone> Receiver<T> {
    /// Creates a receiver without messages.
    pub fn new(config: &Config, plan: Plan) -> Self {
        let lifetime = (plan.resend_interval * FINISHED_INTERVALS).max(MIN_FINISHED);
        Self {
            config: *config,
            plan,
            messages: Vec::new(),
            free: Vec::new(),
            index: BTreeMap::new(),
            order: Order::default(),
            active: Vec::new(),
            finished: Recent::new(lifetime, MAX_FINISHED),
            serial: 0,
            replies: VecDeque::new(),
            delivered: VecDeque::new(),
            timer: Time::MAX,
            grow_at: Time::MAX,
        }
    }

    /// Processes a packet of a message. `tag` returns the driver's data of the message. Returns true if the
    /// packet completed the message.
    pub fn input(
        &mut self,
        now: Time,
        id: MessageId,
        outline: impl Into<Outline>,
        body: Body,
        tag: impl FnOnce() -> T,
    ) -> bool {
        let known = self.index.get(&id).copied();
        let (number, is_repeated) = match body {
            Body::Payload {
                number,
                is_retransmission,
            } => (number, is_retransmission && number == 0),
            Body::Busy => {
                if let Some(index) = known {
                    self.note_alive(now, index);
                }
                return false;
            }
            Body::Unknown => {
                self.forget(now, id, known, tag);
                return false;
            }
        };
        let created = || self.create(now, id, outline.into(), tag);
        let Some(index) = known.or_else(created) else {
            return false;
        };
        self.note_alive(now, index);
        let lowest = self.plan.lowest_class();
        let Some(message) = self.get_mut(index) else {
            return false;
        };
        if !message.receive(number) {
            if is_repeated {
                // The sender has received no reply for long.
                let reply = (message.tag.clone(), message.current_grant(lowest));
                self.replies.push_back(reply);
            }
            return false;
        }
        let is_complete = message.is_complete();
        if is_complete && let Some(message) = self.remove(index) {
            self.finished.insert(now, id);
            self.replies.push_back((message.tag.clone(), Control::Done));
            self.delivered.push_back(message.tag);
        }
        self.grant(now, Some(index));
        is_complete
    }

    /// Removes and returns the driver's data of a complete message.
    pub fn take_delivered(&mut self) -> Option<T> {
        self.delivered.pop_front()
    }

    /// Returns the next packet to a sender, with the driver's data of its message.
    pub fn poll_transmit(&mut self) -> Option<(T, Control)> {
        self.replies.pop_front()
    }

    /// Returns true if `poll_transmit` would return a packet.
    pub fn can_transmit(&self) -> bool {
        !self.replies.is_empty()
    }

    /// Returns the time at which to call `timeout`, or [`Time::MAX`].
    pub fn next_timeout(&self) -> Time {
        self.timer.min(self.grow_at)
    }

    /// Grants more packets, and requests the missing packets of silent messages (Homa §3.7). Returns the driver's data of messages that were
    /// forgotten because their senders do not respond.
    pub fn timeout(&mut self, now: Time) -> Vec<T> {
        if now >= self.grow_at {
            self.grant(now, None);
        }
        if now < self.timer {
            return Vec::new();
        }
        let interval = self.plan.resend_interval;
        let mut next = Time::MAX;
        let mut forgotten = Vec::new();
        for &index in self.index.values() {
            let Some(message) = self.messages[index as usize].as_mut() else {
                continue;
            };
            if message.in_flight() == 0 {
                // Only a grant starts the wait of a message that is complete so far.
                continue;
            }
            if now.since(message.silent_since) >= interval * request_factor(message.unanswered) {
                if message.unanswered == MAX_UNANSWERED {
                    forgotten.push(index);
                    continue;
                }
                message.unanswered += 1;
                message.silent_since = now;
                let requests = message.missing().map(|(from, to)| Control::Resend {
                    from,
                    to,
                    class: RESEND_CLASS,
                });
                let tag = &message.tag;
                self.replies
                    .extend(requests.map(|request| (tag.clone(), request)));
            }
            let wait = interval * request_factor(message.unanswered);
            next = next.min(message.silent_since + wait);
        }
        let earliest = now + (interval / SEARCH_PART).max(Span::from_ps(1));
        self.timer = if next == Time::MAX {
            Time::MAX
        } else {
            next.max(earliest)
        };
        if forgotten.is_empty() {
            return Vec::new();
        }
        let forgotten = forgotten.into_iter().filter_map(|index| self.remove(index));
        let forgotten = forgotten.map(|message| message.tag).collect();
        self.grant(now, None);
        forgotten
    }

    /// Notes that the sender of a message is alive. The next request follows after one interval again.
    fn note_alive(&mut self, now: Time, index: u32) {
        let due = now + self.plan.resend_interval;
        if let Some(message) = self.get_mut(index)
            && message.note_alive(now)
        {
            self.timer = self.timer.min(due);
        }
    }

    fn get_mut(&mut self, index: u32) -> Option<&mut Incoming<T>> {
        self.messages.get_mut(index as usize)?.as_mut()
    }

    /// Creates the state of a message and returns its index. Returns `None` for a finished message, after a reply, and if
    /// there are too many messages.
    fn create(
        &mut self,
        now: Time,
        id: MessageId,
        outline: Outline,
        tag: impl FnOnce() -> T,
    ) -> Option<u32> {
        if self.finished.contains(&id) {
            self.replies.push_back((tag(), Control::Done));
            return None;
        }
        if self.index.len() >= MAX_MESSAGES {
            return None;
        }
        let index = self.free.pop().unwrap_or(self.messages.len() as u32);
        if index as usize == self.messages.len() {
            self.messages.push(None);
        }
        let unscheduled = self.plan.unscheduled(outline);
        let message = Incoming::new(
            &self.config,
            (tag(), id, outline.bytes),
            unscheduled,
            self.serial,
            now,
        );
        self.serial += 1;
        if let Some(key) = message.key() {
            self.order.insert(id.source, key, index);
        }
        self.messages[index as usize] = Some(message);
        self.index.insert(id, index);
        self.start_timer(now);
        Some(index)
    }

    /// Forgets a message that its sender does not have, and confirms it.
    fn forget(&mut self, now: Time, id: MessageId, known: Option<u32>, tag: impl FnOnce() -> T) {
        if let Some(index) = known {
            self.remove(index);
        }
        self.finished.insert(now, id);
        self.replies.push_back((tag(), Control::Done));
        self.grant(now, None);
    }

    /// Grants packets to the messages with the fewest ungranted bytes (Homa §3.5), so that each has `RTTbytes` in flight.
    ///
    /// The message of the packet that just arrived is granted one packet in its place. A message with fewer packets in
    /// flight gains one per packet time, as in the paper's simulator: otherwise a packet that ends the grants of one
    /// message would release the next messages in full.
    fn grant(&mut self, now: Time, arrived: Option<u32>) {
        let mut active = std::mem::take(&mut self.active);
        active.extend(self.order.first(usize::from(self.plan.overcommitment)));
        self.grow_at = Time::MAX;
        for (place, &index) in active.iter().enumerate() {
            let Some(message) = self.messages[index as usize].as_mut() else {
                continue;
            };
            let room = self.plan.window.saturating_sub(message.in_flight());
            let room = room.min(message.grantable());
            let replaced = u64::from(arrived == Some(index));
            let grows = room > replaced && now >= message.grow_at;
            let packets = room.min(replaced + u64::from(grows));
            if grows {
                message.grow_at = now + self.plan.packet_time;
            }
            if room > packets {
                self.grow_at = self.grow_at.min(message.grow_at);
            }
            let Some(key) = message.key().filter(|_| packets > 0) else {
                continue;
            };
            let mut class = self.plan.scheduled_class(place as u8, active.len() as u8);
            if message.ungranted() <= self.plan.window {
                // The last RTTbytes use the level of a message of that size, if it is higher (the paper's simulator).
                class = class.min(self.plan.unscheduled_class(key.bytes));
            }
            let grant = message.grant(now, packets, class);
            self.order.remove(message.id.source, key, index);
            match message.key() {
                Some(key) => self.order.insert(message.id.source, key, index),
                // The message that takes its place is granted next.
                None => self.grow_at = self.grow_at.min(now + self.plan.packet_time),
            }
            self.replies.push_back((message.tag.clone(), grant));
        }
        active.clear();
        self.active = active;
        if !self.index.is_empty() {
            self.start_timer(now);
        }
    }

    fn start_timer(&mut self, now: Time) {
        if self.timer == Time::MAX {
            self.timer = now + self.plan.resend_interval;
        }
    }

    fn remove(&mut self, index: u32) -> Option<Incoming<T>> {
        let message = self.messages.get_mut(index as usize)?.take()?;
        self.index.remove(&message.id);
        self.free.push(index);
        if let Some(key) = message.key() {
            self.order.remove(message.id.source, key, index);
        }
        Some(message)
    }
}

/// Returns the time after `unanswered` requests until the next one, in resend intervals.
fn request_factor(unanswered: u32) -> u64 {
    1_u64
        .checked_shl(unanswered)
        .map_or(MAX_FACTOR, |doubled| doubled.min(MAX_FACTOR))
}
