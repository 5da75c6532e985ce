//! The event queue: a calendar of fixed-width buckets; what lies beyond it is in a heap.
//!
//! Simultaneous events are ordered by their kind, then by a hash, then by their number, so the result never depends on
//! when an event was put in. The hash is keyed by the run and drawn afresh for each event: equal flows tie all the time
//! (their acknowledgements come from one link, in step), and a fixed order would give one of them every tie, and with
//! it another share of the link: the phase effects of Floyd and Jacobson (On Traffic Phase Effects in Packet-Switched
//! Gateways, 1992). What recurs (a link's next arrival, a port's next departure) has a fixed number
//! and at most one event at a time, so the calendar holds thousands of entries, not one per packet, and putting one in
//! takes no memory.
//!
//! A large network is run sub-partition by sub-partition (see `engine::windows`): each has a calendar of its own, all
//! of them share the buckets, and one is open at a time. The parameter `ALONE` says that there is one sub-partition:
//! known to the compiler, it saves the packet path a few instructions.

mod calendar;

use calendar::{BUCKETS, Calendar, Store};

/// The horizon spans at least this many buckets: in a small network few, so that the next event is found in the same
/// word of the bitmap or in the one after it.
const FEWEST: usize = 64;
/// Below [`MANY`] fixed events, buckets of the horizon per event.
const SMALL_BUCKETS_PER_EVENT: usize = 2;
/// From so many fixed events on, most of the events that are in come within a few transmission times.
const MANY: usize = 1_024;
/// Then the horizon spans so many buckets per event, that a bucket rarely has two.
const BUCKETS_PER_EVENT: usize = 32;
/// From so many on the calendar competes with the state of the network for the processor's caches, and spans less.
const VERY_MANY: usize = 16_384;
const VERY_MANY_BUCKETS: usize = 65_535;
/// Events that [`EventQueue::pop_prefetched`] takes out of the calendar at a time, where there are so many.
const AT_A_TIME: usize = 16;

/// No event: the number that [`EventQueue::pop`] gives when none is due.
pub const NONE: u32 = u32::MAX;

/// An event that has been taken out of the calendar.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Picoseconds since the start.
    time: u64,
    /// Below the number of fixed events: which of them. Otherwise the number of a single event.
    pub id: u32,
}

/// The word that orders an event among those at the same time, and tells them apart: its kind (the lowest of the four
/// first), the link or host that has it (below 2³⁰), and its number there.
pub const fn order(kind: u64, entity: u32, number: u32) -> u64 {
    kind << 62 | (entity as u64) << 32 | number as u64
}

/// A monotone priority queue: nothing may be pushed before the last event popped from the same sub-partition.
#[derive(Clone, Debug)]
pub struct EventQueue {
    /// That of the sub-partition that is open.
    open: Calendar,
    /// Which sub-partition is open.
    subpartition: usize,
    /// First free number of single events.
    free: u32,
    store: Store,
    /// By sub-partition; that of the open one is empty.
    closed: Vec<Calendar>,
}

impl EventQueue {
    /// Sub-partitions that a queue can have at most: each still has a thousand buckets.
    pub const MOST_SUBPARTITIONS: usize = BUCKETS / 1_024;

    /// A queue whose calendars reach at least `horizon_ps` ahead; later events go to a heap. Fixed events have the
    /// numbers and the words ([`order`]) of `fixed_orders`, and `key` decides the order of simultaneous ones. There are
    /// `subpartitions` of them, 1 to [`EventQueue::MOST_SUBPARTITIONS`], and the first is open.
    pub fn new(horizon_ps: u64, fixed_orders: Vec<u64>, key: u64, subpartitions: usize) -> Self {
        let fixed = fixed_orders.len();
        let share = BUCKETS / subpartitions.next_power_of_two();
        // The more links are busy at a time, the narrower a bucket must be to hold one event.
        let buckets = if fixed < MANY {
            (SMALL_BUCKETS_PER_EVENT * fixed).max(FEWEST)
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

    /// How far ahead of the last event popped an event lies in a calendar for sure, in picoseconds.
    pub const fn reach_ps(&self) -> u64 {
        self.store.reach_ps()
    }

    /// The width of a bucket is 2 to the power of this, in picoseconds.
    pub const fn shift(&self) -> u32 {
        self.store.shift()
    }

    /// Makes the buckets 2^`shift` ps wide. Only where there is one sub-partition.
    pub fn change_width(&mut self, shift: u32) {
        debug_assert!(self.is_one());
        self.open.change_width(&mut self.store, shift);
    }

    /// Whether there is one sub-partition.
    #[inline(always)]
    pub fn is_one(&self) -> bool {
        self.closed.is_empty()
    }

    /// Opens a sub-partition: what is popped comes from it.
    pub fn enter(&mut self, subpartition: usize) {
        if subpartition != self.subpartition {
            std::mem::swap(&mut self.open, &mut self.closed[self.subpartition]);
            std::mem::swap(&mut self.open, &mut self.closed[subpartition]);
            self.subpartition = subpartition;
        }
    }

    /// Puts a fixed event, which must not be in, into the open sub-partition.
    #[inline(always)]
    pub fn push<const ALONE: bool>(&mut self, time: u64, id: u32) {
        self.open.push::<ALONE>(&mut self.store, time, id);
    }

    /// The same into any sub-partition.
    #[inline]
    pub fn push_to(&mut self, subpartition: usize, time: u64, id: u32) {
        if subpartition == self.subpartition {
            self.push::<false>(time, id);
        } else {
            self.closed[subpartition].push::<false>(&mut self.store, time, id);
        }
    }

    /// Says how many events a fixed number has had with the one that is put in next, modulo 2³².
    #[inline(always)]
    pub fn set_turn(&mut self, id: u32, turn: u32) {
        self.store.set_turn(id, turn);
    }

    /// Puts a single event into a sub-partition; [`EventQueue::retire`] it when it is due.
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

    /// Frees the number of a single event that was popped; returns its order.
    pub fn retire(&mut self, id: u32) -> u64 {
        let order = self.store.free(id, self.free);
        self.free = id;
        order
    }

    /// From here on events of the open sub-partition that are due at `end_ps` or later stay in. Before the first call
    /// none does.
    pub fn set_end(&mut self, end_ps: u64) {
        self.open.set_end(end_ps);
    }

    /// Takes the next event of the open sub-partition, as its time and number, if it comes before the end; otherwise
    /// the number is [`NONE`].
    #[inline(always)]
    pub fn pop<const ALONE: bool>(&mut self) -> (u64, u32) {
        self.open.pop::<ALONE>(&mut self.store)
    }

    /// The same of the only sub-partition, but takes many events at a time out of the calendar and calls `prefetch`
    /// then, which finds them in [`EventQueue::current`].
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

    /// The number of an event that is likely the next, or [`NONE`].
    #[inline(always)]
    pub fn likely_next<const ALONE: bool>(&self) -> u32 {
        self.open.likely_next::<ALONE>(&self.store)
    }

    /// The events that have been taken out of the calendar, latest first.
    pub fn current(&self) -> &[Event] {
        &self.open.current
    }

    /// Reads what putting a fixed event in will need, ahead of time. The value means nothing.
    #[inline]
    pub fn prefetch(&self, id: u32) -> u64 {
        self.store.nodes[id as usize].time
    }

    /// The time of the next event of a sub-partition, or `u64::MAX`.
    pub fn next_time_of(&self, subpartition: usize) -> u64 {
        if subpartition == self.subpartition {
            self.open.next_time(&self.store)
        } else {
            self.closed[subpartition].next_time(&self.store)
        }
    }

    /// The time of the next event of all, or `u64::MAX`.
    pub fn next_time(&self) -> u64 {
        (1..self.closed.len().max(1))
            .map(|subpartition| self.next_time_of(subpartition))
            .fold(self.next_time_of(0), u64::min)
    }
}

#[cfg(test)]
mod tests;
