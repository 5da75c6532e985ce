//! The event queue: a calendar of fixed-width buckets with an overflow heap.
//!
//! Events are ordered by (time, order); the order word is unique among simultaneous events, so the result never
//! depends on when an event was put in. What recurs (a link's next arrival, a port's next departure) has a fixed number
//! and at most one event at a time, so the calendar holds thousands of entries, not one per packet, and putting one in
//! takes no memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Buckets of the calendar.
const BUCKETS: usize = 131_072;
const WORDS: usize = BUCKETS / 64;
/// The horizon spans at least this many of them: in a small network few, so that the next event is found in the same
/// word of the bitmap or in the one after it.
const FEWEST: usize = 64;

/// From so many fixed events on, most of the events that are in come within a few transmission times.
const MANY: usize = 1_024;
/// Then the horizon spans so many buckets per event, that a bucket rarely has two.
const BUCKETS_PER_EVENT: usize = 32;
/// From so many on the calendar competes with the state of the network for the processor's caches, and spans less.
const VERY_MANY: usize = 16_384;
const VERY_MANY_BUCKETS: usize = 65_535;
/// Events that [`EventQueue::pop_foreseen_before`] takes out of the calendar at a time, where there are so many.
const AT_A_TIME: usize = 16;

/// No event: the number that [`EventQueue::pop_before`] gives when none is due.
pub const NONE: u32 = u32::MAX;

/// An event that has been taken out of the calendar.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Picoseconds since the start.
    time: u64,
    /// Below the number of fixed events: which of them. Otherwise the number of a single event.
    pub id: u32,
}

/// An event in the calendar.
#[derive(Clone, Copy, Debug)]
struct Node {
    time: u64,
    /// The next in the bucket, or the next free number.
    next: u32,
}

/// An event in the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Late {
    time: u64,
    order: u64,
    id: u32,
}

/// A monotone priority queue: nothing may be pushed before the last event popped.
#[derive(Clone, Debug)]
pub struct EventQueue {
    /// Absolute number of the bucket being served; its events that are still due are all in `current`.
    cursor: u64,
    /// Absolute number of the first bucket after it that is not empty, or `u64::MAX`.
    upcoming: u64,
    /// Bucket width is 2^shift ps.
    shift: u32,
    /// First free number of single events.
    free: u32,
    /// Number of the bucket of the first event in `overflow`.
    overflow_number: u64,
    /// Latest first, so that the next event is the last.
    current: Vec<Event>,
    /// By event number.
    nodes: Vec<Node>,
    /// What orders simultaneous events, unique among them; by event number.
    orders: Vec<u64>,
    /// By bucket.
    heads: Box<[u32; BUCKETS]>,
    /// One bit per non-empty bucket.
    occupied: [u64; WORDS],
    overflow: BinaryHeap<Reverse<Late>>,
}

impl EventQueue {
    /// A queue whose calendar reaches at least `horizon_ps` ahead; later events go to the heap. Fixed events have the
    /// numbers and orders of `fixed_orders`.
    pub fn new(horizon_ps: u64, fixed_orders: Vec<u64>) -> Self {
        let fixed = fixed_orders.len();
        // The more links are busy at a time, the narrower a bucket must be to hold one event.
        let buckets = if fixed < MANY {
            fixed.max(FEWEST)
        } else if fixed < VERY_MANY {
            (fixed * BUCKETS_PER_EVENT).min(BUCKETS - 1)
        } else {
            VERY_MANY_BUCKETS
        };
        let width = (horizon_ps / buckets as u64).max(1).next_power_of_two();
        Self {
            cursor: 0,
            upcoming: u64::MAX,
            shift: width.trailing_zeros(),
            free: NONE,
            overflow_number: u64::MAX,
            current: Vec::with_capacity(64),
            nodes: vec![
                Node {
                    time: 0,
                    next: NONE
                };
                fixed
            ],
            orders: fixed_orders,
            heads: vec![NONE; BUCKETS].try_into().expect("as many as buckets"),
            occupied: [0; WORDS],
            overflow: BinaryHeap::new(),
        }
    }

    /// Puts a fixed event in, which must not be in.
    #[inline(always)]
    pub fn push(&mut self, time: u64, id: u32) {
        let number = time >> self.shift;
        let ahead = number.wrapping_sub(self.cursor).wrapping_sub(1);
        if ahead >= BUCKETS as u64 - 1 {
            return self.push_outside(time, id);
        }
        let bucket = number as usize % BUCKETS;
        let node = &mut self.nodes[id as usize];
        node.time = time;
        node.next = self.heads[bucket];
        self.heads[bucket] = id;
        self.occupied[bucket / 64] |= 1 << (bucket % 64);
        self.upcoming = self.upcoming.min(number);
    }

    /// Puts a single event in; [`EventQueue::retire`] it when it is due.
    pub fn push_single(&mut self, time: u64, order: u64) {
        let id = self.free;
        if id == NONE {
            self.nodes.push(Node { time, next: NONE });
            self.orders.push(order);
            return self.push(time, self.nodes.len() as u32 - 1);
        }
        self.free = self.nodes[id as usize].next;
        self.orders[id as usize] = order;
        self.push(time, id);
    }

    /// Frees the number of a single event that was popped; returns its order.
    pub fn retire(&mut self, id: u32) -> u64 {
        self.nodes[id as usize].next = self.free;
        self.free = id;
        self.orders[id as usize]
    }

    /// Takes the next event, as its time and number, if it comes before `end_ps`; otherwise the number is [`NONE`].
    #[inline(always)]
    pub fn pop_before(&mut self, end_ps: u64) -> (u64, u32) {
        if !self.current.is_empty() {
            return self.pop_current(end_ps);
        }
        let number = self.upcoming;
        if number >= self.overflow_number {
            return self.pop_from_overflow(number, end_ps);
        }
        let bucket = number as usize % BUCKETS;
        let first = self.heads[bucket];
        // The usual bucket has one event, which never sees `current`.
        let Some(&Node { time, next }) = self.nodes.get(first as usize) else {
            return (0, NONE);
        };
        if next != NONE {
            self.load(number);
            return self.pop_current(end_ps);
        }
        if time >= end_ps {
            return (0, NONE);
        }
        self.heads[bucket] = NONE;
        self.leave(number);
        (time, first)
    }

    /// The same, but takes many events at a time out of the calendar and calls `look` then, which finds them in
    /// [`EventQueue::current`].
    #[inline(always)]
    pub fn pop_foreseen_before(&mut self, end_ps: u64, look: impl FnOnce(&Self)) -> (u64, u32) {
        if self.current.is_empty() {
            if self.upcoming >= self.overflow_number {
                return self.pop_from_overflow(self.upcoming, end_ps);
            }
            self.load_many(end_ps);
            look(self);
        }
        self.pop_current(end_ps)
    }

    /// The number of an event that is likely the next, or [`NONE`].
    #[inline(always)]
    pub fn likely_next(&self) -> u32 {
        match self.current.last() {
            Some(event) => event.id,
            None => self.heads[self.upcoming as usize % BUCKETS],
        }
    }

    /// The events that have been taken out of the calendar, latest first.
    pub fn current(&self) -> &[Event] {
        &self.current
    }

    /// Reads what putting a fixed event in will need, ahead of time. The value means nothing.
    #[inline]
    pub fn touch(&self, id: u32) -> u64 {
        self.nodes[id as usize].time
    }

    /// The time of the next event, or `u64::MAX`.
    pub fn next_time(&mut self) -> u64 {
        if let Some(event) = self.current.last() {
            return event.time;
        }
        let overflow = self
            .overflow
            .peek()
            .map_or(u64::MAX, |Reverse(event)| event.time);
        self.earliest_in(self.upcoming).min(overflow)
    }

    /// The earliest time in a bucket, or `u64::MAX`.
    fn earliest_in(&self, number: u64) -> u64 {
        if number == u64::MAX {
            return u64::MAX;
        }
        let mut earliest = u64::MAX;
        let mut id = self.heads[number as usize % BUCKETS];
        while let Some(node) = self.nodes.get(id as usize) {
            earliest = earliest.min(node.time);
            id = node.next;
        }
        earliest
    }

    #[cold]
    fn push_outside(&mut self, time: u64, id: u32) {
        let number = time >> self.shift;
        if number <= self.cursor {
            self.insert(Event { time, id });
        } else {
            self.overflow.push(Reverse(Late {
                time,
                order: self.orders[id as usize],
                id,
            }));
            self.overflow_number = self.overflow_number.min(number);
        }
    }

    #[cold]
    fn pop_from_overflow(&mut self, number: u64, end_ps: u64) -> (u64, u32) {
        let Some(Reverse(first)) = self.overflow.peek() else {
            return (0, NONE);
        };
        let late = first.time >> self.shift;
        if first.time >= end_ps && self.earliest_in(number) >= end_ps {
            return (0, NONE);
        }
        self.cursor = late;
        if late == number {
            self.load(number);
        }
        while let Some(&Reverse(event)) = self.overflow.peek()
            && event.time >> self.shift == late
        {
            self.overflow.pop();
            self.insert(Event {
                time: event.time,
                id: event.id,
            });
        }
        self.overflow_number = self
            .overflow
            .peek()
            .map_or(u64::MAX, |Reverse(event)| event.time >> self.shift);
        self.pop_current(end_ps)
    }

    /// Puts an event into `current`.
    fn insert(&mut self, event: Event) {
        let orders = &self.orders;
        let at = self
            .current
            .partition_point(|other| comes_before(orders, event, *other));
        self.current.insert(at, event);
    }

    #[inline(always)]
    fn pop_current(&mut self, end_ps: u64) -> (u64, u32) {
        match self.current.last() {
            Some(&Event { time, id, .. }) if time < end_ps => {
                self.current.pop();
                (time, id)
            }
            _ => (0, NONE),
        }
    }

    /// The number of the first non-empty bucket after the cursor, or `u64::MAX`.
    #[inline(always)]
    fn next_bucket(&self) -> u64 {
        let start = (self.cursor as usize + 1) % BUCKETS;
        let here = self.occupied[start / 64] >> (start % 64);
        if here != 0 {
            return self.cursor + 1 + u64::from(here.trailing_zeros());
        }
        // Later words first, then round to the front; this word's low bits come last.
        let mut word = start / 64;
        for _ in 0..WORDS {
            word = (word + 1) % WORDS;
            let bits = self.occupied[word];
            if bits != 0 {
                let bucket = word * 64 + bits.trailing_zeros() as usize;
                return self.cursor + 1 + (bucket.wrapping_sub(start) % BUCKETS) as u64;
            }
        }
        u64::MAX
    }

    /// Moves the cursor to a bucket, whose events are being taken out.
    #[inline(always)]
    fn leave(&mut self, number: u64) {
        let bucket = number as usize % BUCKETS;
        self.cursor = number;
        self.occupied[bucket / 64] &= !(1 << (bucket % 64));
        self.upcoming = self.next_bucket();
    }

    /// Loads buckets until enough events are in `current`, which is empty, or the rest is not due.
    #[inline(never)]
    fn load_many(&mut self, end_ps: u64) {
        let last = end_ps >> self.shift;
        while self.upcoming < self.overflow_number && self.upcoming <= last {
            let bucket = self.upcoming as usize % BUCKETS;
            let id = std::mem::replace(&mut self.heads[bucket], NONE);
            self.leave(self.upcoming);
            let Node { time, next } = self.nodes[id as usize];
            self.current.push(Event { time, id });
            if next != NONE {
                self.load_rest(next);
            }
            if self.current.len() >= AT_A_TIME {
                break;
            }
        }
        self.current.reverse();
    }

    /// Takes the others of a bucket whose first event is the last of `current`, and puts them all in order, earliest
    /// first.
    #[inline(never)]
    fn load_rest(&mut self, mut id: u32) {
        let start = self.current.len() - 1;
        while id != NONE {
            let Node { time, next } = self.nodes[id as usize];
            self.current.push(Event { time, id });
            id = next;
        }
        let tail = &mut self.current[start..];
        sort_latest_first(tail, &self.orders);
        tail.reverse();
    }

    /// Moves the cursor to a bucket and its events into `current`, which is empty.
    fn load(&mut self, number: u64) {
        let mut id = std::mem::replace(&mut self.heads[number as usize % BUCKETS], NONE);
        self.leave(number);
        while id != NONE {
            let Node { time, next } = self.nodes[id as usize];
            self.current.push(Event { time, id });
            id = next;
        }
        sort_latest_first(&mut self.current, &self.orders);
    }
}

/// Insertion sort for the usual handful, the library's sort for bursts.
#[inline]
fn sort_latest_first(events: &mut [Event], orders: &[u64]) {
    if events.len() > 24 {
        events.sort_unstable_by_key(|event| Reverse((event.time, orders[event.id as usize])));
        return;
    }
    for i in 1..events.len() {
        let event = events[i];
        let mut j = i;
        while j > 0 && comes_before(orders, events[j - 1], event) {
            events[j] = events[j - 1];
            j -= 1;
        }
        events[j] = event;
    }
}

/// Whether `a` is due before `b`.
#[inline(always)]
fn comes_before(orders: &[u64], a: Event, b: Event) -> bool {
    a.time < b.time || a.time == b.time && orders[a.id as usize] < orders[b.id as usize]
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
            foresee in any::<bool>(),
            steps in prop::collection::vec((0u64..4, 0u64..100_000, 0u32..40, 1usize..4), 1..2_000),
        ) {
            let mut queue = EventQueue::new(horizon, vec![u64::MAX]);
            let mut heap = BinaryHeap::new();
            let (mut now, mut count, mut fixed) = (0u64, 0u64, false);
            let pop = |queue: &mut EventQueue, fixed: &mut bool| {
                let (time, id) = if foresee {
                    queue.pop_foreseen_before(u64::MAX, |_| ())
                } else {
                    queue.pop_before(u64::MAX)
                };
                *fixed &= id != 0;
                (id != NONE).then(|| (time, if id == 0 { u64::MAX } else { queue.retire(id) }))
            };
            for (kind, delay, scale, pops) in steps {
                let time = now + if kind == 1 { 0 } else { delay << scale >> 6 };
                if kind > 0 && delay % 5 == 0 && !fixed {
                    fixed = true;
                    queue.push(time, 0);
                    heap.push(Reverse((time, u64::MAX)));
                } else if kind > 0 {
                    count += 1;
                    let order = duetime_core::random::mix(count, 1) >> 1;
                    queue.push_single(time, order);
                    heap.push(Reverse((time, order)));
                } else {
                    for _ in 0..pops {
                        let expected = heap.pop().map(|Reverse(event)| event);
                        prop_assert_eq!(pop(&mut queue, &mut fixed), expected);
                        now = expected.map_or(now, |(time, _)| time);
                    }
                }
            }
            while let Some(Reverse(expected)) = heap.pop() {
                prop_assert_eq!(queue.next_time(), expected.0);
                prop_assert_eq!(queue.pop_before(expected.0).1, NONE);
                prop_assert_eq!(pop(&mut queue, &mut fixed), Some(expected));
            }
            prop_assert_eq!(queue.pop_before(u64::MAX).1, NONE);
        }
    }
}
