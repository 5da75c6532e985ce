//! Queue of packets in a ring that grows.

use duetime_core::prefetch::prefetch;

/// Queue whose entries are in a ring.
#[derive(Debug)]
pub(crate) struct Ring<T> {
    /// Entries, oldest at `head`. The length is a power of two.
    slots: Vec<T>,
    head: u32,
    tail: u32,
}

impl<T: Copy> Ring<T> {
    /// Creates an empty ring with space for `capacity` entries, a power of two. `filler` fills unused space.
    pub(crate) fn new(capacity: usize, filler: T) -> Self {
        Self {
            slots: vec![filler; capacity],
            head: 0,
            tail: 0,
        }
    }

    /// Returns the number of entries.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head) as usize
    }

    /// Adds an entry.
    #[inline]
    pub(crate) fn push(&mut self, entry: T) {
        if self.len() == self.slots.len() {
            self.grow();
        }
        let slot = self.tail as usize & (self.slots.len() - 1);
        self.slots[slot] = entry;
        self.tail = self.tail.wrapping_add(1);
    }

    /// Removes the oldest entry, which must exist.
    #[inline]
    pub(crate) fn pop(&mut self) -> T {
        let entry = *self.at(self.head);
        self.head = self.head.wrapping_add(1);
        entry
    }

    /// Returns the oldest entry, if any.
    #[inline]
    pub(crate) fn front(&self) -> Option<&T> {
        (self.head != self.tail).then(|| self.at(self.head))
    }

    /// Returns true if the ring is empty, and if so continues at its first slots, so that a ring that was once long
    /// does not pass through all of its slots with few entries.
    #[inline]
    pub(crate) fn rewind_if_empty(&mut self) -> bool {
        let is_empty = self.head == self.tail;
        if is_empty {
            (self.head, self.tail) = (0, 0);
        }
        is_empty
    }

    /// Returns the newest entry for 1, the one before for 2, and so on. The entry must exist.
    #[inline]
    pub(crate) fn nth_newest(&self, count: u32) -> &T {
        self.at(self.tail.wrapping_sub(count))
    }

    /// Prefetches the oldest entry.
    #[inline]
    pub(crate) fn prefetch_front(&self) {
        prefetch(self.at(self.head));
    }

    /// Prefetches the space of the next entry.
    #[inline]
    pub(crate) fn prefetch_end(&self) {
        prefetch(self.at(self.tail));
    }

    #[inline]
    fn at(&self, position: u32) -> &T {
        &self.slots[position as usize & (self.slots.len() - 1)]
    }

    #[cold]
    fn grow(&mut self) {
        let length = self.len();
        let first = self.head as usize & (self.slots.len() - 1);
        self.slots.rotate_left(first);
        self.slots.resize(2 * self.slots.len(), self.slots[0]);
        self.head = 0;
        self.tail = length as u32;
    }
}
