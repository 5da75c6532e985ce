//! Expected state of an incomplete message.

use crate::case::Case;
use crate::rules::{Rule, rule};
use core::ops::Range;
use duetime_core::{Span, Time};

/// Round trips of silence after which a message is passed over, and after which packets are requested (docs/due.md,
/// "Timers").
const STALL: u64 = 2;
const RESEND: u64 = 4;
/// Requests after which a message is written off, and after which it is forgotten.
const WRITTEN_OFF: u8 = 2;
const FORGOTTEN: u8 = 16;
/// Packets of a message at most.
const MAX_PACKETS: usize = 4;

/// Incomplete message at the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// Packets below are granted.
    pub granted: u8,
    /// Packets below were granted at some time.
    offered: u8,
    /// Set of the packets that have arrived.
    arrived: u16,
    /// Time of the last new packet, or of the first grant after all granted packets had arrived.
    heard_at: Time,
    /// Time of each packet's grant, or `None` if the grant was withdrawn.
    granted_at: [Option<Time>; MAX_PACKETS],
    asked_at: Time,
    /// Timed requests since the last new packet.
    asked: u8,
    /// True if the receiver must have passed over the message.
    is_passed: bool,
}

impl Entry {
    pub const fn new(now: Time) -> Self {
        Self {
            granted: 1,
            offered: 1,
            arrived: 0,
            heard_at: now,
            granted_at: [None; MAX_PACKETS],
            asked_at: now,
            asked: 0,
            is_passed: false,
        }
    }

    pub const fn received(&self) -> u64 {
        self.arrived.count_ones() as u64
    }

    pub const fn in_flight(&self) -> u64 {
        (self.granted as u64).saturating_sub(self.received())
    }

    pub fn expects(&self, number: u64) -> bool {
        number < self.granted.into() && self.arrived >> number & 1 == 0
    }

    /// Returns one past the highest packet that has arrived.
    pub const fn highest(&self) -> u8 {
        (u16::BITS - self.arrived.leading_zeros()) as u8
    }

    pub const fn is_written_off(&self) -> bool {
        self.asked >= WRITTEN_OFF
    }

    /// Returns true if a new packet arrived so recently that the message cannot be passed over.
    pub fn responds(&self, case: &Case, now: Time) -> bool {
        now.since(self.heard_at) < case.round_trip() * STALL
    }

    /// Returns true if the message was requested so often that the next request is 128 R after the last.
    pub const fn is_silent(&self) -> bool {
        self.asked > 5
    }

    /// Returns true if all requests were made in vain.
    pub const fn is_given_up(&self) -> bool {
        self.asked == FORGOTTEN
    }

    /// Returns true if the packets of the message may count towards the cap.
    pub const fn may_count(&self) -> bool {
        !self.is_written_off() && !self.is_passed
    }

    /// Records an expected packet. Returns its delay if the receiver can measure it, or zero.
    pub fn arrive(&mut self, now: Time, number: u64, is_last: bool, is_requested: bool) -> Span {
        let granted_at = self.granted_at[number as usize];
        let granted_at = granted_at.filter(|_| number >= self.highest().into());
        self.arrived |= 1 << number;
        self.heard_at = now;
        (self.asked, self.is_passed) = (0, false);
        if is_requested {
            self.asked_at = now;
        }
        if is_last {
            self.granted = self.granted.min(number as u8 + 1);
        }
        granted_at.map_or(Span::ZERO, |at| now.since(at))
    }

    /// Returns true if the next grant must be a resend, because the source may have sent the packets.
    pub const fn is_withdrawn(&self) -> bool {
        self.granted < self.offered
    }

    /// Records a grant of packets, at this time unless they were granted before. Returns the number of new packets.
    pub fn grant(&mut self, now: Time, packets: Range<u64>, at: Option<Time>) -> u64 {
        let more = packets.end.saturating_sub(self.granted.into());
        for packet in packets.clone() {
            if let Some(granted_at) = self.granted_at.get_mut(packet as usize) {
                *granted_at = at;
            }
        }
        if more > 0 {
            if self.in_flight() == 0 {
                self.heard_at = now;
            }
            self.granted = packets.end as u8;
            self.offered = self.offered.max(self.granted);
        }
        more
    }

    /// Records the effects of the timer, and checks requests. `transit` is the time that the packets in flight need,
    /// `slack` the upper limit of the excess of S + 2 V over 2 R.
    pub fn timeout(
        &mut self,
        case: &Case,
        now: Time,
        (transit, slack): (Span, Span),
        is_requested: bool,
    ) -> Result<(), Rule> {
        let round_trip = case.round_trip();
        let silence = now.since(self.heard_at);
        let is_stalled = silence.saturating_sub(transit) >= round_trip * STALL + slack;
        self.is_passed |= is_stalled && self.in_flight() > 0;
        let silence = silence.min(now.since(self.asked_at));
        if !is_requested {
            let latest = (round_trip * RESEND + slack * 2) * (1 << self.asked.min(5));
            let is_due = self.in_flight() > 0 && silence.saturating_sub(transit) >= latest;
            return rule(!is_due, Rule::Request);
        }
        let earliest = round_trip * (RESEND << self.asked.min(5));
        let is_right = silence >= earliest && !self.is_given_up();
        (self.asked, self.asked_at) = (self.asked + 1, now);
        if self.is_written_off() {
            let missing = self.arrived.trailing_ones() as u8;
            self.granted = self.granted.min(self.highest().max(missing + 1));
            self.granted_at = [None; MAX_PACKETS];
        }
        rule(is_right, Rule::Request)
    }
}
