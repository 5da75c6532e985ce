//! What is known of each segment in flight: when it left, whether it has arrived, and whether it is lost (RFC 6675 §2
//! to §4).

use crate::tcp::Flags;
use duetime_core::Time;
use std::collections::VecDeque;

/// Segments or separate blocks that must have arrived above a segment to make it lost (RFC 6675 §2, `DupThresh`).
pub(super) const THRESHOLD: u32 = 3;

/// A segment that is not yet acknowledged cumulatively.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub start: u64,
    /// The position after it; a FIN takes one.
    pub end: u64,
    /// When it left for the last time.
    pub at: Time,
    /// PUSH and FIN, as it was first sent.
    pub flags: Flags,
    pub state: State,
}

/// What is known of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    /// It has arrived.
    pub sacked: bool,
    /// It is taken for lost.
    pub lost: bool,
    /// A copy of it is taken to be on its way.
    pub repaired: bool,
    /// It was sent more than once.
    pub repeated: bool,
}

impl Sent {
    fn bytes(&self) -> u64 {
        self.end - self.start
    }

    /// Its payload, in bytes.
    pub fn len(&self) -> u32 {
        (self.bytes() - u64::from(self.flags.contains(Flags::FIN))) as u32
    }

    /// It is lost and no copy of it has left.
    fn waits(&self) -> bool {
        self.state.lost && !self.state.repaired && !self.state.sacked
    }
}

/// All segments in flight, by position, and sums over them.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    segments: VecDeque<Sent>,
    /// Bytes that have arrived.
    sacked_bytes: u64,
    /// Segments that have arrived.
    sacked: u32,
    /// Bytes that are lost.
    lost_bytes: u64,
    /// Bytes of which a copy is on its way.
    repaired_bytes: u64,
    /// Lost segments of which no copy has left.
    waiting: u32,
    /// None of them starts before this.
    waiting_from: u64,
    /// The end of the highest segment that has arrived; zero: none has.
    highest_sacked: u64,
}

impl Scoreboard {
    /// A segment leaves for the first time; it lies behind all others.
    pub fn push(&mut self, start: u64, end: u64, at: Time, flags: Flags) {
        self.segments.push_back(Sent {
            start,
            end,
            at,
            flags: Flags(flags.0 & (Flags::PUSH | Flags::FIN).0),
            state: State::default(),
        });
    }

    /// Bytes taken to be on their way (RFC 6675 §4, `SetPipe`).
    pub fn pipe(&self) -> u64 {
        self.flight() - self.sacked_bytes - self.lost_bytes + self.repaired_bytes
    }

    /// Bytes sent and not acknowledged cumulatively.
    pub fn flight(&self) -> u64 {
        match (self.segments.front(), self.segments.back()) {
            (Some(first), Some(last)) => last.end - first.start,
            _ => 0,
        }
    }

    /// Whether one segment is in flight.
    pub fn is_single(&self) -> bool {
        self.segments.len() == 1
    }

    /// Segments that have arrived beyond what is acknowledged.
    pub fn sacked(&self) -> u32 {
        self.sacked
    }

    /// Whether a lost segment waits to be sent again.
    pub fn has_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Everything before `ack` is acknowledged: gives each segment that had not arrived before to `delivered`.
    pub fn acknowledge(&mut self, ack: u64, mut delivered: impl FnMut(&Sent)) {
        while let Some(first) = self.segments.front().copied()
            && first.start < ack
        {
            self.count(&first, -1);
            self.segments.pop_front();
            if !first.state.sacked {
                delivered(&first);
            }
            if first.end > ack {
                // No receiver of ours acknowledges parts of a segment.
                let rest = Sent {
                    start: ack,
                    state: State::default(),
                    ..first
                };
                self.segments.push_front(rest);
            }
        }
    }

    /// The segments within `start..end` have arrived: gives each that had not before to `delivered`.
    pub fn sack(&mut self, start: u64, end: u64, mut delivered: impl FnMut(&Sent)) {
        let first = self.segments.partition_point(|sent| sent.start < start);
        for index in first..self.segments.len() {
            let sent = self.segments[index];
            if sent.end > end {
                break;
            }
            if sent.state.sacked {
                continue;
            }
            self.change(index, |state| {
                *state = State {
                    sacked: true,
                    repeated: state.repeated,
                    ..State::default()
                };
            });
            self.highest_sacked = self.highest_sacked.max(sent.end);
            delivered(&sent);
        }
    }

    /// Takes segments for lost that enough later ones have overtaken (RFC 6675 §4, `IsLost`), and the first with
    /// `duplicates` duplicate acknowledgements (§5 step 1).
    pub fn find_lost_by_position(&mut self, mss: u64, duplicates: u8) {
        if self.sacked == 0 {
            return;
        }
        let (mut bytes, mut blocks, mut in_block) = (0, 0, false);
        for index in (0..self.segments.len()).rev() {
            let sent = self.segments[index];
            if sent.state.sacked {
                bytes += sent.bytes();
                blocks += u32::from(!in_block);
                in_block = true;
                continue;
            }
            in_block = false;
            let overtaken = blocks >= THRESHOLD || bytes > u64::from(THRESHOLD - 1) * mss;
            if overtaken && sent.state.lost {
                break; // and so are all before it
            }
            if overtaken || index == 0 && u32::from(duplicates) >= THRESHOLD {
                self.change(index, |state| state.lost = true);
            }
        }
    }

    /// Offers each segment that has neither arrived nor waits to be sent again to `judge`, in order.
    pub fn judge(&mut self, mut judge: impl FnMut(&Sent) -> Verdict) {
        for index in 0..self.segments.len() {
            let sent = self.segments[index];
            if sent.state.sacked || sent.waits() {
                continue;
            }
            match judge(&sent) {
                Verdict::Keep => {}
                Verdict::Lost => self.change(index, |state| {
                    // Its copy, too, is lost.
                    (state.lost, state.repaired) = (true, false);
                }),
                Verdict::KeepRest => return,
            }
        }
    }

    /// The retransmission timer has expired with `una` acknowledged: whatever has not arrived is lost (RFC 6675 §5.1).
    pub fn lose_all(&mut self) {
        self.judge(|_| Verdict::Lost);
    }

    /// If the first segment is said to have arrived and is not acknowledged, the receiver has thrown it away (RFC 2018
    /// §8): then nothing is known to have arrived.
    pub fn doubt_arrivals(&mut self) {
        let broken = |sent: &Sent| sent.state.sacked;
        if self.segments.front().is_some_and(broken) {
            for index in 0..self.segments.len() {
                self.change(index, |state| state.sacked = false);
            }
            self.highest_sacked = 0;
        }
    }

    /// The first lost segment that waits to be sent again (RFC 6675 §4, `NextSeg` rule 1).
    pub fn first_waiting(&self) -> Option<usize> {
        if self.waiting == 0 {
            return None;
        }
        let from = self.waiting_from;
        let first = self.segments.partition_point(|sent| sent.start < from);
        let found = self.segments.iter().skip(first).position(Sent::waits)?;
        Some(first + found)
    }

    /// The first segment below one that has arrived, of which no copy has left (RFC 6675 §4, `NextSeg` rule 3).
    pub fn first_unrepaired(&self) -> Option<usize> {
        let below = |sent: &&Sent| sent.end <= self.highest_sacked;
        let mut candidates = self.segments.iter().take_while(below);
        candidates.position(|sent| !sent.state.sacked && !sent.state.repaired)
    }

    /// The last segment that has not arrived (RFC 6675 §4, `NextSeg` rule 4).
    pub fn last_missing(&self) -> Option<usize> {
        self.segments.iter().rposition(|sent| !sent.state.sacked)
    }

    /// The last segment (RFC 8985 §7.3).
    pub fn last(&self) -> Option<usize> {
        self.segments.len().checked_sub(1)
    }

    pub fn get(&self, index: usize) -> &Sent {
        &self.segments[index]
    }

    /// A segment leaves again; `counts` unless the copy is beyond what `pipe` counts.
    pub fn resend(&mut self, index: usize, now: Time, counts: bool) -> Sent {
        if self.first_waiting() == Some(index) {
            self.waiting_from = self.segments[index].end;
        }
        self.change(index, |state| {
            state.repeated = true;
            state.repaired |= counts;
        });
        self.segments[index].at = now;
        self.segments[index]
    }

    /// Changes what is known of a segment, and the sums.
    fn change(&mut self, index: usize, change: impl FnOnce(&mut State)) {
        let before = self.segments[index];
        self.count(&before, -1);
        change(&mut self.segments[index].state);
        let after = self.segments[index];
        self.count(&after, 1);
    }

    /// Adds a segment to the sums, or takes it away.
    fn count(&mut self, sent: &Sent, sign: i64) {
        let bytes = sent.bytes().cast_signed() * sign;
        let one = sign as i32;
        if sent.state.sacked {
            self.sacked_bytes = self.sacked_bytes.wrapping_add_signed(bytes);
            self.sacked = self.sacked.wrapping_add_signed(one);
        }
        if sent.state.lost {
            self.lost_bytes = self.lost_bytes.wrapping_add_signed(bytes);
        }
        if sent.state.repaired {
            self.repaired_bytes = self.repaired_bytes.wrapping_add_signed(bytes);
        }
        if sent.waits() {
            self.waiting = self.waiting.wrapping_add_signed(one);
            self.waiting_from = self.waiting_from.min(sent.start);
        }
    }
}

/// What becomes of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It may still arrive.
    Keep,
    /// It is lost.
    Lost,
    /// It and all after it may still arrive.
    KeepRest,
}
