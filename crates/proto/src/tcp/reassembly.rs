//! What a receiver keeps beside the stream: data that came too early, and acknowledgements not yet taken.

use super::{Sack, Segment};
use duetime_core::Time;
use std::collections::VecDeque;

/// Data beyond the next expected position, as ranges, with the ends of the messages in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Reassembly {
    /// Sorted, disjoint, not touching; each is `start..end`.
    ranges: Vec<(u64, u64)>,
    /// Sorted and unique.
    message_ends: Vec<u64>,
    /// Where the stream ends, once known.
    pub(super) fin: Option<u64>,
    /// The blocks of the acknowledgement that is ready.
    pub(super) ready: Sack,
    /// The blocks of the one that was taken before it.
    pub(super) taken: Sack,
    /// Acknowledgements behind the one that is ready.
    pub(super) waiting: VecDeque<(Segment, Sack)>,
    /// When data came last; with quick acknowledgements alone.
    pub(super) last_data: Option<Time>,
    /// Where data came last, in separate ranges, the latest first (RFC 2018 §4).
    recent: [u64; MOST_RECENT],
}

/// As many ranges as one acknowledgement tells of (RFC 2018 §3).
const MOST_RECENT: usize = 4;

impl Reassembly {
    /// Keeps `start..end`.
    pub(super) fn insert(&mut self, start: u64, end: u64) {
        let first = self.ranges.partition_point(|range| range.1 < start);
        let last = self.ranges.partition_point(|range| range.0 <= end);
        let mut merged = (start, end);
        if first < last {
            merged = (
                start.min(self.ranges[first].0),
                end.max(self.ranges[last - 1].1),
            );
        }
        self.ranges.splice(first..last, [merged]);
    }

    /// Whether all of `start..end` is kept.
    pub(super) fn has(&self, start: u64, end: u64) -> bool {
        let behind = self.ranges.partition_point(|range| range.1 < end);
        let range = self.ranges.get(behind);
        range.is_some_and(|range| range.0 <= start)
    }

    /// Data has come at `position`, of a range that is kept.
    pub(super) fn note(&mut self, position: u64) {
        let of = |position: u64| {
            let behind = self.ranges.partition_point(|range| range.1 <= position);
            (self.ranges.get(behind).copied()).filter(|range| range.0 <= position)
        };
        let range = of(position);
        // In place of an older one in the same range, of one whose range is gone, or of the oldest.
        let stale = |&other: &u64| of(other).is_none() || of(other) == range;
        let last = self.recent.iter().position(stale);
        let last = last.unwrap_or(MOST_RECENT - 1);
        self.recent[..=last].rotate_right(1);
        self.recent[0] = position;
    }

    /// What an acknowledgement of `ack` tells of: data that came twice first (RFC 2883 §4), then the ranges that are
    /// kept, the latest first (RFC 2018 §4).
    pub(super) fn blocks(&self, ack: u64, twice: Option<(u64, u64)>) -> Sack {
        let mut sack = Sack::NONE;
        if let Some((start, end)) = twice {
            sack.push(ack, start, end);
        }
        let mut told = [0; MOST_RECENT];
        for (number, &position) in self.recent.iter().enumerate() {
            let behind = self.ranges.partition_point(|range| range.1 <= position);
            if let Some(&(start, end)) = self.ranges.get(behind)
                && start <= position
                && !told.contains(&end)
            {
                sack.push(ack, start, end);
                told[number] = end;
            }
        }
        sack
    }

    /// A message ends at `end`.
    pub(super) fn insert_message_end(&mut self, end: u64) {
        if let Err(place) = self.message_ends.binary_search(&end) {
            self.message_ends.insert(place, end);
        }
    }

    /// Everything before `position` has arrived in order: gives how far the kept data continues it.
    pub(super) fn advance(&mut self, position: u64) -> u64 {
        let reached = self.ranges.partition_point(|range| range.0 <= position);
        self.ranges
            .drain(..reached)
            .map(|range| range.1)
            .fold(position, u64::max)
    }

    /// Forgets the message ends up to `position` and counts them.
    pub(super) fn take_message_ends(&mut self, position: u64) -> u32 {
        let taken = self.message_ends.partition_point(|end| *end <= position);
        self.message_ends.drain(..taken);
        taken as u32
    }

    /// Whether data is kept, or the end of the stream is known before it is reached.
    pub(super) fn has_gaps(&self) -> bool {
        !self.ranges.is_empty() || self.fin.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_merge_where_they_touch() {
        let mut kept = Reassembly::default();
        for (start, end) in [(30, 40), (10, 20), (50, 60), (40, 45), (12, 15)] {
            kept.insert(start, end);
        }
        assert_eq!(kept.ranges, [(10, 20), (30, 45), (50, 60)]);
        kept.insert(18, 55);
        assert_eq!(kept.ranges, [(10, 60)]);
        assert_eq!(kept.advance(9), 9);
        assert_eq!(kept.advance(10), 60);
        assert!(!kept.has_gaps());
    }

    #[test]
    fn the_latest_ranges_are_told_of_first() {
        let blocks = |kept: &Reassembly, twice| {
            let sack = kept.blocks(5_000, twice);
            sack.blocks(5_000).collect::<Vec<_>>()
        };
        let mut kept = Reassembly::default();
        let arrive = |kept: &mut Reassembly, start: u64| {
            kept.insert(start, start + 500);
            kept.note(start);
        };
        assert_eq!(blocks(&kept, None), []);
        // RFC 2018 §7, case 2: the first of eight segments is lost; each of the others adds to one block.
        for start in [5_500, 6_000, 6_500] {
            arrive(&mut kept, start);
            assert_eq!(blocks(&kept, None), [(5_500, start + 500)]);
        }
        // Case 3: every other segment is lost.
        kept = Reassembly::default();
        for start in [5_500, 6_500, 7_500] {
            arrive(&mut kept, start);
        }
        let three = [(7_500, 8_000), (6_500, 7_000), (5_500, 6_000)];
        assert_eq!(blocks(&kept, None), three);
        // A fourth and a fifth: four fit, and the oldest is left out.
        arrive(&mut kept, 8_500);
        arrive(&mut kept, 9_500);
        let expected = [(9_500, 10_000), (8_500, 9_000), three[0], three[1]];
        assert_eq!(blocks(&kept, None), expected);
        // Data that came twice is told of first; three others are left room.
        let expected = [(6_500, 7_000), expected[0], expected[1], expected[2]];
        assert_eq!(blocks(&kept, Some((6_500, 7_000))), expected);
        // The gap between two is filled: they are one, and the latest.
        arrive(&mut kept, 7_000);
        let merged = [(6_500, 8_000), (9_500, 10_000), (8_500, 9_000)];
        assert_eq!(blocks(&kept, None), merged);
        // The first gap is filled: the rest are still kept.
        assert_eq!(kept.advance(5_500), 6_000);
        assert_eq!(blocks(&kept, None), merged);
    }

    #[test]
    fn message_ends_count_once() {
        let mut kept = Reassembly::default();
        for end in [40, 20, 40] {
            kept.insert_message_end(end);
        }
        assert_eq!(kept.take_message_ends(20), 1);
        assert_eq!(kept.take_message_ends(60), 1);
        assert_eq!(kept.take_message_ends(60), 0);
    }
}
