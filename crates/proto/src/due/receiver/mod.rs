//! Receiver of all messages into a host. It decides who may send next.

mod arrivals;
mod core_window;
mod delay;
mod grants;
mod message;
mod order;
mod shared_link;
mod single;
mod sizes;

use super::{Announcement, Body, Config, Control, Link, MessageId, UNSCHEDULED_PACKETS};
use crate::recent::Recent;
use arrivals::Arrivals;
use delay::Delays;
use duetime_core::{Span, Time};
use grants::Limits;
use message::{Incoming, Standing};
use order::Order;
use shared_link::Others;
use sizes::Sizes;
use std::collections::{BTreeMap, VecDeque};

pub use shared_link::{Demand, MAX_DEMANDS};

/// Round trips of silence after which a message is passed over, at least.
const STALL_ROUND_TRIPS: u64 = 2;
/// Round trips of silence after which missing packets are requested, at least.
const RESEND_ROUND_TRIPS: u64 = 4;
/// Requests without a new packet after which a message is written off.
const WRITE_OFF_UNANSWERED: u32 = 2;
/// Limit of the wait between requests, as a multiple of the first.
const MAX_WAIT_FACTOR: u64 = 32;
/// Requests without a new packet after which a message is forgotten. Its sender announces it again if it still exists.
const MAX_UNANSWERED: u32 = 16;
/// Time for which finished messages are remembered: several of the intervals at which a sender that missed the last
/// reply repeats its announcement, which are at most the larger of a second and 20 of its round trips.
const FINISHED: Span = Span::from_secs(5);
const FINISHED_ROUND_TRIPS: u64 = 200;
/// Limits of the memory that senders can use.
const MAX_MESSAGES: usize = 1 << 16;
const MAX_FINISHED: usize = 1 << 18;
const MAX_SPOILED: usize = 1 << 12;
const MAX_SOURCES: usize = 1 << 16;

/// Number of packets up to which a message without a deadline counts as a request.
const MAX_REQUEST_PACKETS: u64 = 4;

/// Receiver of all messages into a host.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Receiver<T> {
    classes: u8,
    keeps_order: bool,
    packet_time: Span,
    /// Round trip that the bandwidth-delay product assumes.
    round_trip: Span,
    /// Limit of the packets in flight of a message.
    window: u64,
    messages: Vec<Option<Incoming<T>>>,
    free: Vec<u32>,
    index: BTreeMap<MessageId, u32>,
    /// Number of announcements so far.
    serial: u64,
    finished: Recent<MessageId>,
    /// Queries of which an answer was late.
    spoiled: Recent<u64>,
    order: Order,
    /// True if messages came or went since the last ranking.
    is_stale: bool,
    ranked_at: Time,
    /// True if the messages were ranked since `take_ranked`.
    is_ranked: bool,
    others: Others,
    limits: Limits,
    delays: Delays,
    arrivals: Arrivals,
    sizes: Sizes,
    /// Limit of the grants of new messages; see [`limit_new`](Self::limit_new).
    new_limit: u64,
    replies: VecDeque<(T, Control)>,
    delivered: VecDeque<Delivered<T>>,
    timer: Time,
}

/// A complete message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Delivered<T> {
    /// The driver's data.
    pub tag: T,
    /// Number of packets that arrived marked.
    pub marks: u32,
}

impl<T: Clone> Receiver<T> {
    /// Creates a receiver without messages.
    pub fn new(config: &Config, link: &Link) -> Self {
        let packet_time = link.packet_time(config);
        let network = link.network_round_trip(config);
        let round_trip = network + config.host_delay;
        let memory = FINISHED + round_trip * FINISHED_ROUND_TRIPS;
        let bdp_permille = |permille: u32| {
            (round_trip.as_ps() / packet_time.as_ps()).saturating_mul(permille.into())
        };
        let window = (bdp_permille(config.window_permille) / 1_000).max(1);
        let cap = bdp_permille(config.overcommit_permille);
        Self {
            classes: link.classes.max(1),
            keeps_order: link.keeps_order,
            packet_time,
            round_trip,
            window,
            messages: Vec::new(),
            free: Vec::new(),
            index: BTreeMap::new(),
            serial: 0,
            finished: Recent::new(memory, MAX_FINISHED),
            spoiled: Recent::new(memory, MAX_SPOILED),
            order: Order::default(),
            is_stale: false,
            ranked_at: Time::ZERO,
            is_ranked: false,
            others: Others::default(),
            limits: Limits::default(),
            delays: Delays::new(
                (network, config.host_delay),
                packet_time,
                (window, cap),
                MAX_SOURCES,
            ),
            arrivals: Arrivals::new(packet_time, round_trip),
            sizes: Sizes::new(MAX_SOURCES),
            new_limit: u64::MAX,
            replies: VecDeque::new(),
            delivered: VecDeque::new(),
            timer: Time::MAX,
        }
    }

    /// Processes a packet. `announcement` returns the description of the message if the packet has one; the first
    /// packet and an abort must. Returns true if the packet completed the message.
    pub fn input(
        &mut self,
        config: &Config,
        now: Time,
        id: MessageId,
        body: Body,
        announcement: impl FnOnce() -> Option<(Announcement, T)>,
        is_marked: bool,
    ) -> bool {
        self.arrivals.count();
        let Body::Payload {
            number,
            announced,
            is_last,
            ..
        } = body
        else {
            self.abort(config, now, id, announcement());
            return false;
        };
        let known = self.index.get(&id).copied();
        let created = || self.create(now, id, announced.max(1), announcement()?);
        let Some(index) = known.or_else(created) else {
            return false;
        };
        let replies = self.replies.len();
        // Marks at the receiver's link would limit what the grants limit already.
        let is_core_mark = is_marked && config.core_window && self.is_link_idle();
        let size = (announced, is_last);
        let received = self.receive(now, index, number, size, is_marked, is_core_mark);
        let Some(is_complete) = received else {
            return false;
        };
        if is_complete {
            self.complete(now, index);
        }
        self.arrivals.update(now);
        self.schedule(config, now);
        if known.is_none() && !is_complete && self.replies.len() == replies {
            // Confirms the announcement, so that the sender does not repeat it.
            self.reply_with_grant(index);
        }
        is_complete
    }

    /// Returns true if no packets wait at the receiver's link, as far as its own arrivals show.
    fn is_link_idle(&self) -> bool {
        self.arrivals.is_idle() && self.others.is_empty()
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

    /// Passes over silent messages and requests missing packets. Returns the driver's data of messages that were
    /// forgotten because their sources do not respond.
    pub fn timeout(&mut self, config: &Config, now: Time) -> Vec<T> {
        if now < self.timer {
            return Vec::new();
        }
        self.timer = Time::MAX;
        let stall = self.delays.stall(self.round_trip * STALL_ROUND_TRIPS);
        let min_wait = self.round_trip * RESEND_ROUND_TRIPS;
        let resend = self.delays.resend(min_wait);
        // The host's link needs time for the packets in flight of all senders.
        let transit = self.packet_time * self.limits.outstanding;
        let mut forgotten = Vec::new();
        for &index in self.index.values() {
            let Some(message) = self.messages[index as usize].as_mut() else {
                continue;
            };
            if message.in_flight() == 0 {
                continue;
            }
            let silence = now.since(message.heard_at).saturating_sub(transit);
            if silence >= stall && message.standing == Standing::Responding {
                self.limits.move_to(Standing::PassedOver, message);
            }
            let wait = message.wait.max(resend);
            if silence < wait || now.since(message.asked_at) < wait {
                continue;
            }
            if message.unanswered == MAX_UNANSWERED {
                forgotten.push(index);
                continue;
            }
            message.unanswered += 1;
            message.wait = (wait * 2).min(min_wait * MAX_WAIT_FACTOR);
            message.asked_at = now;
            if message.unanswered >= WRITE_OFF_UNANSWERED {
                self.limits.move_to(Standing::WrittenOff, message);
            }
            self.replies.extend(message.requests());
        }
        let forgotten = forgotten.into_iter().filter_map(|index| self.remove(index));
        let forgotten = forgotten.map(|message| message.tag).collect();
        self.arrivals.update(now);
        self.schedule(config, now);
        forgotten
    }

    fn get(&self, index: u32) -> Option<&Incoming<T>> {
        self.messages.get(index as usize)?.as_ref()
    }

    /// Creates the state of an announced message and returns its index. Returns `None` for a finished message, after a
    /// reply, and if there are too many messages.
    fn create(
        &mut self,
        now: Time,
        id: MessageId,
        announced: u64,
        (announcement, tag): (Announcement, T),
    ) -> Option<u32> {
        if self.finished.contains(&id) {
            self.replies.push_back((tag, Control::Done));
            return None;
        }
        if self.index.len() >= MAX_MESSAGES {
            return None;
        }
        let window = self.delays.window(id.source);
        let mut message = Incoming::new(tag, id, announcement, announced, window);
        message.packets = self.sizes.expect(id.source, announced);
        message.announcement.is_request &=
            announcement.deadline.is_none() && announced <= MAX_REQUEST_PACKETS;
        message.serial = self.serial;
        message.limit = self.new_limit;
        message.heard_at = now;
        message.asked_at = now;
        self.serial += 1;
        self.limits.add(message.standing, UNSCHEDULED_PACKETS);
        let index = self.free.pop().unwrap_or(self.messages.len() as u32);
        if index as usize == self.messages.len() {
            self.messages.push(None);
        }
        self.messages[index as usize] = Some(message);
        self.index.insert(id, index);
        self.is_stale = true;
        Some(index)
    }

    /// Records a packet of a message and the size that it announces: the number of packets, and whether it is the last.
    /// Returns true if the message is complete, or `None` if the packet was not expected: it is a duplicate or was not
    /// granted.
    fn receive(
        &mut self,
        now: Time,
        index: u32,
        number: u64,
        (announced, is_last): (u64, bool),
        is_marked: bool,
        is_core_mark: bool,
    ) -> Option<bool> {
        let message = self.messages[index as usize].as_mut()?;
        message.marks += u32::from(is_marked);
        if !message.expects(number) {
            return None;
        }
        message.heard_at = now;
        message.wait = Span::ZERO;
        message.unanswered = 0;
        let returns = message.standing == Standing::WrittenOff;
        if message.standing != Standing::Responding {
            self.limits.move_to(Standing::Responding, message);
        }
        let packets = message.packets;
        let cancelled = message.resize(number, announced, is_last);
        if message.packets != packets {
            self.limits.remove(message.standing, cancelled);
            message.announcement.is_request &= message.packets <= MAX_REQUEST_PACKETS;
            self.is_stale = true;
        }
        let arrival = message.receive(number);
        self.limits.remove(Standing::Responding, 1);
        if returns {
            self.replies.extend(message.requests());
            message.asked_at = now;
        } else if let Some((from, to)) = arrival.gap
            && self.keeps_order
        {
            let request = Control::Resend { from, to };
            self.replies.push_back((message.tag.clone(), request));
            message.asked_at = now;
        }
        if let Some(granted_at) = arrival.granted_at {
            let source = message.id.source;
            message.window = self.delays.record(source, now.since(granted_at));
        }
        message.core.count(is_core_mark, self.window);
        Some(message.left() == 0)
    }

    fn complete(&mut self, now: Time, index: u32) {
        let Some(message) = self.remove(index) else {
            return;
        };
        self.finished.insert(now, message.id);
        self.sizes
            .record(message.id.source, message.first_announced, message.packets);
        let is_late = message
            .announcement
            .deadline
            .is_some_and(|deadline| deadline < now);
        if let (Some(query), true) = (message.announcement.query, is_late) {
            self.spoiled.insert(now, query);
        }
        self.replies.push_back((message.tag.clone(), Control::Done));
        self.delivered.push_back(Delivered {
            tag: message.tag,
            marks: message.marks,
        });
    }

    /// Forgets a message that its sender aborted, and confirms the abort.
    fn abort(
        &mut self,
        config: &Config,
        now: Time,
        id: MessageId,
        announcement: Option<(Announcement, T)>,
    ) {
        if let Some(&index) = self.index.get(&id) {
            self.remove(index);
        }
        if let Some((_, tag)) = announcement {
            self.finished.insert(now, id);
            self.replies.push_back((tag, Control::Done));
        }
        self.schedule(config, now);
    }

    fn remove(&mut self, index: u32) -> Option<Incoming<T>> {
        let message = self.messages[index as usize].take()?;
        self.index.remove(&message.id);
        self.free.push(index);
        self.limits.remove(message.standing, message.in_flight());
        self.is_stale = true;
        Some(message)
    }
}
