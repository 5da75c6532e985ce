//! RACK: a segment is lost when one that was sent later has arrived, and time for reordering has passed (RFC 8985 §6).

use super::scoreboard::{Scoreboard, Sent, THRESHOLD, Verdict};
use duetime_core::{Span, Time};

/// Recoveries without a duplicate for which a longer reordering window is kept (RFC 8985 §6.2 step 4).
const PERSISTENCE: u8 = 16;

/// What RACK knows of a connection (RFC 8985 §5.3). Names in the comments are the RFC's.
#[derive(Clone, Debug)]
pub(super) struct Rack {
    /// When the segment that was sent last, of those that have arrived, left (`RACK.xmit_ts`).
    sent_at: Time,
    /// Its end (`RACK.end_seq`).
    end: u64,
    /// How long its round trip took (`RACK.rtt`).
    rtt: Span,
    /// The shortest round trip (`RACK.min_RTT`). A connection's whole life is its window.
    shortest: Span,
    /// The end of the highest segment that has arrived (`RACK.fack`).
    highest: u64,
    /// `highest` before the acknowledgement that is being processed.
    highest_before: u64,
    /// A segment arrived after one that was sent later (`RACK.reordering_seen`).
    reordering_seen: bool,
    /// Duplicates before this is acknowledged do not widen the window again (`RACK.dsack_round`); zero: none has.
    duplicate_round: u64,
    /// The reordering window, in quarters of `shortest` (`RACK.reo_wnd_mult`).
    quarters: u32,
    /// Recoveries until `quarters` falls back (`RACK.reo_wnd_persist`).
    persist: u8,
}

impl Rack {
    pub fn new() -> Self {
        Self {
            sent_at: Time::ZERO,
            end: 0,
            rtt: Span::ZERO,
            shortest: Span::MAX,
            highest: 0,
            highest_before: 0,
            reordering_seen: false,
            duplicate_round: 0,
            quarters: 1,
            persist: PERSISTENCE,
        }
    }

    /// Step 1: a round trip of a segment that was sent once.
    pub fn measured(&mut self, rtt: Span) {
        self.shortest = self.shortest.min(rtt);
    }

    /// An acknowledgement is going to be processed.
    pub fn begin(&mut self) {
        self.highest_before = self.highest;
    }

    /// Steps 2 and 3: a segment has arrived.
    pub fn delivered(&mut self, now: Time, sent: &Sent) {
        let rtt = now.since(sent.at);
        // The acknowledgement of an earlier copy comes too early for the last one.
        if !(sent.state.repeated && rtt < self.shortest) {
            self.rtt = rtt;
            if is_after((sent.at, sent.end), (self.sent_at, self.end)) {
                (self.sent_at, self.end) = (sent.at, sent.end);
            }
        }
        // What one acknowledgement tells of has no order: it is compared with what was known before.
        if sent.end < self.highest_before && !sent.state.repeated {
            self.reordering_seen = true;
        }
        self.highest = self.highest.max(sent.end);
    }

    /// Step 4, with whether the acknowledgement told of a duplicate: `una` is acknowledged, `next` is sent next.
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

    /// The reordering window (step 4).
    fn window(&self, repairing: bool, sacked: u32, smoothed: Span) -> Span {
        if !self.reordering_seen && (repairing || sacked >= THRESHOLD) {
            return Span::ZERO;
        }
        let quarter = self.shortest.as_ps() / 4;
        Span::from_ps(quarter.saturating_mul(u64::from(self.quarters))).min(smoothed)
    }

    /// Step 5: takes segments for lost; gives when to look again, if some may still arrive.
    pub fn find_lost(
        &self,
        board: &mut Scoreboard,
        now: Time,
        repairing: bool,
        smoothed: Span,
    ) -> Option<Time> {
        let window = self.window(repairing, board.sacked(), smoothed);
        let mut again = None;
        board.judge(|sent| {
            if !is_after((self.sent_at, self.end), (sent.at, sent.end)) {
                // What was sent once, and all behind it, left no earlier.
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
            again = again.max(Some(due));
            Verdict::Keep
        });
        again
    }

    /// §6.3: the retransmission timer has expired with `una` acknowledged.
    pub fn find_lost_by_timeout(
        &self,
        board: &mut Scoreboard,
        now: Time,
        repairing: bool,
        smoothed: Span,
        una: u64,
    ) {
        let window = self.window(repairing, board.sacked(), smoothed);
        board.judge(|sent| {
            if sent.start == una || sent.at + self.rtt + window <= now {
                Verdict::Lost
            } else {
                Verdict::Keep
            }
        });
    }
}

/// Whether the first segment left after the second (`RACK_sent_after`).
fn is_after(first: (Time, u64), second: (Time, u64)) -> bool {
    first > second
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Flags;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn a_timeout_takes_what_left_lately_for_under_way() {
        // RFC 8985 §6.3: a round trip of 100 us and a window of 25 us. Of four segments the first and what left more than
        // 125 us ago are lost.
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
    fn the_reordering_window_is_bounded_and_falls_back() {
        // §6.2 step 4: a quarter of the shortest round trip for each round with a duplicate, at most SRTT; a quarter again
        // after 16 recoveries.
        let mut rack = Rack::new();
        rack.measured(Span::from_us(100));
        let smoothed = Span::from_us(120);
        let window = |rack: &Rack| rack.window(false, 0, smoothed);
        assert_eq!(window(&rack), Span::from_us(25));
        rack.adapt(true, false, 1, 1_001);
        assert_eq!(window(&rack), Span::from_us(50));
        rack.adapt(true, false, 500, 2_001);
        assert_eq!(window(&rack), Span::from_us(50), "of the same round");
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
