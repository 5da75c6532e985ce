//! Event queue: a wheel of narrow slots, each a sorted list linked through the links' entries.

/// Width of a slot: 2^13 ps, about 8 ns.
const SLOT_SHIFT: u32 = 13;
/// Number of slots: 67 µs, more than a start within one packet time, one packet time at 1 Gbps and one latency.
const SLOTS: usize = WORD * WORD * 2;
const WORD: usize = 64;
const NONE: u16 = u16::MAX;

/// Event queue with at most one event per link.
#[derive(Debug)]
pub(crate) struct Wheel {
    heads: Box<[u16; SLOTS]>,
    /// Bit mask of slots that hold an event.
    slots: [u64; SLOTS / WORD],
    /// Bit mask of non-zero words in `slots`.
    words: u128,
    entries: Vec<Entry>,
    cursor: usize,
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
            slots: [0; SLOTS / WORD],
            words: 0,
            entries: vec![
                Entry {
                    time: 0,
                    next: NONE
                };
                links
            ],
            cursor: 0,
        }
    }

    /// Inserts the next event of `link`, which must have none. `time` must be within the horizon.
    #[inline]
    pub(crate) fn push(&mut self, time: u64, link: usize) {
        let slot = (time >> SLOT_SHIFT) as usize % SLOTS;
        let mut after = self.heads[slot];
        if after == NONE {
            self.slots[slot / WORD] |= 1 << (slot % WORD);
            self.words |= 1 << (slot / WORD);
        }
        let mut before = NONE;
        // Ties go to the lower link, so that the order does not depend on the insertion order.
        while let Some(entry) = self.entries.get(usize::from(after))
            && (entry.time, usize::from(after)) < (time, link)
        {
            before = after;
            after = entry.next;
        }
        self.entries[link] = Entry { time, next: after };
        if before == NONE {
            self.heads[slot] = link as u16;
        } else {
            self.entries[usize::from(before)].next = link as u16;
        }
    }

    /// Removes and returns the earliest event.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(u64, usize)> {
        let slot = self.first_occupied()?;
        self.cursor = slot;
        let link = usize::from(self.heads[slot]);
        let Entry { time, next } = self.entries[link];
        self.heads[slot] = next;
        if next == NONE {
            let word = &mut self.slots[slot / WORD];
            *word &= !(1 << (slot % WORD));
            if *word == 0 {
                self.words &= !(1 << (slot / WORD));
            }
        }
        Some((time, link))
    }

    /// Returns the first slot with an event, from the cursor on around the wheel.
    #[inline]
    fn first_occupied(&self) -> Option<usize> {
        let word = self.cursor / WORD;
        let rest = self.slots[word] & (!0 << (self.cursor % WORD));
        if rest != 0 {
            return Some(word * WORD + rest.trailing_zeros() as usize);
        }
        if self.words == 0 {
            return None;
        }
        let later = self.words & (!1 << word);
        let word = if later == 0 { self.words } else { later }.trailing_zeros() as usize;
        Some(word * WORD + self.slots[word].trailing_zeros() as usize)
    }
}
