//! State of one message at its receiver.

use crate::due::MessageId;
use crate::sird::{Announcement, Control, Sizes};
use duetime_core::{Span, Time};
use std::collections::BTreeSet;

/// Limit of the distance between the first missing packet and the last credit, which bounds memory.
const MAX_SPREAD: u64 = 1 << 16;
/// Timeouts without a new packet after which a message has credit for one packet only, since its sender may be dead.
const CAUTIOUS_TIMEOUTS: u32 = 2;

/// Message that is not complete. Packets below `next` have credit and are outstanding until they arrive.
#[derive(Debug)]
pub(super) struct Incoming<T> {
    pub tag: T,
    pub id: MessageId,
    /// Index of the sender.
    pub source: u32,
    /// Order of the announcements, which breaks ties.
    pub serial: u64,
    bytes: u64,
    packets: u64,
    received: u64,
    /// Packets below have arrived.
    pub contiguous: u64,
    /// Packets that arrived behind a gap.
    beyond: BTreeSet<u64>,
    /// Next packet to get credit.
    next: u64,
    /// Packets below had credit at some time, so that the sender may have sent them.
    offered: u64,
    /// Outstanding credit in bytes.
    pub outstanding: u64,
    /// Position in the order of its sender, or `None` if the message wants no credit.
    pub position: Option<(u64, u64)>,
    /// Time of the last new packet, of the first credit after all credit was used, or of the last timeout.
    pub heard_at: Time,
    /// Outstanding credit of all senders at that time, in bytes, behind which the next packet may be queued.
    pub ahead: u64,
    /// Minimum silence before the next timeout.
    pub wait: Span,
    /// Timeouts since the last new packet.
    pub timeouts: u32,
    pub marks: u32,
    /// Time of the next check.
    pub check_at: Time,
}

impl<T> Incoming<T> {
    /// Creates the state of a message of `packets`. Its unscheduled packets are outstanding.
    pub fn new(
        tag: T,
        id: MessageId,
        (announcement, packets): (Announcement, u64),
        sizes: &Sizes,
    ) -> Self {
        // A sender on a faster link may have a larger BDP.
        let max_unscheduled = sizes.bdp.div_ceil(sizes.packet());
        let unscheduled = announcement.unscheduled.min(packets).min(max_unscheduled);
        Self {
            tag,
            id,
            source: 0,
            serial: 0,
            bytes: announcement.bytes,
            packets,
            received: 0,
            contiguous: 0,
            beyond: BTreeSet::new(),
            next: unscheduled,
            offered: unscheduled,
            outstanding: sizes.wire_bytes(announcement.bytes, 0, unscheduled),
            position: None,
            heard_at: Time::ZERO,
            ahead: 0,
            wait: Span::ZERO,
            timeouts: 0,
            marks: 0,
            check_at: Time::MAX,
        }
    }

    /// Returns the number of packets that have not arrived.
    pub const fn left(&self) -> u64 {
        self.packets - self.received
    }

    /// Returns true if the message may get credit.
    pub const fn wants_credit(&self) -> bool {
        let limit = self.contiguous.saturating_add(MAX_SPREAD);
        self.next < self.packets
            && self.next < limit
            && (self.timeouts < CAUTIOUS_TIMEOUTS || self.outstanding == 0)
    }

    /// Returns the bytes on the link of the next packet to get credit.
    pub fn next_bytes(&self, sizes: &Sizes) -> u64 {
        sizes.wire_bytes(self.bytes, self.next, self.next + 1)
    }

    /// Records a packet. Returns the credit that it used, or `None` if the packet is a duplicate or does not exist. A
    /// packet whose credit was reclaimed uses none.
    pub fn receive(&mut self, number: u64, sizes: &Sizes) -> Option<u64> {
        let is_possible =
            number < self.packets && number < self.contiguous.saturating_add(2 * MAX_SPREAD);
        if !is_possible || number < self.contiguous || self.beyond.contains(&number) {
            return None;
        }
        self.received += 1;
        let used = if number < self.next {
            sizes.wire_bytes(self.bytes, number, number + 1)
        } else {
            0
        };
        let used = used.min(self.outstanding);
        self.outstanding -= used;
        if number == self.contiguous {
            self.contiguous += 1;
            while self.beyond.remove(&self.contiguous) {
                self.contiguous += 1;
            }
        } else {
            self.beyond.insert(number);
        }
        self.skip_received();
        Some(used)
    }

    /// Starts a silence, with this outstanding credit of all senders in bytes.
    pub const fn restart_silence(&mut self, now: Time, ahead: u64) {
        self.heard_at = now;
        self.ahead = ahead;
    }

    /// Gives credit to the next packet, of `bytes` on the link, with `ahead` bytes of outstanding credit of all senders.
    /// Returns the packet that informs the sender.
    pub fn credit(&mut self, now: Time, bytes: u64, ahead: u64) -> Control {
        if self.outstanding == 0 {
            self.restart_silence(now, ahead);
        }
        self.outstanding += bytes;
        let number = self.next;
        self.next += 1;
        self.skip_received();
        if number < self.offered {
            return Control::Resend { number };
        }
        self.offered = number + 1;
        self.current_credit()
    }

    /// Reclaims the outstanding credit, so that the missing packets get credit again. Returns its bytes.
    pub fn reclaim(&mut self) -> u64 {
        self.next = self.contiguous;
        self.skip_received();
        self.timeouts += 1;
        std::mem::take(&mut self.outstanding)
    }

    /// Returns the credit that the sender has got.
    pub const fn current_credit(&self) -> Control {
        Control::Credit {
            up_to: self.offered,
            arrived: self.contiguous,
        }
    }

    /// Moves the next packet to get credit past those that have arrived.
    fn skip_received(&mut self) {
        self.next = self.next.max(self.contiguous);
        while self.beyond.contains(&self.next) {
            self.next += 1;
        }
    }
}
