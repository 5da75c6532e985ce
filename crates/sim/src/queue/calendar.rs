//! Calendar of one sub-partition, and the storage shared by the calendars of all sub-partitions.

use super::{BATCH, Event, NONE};
use duetime_core::random::mix;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Number of buckets of all calendars together.
pub(super) const BUCKETS: usize = 131_072;
const WORDS: usize = BUCKETS / 64;

/// An event in a bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) time: u64,
    /// Next event in the bucket, or next free id.
    next: u32,
    /// Number of times that a fixed event with this id was inserted, modulo 2³²; 1 for a single event.
    turn: u32,
}

impl Node {
    const FREE: Self = Self {
        time: 0,
        next: NONE,
        turn: 0,
    };
}

/// Bits of an order word that hold the kind of event.
const KIND: u64 = 3 << 62;
/// Bits of an order word that hold the event's number at its link or host.
const NUMBER: u64 = u32::MAX as u64;

/// Rank of an event among simultaneous events: its kind and a hash, then its order word.
type Precedence = (u64, u64);

/// An event beyond the calendar. The events of a bucket are sorted when the bucket is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Late {
    time: u64,
    id: u32,
}

/// Storage shared by all calendars.
#[derive(Clone, Debug)]
pub(super) struct Store {
    /// Binary logarithm of the bucket width, in picoseconds.
    shift: u32,
    /// Number of buckets per calendar, a power of two, minus one.
    mask: usize,
    /// Events by id.
    pub(super) nodes: Vec<Node>,
    /// Order words by event id, unique among simultaneous events.
    orders: Vec<u64>,
    /// Key of the run, which randomises the order of simultaneous events.
    key: u64,
    /// First event of each bucket.
    heads: Box<[u32; BUCKETS]>,
    /// One bit per bucket, set if the bucket is not empty.
    occupied: [u64; WORDS],
}

impl Store {
    /// Creates the storage of calendars with `share` buckets each, a power of two of at least 64.
    pub(super) fn new(shift: u32, share: usize, fixed_orders: Vec<u64>, key: u64) -> Self {
        debug_assert!(share.is_power_of_two() && share >= 64);
        Self {
            shift,
            mask: share - 1,
            nodes: vec![Node::FREE; fixed_orders.len()],
            orders: fixed_orders,
            key,
            heads: vec![NONE; BUCKETS].try_into().expect("as many as buckets"),
            occupied: [0; WORDS],
        }
    }

    /// Returns the time span that a calendar covers, in picoseconds.
    pub(super) const fn reach_ps(&self) -> u64 {
        (self.mask as u64) << self.shift
    }

    /// Returns the binary logarithm of the bucket width, in picoseconds.
    pub(super) const fn shift(&self) -> u32 {
        self.shift
    }

    /// Makes the next insertion of event `id` its `turn`-th.
    #[inline(always)]
    pub(super) fn set_turn(&mut self, id: u32, turn: u32) {
        self.nodes[id as usize].turn = turn.wrapping_sub(1);
    }

    /// Adds an event id with this order word.
    pub(super) fn add(&mut self, order: u64) -> u32 {
        self.nodes.push(Node::FREE);
        self.orders.push(order);
        self.nodes.len() as u32 - 1
    }

    /// Assigns an order word to a free id. Returns the next free id.
    pub(super) fn reuse(&mut self, id: u32, order: u64) -> u32 {
        self.orders[id as usize] = order;
        let node = &mut self.nodes[id as usize];
        node.turn = 0;
        node.next
    }

    /// Frees an id and links it to the free id `next`. Returns its order word.
    pub(super) fn free(&mut self, id: u32, next: u32) -> u64 {
        self.nodes[id as usize].next = next;
        self.orders[id as usize]
    }

    /// Returns an event's rank among simultaneous events. The hash covers the kind, the link or host, and the number of
    /// events it has had. It is therefore drawn again for each event, so that no link wins all its ties, and it does not
    /// depend on how the network is split. The time is left out, so that the order is unchanged if all times halve.
    #[inline]
    fn precedence(&self, id: u32) -> Precedence {
        let order = self.orders[id as usize];
        let turn = u64::from(self.nodes[id as usize].turn);
        let drawn = mix((order & !NUMBER) | turn, self.key);
        ((order & KIND) | (drawn >> 2), order)
    }

    /// Returns true if `a` is due before `b`.
    #[inline(always)]
    fn is_before(&self, a: Event, b: Event) -> bool {
        a.time < b.time || a.time == b.time && self.ranks_before(a.id, b.id)
    }

    /// Returns true if `a` ranks before the simultaneous event `b`.
    #[inline(never)]
    fn ranks_before(&self, a: u32, b: u32) -> bool {
        self.precedence(a) < self.precedence(b)
    }
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
    /// Events taken out of the calendar, latest first, so that the next event is the last element.
    pub(super) current: Vec<Event>,
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
            current: Vec::with_capacity(64),
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
        let mut events = std::mem::take(&mut self.current);
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
        self.current.push(late);
        self.limit = 0;
        (early.time, early.id)
    }

    /// Returns the id of the event that is probably next, or [`NONE`].
    #[inline(always)]
    pub(super) fn likely_next<const ALONE: bool>(&self, store: &Store) -> u32 {
        match self.current.last() {
            Some(event) => event.id,
            None => store.heads[self.place::<ALONE>(store, self.upcoming)],
        }
    }

    /// Returns the time of the next event, or `u64::MAX`.
    pub(super) fn next_time(&self, store: &Store) -> u64 {
        if let Some(event) = self.current.last() {
            return event.time;
        }
        self.earliest_in::<false>(store, self.upcoming)
            .min(self.first_overflow_time())
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
        let at = self
            .current
            .partition_point(|other| store.is_before(event, *other));
        self.current.insert(at, event);
        self.limit = 0;
    }

    /// Removes and returns the last event of `current` if it is before the end.
    #[inline(always)]
    pub(super) fn pop_current(&mut self) -> (u64, u32) {
        match self.current.last() {
            Some(&Event { time, id, .. }) if time < self.end_ps => {
                self.current.pop();
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
        while self.upcoming < self.overflow_number && self.upcoming <= last {
            let id = store.heads[self.place::<ALONE>(store, self.upcoming)];
            self.leave::<ALONE>(store);
            let Node { time, next, .. } = store.nodes[id as usize];
            self.current.push(Event { time, id });
            if next != NONE {
                self.load_remaining(store, next);
            }
            if self.current.len() >= BATCH {
                break;
            }
        }
        self.current.reverse();
    }

    /// Loads the remaining events of a bucket whose first event is the last of `current`, and sorts the bucket,
    /// earliest first.
    #[inline(never)]
    fn load_remaining(&mut self, store: &Store, mut id: u32) {
        let start = self.current.len() - 1;
        while id != NONE {
            let Node { time, next, .. } = store.nodes[id as usize];
            self.current.push(Event { time, id });
            id = next;
        }
        let tail = &mut self.current[start..];
        sort_latest_first(tail, store);
        tail.reverse();
    }

    /// Moves the cursor to the upcoming bucket and the bucket's events into `current`, which must be empty.
    fn load<const ALONE: bool>(&mut self, store: &mut Store) {
        self.limit = 0;
        let mut id = store.heads[self.place::<ALONE>(store, self.upcoming)];
        self.leave::<ALONE>(store);
        while id != NONE {
            let Node { time, next, .. } = store.nodes[id as usize];
            self.current.push(Event { time, id });
            id = next;
        }
        sort_latest_first(&mut self.current, store);
    }
}

/// Sorts the events latest first: by insertion for the usual handful, with the library's sort for bursts.
#[inline]
fn sort_latest_first(events: &mut [Event], store: &Store) {
    if events.len() > 24 {
        events.sort_unstable_by(|a, b| {
            let precedence = |event: &Event| store.precedence(event.id);
            let times = b.time.cmp(&a.time);
            times.then_with(|| precedence(b).cmp(&precedence(a)))
        });
        return;
    }
    for i in 1..events.len() {
        let event = events[i];
        let mut j = i;
        while j > 0 && store.is_before(events[j - 1], event) {
            events[j] = events[j - 1];
            j -= 1;
        }
        events[j] = event;
    }
}
