//! RACK: a segment is lost if a later one has arrived and the time for reordering has passed (RFC 8985 §6).

use super::scoreboard::{Scoreboard, Sent, THRESHOLD, Verdict};
use duetime_core::{Span, Time};

/// Number of recoveries without a duplicate after which the reordering window shrinks (RFC 8985 §6.2 step 4).
const PERSISTENCE: u8 = 16;

/// RACK's state of a connection (RFC 8985 §5.3). Names in comments are the RFC's.
#[derive(Clone, Debug)]
pub(super) struct Rack {
    /// Send time of the most recently sent segment that has arrived (`RACK.xmit_ts`).
    sent_at: Time,
    /// End of that segment (`RACK.end_seq`).
    end: u64,
    /// Round-trip time of that segment (`RACK.rtt`).
    rtt: Span,
    /// Minimum round-trip time over the life of the connection (`RACK.min_RTT`).
    min_rtt: Span,
    /// End of the highest segment that has arrived (`RACK.fack`).
    highest: u64,
    /// Value of `highest` before the current acknowledgement.
    highest_before: u64,
    /// True if a segment arrived after one sent later (`RACK.reordering_seen`).
    reordering_seen: bool,
    /// Position that must be acknowledged before duplicates widen the window again (`RACK.dsack_round`); zero if none.
    duplicate_round: u64,
    /// Reordering window in quarters of `min_rtt` (`RACK.reo_wnd_mult`).
    quarters: u32,
    /// Number of recoveries until `quarters` is reset (`RACK.reo_wnd_persist`).
    persist: u8,
}

impl Rack {
    pub fn new() -> Self {
        Self {
            sent_at: Time::ZERO,
            end: 0,
            rtt: Span::ZERO,
            min_rtt: Span::MAX,
            highest: 0,
            highest_before: 0,
            reordering_seen: false,
            duplicate_round: 0,
            quarters: 1,
            persist: PERSISTENCE,
        }
    }

    /// Step 1: records the round-trip time of a segment that was sent once.
    #[inline]
    pub fn measured(&mut self, rtt: Span) {
        self.min_rtt = self.min_rtt.min(rtt);
    }

    /// Prepares for an acknowledgement.
    #[inline]
    pub fn begin(&mut self) {
        self.highest_before = self.highest;
    }

    /// Steps 2 and 3: records that a segment has arrived.
    #[inline]
    pub fn delivered(&mut self, now: Time, sent: &Sent) {
        let rtt = now.since(sent.at);
        // Too short a time: an earlier copy was acknowledged.
        if !(sent.state.repeated && rtt < self.min_rtt) {
            self.rtt = rtt;
            if is_after((sent.at, sent.end), (self.sent_at, self.end)) {
                (self.sent_at, self.end) = (sent.at, sent.end);
            }
        }
        // Segments of one acknowledgement have no order among themselves, so compare with the state before it.
        if sent.end < self.highest_before && !sent.state.repeated {
            self.reordering_seen = true;
        }
        self.highest = self.highest.max(sent.end);
    }

    /// Does what [`Rack::begin`], and [`Rack::measured`] and [`Rack::delivered`] for each segment, do if the segments
    /// from `first` to `last` have arrived, none was sent twice, and none beyond them has arrived.
    #[inline]
    pub fn delivered_in_order(&mut self, now: Time, first: &Sent, last: &Sent) {
        self.highest_before = self.highest;
        self.rtt = now.since(last.at);
        self.min_rtt = self.min_rtt.min(self.rtt);
        if is_after((last.at, last.end), (self.sent_at, self.end)) {
            (self.sent_at, self.end) = (last.at, last.end);
        }
        if first.end < self.highest_before {
            self.reordering_seen = true;
        }
        self.highest = self.highest.max(last.end);
    }

    /// Returns true if a segment that was sent after this one has arrived.
    #[inline]
    pub fn has_overtaken(&self, sent: &Sent) -> bool {
        is_after((self.sent_at, self.end), (sent.at, sent.end))
    }

    /// Step 4: adapts the reordering window, where `una` is acknowledged and `next` is sent next. `duplicate` is true
    /// if the acknowledgement reported duplicate data.
    #[inline]
    pub fn adapt(&mut self, duplicate: bool, recovered: bool, una: u64, next: u64) {
        if una >= self.duplicate_round {
            self.duplicate_round = 0;
        }
        if duplicate && self.duplicate_round == 0 {
            self.duplicate_round = next;
            self.quarters = self.quarters.saturating_add(1);
            self.persist = PERSISTENCE;
        } else if recovered {
            self.persist = self.persist.saturating_sub(1);
            if self.persist == 0 {
                self.quarters = 1;
            }
        }
    }

    /// Returns the reordering window (step 4).
    fn window(&self, repairing: bool, sacked: u32, smoothed: Span) -> Span {
        if !self.reordering_seen && (repairing || sacked >= THRESHOLD) {
            return Span::ZERO;
        }
        let quarter = self.min_rtt.as_ps() / 4;
        Span::from_ps(quarter.saturating_mul(u64::from(self.quarters))).min(smoothed)
    }

    /// Step 5: marks segments as lost. Returns the time at which to check again, if some may still arrive.
    pub fn find_lost(
        &self,
        board: &mut Scoreboard,
        now: Time,
        repairing: bool,
        smoothed: Span,
    ) -> Option<Time> {
        let window = self.window(repairing, board.sacked(), smoothed);
        let mut next_check = None;
        board.classify(|sent| {
            if !self.has_overtaken(sent) {
                // Segments sent once are in order of time, so all that follow were sent no earlier.
                return if sent.state.repeated {
                    Verdict::Keep
                } else {
                    Verdict::KeepRest
                };
            }
            let due = sent.at + self.rtt + window;
            if due <= now {
                return Verdict::Lost;
            }
            next_check = next_check.max(Some(due));
            Verdict::Keep
        });
        next_check
    }

    /// §6.3: marks segments as lost after a retransmission timeout, where `una` is acknowledged.
    pub fn find_lost_by_timeout(
        &self,
        board: &mut Scoreboard,
        now: Time,
        repairing: bool,
        smoothed: Span,
        una: u64,
    ) {
        let window = self.window(repairing, board.sacked(), smoothed);
        board.classify(|sent| {
            if sent.start == una || sent.at + self.rtt + window <= now {
                Verdict::Lost
            } else {
                Verdict::Keep
            }
        });
    }
}

/// Returns true if the first segment was sent after the second (`RACK_sent_after`).
#[inline]
fn is_after(first: (Time, u64), second: (Time, u64)) -> bool {
    first.0 > second.0 || (first.0 == second.0 && first.1 > second.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Flags;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn timeout_spares_recent_segments() {
        // RFC 8985 §6.3: a round trip of 100 us and a window of 25 us. Of four segments, the first one and those sent
        // more than 125 us ago are lost.
        let mut board = Scoreboard::default();
        for (number, left) in [0, 200, 9_874, 9_876].into_iter().enumerate() {
            let start = 1 + 1_000 * number as u64;
            board.push(start, start + 1_000, us(left), Flags::NONE);
        }
        let mut rack = Rack::new();
        rack.measured(Span::from_us(100));
        board.acknowledge(1_001, |sent| rack.delivered(us(100), sent));
        rack.find_lost_by_timeout(&mut board, us(10_000), false, Span::from_us(100), 1_001);
        assert_eq!((board.flight(), board.pipe()), (3_000, 1_000));
        let first = board.first_waiting().map(|index| board.get(index).start);
        assert_eq!(first, Some(1_001));
    }

    #[test]
    fn reordering_window_is_bounded_and_resets() {
        // §6.2 step 4: a quarter of the minimum round trip per round with a duplicate, at most SRTT; one quarter again
        // after 16 recoveries.
        let mut rack = Rack::new();
        rack.measured(Span::from_us(100));
        let smoothed = Span::from_us(120);
        let window = |rack: &Rack| rack.window(false, 0, smoothed);
        assert_eq!(window(&rack), Span::from_us(25));
        rack.adapt(true, false, 1, 1_001);
        assert_eq!(window(&rack), Span::from_us(50));
        rack.adapt(true, false, 500, 2_001);
        assert_eq!(window(&rack), Span::from_us(50), "same round");
        for una in [1_001, 2_001, 3_001, 4_001] {
            rack.adapt(true, false, una, una + 1_000);
        }
        assert_eq!(window(&rack), smoothed);
        for number in 1..=16 {
            assert_eq!(window(&rack), smoothed, "{number}");
            rack.adapt(false, true, 5_001, 6_001);
        }
        assert_eq!(window(&rack), Span::from_us(25));
        assert_eq!(rack.window(false, 3, smoothed), Span::ZERO);
        assert_eq!(rack.window(true, 0, smoothed), Span::ZERO);
    }
}
