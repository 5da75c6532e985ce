//! Calendar of one sub-partition.

use super::run::Run;
use super::store::{BUCKETS, Node, Store, WORDS};
use super::{BATCH, Event, NONE};
use duetime_core::prefetch::prefetch;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An event beyond the calendar. The events of a bucket are sorted when the bucket is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Late {
    time: u64,
    id: u32,
}

/// Events of one sub-partition.
#[derive(Clone, Debug)]
pub(super) struct Calendar {
    /// Index of the calendar's first bucket.
    first: usize,
    /// Absolute index of the current bucket; its remaining events are all in `current`.
    cursor: u64,
    /// Absolute index of the first non-empty bucket after the cursor, or `u64::MAX`.
    pub(super) upcoming: u64,
    /// Absolute index of the bucket of the first event in `overflow`, or `u64::MAX`.
    pub(super) overflow_number: u64,
    /// Time from which events are not popped.
    end_ps: u64,
    /// If `upcoming` is less than this, the upcoming bucket holds the next event, and that event is before the end. 0
    /// means that the limit must be recomputed.
    limit: u64,
    /// Events taken out of the calendar.
    pub(super) current: Run,
    overflow: BinaryHeap<Reverse<Late>>,
}

impl Calendar {
    /// Creates an empty calendar whose first bucket is `first`.
    pub(super) fn new(first: usize) -> Self {
        Self {
            first,
            cursor: 0,
            upcoming: u64::MAX,
            overflow_number: u64::MAX,
            end_ps: u64::MAX,
            limit: 0,
            current: Run::new(),
            overflow: BinaryHeap::new(),
        }
    }

    /// Returns the index of the calendar's first bucket.
    #[inline(always)]
    fn first<const ALONE: bool>(&self) -> usize {
        if ALONE { 0 } else { self.first }
    }

    /// Returns the index in the storage of the bucket with absolute index `number`.
    #[inline(always)]
    fn place<const ALONE: bool>(&self, store: &Store, number: u64) -> usize {
        (self.first::<ALONE>() | (number as usize & Self::last::<ALONE>(store))) % BUCKETS
    }

    /// Returns the number of the calendar's buckets minus one.
    #[inline(always)]
    fn last<const ALONE: bool>(store: &Store) -> usize {
        if ALONE { BUCKETS - 1 } else { store.mask }
    }

    /// Inserts an event.
    #[inline(always)]
    pub(super) fn push<const ALONE: bool>(&mut self, store: &mut Store, time: u64, id: u32) {
        let number = time >> store.shift;
        let ahead = number.wrapping_sub(self.cursor).wrapping_sub(1);
        if ahead >= Self::last::<ALONE>(store) as u64 {
            return self.push_outside(store, time, id);
        }
        let bucket = self.place::<ALONE>(store, number);
        let node = &mut store.nodes[id as usize];
        node.time = time;
        node.turn = node.turn.wrapping_add(1);
        node.next = store.heads[bucket];
        store.heads[bucket] = id;
        store.occupied[bucket / 64] |= 1 << (bucket % 64);
        self.upcoming = self.upcoming.min(number);
    }

    /// Sets the bucket width of the only sub-partition to 2^`shift` ps.
    pub(super) fn change_width(&mut self, store: &mut Store, shift: u32) {
        let served_ps = self.cursor << store.shift;
        let mut events = self.current.take();
        while self.upcoming != u64::MAX {
            let bucket = self.place::<true>(store, self.upcoming);
            let mut id = std::mem::replace(&mut store.heads[bucket], NONE);
            while let Some(&Node { time, next, .. }) = store.nodes.get(id as usize) {
                events.push(Event { time, id });
                id = next;
            }
            self.leave::<true>(store);
        }
        let beyond = self.overflow.drain();
        events.extend(beyond.map(|Reverse(Late { time, id })| Event { time, id }));
        store.shift = shift;
        self.cursor = served_ps >> shift;
        self.overflow_number = u64::MAX;
        self.limit = 0;
        for Event { time, id } in events {
            store.set_turn(id, store.nodes[id as usize].turn);
            self.push::<true>(store, time, id);
        }
    }

    /// Sets the time from which events are not popped.
    pub(super) fn set_end(&mut self, end_ps: u64) {
        self.end_ps = end_ps;
        self.limit = 0;
    }

    /// Removes and returns the next event if it is before the end.
    #[inline(always)]
    pub(super) fn pop<const ALONE: bool>(&mut self, store: &mut Store) -> (u64, u32) {
        if self.upcoming >= self.limit {
            if !self.current.is_empty() {
                return self.pop_current();
            }
            self.limit = self.overflow_number.min(self.end_ps >> store.shift);
            if self.upcoming >= self.limit {
                return self.pop_at_limit::<ALONE>(store);
            }
        }
        self.pop_upcoming::<ALONE>(store)
    }

    /// Removes and returns the first event of the upcoming bucket. `current` must be empty.
    #[inline(always)]
    fn pop_upcoming<const ALONE: bool>(&mut self, store: &mut Store) -> (u64, u32) {
        let bucket = self.place::<ALONE>(store, self.upcoming);
        let id = store.heads[bucket];
        let Node { time, next, .. } = store.nodes[id as usize];
        let Some(&second) = store.nodes.get(next as usize) else {
            // Most buckets have one event, which bypasses `current`.
            self.leave::<ALONE>(store);
            return (time, id);
        };
        if second.next != NONE {
            self.load::<ALONE>(store);
            return self.pop_current();
        }
        // With two events, no sort is needed.
        let one = Event { time, id };
        let other = Event {
            time: second.time,
            id: next,
        };
        let (early, late) = if store.is_before(one, other) {
            (one, other)
        } else {
            (other, one)
        };
        self.leave::<ALONE>(store);
        self.current.restart(late);
        self.limit = 0;
        (early.time, early.id)
    }

    /// Returns true if an event is due at `time` or earlier.
    #[inline(always)]
    pub(super) fn is_due(&self, store: &Store, time: u64) -> bool {
        if let Some(first) = self.current.first() {
            return first.time <= time;
        }
        let (upcoming, number) = (self.upcoming.min(self.overflow_number), time >> store.shift);
        upcoming < number || upcoming == number && self.next_time(store) <= time
    }

    /// Removes and returns the id of the next event if it is due at `time` and ranks before the `turn`-th event of the
    /// fixed id `other`.
    #[cold]
    pub(super) fn pop_tied(
        &mut self,
        store: &mut Store,
        time: u64,
        (other, turn): (u32, u32),
    ) -> Option<u32> {
        self.set_end(time + 1);
        let (at, id) = self.pop::<false>(store);
        if id == NONE {
            return None;
        }
        if at == time && store.precedence(id) < store.precedence_at(other, turn) {
            return Some(id);
        }
        self.insert(store, Event { time: at, id });
        None
    }

    /// Returns the id of the event that is probably next, or [`NONE`].
    #[inline(always)]
    pub(super) fn likely_next<const ALONE: bool>(&self, store: &Store) -> u32 {
        match self.current.first() {
            Some(event) => event.id,
            None => store.heads[self.place::<ALONE>(store, self.upcoming)],
        }
    }

    /// Returns the time of the next event, or `u64::MAX`.
    pub(super) fn next_time(&self, store: &Store) -> u64 {
        if let Some(event) = self.current.first() {
            return event.time;
        }
        self.earliest_in::<false>(store, self.upcoming)
            .min(self.first_overflow_time())
    }

    /// Appends and prefetches the first event of each bucket that begins before `end_ps`. Events beyond the buckets are
    /// left out.
    pub(super) fn append_first_due(&self, store: &Store, end_ps: u64, due: &mut Vec<u32>) {
        let ends = (end_ps >> store.shift).min(self.cursor + store.mask as u64);
        for number in self.upcoming..=ends {
            let id = store.heads[self.place::<false>(store, number)];
            if let Some(node) = store.nodes.get(id as usize) {
                prefetch(node);
                due.push(id);
            }
        }
    }

    /// Appends the other events of the buckets whose first ones are `due`, and the events taken out of the calendar.
    pub(super) fn append_other_due(&self, store: &Store, due: &mut Vec<u32>) {
        let mut read = 0;
        while let Some(&id) = due.get(read) {
            let next = store.nodes[id as usize].next;
            if next != NONE {
                due.push(next);
            }
            read += 1;
        }
        due.extend(self.current.events().iter().map(|event| event.id));
    }

    /// Returns the time of the first event beyond the buckets, or `u64::MAX`.
    fn first_overflow_time(&self) -> u64 {
        let first = self.overflow.peek();
        first.map_or(u64::MAX, |Reverse(late)| late.time)
    }

    /// Returns the earliest time in a bucket, or `u64::MAX`.
    fn earliest_in<const ALONE: bool>(&self, store: &Store, number: u64) -> u64 {
        if number == u64::MAX {
            return u64::MAX;
        }
        let mut earliest = u64::MAX;
        let mut id = store.heads[self.place::<ALONE>(store, number)];
        while let Some(node) = store.nodes.get(id as usize) {
            earliest = earliest.min(node.time);
            id = node.next;
        }
        earliest
    }

    /// Inserts an event that is before or after the span of the buckets.
    #[cold]
    fn push_outside(&mut self, store: &mut Store, time: u64, id: u32) {
        let turn = &mut store.nodes[id as usize].turn;
        *turn = turn.wrapping_add(1);
        let number = time >> store.shift;
        if number <= self.cursor {
            self.insert(store, Event { time, id });
        } else {
            self.overflow.push(Reverse(Late { time, id }));
            self.overflow_number = self.overflow_number.min(number);
            self.limit = self.limit.min(number);
        }
    }

    /// Implements [`Calendar::pop`] for the case that the upcoming bucket may not hold the next event, or that it is at
    /// the end or later. `current` must be empty.
    #[cold]
    pub(super) fn pop_at_limit<const ALONE: bool>(&mut self, store: &mut Store) -> (u64, u32) {
        let first = self.first_overflow_time();
        if first.min(self.earliest_in::<ALONE>(store, self.upcoming)) >= self.end_ps {
            return (0, NONE);
        }
        if self.upcoming < self.overflow_number {
            return self.pop_upcoming::<ALONE>(store);
        }
        let late = first >> store.shift;
        if late == self.upcoming {
            self.load::<ALONE>(store);
        }
        self.cursor = late;
        let end_of_bucket = first | ((1 << store.shift) - 1);
        while let Some(&Reverse(Late { time, id })) = self.overflow.peek()
            && time <= end_of_bucket
        {
            self.overflow.pop();
            self.insert(store, Event { time, id });
        }
        self.overflow_number = match self.first_overflow_time() {
            u64::MAX => u64::MAX,
            time => time >> store.shift,
        };
        self.pop_current()
    }

    /// Inserts an event into `current`.
    fn insert(&mut self, store: &Store, event: Event) {
        self.current.insert(store, event);
        self.limit = 0;
    }

    /// Removes and returns the first event of `current` if it is before the end.
    #[inline(always)]
    pub(super) fn pop_current(&mut self) -> (u64, u32) {
        match self.current.first() {
            Some(Event { time, id }) if time < self.end_ps => {
                self.current.drop_first();
                (time, id)
            }
            _ => (0, NONE),
        }
    }

    /// Moves the cursor to the upcoming bucket and empties the bucket, whose events the caller has read.
    #[inline(always)]
    fn leave<const ALONE: bool>(&mut self, store: &mut Store) {
        let number = self.upcoming;
        let bucket = self.place::<ALONE>(store, number);
        store.heads[bucket] = NONE;
        let word = &mut store.occupied[bucket / 64];
        *word &= !(1 << (bucket % 64));
        let here = *word >> (bucket % 64);
        self.cursor = number;
        self.upcoming = if here == 0 {
            self.next_word::<ALONE>(store, bucket)
        } else {
            number + u64::from(here.trailing_zeros())
        };
    }

    /// Returns the absolute index of the first non-empty bucket after the word of `start`, the cursor's bucket, or
    /// `u64::MAX`.
    #[inline(always)]
    fn next_word<const ALONE: bool>(&self, store: &Store, start: usize) -> u64 {
        // Later words first, then wrap around; the low bits of the start's word come last.
        let last = Self::last::<ALONE>(store) / 64;
        let words = last + 1;
        let mut word = start / 64;
        for _ in 0..words {
            word = ((self.first::<ALONE>() / 64) | ((word + 1) & last)) % WORDS;
            let bits = store.occupied[word];
            if bits != 0 {
                let bucket = word * 64 + bits.trailing_zeros() as usize;
                return self.cursor
                    + (bucket.wrapping_sub(start) & Self::last::<ALONE>(store)) as u64;
            }
        }
        u64::MAX
    }

    /// Loads buckets into `current`, which must be empty, until it has enough events or the remaining ones are not due.
    #[inline(never)]
    pub(super) fn load_many<const ALONE: bool>(&mut self, store: &mut Store) {
        self.limit = 0;
        let last = self.end_ps >> store.shift;
        self.current.clear();
        while self.upcoming < self.overflow_number && self.upcoming <= last {
            self.load_upcoming::<ALONE>(store);
            if self.current.events().len() >= BATCH {
                break;
            }
        }
    }

    /// Moves the cursor to the upcoming bucket and the bucket's events into `current`, which must be empty.
    fn load<const ALONE: bool>(&mut self, store: &mut Store) {
        self.limit = 0;
        self.current.clear();
        self.load_upcoming::<ALONE>(store);
    }

    /// Moves the cursor to the upcoming bucket and the bucket's events to the end of `current`.
    #[inline(always)]
    fn load_upcoming<const ALONE: bool>(&mut self, store: &mut Store) {
        let id = store.heads[self.place::<ALONE>(store, self.upcoming)];
        self.leave::<ALONE>(store);
        let Node { time, next, .. } = store.nodes[id as usize];
        self.current.append(Event { time, id });
        if next != NONE {
            self.load_remaining(store, next);
        }
    }

    /// Appends the remaining events of a bucket whose first event is the last of `current`, and sorts the bucket.
    #[inline(never)]
    fn load_remaining(&mut self, store: &Store, mut id: u32) {
        let start = self.current.events().len() - 1;
        while id != NONE {
            let Node { time, next, .. } = store.nodes[id as usize];
            self.current.append(Event { time, id });
            id = next;
        }
        self.current.sort_from(store, start);
    }
}
