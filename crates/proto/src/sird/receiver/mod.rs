//! Receiver of all messages into a host. It issues credit.

mod credit;
mod message;

use super::{Announcement, Body, Config, Control, Link, MessageId, Sizes};
use credit::Credits;
use duetime_core::{Span, Time};
use message::Incoming;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Round trips of silence, in addition to the transmission of all outstanding packets, after which credit is reclaimed.
/// A congested sender may use its credit later; then the packet is not sent twice, since only the sender decides that.
const RECLAIM_ROUND_TRIPS: u64 = 8;
/// Limit of the wait between timeouts, as a multiple of the first.
const MAX_WAIT_FACTOR: u64 = 32;
/// Timeouts without a new packet after which a message is forgotten. Its sender repeats the start if it still exists.
const MAX_TIMEOUTS: u32 = 16;
/// Time for which finished messages are remembered: several of the intervals at which a sender that missed the last
/// reply repeats the start, which are at most the larger of a second and 20 of its round trips.
const FINISHED: Span = Span::from_secs(5);
const FINISHED_ROUND_TRIPS: u64 = 200;
/// Limits of the memory that senders can use.
const MAX_MESSAGES: usize = 1 << 16;
const MAX_FINISHED: usize = 1 << 18;

/// Receiver of all messages into a host.
#[derive(Debug)]
pub struct Receiver<T> {
    sizes: Sizes,
    messages: Vec<Option<Incoming<T>>>,
    free: Vec<u32>,
    index: BTreeMap<MessageId, Known>,
    /// Number of open messages.
    open: usize,
    /// Number of announcements so far.
    serial: u64,
    /// Finished messages with their expiry, oldest first.
    finished: VecDeque<(Time, MessageId)>,
    memory: Span,
    credits: Credits,
    /// Times of checks, one for each open message.
    checks: BTreeSet<(Time, u32)>,
    replies: VecDeque<(T, Control)>,
    delivered: VecDeque<Delivered<T>>,
    timer: Time,
}

/// State of a message that was announced.
#[derive(Clone, Copy, Debug)]
enum Known {
    /// Index of an incomplete message.
    Open(u32),
    /// The message was complete or aborted.
    Finished,
}

/// A complete message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered<T> {
    /// The driver's data.
    pub tag: T,
    /// Number of packets that the network marked.
    pub marks: u32,
}

impl<T: Clone> Receiver<T> {
    /// Creates a receiver without messages.
    pub fn new(config: &Config, link: &Link) -> Self {
        let sizes = Sizes::new(config, link);
        Self {
            sizes,
            messages: Vec::new(),
            free: Vec::new(),
            index: BTreeMap::new(),
            open: 0,
            serial: 0,
            finished: VecDeque::new(),
            memory: FINISHED + sizes.round_trip * FINISHED_ROUND_TRIPS,
            credits: Credits::new(config, sizes, link.rate),
            checks: BTreeSet::new(),
            replies: VecDeque::new(),
            delivered: VecDeque::new(),
            timer: Time::MAX,
        }
    }

    /// Processes a packet. Returns true if the packet completed its message.
    pub fn input(
        &mut self,
        config: &Config,
        now: Time,
        id: MessageId,
        body: Body,
        (announcement, tag): (Announcement, T),
        is_marked: bool,
    ) -> bool {
        let known = self.index.get(&id).copied();
        if body == Body::Abort {
            if let Some(Known::Open(index)) = known {
                self.remove(index);
            }
            if !matches!(known, Some(Known::Finished)) {
                self.finish(now, id);
            }
            self.replies.push_back((tag, Control::Done));
            self.issue(now);
            return false;
        }
        let (index, is_new) = match known {
            Some(Known::Open(index)) => (index, false),
            Some(Known::Finished) => {
                self.replies.push_back((tag, Control::Done));
                return false;
            }
            None => {
                let packets = config.packets(announcement.bytes);
                match self.create(now, id, (announcement, packets), tag) {
                    Some(index) => (index, true),
                    None => return false,
                }
            }
        };
        let replies = self.replies.len();
        let is_complete = match body {
            Body::Payload {
                number,
                is_congested,
                ..
            } => self.receive(now, index, number, is_congested, is_marked),
            Body::Request | Body::Abort => {
                if !is_new {
                    // The sender repeats the request because it knows of no credit.
                    self.reply_with_credit(index);
                }
                false
            }
        };
        self.issue(now);
        if is_new && !is_complete && self.replies.len() == replies {
            // Confirms the message, so that the sender does not repeat the start.
            self.reply_with_credit(index);
        }
        is_complete
    }

    /// Removes and returns a complete message.
    pub fn take_delivered(&mut self) -> Option<Delivered<T>> {
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
    pub const fn next_timeout(&self) -> Time {
        self.timer
    }

    /// Issues paced credit, and reclaims the credit of silent messages. Returns the driver's data of messages that were
    /// forgotten because their senders do not respond.
    pub fn timeout(&mut self, now: Time) -> Vec<T> {
        let mut forgotten = Vec::new();
        while let Some(&(at, index)) = self.checks.first()
            && at <= now
        {
            self.checks.pop_first();
            if let Some(message) = self.check(now, index) {
                forgotten.push(message.tag);
            }
        }
        self.issue(now);
        forgotten
    }

    /// Returns the outstanding credit of all senders in bytes, unscheduled packets included.
    pub const fn outstanding(&self) -> u64 {
        self.credits.outstanding()
    }

    /// Returns the outstanding credit of a sender and the limit of its buckets in bytes, or `None` if it sent nothing.
    pub fn outstanding_of(&self, source: u32) -> Option<(u64, u64)> {
        self.credits.of_source(source)
    }

    /// Creates the state of a message and returns its index, or `None` if there are too many messages or senders.
    fn create(
        &mut self,
        now: Time,
        id: MessageId,
        announced: (Announcement, u64),
        tag: T,
    ) -> Option<u32> {
        if self.open >= MAX_MESSAGES {
            return None;
        }
        let mut message = Incoming::new(tag, id, announced, &self.sizes);
        message.source = self.credits.open(id.source, message.outstanding)?;
        message.serial = self.serial;
        message.restart_silence(now, self.credits.outstanding());
        message.check_at = now + self.min_wait();
        self.serial += 1;
        self.open += 1;
        let index = self.free.pop().unwrap_or(self.messages.len() as u32);
        if index as usize == self.messages.len() {
            self.messages.push(None);
        }
        self.checks.insert((message.check_at, index));
        self.credits.place(index, &mut message);
        self.messages[index as usize] = Some(message);
        self.index.insert(id, Known::Open(index));
        Some(index)
    }

    /// Records a data packet. Returns true if the message is complete.
    fn receive(
        &mut self,
        now: Time,
        index: u32,
        number: u64,
        is_congested: bool,
        is_marked: bool,
    ) -> bool {
        let Some(message) = self.messages[index as usize].as_mut() else {
            return false;
        };
        message.marks += u32::from(is_marked);
        self.credits.record(message.source, is_congested, is_marked);
        let Some(used) = message.receive(number, &self.sizes) else {
            self.credits.place(index, message);
            // The sender repeats the first packet because it knows of no reply.
            self.reply_with_credit(index);
            return false;
        };
        message.restart_silence(now, self.credits.outstanding());
        message.wait = Span::ZERO;
        message.timeouts = 0;
        self.credits.release(message.source, used);
        if message.left() > 0 {
            self.credits.place(index, message);
            return false;
        }
        let Some(message) = self.remove(index) else {
            return false;
        };
        self.finish(now, message.id);
        self.replies.push_back((message.tag.clone(), Control::Done));
        self.delivered.push_back(Delivered {
            tag: message.tag,
            marks: message.marks,
        });
        true
    }

    /// Issues credit while the pacer and the buckets permit, and sets the timer.
    fn issue(&mut self, now: Time) {
        let mut paced = None;
        while let Some(index) = self.credits.next() {
            let Some(message) = self.messages[index as usize].as_mut() else {
                break;
            };
            let bytes = message.next_bytes(&self.sizes);
            if !self.credits.has_room(bytes) {
                break;
            }
            paced = self.credits.wait(now);
            if paced.is_some() {
                break;
            }
            let credit = message.credit(now, bytes, self.credits.outstanding());
            self.credits.issue(now, message.source, bytes);
            self.credits.place(index, message);
            self.replies.push_back((message.tag.clone(), credit));
        }
        if paced.is_none() {
            self.credits.rest();
        }
        let check = self.checks.first().map_or(Time::MAX, |&(at, _)| at);
        self.timer = paced.unwrap_or(Time::MAX).min(check);
    }

    fn min_wait(&self) -> Span {
        self.sizes.round_trip * RECLAIM_ROUND_TRIPS
    }

    /// Reclaims the credit of a message that was silent for too long. Returns the message if it is forgotten.
    fn check(&mut self, now: Time, index: u32) -> Option<Incoming<T>> {
        let min_wait = self.min_wait();
        let outstanding = self.credits.outstanding();
        let message = self.messages[index as usize].as_mut()?;
        let transit = self.credits.transit(message.ahead.max(outstanding));
        let wait = message.wait.max(min_wait) + transit;
        let due = message.heard_at + wait;
        if message.outstanding == 0 {
            message.check_at = now + min_wait;
        } else if due > now {
            message.check_at = due;
        } else if message.timeouts == MAX_TIMEOUTS {
            return self.remove(index);
        } else {
            let bytes = message.reclaim();
            message.restart_silence(now, outstanding);
            let doubled = message.wait.max(min_wait) * 2;
            message.wait = doubled.min(min_wait * MAX_WAIT_FACTOR);
            message.check_at = now + min_wait;
            self.credits.release(message.source, bytes);
            self.credits.place(index, message);
        }
        self.checks.insert((message.check_at, index));
        None
    }

    fn reply_with_credit(&mut self, index: u32) {
        if let Some(message) = &self.messages[index as usize] {
            let reply = (message.tag.clone(), message.current_credit());
            self.replies.push_back(reply);
        }
    }

    /// Remembers a finished message, and forgets those that are too old or too many.
    fn finish(&mut self, now: Time, id: MessageId) {
        let is_full = |finished: &VecDeque<_>| finished.len() >= MAX_FINISHED;
        while is_full(&self.finished)
            || (self.finished.front()).is_some_and(|&(expiry, _)| expiry <= now)
        {
            let Some((_, oldest)) = self.finished.pop_front() else {
                break;
            };
            self.index.remove(&oldest);
        }
        self.index.insert(id, Known::Finished);
        self.finished.push_back((now + self.memory, id));
    }

    fn remove(&mut self, index: u32) -> Option<Incoming<T>> {
        let message = self.messages[index as usize].take()?;
        self.checks.remove(&(message.check_at, index));
        self.index.remove(&message.id);
        self.free.push(index);
        self.open -= 1;
        self.credits.close(index, &message);
        Some(message)
    }
}
