//! Scoreboard of the segments in flight: their send times, and which have arrived or are lost (RFC 6675 §2 to §4).

use crate::tcp::Flags;
use duetime_core::Time;
use duetime_core::prefetch::prefetch;
use std::collections::VecDeque;

/// Number of segments or separate blocks that must arrive above a segment before it counts as lost (RFC 6675 §2,
/// `DupThresh`).
pub(super) const THRESHOLD: u32 = 3;

/// A segment that is not acknowledged cumulatively.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub start: u64,
    /// Position after the segment, including a FIN.
    pub end: u64,
    /// Time of the last transmission.
    pub at: Time,
    /// PUSH and FIN flags of the first transmission.
    pub flags: Flags,
    pub state: State,
}

/// State of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    /// True if the segment has arrived.
    pub sacked: bool,
    /// True if the segment counts as lost.
    pub lost: bool,
    /// True if a copy counts as in flight.
    pub repaired: bool,
    /// True if the segment was sent more than once.
    pub repeated: bool,
}

impl Sent {
    #[inline]
    fn bytes(&self) -> u64 {
        self.end - self.start
    }

    /// Returns the payload length in bytes.
    pub fn len(&self) -> u32 {
        (self.bytes() - u64::from(self.flags.contains(Flags::FIN))) as u32
    }

    /// Returns true if the segment is lost and no copy is in flight.
    fn needs_retransmit(&self) -> bool {
        self.state.lost && !self.state.repaired && !self.state.sacked
    }
}

/// Segments in flight, by position, with sums over them.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    segments: VecDeque<Sent>,
    /// Bytes that have arrived.
    sacked_bytes: u64,
    /// Segments that have arrived.
    sacked: u32,
    /// Bytes that are lost.
    lost_bytes: u64,
    /// Bytes with a copy in flight.
    repaired_bytes: u64,
    /// Segments sent more than once.
    repeated: u32,
    /// Lost segments without a copy in flight.
    waiting: u32,
    /// Lower bound on the start of those segments.
    waiting_from: u64,
    /// End of the highest segment that has arrived, or zero.
    highest_sacked: u64,
}

impl Scoreboard {
    /// Adds a segment, sent for the first time, after all others.
    pub fn push(&mut self, start: u64, end: u64, at: Time, flags: Flags) {
        self.segments.push_back(Sent {
            start,
            end,
            at,
            flags: Flags(flags.0 & (Flags::PUSH | Flags::FIN).0),
            state: State::default(),
        });
    }

    /// Returns true if every segment was sent once, and none is known to have arrived or counts as lost.
    #[inline]
    pub fn is_undisturbed(&self) -> bool {
        self.sacked == 0 && self.lost_bytes == 0 && self.repeated == 0
    }

    /// Returns the first segment in flight.
    #[inline]
    pub fn first(&self) -> Option<&Sent> {
        self.segments.front()
    }

    /// Prefetches the first and last segments in flight.
    #[inline]
    pub fn prefetch(&self) {
        for segment in [self.segments.front(), self.segments.back()] {
            segment.map(prefetch);
        }
    }

    /// Returns the bytes that count as in flight (RFC 6675 §4, `SetPipe`).
    pub fn pipe(&self) -> u64 {
        self.flight() - self.sacked_bytes - self.lost_bytes + self.repaired_bytes
    }

    /// Returns the bytes sent and not acknowledged cumulatively.
    pub fn flight(&self) -> u64 {
        match (self.segments.front(), self.segments.back()) {
            (Some(first), Some(last)) => last.end - first.start,
            _ => 0,
        }
    }

    /// Returns true if exactly one segment is in flight.
    pub fn is_single(&self) -> bool {
        self.segments.len() == 1
    }

    /// Returns the number of segments that have arrived beyond the cumulative acknowledgement.
    pub fn sacked(&self) -> u32 {
        self.sacked
    }

    /// Returns true if a lost segment waits for retransmission.
    pub fn has_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Removes the segments before `ack`. Calls `delivered` for each one not known to have arrived.
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
                // Our receivers never acknowledge parts of a segment.
                let rest = Sent {
                    start: ack,
                    state: State::default(),
                    ..first
                };
                self.segments.push_front(rest);
            }
        }
    }

    /// Does what [`Scoreboard::acknowledge`] does if [`Scoreboard::is_undisturbed`]. Returns the first and the last
    /// segment that arrived, or `None` if there is none.
    #[inline]
    pub fn acknowledge_in_order(&mut self, ack: u64) -> Option<(Sent, Sent)> {
        debug_assert!(self.is_undisturbed());
        let first = self.segments.pop_front_if(|first| first.start < ack)?;
        let mut last = first;
        while last.end < ack
            && let Some(next) = self.segments.pop_front()
        {
            last = next;
        }
        if last.end > ack {
            // Our receivers never acknowledge parts of a segment.
            self.segments.push_front(Sent { start: ack, ..last });
        }
        Some((first, last))
    }

    /// Marks the segments within `start..end` as arrived. Calls `delivered` for each newly marked one.
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

    /// Marks segments as lost if enough later ones have arrived (RFC 6675 §4, `IsLost`), and the first segment after
    /// [`THRESHOLD`] duplicate acknowledgements (§5 step 1).
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
                break; // all before it are lost, too
            }
            if overtaken || index == 0 && u32::from(duplicates) >= THRESHOLD {
                self.change(index, |state| state.lost = true);
            }
        }
    }

    /// Passes each segment that has neither arrived nor waits for retransmission to `classify`, in order.
    pub fn classify(&mut self, mut classify: impl FnMut(&Sent) -> Verdict) {
        for index in 0..self.segments.len() {
            let sent = self.segments[index];
            if sent.state.sacked || sent.needs_retransmit() {
                continue;
            }
            match classify(&sent) {
                Verdict::Keep => {}
                Verdict::Lost => self.change(index, |state| {
                    // Its copy is lost, too.
                    (state.lost, state.repaired) = (true, false);
                }),
                Verdict::KeepRest => return,
            }
        }
    }

    /// Marks all segments that have not arrived as lost after a retransmission timeout (RFC 6675 §5.1).
    pub fn lose_all(&mut self) {
        self.classify(|_| Verdict::Lost);
    }

    /// Marks all segments as not arrived if the first one was reported but is not acknowledged, because the receiver
    /// has then discarded it (RFC 2018 §8).
    pub fn handle_reneging(&mut self) {
        let broken = |sent: &Sent| sent.state.sacked;
        if self.segments.front().is_some_and(broken) {
            for index in 0..self.segments.len() {
                self.change(index, |state| state.sacked = false);
            }
            self.highest_sacked = 0;
        }
    }

    /// Returns the first lost segment that waits for retransmission (RFC 6675 §4, `NextSeg` rule 1).
    pub fn first_waiting(&self) -> Option<usize> {
        if self.waiting == 0 {
            return None;
        }
        let from = self.waiting_from;
        let first = self.segments.partition_point(|sent| sent.start < from);
        let found = self
            .segments
            .iter()
            .skip(first)
            .position(Sent::needs_retransmit)?;
        Some(first + found)
    }

    /// Returns the first segment below one that has arrived, with no copy in flight (RFC 6675 §4, `NextSeg` rule 3).
    pub fn first_unrepaired(&self) -> Option<usize> {
        let below = |sent: &&Sent| sent.end <= self.highest_sacked;
        let mut candidates = self.segments.iter().take_while(below);
        candidates.position(|sent| !sent.state.sacked && !sent.state.repaired)
    }

    /// Returns the last segment that has not arrived (RFC 6675 §4, `NextSeg` rule 4).
    pub fn last_missing(&self) -> Option<usize> {
        self.segments.iter().rposition(|sent| !sent.state.sacked)
    }

    /// Returns the last segment (RFC 8985 §7.3).
    pub fn last(&self) -> Option<usize> {
        self.segments.len().checked_sub(1)
    }

    pub fn get(&self, index: usize) -> &Sent {
        &self.segments[index]
    }

    /// Records a retransmission. `counts` is true if `pipe` includes the copy.
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

    /// Changes the state of a segment and updates the sums.
    fn change(&mut self, index: usize, change: impl FnOnce(&mut State)) {
        let before = self.segments[index];
        self.count(&before, -1);
        change(&mut self.segments[index].state);
        let after = self.segments[index];
        self.count(&after, 1);
    }

    /// Adds a segment to the sums (`sign` 1) or subtracts it (-1).
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
        if sent.state.repeated {
            self.repeated = self.repeated.wrapping_add_signed(one);
        }
        if sent.needs_retransmit() {
            self.waiting = self.waiting.wrapping_add_signed(one);
            self.waiting_from = self.waiting_from.min(sent.start);
        }
    }
}

/// Classification of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The segment may still arrive.
    Keep,
    /// The segment is lost.
    Lost,
    /// This segment and all later ones may still arrive.
    KeepRest,
}
