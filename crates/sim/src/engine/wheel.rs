//! Single events that lie further ahead than the calendar of the event queue reaches: timers of connections, wake-ups of
//! workloads. A hierarchical timing wheel (Varghese and Lauck, Hashed and Hierarchical Timing Wheels, 1987): putting an
//! event in appends it to a slot, and a slot is given to the queue as a whole shortly before it is due. So a million
//! pending timers cost no more than a thousand, whatever their lengths.

/// Slots of a level, a power of two.
const SLOTS: usize = 1_024;
/// Its logarithm.
const BITS: u32 = SLOTS.trailing_zeros();

/// An event and the word that orders it (see `queue`).
#[derive(Clone, Copy, Debug)]
struct Far {
    time_ps: u64,
    order: u64,
}

/// The events of a wheel with two levels: each slot of the second spans all slots of the first.
pub struct Wheel {
    /// A slot of the first level is 2^shift ps wide.
    shift: u32,
    /// The absolute number of the first slot of the first level that has not been given out.
    cursor: u64,
    first: Level,
    second: Level,
}

/// The slots of one level.
struct Level {
    slots: Vec<Vec<Far>>,
    /// By slot: its earliest event, or `u64::MAX`.
    earliest_ps: Vec<u64>,
    /// One bit per slot that is not empty.
    occupied: [u64; SLOTS / 64],
}

impl Wheel {
    /// An empty one, whose slots are at most `width_ps` wide.
    pub fn new(width_ps: u64) -> Self {
        Self {
            shift: width_ps.max(1).ilog2(),
            cursor: 0,
            first: Level::new(),
            second: Level::new(),
        }
    }

    /// Puts an event in; false if it belongs into the queue at once, since its slot has been given out or lies beyond
    /// the wheel.
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

    /// The time of the earliest event, or `u64::MAX`.
    pub fn next_time_ps(&self) -> u64 {
        // The first level may hold events of two blocks, and the second some of the later one that are earlier.
        let first = self.first.earliest_from(self.cursor);
        if first >> self.shift >> BITS == self.cursor >> BITS {
            return first;
        }
        let second = self.second.earliest_from((self.cursor >> BITS) + 1);
        first.min(second)
    }

    /// Gives every event before `until_ps` to `take`, as its time in picoseconds and its order, with the rest of the
    /// last slot.
    pub fn give_out(&mut self, until_ps: u64, mut take: impl FnMut(u64, u64)) {
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

    /// Moves the cursor to a slot, before which there is no event; the events of its block come to the first level.
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

    /// Appends an event to a slot, of which the absolute number is given.
    fn put(&mut self, number: u64, far: Far) {
        let slot = number as usize % SLOTS;
        self.slots[slot].push(far);
        self.earliest_ps[slot] = self.earliest_ps[slot].min(far.time_ps);
        self.occupied[slot / 64] |= 1 << (slot % 64);
    }

    /// The time of the earliest event, or `u64::MAX`; `number` is the absolute number of the earliest slot.
    fn earliest_from(&self, number: u64) -> u64 {
        let start = number as usize % SLOTS;
        let words = self.occupied.len();
        // The start's word is looked at twice: at first from the start on, at last as a whole.
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

    /// Gives the events of a slot to `take`; the slot keeps its memory.
    fn empty(&mut self, number: u64, take: impl FnMut(Far)) {
        let mut events = self.take(number);
        events.drain(..).for_each(take);
        self.slots[number as usize % SLOTS] = events;
    }

    /// Takes the events of a slot with its memory.
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

    /// Against a plain list: events at distances from less than a slot to beyond the wheel, given out in windows.
    #[test]
    fn every_event_is_given_out_once_and_in_time() {
        let width = 1 << 10;
        let mut wheel = Wheel::new(width + 1);
        let (mut pending, mut given, mut at_once) = (Vec::new(), Vec::new(), 0);
        let (mut now, mut number) = (0, 0);
        for step in 0..3_000 {
            for _ in 0..mix(step, 1) % 4 {
                let ahead = mix(number, 2) >> (24 + mix(number, 3) % 40);
                if wheel.put(now + ahead, number) {
                    pending.push((now + ahead, number));
                } else {
                    at_once += 1;
                }
                number += 1;
            }
            let earliest = pending.iter().map(|event| event.0).min();
            assert_eq!(wheel.next_time_ps(), earliest.unwrap_or(u64::MAX));
            let until = now + (mix(step, 4) >> (32 + mix(step, 5) % 32));
            given.clear();
            wheel.give_out(until, |time_ps, order| given.push((time_ps, order)));
            let (mut due, late): (Vec<_>, Vec<_>) = pending
                .into_iter()
                .partition(|event| event.0 >> 10 <= until >> 10);
            given.sort_unstable();
            due.sort_unstable();
            assert_eq!(given, due);
            (pending, now) = (late, until);
        }
        assert!(at_once > 100 && number > 4_000);
    }

    /// What lies in a slot that has been given out, or farther ahead than both levels reach, is not taken.
    #[test]
    fn it_takes_what_lies_between_its_cursor_and_its_reach() {
        let mut wheel = Wheel::new(16);
        let reach = 16 << (2 * BITS);
        assert!(wheel.put(0, 0) && wheel.put(reach - 1, 1) && !wheel.put(reach, 2));
        wheel.give_out(40, |time_ps, order| assert_eq!((time_ps, order), (0, 0)));
        assert!(!wheel.put(47, 3) && wheel.put(48, 4));
        assert_eq!(wheel.next_time_ps(), 48);
    }
}
