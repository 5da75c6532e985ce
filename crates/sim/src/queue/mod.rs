//! Event queue: a calendar of fixed-width buckets, with a heap for events beyond the calendar.
//!
//! Simultaneous events are ordered by kind, then by a hash, then by number, so results never depend on the order of
//! insertion. The hash is keyed by the run and drawn for each event. Equal flows tie all the time, because their
//! acknowledgements come from one link in step; a fixed order would let one of them win every tie and get a larger
//! share of the link, which are the phase effects of Floyd and Jacobson (On Traffic Phase Effects in Packet-Switched
//! Gateways, 1992).
//!
//! Recurring events (a link's next arrival, a port's next departure) have a fixed id and are pending at most once. The
//! calendar therefore holds thousands of entries instead of one per packet, and inserting an event allocates no memory.
//!
//! A large network is simulated one sub-partition at a time (see `engine::windows`). Each sub-partition has its own
//! calendar, all calendars share the buckets, and one calendar is open at a time. The parameter `ALONE` is true if
//! there is one sub-partition; knowing it at compile time saves the packet path a few instructions.

mod calendar;
mod run;
mod store;

use calendar::Calendar;
use duetime_core::prefetch::{prefetch, prefetch_lines};
use store::{BUCKETS, Precedence, Store};

/// Minimum number of buckets of the horizon. Small networks have few buckets, so that the next event is in the same
/// word of the bitmap or in the next one.
const MIN_BUCKETS: usize = 64;
/// Buckets of the horizon per fixed event, if there are fewer than [`MANY`] fixed events.
const SMALL_BUCKETS_PER_EVENT: usize = 2;
/// Number of fixed events above which most pending events are due within a few transmission times.
const MANY: usize = 1_024;
/// Buckets of the horizon per fixed event from [`MANY`] events on, so that a bucket rarely has two events.
const BUCKETS_PER_EVENT: usize = 32;
/// Number of fixed events above which the calendar competes with the network's state for the processor's caches and
/// therefore covers less.
const VERY_MANY: usize = 16_384;
const VERY_MANY_BUCKETS: usize = 65_535;
/// Number of events that [`EventQueue::pop_prefetched`] takes out of the calendar at a time, if that many are due.
const BATCH: usize = 16;

/// Id returned by [`EventQueue::pop`] when no event is due.
pub const NONE: u32 = u32::MAX;

/// An event taken out of the calendar.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Time in picoseconds.
    time: u64,
    /// Index of a fixed event, or an id of a single event if it is not less than the number of fixed events.
    pub id: u32,
}

/// Returns the word that identifies an event among simultaneous ones, which order by kind before the hash: its kind (0 to 3, the lowest
/// first), its link or host (below 2³⁰), and its number there.
pub const fn order(kind: u64, entity: u32, number: u32) -> u64 {
    kind << 62 | (entity as u64) << 32 | number as u64
}

/// A monotone priority queue: no event may be pushed before the last event popped from the same sub-partition.
#[derive(Clone, Debug)]
pub struct EventQueue {
    /// Calendar of the open sub-partition.
    open: Calendar,
    /// Index of the open sub-partition.
    subpartition: usize,
    /// First free id of single events, or [`NONE`].
    free: u32,
    store: Store,
    /// Calendars by sub-partition; the entry of the open sub-partition is empty.
    closed: Vec<Calendar>,
}

impl EventQueue {
    /// Maximum number of sub-partitions, with which each has 64 buckets.
    pub const MAX_SUBPARTITIONS: usize = BUCKETS / MIN_BUCKETS;

    /// Creates a queue whose calendars cover at least `horizon_ps`; later events go to a heap. The fixed event with id
    /// `i` has the order word `fixed_orders[i]` (see [`order`]). `key` randomises the order of simultaneous events.
    /// `subpartitions` is between 1 and [`EventQueue::MAX_SUBPARTITIONS`]; the first sub-partition is open.
    pub fn new(horizon_ps: u64, fixed_orders: Vec<u64>, key: u64, subpartitions: usize) -> Self {
        let fixed = fixed_orders.len();
        let share = BUCKETS / subpartitions.next_power_of_two();
        // The more links are busy at a time, the narrower a bucket must be to hold one event.
        let buckets = if fixed < MANY {
            (SMALL_BUCKETS_PER_EVENT * fixed).max(MIN_BUCKETS)
        } else if fixed < VERY_MANY {
            fixed * BUCKETS_PER_EVENT
        } else {
            VERY_MANY_BUCKETS
        };
        let width = (horizon_ps / buckets.min(share - 1) as u64)
            .max(1)
            .next_power_of_two();
        let mut calendars =
            (0..subpartitions).map(|subpartition| Calendar::new(subpartition * share));
        Self {
            open: calendars.next().expect("at least one sub-partition"),
            subpartition: 0,
            free: NONE,
            store: Store::new(width.trailing_zeros(), share, fixed_orders, key),
            closed: if subpartitions > 1 {
                std::iter::once(Calendar::new(0)).chain(calendars).collect()
            } else {
                Vec::new()
            },
        }
    }

    /// Returns the distance from the last event popped, in picoseconds, within which every event is in a calendar.
    pub const fn reach_ps(&self) -> u64 {
        self.store.reach_ps()
    }

    /// Returns the binary logarithm of the bucket width, in picoseconds.
    pub const fn shift(&self) -> u32 {
        self.store.shift()
    }

    /// Sets the bucket width to 2^`shift` ps. Call only if there is one sub-partition.
    pub fn change_width(&mut self, shift: u32) {
        debug_assert!(self.is_one());
        self.open.change_width(&mut self.store, shift);
    }

    /// Returns true if there is one sub-partition.
    #[inline(always)]
    pub fn is_one(&self) -> bool {
        self.closed.is_empty()
    }

    /// Opens a sub-partition, from which events are popped from now on.
    pub fn enter(&mut self, subpartition: usize) {
        if subpartition != self.subpartition {
            std::mem::swap(&mut self.open, &mut self.closed[self.subpartition]);
            std::mem::swap(&mut self.open, &mut self.closed[subpartition]);
            self.subpartition = subpartition;
        }
    }

    /// Inserts a fixed event, which must not be pending, into the open sub-partition.
    #[inline(always)]
    pub fn push<const ALONE: bool>(&mut self, time: u64, id: u32) {
        self.open.push::<ALONE>(&mut self.store, time, id);
    }

    /// Inserts a fixed event, which must not be pending, into any sub-partition.
    #[inline(always)]
    pub fn push_to(&mut self, subpartition: usize, time: u64, id: u32) {
        if subpartition == self.subpartition {
            self.push::<false>(time, id);
        } else {
            self.closed[subpartition].push::<false>(&mut self.store, time, id);
        }
    }

    /// Sets the number of events, modulo 2³², that a fixed id has had, including the one inserted next.
    #[inline(always)]
    pub fn set_turn(&mut self, id: u32, turn: u32) {
        self.store.set_turn(id, turn);
    }

    /// Inserts a single event into a sub-partition. Call [`EventQueue::retire`] when it is popped.
    #[inline(always)]
    pub fn push_single_to(&mut self, subpartition: usize, time: u64, order: u64) {
        let id = if self.free == NONE {
            self.store.add(order)
        } else {
            let id = self.free;
            self.free = self.store.reuse(id, order);
            id
        };
        self.push_to(subpartition, time, id);
    }

    /// Frees the id of a popped single event. Returns its order word.
    pub fn retire(&mut self, id: u32) -> u64 {
        let order = self.store.free(id, self.free);
        self.free = id;
        order
    }

    /// Sets the time from which events of the open sub-partition are not popped. Initially there is no limit.
    pub fn set_end(&mut self, end_ps: u64) {
        self.open.set_end(end_ps);
    }

    /// Removes the next event of the open sub-partition if it is before the end. Returns its time and id; the id is
    /// [`NONE`] if there is no such event.
    #[inline(always)]
    pub fn pop<const ALONE: bool>(&mut self) -> (u64, u32) {
        self.open.pop::<ALONE>(&mut self.store)
    }

    /// Pops like [`EventQueue::pop`] from the only sub-partition, but takes many events out of the calendar at a time
    /// and then calls `prefetch`, which finds them in [`EventQueue::current`].
    #[inline(always)]
    pub fn pop_prefetched(&mut self, prefetch: impl FnOnce(&Self)) -> (u64, u32) {
        if self.open.current.is_empty() {
            if self.open.upcoming >= self.open.overflow_number {
                return self.open.pop_at_limit::<true>(&mut self.store);
            }
            self.open.load_many::<true>(&mut self.store);
            prefetch(self);
        }
        self.open.pop_current()
    }

    /// Returns the rank among simultaneous events of the `turn`-th event of a fixed id.
    pub(super) fn precedence_at(&self, id: u32, turn: u32) -> Precedence {
        self.store.precedence_at(id, turn)
    }

    /// Returns true if an event of the open sub-partition is due at `time` or earlier.
    #[inline(always)]
    pub fn is_due(&self, time: u64) -> bool {
        self.open.is_due(&self.store, time)
    }

    /// Removes and returns the id of the open sub-partition's next event if it is due at `time` and ranks before the
    /// `turn`-th event of the fixed id `other`. No earlier event may be pending there.
    pub fn pop_tied(&mut self, time: u64, other: (u32, u32)) -> Option<u32> {
        self.open.pop_tied(&mut self.store, time, other)
    }

    /// Returns the id of the event that is probably next, or [`NONE`].
    #[inline(always)]
    pub fn likely_next<const ALONE: bool>(&self) -> u32 {
        self.open.likely_next::<ALONE>(&self.store)
    }

    /// Appends the ids of some of the open sub-partition's events that are due before `end_ps`, and perhaps of some later
    /// ones, to `due`, and prefetches them. `due` must be empty.
    pub fn append_first_due(&self, end_ps: u64, due: &mut Vec<u32>) {
        self.open.append_first_due(&self.store, end_ps, due);
    }

    /// Appends the ids of the other events after [`EventQueue::append_first_due`]. Events that are in the heap are left
    /// out.
    pub fn append_other_due(&self, due: &mut Vec<u32>) {
        self.open.append_other_due(&self.store, due);
    }

    /// Returns the events taken out of the calendar, earliest first.
    pub fn current(&self) -> &[Event] {
        self.open.current.events()
    }

    /// Prefetches the memory that inserting a fixed event will touch.
    #[inline]
    pub fn prefetch(&self, id: u32) {
        prefetch(&self.store.nodes[id as usize]);
    }

    /// Prefetches the state of a sub-partition that is not open.
    #[inline]
    pub fn prefetch_closed(&self, subpartition: usize) {
        prefetch_lines::<3, _>(&self.closed[subpartition]);
    }

    /// Returns the time of the next event of a sub-partition, or `u64::MAX`.
    pub fn next_time_of(&self, subpartition: usize) -> u64 {
        self.calendar(subpartition).next_time(&self.store)
    }

    /// Returns true if an event of a sub-partition is due at `time` or earlier.
    #[inline]
    pub fn is_due_in(&self, subpartition: usize, time: u64) -> bool {
        self.calendar(subpartition).is_due(&self.store, time)
    }

    #[inline]
    fn calendar(&self, subpartition: usize) -> &Calendar {
        if subpartition == self.subpartition {
            &self.open
        } else {
            &self.closed[subpartition]
        }
    }

    /// Returns the time of the next event of all sub-partitions, or `u64::MAX`.
    pub fn next_time(&self) -> u64 {
        (1..self.closed.len().max(1))
            .map(|subpartition| self.next_time_of(subpartition))
            .fold(self.next_time_of(0), u64::min)
    }
}

#[cfg(test)]
mod tests;
