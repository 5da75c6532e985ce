//! What a receiver keeps beside the stream: data that came too early, and acknowledgements not yet taken.

use super::Segment;
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
    /// Acknowledgements behind the one that is ready.
    pub(super) waiting: VecDeque<Segment>,
}

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
