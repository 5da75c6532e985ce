//! A message that arrives: its packets, grants and timers.

use super::core_window::CoreWindow;
use crate::due::{Announcement, Control, MessageId};
use duetime_core::{Span, Time};
use std::collections::{BTreeSet, VecDeque};

/// Maximum distance between the first missing and the last granted packet, so that a loss that is not repaired bounds
/// the memory for packets behind it.
const MAX_SPREAD: u64 = 4_096;

/// State of an incomplete message.
#[derive(Debug)]
pub(super) struct Incoming<T> {
    pub tag: T,
    pub id: MessageId,
    /// Number of the announcement at this receiver.
    pub serial: u64,
    pub announcement: Announcement,
    pub packets: u64,
    pub received: u64,
    /// Packets below were granted.
    pub granted: u64,
    /// Packets below have arrived.
    contiguous: u64,
    /// Packets that arrived behind a gap.
    beyond: BTreeSet<u64>,
    /// One past the highest packet that arrived.
    highest: u64,
    /// Grants that no packet has answered: one past the last packet, and time.
    grants: VecDeque<(u64, Time)>,
    /// Time of the last new packet, or of the first grant after all granted packets had arrived.
    pub heard_at: Time,
    /// Time of the last request for missing packets.
    pub asked_at: Time,
    /// Minimum wait before the next request.
    pub wait: Span,
    /// Requests for missing packets since the last new packet.
    pub unanswered: u32,
    /// True while the sender is silent and other messages use its share.
    pub is_passed_over: bool,
    pub is_background: bool,
    pub class: u8,
    pub marks: u32,
    /// Limit of the packets in flight by the source's delay.
    pub window: u64,
    pub core: CoreWindow,
}

/// Effect of a new packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arrival {
    /// Packets that are missing before this one and were not missed before.
    pub gap: Option<(u64, u64)>,
    /// Time of the packet's grant, if the packet was surely sent only once.
    pub granted_at: Option<Time>,
}

impl<T> Incoming<T> {
    /// Creates the state of an announced message of `packets`, of which `granted` need no grant.
    pub const fn new(
        tag: T,
        id: MessageId,
        announcement: Announcement,
        packets: u64,
        granted: u64,
        window: u64,
    ) -> Self {
        Self {
            tag,
            id,
            serial: 0,
            announcement,
            packets,
            received: 0,
            granted,
            contiguous: 0,
            beyond: BTreeSet::new(),
            highest: 0,
            grants: VecDeque::new(),
            heard_at: Time::ZERO,
            asked_at: Time::ZERO,
            wait: Span::ZERO,
            unanswered: 0,
            is_passed_over: false,
            is_background: false,
            class: 0,
            marks: 0,
            window,
            core: CoreWindow::new(window),
        }
    }

    /// Returns the number of packets that have not arrived.
    pub const fn left(&self) -> u64 {
        self.packets - self.received
    }

    /// Returns the number of packets that were granted and have not arrived.
    pub const fn in_flight(&self) -> u64 {
        self.granted - self.received
    }

    /// Returns the number of packets that may be granted at most, without regard to windows.
    pub fn grantable(&self) -> u64 {
        let limit = self.packets.min(self.contiguous + MAX_SPREAD);
        limit.saturating_sub(self.granted)
    }

    /// Returns true if the packet is expected: granted, and not here.
    pub fn expects(&self, number: u64) -> bool {
        number < self.granted && number >= self.contiguous && !self.beyond.contains(&number)
    }

    /// Records an expected packet.
    pub fn receive(&mut self, number: u64) -> Arrival {
        self.received += 1;
        if number == self.contiguous {
            self.contiguous += 1;
            while self.beyond.remove(&self.contiguous) {
                self.contiguous += 1;
            }
        } else {
            self.beyond.insert(number);
        }
        // A packet below the highest may have been sent twice, so its delay is ambiguous (Karn's rule).
        if number < self.highest {
            return Arrival::default();
        }
        let gap = (number > self.highest).then_some((self.highest, number));
        self.highest = number + 1;
        while self
            .grants
            .front()
            .is_some_and(|&(up_to, _)| up_to <= number)
        {
            self.grants.pop_front();
        }
        Arrival {
            gap,
            granted_at: self.grants.front().map(|&(_, at)| at),
        }
    }

    /// Grants `packets` more.
    pub fn grant(&mut self, now: Time, packets: u64) {
        if self.in_flight() == 0 {
            self.heard_at = now;
        }
        self.granted += packets;
        self.grants.push_back((self.granted, now));
    }

    /// Returns the grant that is in force.
    pub const fn current_grant(&self) -> Control {
        Control::Grant {
            up_to: self.granted,
            arrived: self.contiguous,
            class: self.class,
            is_background: self.is_background,
        }
    }

    /// Returns the ranges of granted packets that are missing.
    pub fn missing(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let ends = self.beyond.iter().copied().chain([self.granted]);
        let mut from = self.contiguous;
        ends.filter_map(move |to| {
            let range = (to > from).then_some((from, to));
            from = to + 1;
            range
        })
    }
}
