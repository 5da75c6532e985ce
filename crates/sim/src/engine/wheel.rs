//! Hierarchical timing wheel for single events beyond the reach of the event queue's calendar: timers of connections
//! and wake-ups of workloads (Varghese and Lauck, Hashed and Hierarchical Timing Wheels, 1987).
//!
//! Insertion appends an event to a slot, and a whole slot moves to the queue shortly before it is due. A million
//! pending timers therefore cost as little per timer as a thousand, whatever their durations.

/// Slots per level, a power of two.
const SLOTS: usize = 1_024;
/// Binary logarithm of [`SLOTS`].
const BITS: u32 = SLOTS.trailing_zeros();

/// An event and the word that orders it (see `queue`).
#[derive(Clone, Copy, Debug)]
struct Far {
    time_ps: u64,
    order: u64,
}

/// Timing wheel with two levels. Each slot of the second level spans all slots of the first.
pub struct Wheel {
    /// Binary logarithm of the width of a first-level slot, in picoseconds.
    shift: u32,
    /// Absolute index of the first slot of the first level that has not been released.
    cursor: u64,
    first: Level,
    second: Level,
}

struct Level {
    slots: Vec<Vec<Far>>,
    /// Time of the earliest event, by slot, or `u64::MAX`.
    earliest_ps: Vec<u64>,
    /// One bit per slot, set if the slot is not empty.
    occupied: [u64; SLOTS / 64],
}

impl Wheel {
    /// Creates an empty wheel with slots of at most `width_ps`.
    pub fn new(width_ps: u64) -> Self {
        Self {
            shift: width_ps.max(1).ilog2(),
            cursor: 0,
            first: Level::new(),
            second: Level::new(),
        }
    }

    /// Inserts an event. Returns false if the event belongs in the queue, because its slot has been released or is
    /// beyond the wheel.
    pub fn put(&mut self, time_ps: u64, order: u64) -> bool {
        let number = time_ps >> self.shift;
        if number < self.cursor {
            return false;
        }
        let far = Far { time_ps, order };
        let block = number >> BITS;
        if number - self.cursor < SLOTS as u64 {
            self.first.put(number, far);
        } else if block - (self.cursor >> BITS) < SLOTS as u64 {
            self.second.put(block, far);
        } else {
            return false;
        }
        true
    }

    /// Returns the time of the earliest event, or `u64::MAX`.
    pub fn next_time_ps(&self) -> u64 {
        // The first level may span two blocks, and the second level may hold earlier events of the later block.
        let first = self.first.earliest_from(self.cursor);
        if first >> self.shift >> BITS == self.cursor >> BITS {
            return first;
        }
        let second = self.second.earliest_from((self.cursor >> BITS) + 1);
        first.min(second)
    }

    /// Passes every event before `until_ps`, and the remaining events of the last slot, to `take` as time in
    /// picoseconds and order.
    pub fn release(&mut self, until_ps: u64, mut take: impl FnMut(u64, u64)) {
        let end = (until_ps >> self.shift) + 1;
        while self.cursor < end {
            let next = (self.next_time_ps() >> self.shift).min(end);
            self.advance(next);
            if next < end {
                self.first.empty(next, |far| take(far.time_ps, far.order));
                self.advance(next + 1);
            }
        }
    }

    /// Moves the cursor to a slot before which there is no event. The events of a new block move to the first level.
    fn advance(&mut self, number: u64) {
        let block = number >> BITS;
        let is_new = block != self.cursor >> BITS;
        self.cursor = number;
        if is_new {
            for far in self.second.take(block) {
                self.first.put(far.time_ps >> self.shift, far);
            }
        }
    }
}

impl Level {
    fn new() -> Self {
        Self {
            slots: vec![Vec::new(); SLOTS],
            earliest_ps: vec![u64::MAX; SLOTS],
            occupied: [0; SLOTS / 64],
        }
    }

    /// Appends an event to the slot with absolute index `number`.
    fn put(&mut self, number: u64, far: Far) {
        let slot = number as usize % SLOTS;
        self.slots[slot].push(far);
        self.earliest_ps[slot] = self.earliest_ps[slot].min(far.time_ps);
        self.occupied[slot / 64] |= 1 << (slot % 64);
    }

    /// Returns the time of the earliest event, or `u64::MAX`. `number` is the absolute index of the earliest slot.
    fn earliest_from(&self, number: u64) -> u64 {
        let start = number as usize % SLOTS;
        let words = self.occupied.len();
        // The word of the start is checked twice: first from the start on, last as a whole.
        let mut bits = self.occupied[start / 64] & (u64::MAX << (start % 64));
        for word in start / 64 + 1..=start / 64 + words {
            if bits != 0 {
                let slot = (word - 1) % words * 64 + bits.trailing_zeros() as usize;
                return self.earliest_ps[slot];
            }
            bits = self.occupied[word % words];
        }
        if bits == 0 {
            return u64::MAX;
        }
        self.earliest_ps[start / 64 * 64 + bits.trailing_zeros() as usize]
    }

    /// Passes the events of a slot to `take` and keeps the slot's memory.
    fn empty(&mut self, number: u64, take: impl FnMut(Far)) {
        let mut events = self.take(number);
        events.drain(..).for_each(take);
        self.slots[number as usize % SLOTS] = events;
    }

    /// Removes the events of a slot together with its memory.
    fn take(&mut self, number: u64) -> Vec<Far> {
        let slot = number as usize % SLOTS;
        self.earliest_ps[slot] = u64::MAX;
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        std::mem::take(&mut self.slots[slot])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use duetime_core::random::mix;

    /// Compares the wheel with a plain list. Distances range from less than a slot to beyond the wheel; events are
    /// released in windows.
    #[test]
    fn releases_each_event_once_and_in_time() {
        let width = 1 << 10;
        let mut wheel = Wheel::new(width + 1);
        let (mut pending, mut released, mut rejected) = (Vec::new(), Vec::new(), 0);
        let (mut now, mut number) = (0, 0);
        for step in 0..3_000 {
            for _ in 0..mix(step, 1) % 4 {
                let ahead = mix(number, 2) >> (24 + mix(number, 3) % 40);
                if wheel.put(now + ahead, number) {
                    pending.push((now + ahead, number));
                } else {
                    rejected += 1;
                }
                number += 1;
            }
            let earliest = pending.iter().map(|event| event.0).min();
            assert_eq!(wheel.next_time_ps(), earliest.unwrap_or(u64::MAX));
            let until = now + (mix(step, 4) >> (32 + mix(step, 5) % 32));
            released.clear();
            wheel.release(until, |time_ps, order| released.push((time_ps, order)));
            let (mut due, late): (Vec<_>, Vec<_>) = pending
                .into_iter()
                .partition(|event| event.0 >> 10 <= until >> 10);
            released.sort_unstable();
            due.sort_unstable();
            assert_eq!(released, due);
            (pending, now) = (late, until);
        }
        assert!(rejected > 100 && number > 4_000);
    }

    /// Events in a released slot or beyond the reach of both levels are rejected.
    #[test]
    fn accepts_events_between_cursor_and_reach() {
        let mut wheel = Wheel::new(16);
        let reach = 16 << (2 * BITS);
        assert!(wheel.put(0, 0) && wheel.put(reach - 1, 1) && !wheel.put(reach, 2));
        wheel.release(40, |time_ps, order| assert_eq!((time_ps, order), (0, 0)));
        assert!(!wheel.put(47, 3) && wheel.put(48, 4));
        assert_eq!(wheel.next_time_ps(), 48);
    }
}
