//! The event queue: a wheel of narrow slots, each a sorted list threaded through the links.

/// Width of a slot: 2^14 ps, about 16 ns.
const SLOT_SHIFT: u32 = 14;
/// Number of slots: 33.5 µs, more than one packet time at 1 Gbps plus one link latency.
const SLOTS: usize = 2048;
const NONE: u16 = u16::MAX;

/// Holds at most one event per link.
#[derive(Debug)]
pub(crate) struct Wheel {
    heads: Box<[u16; SLOTS]>,
    occupied: [u64; SLOTS / 64],
    entries: Vec<Entry>,
    cursor: usize,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    time: u64,
    next: u16,
}

impl Wheel {
    pub(crate) fn new(links: usize) -> Self {
        assert!(links < usize::from(NONE));
        Self {
            heads: Box::new([NONE; SLOTS]),
            occupied: [0; SLOTS / 64],
            entries: vec![
                Entry {
                    time: 0,
                    next: NONE
                };
                links
            ],
            cursor: 0,
            len: 0,
        }
    }

    /// Enters the next event of `link`, which must have none. `time` lies within the horizon.
    pub(crate) fn push(&mut self, time: u64, link: usize) {
        let slot = (time >> SLOT_SHIFT) as usize % SLOTS;
        let mut before = NONE;
        let mut after = self.heads[slot];
        // Ties go to the lower link, so the order does not depend on who came first.
        while after != NONE
            && (self.entries[usize::from(after)].time, usize::from(after)) < (time, link)
        {
            before = after;
            after = self.entries[usize::from(after)].next;
        }
        self.entries[link] = Entry { time, next: after };
        if before == NONE {
            self.heads[slot] = link as u16;
            self.occupied[slot / 64] |= 1 << (slot % 64);
        } else {
            self.entries[usize::from(before)].next = link as u16;
        }
        self.len += 1;
    }

    /// Takes the earliest event.
    pub(crate) fn pop(&mut self) -> Option<(u64, usize)> {
        if self.len == 0 {
            return None;
        }
        let slot = self.first_occupied();
        self.cursor = slot;
        let link = usize::from(self.heads[slot]);
        let Entry { time, next } = self.entries[link];
        self.heads[slot] = next;
        if next == NONE {
            self.occupied[slot / 64] &= !(1 << (slot % 64));
        }
        self.len -= 1;
        Some((time, link))
    }

    /// The first slot from the cursor on, around the wheel, that holds an event; there is one.
    fn first_occupied(&self) -> usize {
        let mut word = self.cursor / 64;
        let mut bits = self.occupied[word] & (!0 << (self.cursor % 64));
        while bits == 0 {
            word = (word + 1) % self.occupied.len();
            bits = self.occupied[word];
        }
        word * 64 + bits.trailing_zeros() as usize
    }
}
