//! The event queue: a calendar of fixed-width buckets with an overflow heap.
//!
//! Events are ordered by (time, order); the order word is unique among simultaneous events, so the result never
//! depends on when an event was put in. Each link has at most one event here (the next arrival), so the queue holds
//! thousands of entries, not one per packet.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

const BUCKETS: usize = 4096;
const WORDS: usize = BUCKETS / 64;
const NONE: u32 = u32::MAX;

/// An event: when, and a word that orders simultaneous events and says what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    /// Picoseconds since the start.
    pub time: u64,
    /// Unique among events of one time.
    pub order: u64,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    event: Event,
    next: u32,
}

/// A monotone priority queue: nothing may be pushed before the last event popped.
#[derive(Clone, Debug)]
pub struct EventQueue {
    /// Bucket width is 2^shift ps.
    shift: u32,
    /// Absolute number of the bucket being served; its events are all in `current`.
    cursor: u64,
    /// Latest first, so that the next event is the last.
    current: Vec<Event>,
    heads: Vec<u32>,
    /// One bit per non-empty bucket, and one bit per non-zero word of those.
    occupied: [u64; WORDS],
    summary: u64,
    nodes: Vec<Node>,
    free: u32,
    overflow: BinaryHeap<Reverse<Event>>,
}

impl EventQueue {
    /// A queue whose calendar reaches at least `horizon_ps` ahead; later events go to the heap.
    pub fn new(horizon_ps: u64) -> Self {
        let width = (horizon_ps / BUCKETS as u64).max(1).next_power_of_two();
        Self {
            shift: width.trailing_zeros(),
            cursor: 0,
            current: Vec::with_capacity(64),
            heads: vec![NONE; BUCKETS],
            occupied: [0; WORDS],
            summary: 0,
            nodes: Vec::new(),
            free: NONE,
            overflow: BinaryHeap::new(),
        }
    }

    /// Puts an event in.
    #[inline]
    pub fn push(&mut self, event: Event) {
        let number = event.time >> self.shift;
        let ahead = number.wrapping_sub(self.cursor);
        if ahead.wrapping_sub(1) < BUCKETS as u64 - 1 {
            let bucket = number as usize % BUCKETS;
            let node = Node { event, next: self.heads[bucket] };
            self.heads[bucket] = self.allocate(node);
            self.occupied[bucket / 64] |= 1 << (bucket % 64);
            self.summary |= 1 << (bucket / 64);
        } else if number <= self.cursor {
            let at = self.current.partition_point(|other| *other > event);
            self.current.insert(at, event);
        } else {
            self.overflow.push(Reverse(event));
        }
    }

    /// Takes the next event if it comes before `end_ps`.
    #[inline]
    pub fn pop_before(&mut self, end_ps: u64) -> Option<Event> {
        if self.current.is_empty() && !self.advance() {
            return None;
        }
        let event = *self.current.last()?;
        if event.time >= end_ps {
            return None;
        }
        self.current.pop();
        Some(event)
    }

    /// The time of the next event, or `u64::MAX`.
    pub fn next_time(&mut self) -> u64 {
        if self.current.is_empty() && !self.advance() {
            return u64::MAX;
        }
        self.current.last().map_or(u64::MAX, |event| event.time)
    }

    #[inline]
    fn allocate(&mut self, node: Node) -> u32 {
        if self.free == NONE {
            self.nodes.push(node);
            return self.nodes.len() as u32 - 1;
        }
        let index = self.free;
        let slot = &mut self.nodes[index as usize];
        self.free = slot.next;
        *slot = node;
        index
    }

    /// Moves the cursor to the next bucket with events and loads it into `current`, which is empty.
    #[inline]
    fn advance(&mut self) -> bool {
        let wheel = self.next_bucket();
        if !self.overflow.is_empty() {
            return self.advance_with_overflow(wheel);
        }
        let Some(number) = wheel else { return false };
        self.cursor = number;
        self.load(number);
        true
    }

    fn advance_with_overflow(&mut self, wheel: Option<u64>) -> bool {
        let Some(Reverse(first)) = self.overflow.peek() else { return false };
        let late = first.time >> self.shift;
        let number = wheel.map_or(late, |number| number.min(late));
        self.cursor = number;
        if wheel == Some(number) {
            self.load(number);
        }
        while let Some(Reverse(event)) = self.overflow.peek()
            && event.time >> self.shift == number
        {
            let event = *event;
            self.overflow.pop();
            let at = self.current.partition_point(|other| *other > event);
            self.current.insert(at, event);
        }
        true
    }

    /// The number of the first non-empty bucket after the cursor.
    #[inline]
    fn next_bucket(&self) -> Option<u64> {
        if self.summary == 0 {
            return None;
        }
        let start = (self.cursor as usize + 1) % BUCKETS;
        let (word, bit) = (start / 64, start % 64);
        let here = self.occupied[word] >> bit;
        let bucket = if here != 0 {
            start + here.trailing_zeros() as usize
        } else {
            // Words after this one first, then round to the front; this word's low bits come last.
            let later = self.summary & (!0u64).checked_shl(word as u32 + 1).unwrap_or(0);
            let word = if later != 0 { later.trailing_zeros() } else { self.summary.trailing_zeros() } as usize;
            word * 64 + self.occupied[word].trailing_zeros() as usize
        };
        let ahead = (bucket + BUCKETS - start) % BUCKETS;
        Some(self.cursor + 1 + ahead as u64)
    }

    #[inline]
    fn load(&mut self, number: u64) {
        let bucket = number as usize % BUCKETS;
        let mut index = std::mem::replace(&mut self.heads[bucket], NONE);
        self.occupied[bucket / 64] &= !(1 << (bucket % 64));
        if self.occupied[bucket / 64] == 0 {
            self.summary &= !(1 << (bucket / 64));
        }
        while index != NONE {
            let node = &mut self.nodes[index as usize];
            self.current.push(node.event);
            let next = std::mem::replace(&mut node.next, self.free);
            self.free = index;
            index = next;
        }
        sort_latest_first(&mut self.current);
    }
}

/// Insertion sort for the usual handful, the library's sort for bursts.
#[inline]
fn sort_latest_first(events: &mut [Event]) {
    if events.len() > 24 {
        events.sort_unstable_by(|a, b| b.cmp(a));
        return;
    }
    for i in 1..events.len() {
        let event = events[i];
        let mut j = i;
        while j > 0 && events[j - 1] < event {
            events[j] = events[j - 1];
            j -= 1;
        }
        events[j] = event;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A binary heap gives the same order, for delays within a bucket, within the calendar and beyond it.
        #[test]
        fn equals_a_binary_heap(
            horizon in 1u64..5_000_000_000,
            steps in prop::collection::vec((0u64..4, 0u64..100_000, 0u32..40, 1usize..4), 1..2_000),
        ) {
            let (mut queue, mut heap) = (EventQueue::new(horizon), BinaryHeap::new());
            let (mut now, mut order) = (0u64, 0u64);
            for (kind, delay, scale, pops) in steps {
                if kind > 0 {
                    order += 1;
                    let time = now + if kind == 1 { 0 } else { delay << scale >> 6 };
                    let event = Event { time, order: duetime_core::random::mix(order, 1) };
                    queue.push(event);
                    heap.push(Reverse(event));
                } else {
                    for _ in 0..pops {
                        let expected = heap.pop().map(|Reverse(event)| event);
                        prop_assert_eq!(queue.pop_before(u64::MAX), expected);
                        now = expected.map_or(now, |event| event.time);
                    }
                }
            }
            while let Some(Reverse(expected)) = heap.pop() {
                prop_assert_eq!(queue.next_time(), expected.time);
                prop_assert_eq!(queue.pop_before(expected.time), None);
                prop_assert_eq!(queue.pop_before(u64::MAX), Some(expected));
            }
            prop_assert_eq!(queue.pop_before(u64::MAX), None);
        }
    }
}
