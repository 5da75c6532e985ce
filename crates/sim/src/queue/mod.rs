//! The event queue: a calendar of fixed-width buckets with an overflow heap.
//!
//! Events are ordered by (time, order); the order word is unique among simultaneous events, so the result never
//! depends on when an event was put in. What recurs (a link's next arrival, a port's next departure) has a fixed number
//! and at most one event at a time, so the calendar holds thousands of entries, not one per packet, and putting one in
//! takes no memory.
//!
//! A large network is run region by region (see `engine::regions`): each has a calendar of its own, all of them share
//! the buckets, and one is open at a time. The parameter `ALONE` says that there is one region: known to the compiler,
//! it saves the packet path a few instructions.

mod calendar;

use calendar::{BUCKETS, Calendar, Store};

/// The horizon spans at least this many buckets: in a small network few, so that the next event is found in the same
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

/// A monotone priority queue: nothing may be pushed before the last event popped from the same region.
#[derive(Clone, Debug)]
pub struct EventQueue {
    /// That of the region that is open.
    open: Calendar,
    /// Which region is open.
    region: usize,
    /// First free number of single events.
    free: u32,
    store: Store,
    /// By region; that of the open one is empty.
    closed: Vec<Calendar>,
}

impl EventQueue {
    /// Regions that a queue can have at most: each still has a thousand buckets.
    pub const MOST_REGIONS: usize = BUCKETS / 1_024;

    /// A queue whose calendars reach at least `horizon_ps` ahead; later events go to a heap. Fixed events have the
    /// numbers and orders of `fixed_orders`. There are `regions` of them, 1 to [`EventQueue::MOST_REGIONS`], and the
    /// first is open.
    pub fn new(horizon_ps: u64, fixed_orders: Vec<u64>, regions: usize) -> Self {
        let fixed = fixed_orders.len();
        let share = BUCKETS / regions.next_power_of_two();
        // The more links are busy at a time, the narrower a bucket must be to hold one event.
        let buckets = if fixed < MANY {
            fixed.max(FEWEST)
        } else if fixed < VERY_MANY {
            fixed * BUCKETS_PER_EVENT
        } else {
            VERY_MANY_BUCKETS
        };
        let width = (horizon_ps / buckets.min(share - 1) as u64)
            .max(1)
            .next_power_of_two();
        let mut calendars = (0..regions).map(|region| Calendar::new(region * share));
        Self {
            open: calendars.next().expect("at least one region"),
            region: 0,
            free: NONE,
            store: Store::new(width.trailing_zeros(), share, fixed_orders),
            closed: if regions > 1 {
                std::iter::once(Calendar::new(0)).chain(calendars).collect()
            } else {
                Vec::new()
            },
        }
    }

    /// Opens a region: what is popped comes from it.
    pub fn enter(&mut self, region: usize) {
        if region != self.region {
            std::mem::swap(&mut self.open, &mut self.closed[self.region]);
            std::mem::swap(&mut self.open, &mut self.closed[region]);
            self.region = region;
        }
    }

    /// Puts a fixed event, which must not be in, into the open region.
    #[inline(always)]
    pub fn push<const ALONE: bool>(&mut self, time: u64, id: u32) {
        self.open.push::<ALONE>(&mut self.store, time, id);
    }

    /// The same into any region.
    #[inline]
    pub fn push_to(&mut self, region: usize, time: u64, id: u32) {
        if region == self.region {
            self.push::<false>(time, id);
        } else {
            self.closed[region].push::<false>(&mut self.store, time, id);
        }
    }

    /// Puts a single event into a region; [`EventQueue::retire`] it when it is due.
    pub fn push_single_to(&mut self, region: usize, time: u64, order: u64) {
        let id = if self.free == NONE {
            self.store.add(order)
        } else {
            let id = self.free;
            self.free = self.store.reuse(id, order);
            id
        };
        self.push_to(region, time, id);
    }

    /// Frees the number of a single event that was popped; returns its order.
    pub fn retire(&mut self, id: u32) -> u64 {
        let order = self.store.free(id, self.free);
        self.free = id;
        order
    }

    /// Takes the next event of the open region, as its time and number, if it comes before `end_ps`; otherwise the
    /// number is [`NONE`].
    #[inline(always)]
    pub fn pop_before<const ALONE: bool>(&mut self, end_ps: u64) -> (u64, u32) {
        self.open.pop_before::<ALONE>(&mut self.store, end_ps)
    }

    /// The same of the only region, but takes many events at a time out of the calendar and calls `look` then, which
    /// finds them in [`EventQueue::current`].
    #[inline(always)]
    pub fn pop_foreseen_before(&mut self, end_ps: u64, look: impl FnOnce(&Self)) -> (u64, u32) {
        if self.open.current.is_empty() {
            if self.open.upcoming >= self.open.overflow_number {
                let number = self.open.upcoming;
                return self
                    .open
                    .pop_from_overflow::<true>(&mut self.store, number, end_ps);
            }
            self.open.load_many::<true>(&mut self.store, end_ps);
            look(self);
        }
        self.open.pop_current(end_ps)
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
    pub fn touch(&self, id: u32) -> u64 {
        self.store.nodes[id as usize].time
    }

    /// The time of the next event of a region, or `u64::MAX`.
    pub fn next_time_of(&self, region: usize) -> u64 {
        if region == self.region {
            self.open.next_time(&self.store)
        } else {
            self.closed[region].next_time(&self.store)
        }
    }

    /// The time of the next event of all, or `u64::MAX`.
    pub fn next_time(&self) -> u64 {
        (1..self.closed.len().max(1))
            .map(|region| self.next_time_of(region))
            .fold(self.next_time_of(0), u64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    proptest! {
        /// A binary heap gives the same order, for delays within a bucket, within the calendar and beyond it.
        #[test]
        fn equals_a_binary_heap(
            horizon in 1u64..5_000_000_000,
            foresee in any::<bool>(),
            steps in prop::collection::vec((0u64..4, 0u64..100_000, 0u32..40, 1usize..4), 1..2_000),
        ) {
            let mut queue = EventQueue::new(horizon, vec![u64::MAX], 1);
            let mut heap = BinaryHeap::new();
            let (mut now, mut count, mut fixed) = (0u64, 0u64, false);
            let pop = |queue: &mut EventQueue, fixed: &mut bool| {
                let (time, id) = if foresee {
                    queue.pop_foreseen_before(u64::MAX, |_| ())
                } else {
                    queue.pop_before::<true>(u64::MAX)
                };
                *fixed &= id != 0;
                (id != NONE).then(|| (time, if id == 0 { u64::MAX } else { queue.retire(id) }))
            };
            for (kind, delay, scale, pops) in steps {
                let time = now + if kind == 1 { 0 } else { delay << scale >> 6 };
                if kind > 0 && delay % 5 == 0 && !fixed {
                    fixed = true;
                    queue.push::<true>(time, 0);
                    heap.push(Reverse((time, u64::MAX)));
                } else if kind > 0 {
                    count += 1;
                    let order = duetime_core::random::mix(count, 1) >> 1;
                    queue.push_single_to(0, time, order);
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
                prop_assert_eq!(queue.pop_before::<true>(expected.0).1, NONE);
                prop_assert_eq!(pop(&mut queue, &mut fixed), Some(expected));
            }
            prop_assert_eq!(queue.pop_before::<true>(u64::MAX).1, NONE);
        }

        /// Each region's events come in their order, whichever region is open when they are put in.
        #[test]
        fn a_region_is_a_queue_of_its_own(
            regions in 2usize..7,
            horizon in 1u64..5_000_000_000,
            steps in prop::collection::vec((0usize..7, 0usize..7, 0u64..100_000, 0u32..40, any::<bool>()), 1..2_000),
        ) {
            let mut queue = EventQueue::new(horizon, Vec::new(), regions);
            let mut heaps = vec![BinaryHeap::new(); regions];
            let mut clocks = vec![0u64; regions];
            let mut count = 0u64;
            for (open, to, delay, scale, pop) in steps {
                let (open, to) = (open % regions, to % regions);
                queue.enter(open);
                if pop {
                    let popped = queue.pop_before::<false>(u64::MAX);
                    let popped = (popped.1 != NONE).then(|| (popped.0, queue.retire(popped.1)));
                    prop_assert_eq!(popped, heaps[open].pop().map(|Reverse(event)| event));
                    clocks[open] = popped.map_or(clocks[open], |(time, _)| time);
                } else {
                    count += 1;
                    let event = (clocks[to] + (delay << scale >> 6), duetime_core::random::mix(count, 1) >> 1);
                    queue.push_single_to(to, event.0, event.1);
                    heaps[to].push(Reverse(event));
                }
                let next = |heap: &BinaryHeap<Reverse<(u64, u64)>>| heap.peek().map_or(u64::MAX, |event| event.0.0);
                prop_assert_eq!(queue.next_time_of(to), next(&heaps[to]));
                prop_assert_eq!(queue.next_time(), heaps.iter().map(next).min().unwrap());
            }
            for (region, heap) in heaps.iter_mut().enumerate() {
                queue.enter(region);
                while let Some(Reverse(expected)) = heap.pop() {
                    prop_assert_eq!(queue.pop_before::<false>(expected.0).1, NONE);
                    let (time, id) = queue.pop_before::<false>(u64::MAX);
                    prop_assert_eq!((time, queue.retire(id)), expected);
                }
                prop_assert_eq!(queue.pop_before::<false>(u64::MAX).1, NONE);
            }
        }
    }
}
