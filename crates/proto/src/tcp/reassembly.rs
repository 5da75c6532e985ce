//! Rare receiver state: out-of-order data and queued acknowledgements.

use super::{Sack, Segment};
use std::collections::VecDeque;

/// Data beyond the next expected position, as ranges, with the message ends in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Reassembly {
    /// Sorted, disjoint and non-adjacent ranges `start..end`.
    ranges: Vec<(u64, u64)>,
    /// Sorted and unique.
    message_ends: Vec<u64>,
    /// End of the stream, once known.
    pub(super) fin: Option<u64>,
    /// Blocks of the acknowledgement that is ready.
    pub(super) ready: Sack,
    /// Blocks of the last acknowledgement that was taken.
    pub(super) taken: Sack,
    /// Acknowledgements queued behind the one that is ready.
    pub(super) waiting: VecDeque<(Segment, Sack)>,
    /// Positions of recent arrivals in separate ranges, latest first (RFC 2018 §4).
    recent: [u64; MAX_RECENT],
}

/// Maximum number of ranges in one acknowledgement (RFC 2018 §3).
const MAX_RECENT: usize = 4;

impl Reassembly {
    /// Adds the range `start..end`.
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

    /// Returns true if all of `start..end` is present.
    pub(super) fn has(&self, start: u64, end: u64) -> bool {
        let behind = self.ranges.partition_point(|range| range.1 < end);
        let range = self.ranges.get(behind);
        range.is_some_and(|range| range.0 <= start)
    }

    /// Records that data arrived at `position`, which is in a stored range.
    pub(super) fn note(&mut self, position: u64) {
        let find = |position: u64| {
            let behind = self.ranges.partition_point(|range| range.1 <= position);
            (self.ranges.get(behind).copied()).filter(|range| range.0 <= position)
        };
        let range = find(position);
        // Replace an older position in the same range, one whose range is gone, or the oldest.
        let stale = |&other: &u64| find(other).is_none() || find(other) == range;
        let last = self.recent.iter().position(stale);
        let last = last.unwrap_or(MAX_RECENT - 1);
        self.recent[..=last].rotate_right(1);
        self.recent[0] = position;
    }

    /// Returns the blocks for an acknowledgement of `ack`: duplicate data first (RFC 2883 §4), then the stored ranges,
    /// latest first (RFC 2018 §4).
    pub(super) fn blocks(&self, ack: u64, duplicate: Option<(u64, u64)>) -> Sack {
        let mut sack = Sack::NONE;
        if let Some((start, end)) = duplicate {
            sack.push(ack, start, end);
        }
        let mut reported = [0; MAX_RECENT];
        for (number, &position) in self.recent.iter().enumerate() {
            let behind = self.ranges.partition_point(|range| range.1 <= position);
            if let Some(&(start, end)) = self.ranges.get(behind)
                && start <= position
                && !reported.contains(&end)
            {
                sack.push(ack, start, end);
                reported[number] = end;
            }
        }
        sack
    }

    /// Records that a message ends at `end`.
    pub(super) fn insert_message_end(&mut self, end: u64) {
        if let Err(place) = self.message_ends.binary_search(&end) {
            self.message_ends.insert(place, end);
        }
    }

    /// Removes the ranges that continue the stream at `position`. Returns the end of the data in order.
    pub(super) fn advance(&mut self, position: u64) -> u64 {
        let reached = self.ranges.partition_point(|range| range.0 <= position);
        self.ranges
            .drain(..reached)
            .map(|range| range.1)
            .fold(position, u64::max)
    }

    /// Removes the message ends up to `position` and returns their number.
    pub(super) fn take_message_ends(&mut self, position: u64) -> u32 {
        let taken = self.message_ends.partition_point(|end| *end <= position);
        self.message_ends.drain(..taken);
        taken as u32
    }

    /// Returns true if a range is stored, or if the end of the stream is known but not reached.
    pub(super) fn has_gaps(&self) -> bool {
        !self.ranges.is_empty() || self.fin.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjacent_ranges_merge() {
        let mut reassembly = Reassembly::default();
        for (start, end) in [(30, 40), (10, 20), (50, 60), (40, 45), (12, 15)] {
            reassembly.insert(start, end);
        }
        assert_eq!(reassembly.ranges, [(10, 20), (30, 45), (50, 60)]);
        reassembly.insert(18, 55);
        assert_eq!(reassembly.ranges, [(10, 60)]);
        assert_eq!(reassembly.advance(9), 9);
        assert_eq!(reassembly.advance(10), 60);
        assert!(!reassembly.has_gaps());
    }

    #[test]
    fn latest_ranges_come_first() {
        let blocks = |reassembly: &Reassembly, duplicate| {
            let sack = reassembly.blocks(5_000, duplicate);
            sack.blocks(5_000).collect::<Vec<_>>()
        };
        let mut reassembly = Reassembly::default();
        let arrive = |reassembly: &mut Reassembly, start: u64| {
            reassembly.insert(start, start + 500);
            reassembly.note(start);
        };
        assert_eq!(blocks(&reassembly, None), []);
        // RFC 2018 §7, case 2: the first of eight segments is lost; each later one extends one block.
        for start in [5_500, 6_000, 6_500] {
            arrive(&mut reassembly, start);
            assert_eq!(blocks(&reassembly, None), [(5_500, start + 500)]);
        }
        // Case 3: every other segment is lost.
        reassembly = Reassembly::default();
        for start in [5_500, 6_500, 7_500] {
            arrive(&mut reassembly, start);
        }
        let three = [(7_500, 8_000), (6_500, 7_000), (5_500, 6_000)];
        assert_eq!(blocks(&reassembly, None), three);
        // After a fourth and a fifth, four fit and the oldest is omitted.
        arrive(&mut reassembly, 8_500);
        arrive(&mut reassembly, 9_500);
        let expected = [(9_500, 10_000), (8_500, 9_000), three[0], three[1]];
        assert_eq!(blocks(&reassembly, None), expected);
        // Duplicate data comes first; the three latest ranges follow.
        let expected = [(6_500, 7_000), expected[0], expected[1], expected[2]];
        assert_eq!(blocks(&reassembly, Some((6_500, 7_000))), expected);
        // Filling the gap between two ranges merges them into the latest one.
        arrive(&mut reassembly, 7_000);
        let merged = [(6_500, 8_000), (9_500, 10_000), (8_500, 9_000)];
        assert_eq!(blocks(&reassembly, None), merged);
        // Filling the first gap leaves the other ranges.
        assert_eq!(reassembly.advance(5_500), 6_000);
        assert_eq!(blocks(&reassembly, None), merged);
    }

    #[test]
    fn message_ends_count_once() {
        let mut reassembly = Reassembly::default();
        for end in [40, 20, 40] {
            reassembly.insert_message_end(end);
        }
        assert_eq!(reassembly.take_message_ends(20), 1);
        assert_eq!(reassembly.take_message_ends(60), 1);
        assert_eq!(reassembly.take_message_ends(60), 0);
    }
}
