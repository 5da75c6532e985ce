//! A message that arrives: its packets, grants and timers.

use super::core_window::CoreWindow;
use crate::due::{Announcement, Control, MessageId, UNSCHEDULED_PACKETS};
use core::ops::Range;
use duetime_core::{Span, Time};
use std::collections::{BTreeSet, VecDeque};

/// Maximum distance between the first missing and the last granted packet, so that a loss that is not repaired bounds
/// the memory for packets behind it.
const MAX_SPREAD: u64 = 4_096;

/// Part of the expected size by which it grows if more packets come.
const GROWTH_PART: u64 = 8;

/// State of an incomplete message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Incoming<T> {
    pub tag: T,
    pub id: MessageId,
    /// Number of the announcement at this receiver.
    pub serial: u64,
    pub announcement: Announcement,
    /// Number of packets that the source announced first.
    pub first_announced: u64,
    /// Number of packets that the source announced last.
    announced: u64,
    /// Number of packets that the receiver expects.
    pub packets: u64,
    /// Packets from this one on are not granted.
    pub limit: u64,
    /// True if the last packet has arrived, so that `packets` is right.
    knows_last: bool,
    pub received: u64,
    /// Packets below were granted, and their grants not withdrawn.
    pub granted: u64,
    /// Packets below were granted at some time, so that the source may have sent them.
    offered: u64,
    /// Packets below have arrived.
    contiguous: u64,
    /// Packets that arrived behind a gap.
    beyond: BTreeSet<u64>,
    /// One past the highest packet that arrived.
    highest: u64,
    /// Grants that no packet has answered, and their times. Packets that are granted again are in none.
    grants: VecDeque<(Range<u64>, Time)>,
    /// Time of the last new packet, or of the first grant after all granted packets had arrived.
    pub heard_at: Time,
    /// Time of the last request for missing packets.
    pub asked_at: Time,
    /// Minimum wait before the next request.
    pub wait: Span,
    /// Requests for missing packets since the last new packet.
    pub unanswered: u32,
    pub standing: Standing,
    pub is_background: bool,
    pub class: u8,
    pub marks: u32,
    /// Limit of the packets in flight by the source's delay.
    pub window: u64,
    pub core: CoreWindow,
}

/// State of a message by the silence of its source, which decides how its packets in flight count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Standing {
    /// Its packets count.
    Responding,
    /// Other messages use its share of the link. Its packets count towards the total only.
    PassedOver,
    /// Its packets do not count.
    WrittenOff,
}

/// Effect of a new packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arrival {
    /// Packets that are missing before this one and were not missed before.
    pub gap: Option<(u64, u64)>,
    /// Time of the packet's first grant, unless others behind it have arrived or the grant was withdrawn.
    pub granted_at: Option<Time>,
}

impl<T> Incoming<T> {
    /// Creates the state of a message.
    pub const fn new(
        tag: T,
        id: MessageId,
        announcement: Announcement,
        announced: u64,
        window: u64,
    ) -> Self {
        Self {
            tag,
            id,
            serial: 0,
            announcement,
            first_announced: announced,
            announced,
            packets: announced,
            limit: u64::MAX,
            knows_last: false,
            received: 0,
            granted: UNSCHEDULED_PACKETS,
            offered: UNSCHEDULED_PACKETS,
            contiguous: 0,
            beyond: BTreeSet::new(),
            highest: 0,
            grants: VecDeque::new(),
            heard_at: Time::ZERO,
            asked_at: Time::ZERO,
            wait: Span::ZERO,
            unanswered: 0,
            standing: Standing::Responding,
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
        let limit = limit.min(self.limit);
        limit.saturating_sub(self.granted)
    }

    /// Returns true if the packet is expected: granted, and not here.
    pub fn expects(&self, number: u64) -> bool {
        number < self.granted && number >= self.contiguous && !self.beyond.contains(&number)
    }

    /// Adopts the size that expected packet `number` announces. A size that contradicts earlier packets is ignored.
    /// Returns the number of grants for packets that do not exist, which are cancelled.
    pub fn resize(&mut self, number: u64, announced: u64, is_last: bool) -> u64 {
        if self.knows_last {
            return 0;
        }
        if is_last && number + 1 >= self.highest {
            self.knows_last = true;
            self.packets = number + 1;
        } else if announced > self.announced {
            self.announced = announced;
            self.packets = self.packets.max(announced);
        } else if number + 1 >= self.packets {
            // The message is longer than expected, but no longer than announced. Grants for packets that do not exist
            // leave the link idle, so the expectation grows in small steps.
            let more = self.packets.saturating_add(self.packets / GROWTH_PART + 1);
            self.packets = more.min(self.announced).max(self.packets);
        }
        let cancelled = self.granted.saturating_sub(self.packets);
        self.granted -= cancelled;
        cancelled
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
        // A packet below the highest may have been sent twice, so its delay is ambiguous (Karn's rule). So is that of a packet
        // that was requested after silence, but without it the timers would not follow a delay that exceeds them.
        if number < self.highest {
            return Arrival::default();
        }
        let gap = (number > self.highest).then_some((self.highest, number));
        self.highest = number + 1;
        while self
            .grants
            .front()
            .is_some_and(|(packets, _)| packets.end <= number)
        {
            self.grants.pop_front();
        }
        let grant = self.grants.front();
        let grant = grant.filter(|(packets, _)| packets.contains(&number));
        Arrival {
            gap,
            granted_at: grant.map(|&(_, at)| at),
        }
    }

    /// Grants `packets` more. Returns the packet that informs the source.
    pub fn grant(&mut self, now: Time, packets: u64) -> Control {
        if self.in_flight() == 0 {
            self.heard_at = now;
        }
        let from = self.granted;
        self.granted += packets;
        if from < self.offered {
            // The source may have sent these packets, so a grant would be no request.
            self.offered = self.offered.max(self.granted);
            return Control::Resend {
                from,
                to: self.granted,
            };
        }
        self.offered = self.granted;
        self.grants.push_back((from..self.granted, now));
        self.current_grant()
    }

    /// Withdraws the grants of packets behind the highest that arrived. One packet remains, if none is missing before.
    pub fn withdraw(&mut self) {
        self.granted = self.granted.min(self.highest.max(self.contiguous + 1));
        self.grants.clear();
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

    /// Returns requests for the granted packets that are missing, with the driver's data. If the message is written off,
    /// requests one packet only, since its source may be dead.
    pub fn requests(&self) -> impl Iterator<Item = (T, Control)> + '_
    where
        T: Clone,
    {
        let (max_requests, max_packets) = match self.standing {
            Standing::WrittenOff => (1, 1),
            _ => (usize::MAX, u64::MAX),
        };
        let ranges = self.missing().take(max_requests);
        ranges.map(move |(from, to)| {
            let to = to.min(from.saturating_add(max_packets));
            (self.tag.clone(), Control::Resend { from, to })
        })
    }

    /// Returns the ranges of granted packets that are missing.
    fn missing(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let ends = self.beyond.iter().copied().chain([self.granted]);
        let mut from = self.contiguous;
        ends.filter_map(move |to| {
            let range = (to > from).then_some((from, to));
            from = to + 1;
            range
        })
    }
}
