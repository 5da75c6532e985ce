//! A small growing ring of packets with the instant at which each arrives at the far end of its link.

use crate::Frame;
use duetime_core::Time;

/// Packets of one link in order of arrival at its far end: first those on the wire, then (FIFO ports) those queued.
#[derive(Clone, Debug)]
pub struct Ring<F> {
    slots: Vec<Slot<F>>,
    /// Positions grow by one per packet and never repeat.
    head: u64,
    tail: u64,
}

/// A packet and its arrival at the far end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot<F> {
    pub(crate) arrival: Time,
    pub(crate) frame: F,
}

impl<F: Frame> Default for Ring<F> {
    fn default() -> Self {
        Self { slots: Vec::new(), head: 0, tail: 0 }
    }
}

impl<F: Frame> Ring<F> {
    /// Packets held.
    #[inline]
    pub fn len(&self) -> u32 {
        (self.tail - self.head) as u32
    }

    /// Whether no packet is held.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.tail == self.head
    }

    /// When the first packet arrives.
    #[inline]
    pub fn next_arrival(&self) -> Option<Time> {
        (!self.is_empty()).then(|| self.at(self.head).arrival)
    }

    /// Takes the first packet.
    ///
    /// # Panics
    /// If there is none.
    #[inline(always)]
    pub fn pop(&mut self) -> F {
        debug_assert!(!self.is_empty(), "nothing is on the way");
        let frame = self.at(self.head).frame;
        self.head += 1;
        frame
    }

    /// Appends a packet that arrives no earlier than those held.
    #[inline(always)]
    pub fn push(&mut self, arrival: Time, frame: F) {
        if (self.tail - self.head) as usize == self.slots.len() {
            self.grow(Slot { arrival, frame });
        }
        let mask = self.slots.len() - 1;
        self.slots[self.tail as usize & mask] = Slot { arrival, frame };
        self.tail += 1;
    }

    /// The position of the first packet.
    #[inline(always)]
    pub(crate) fn start(&self) -> u64 {
        self.head
    }

    /// The position after the last packet: how many have ever been held.
    #[inline(always)]
    pub(crate) fn end(&self) -> u64 {
        self.tail
    }

    /// The slot at a position between head and tail.
    #[inline(always)]
    pub(crate) fn at(&self, position: u64) -> &Slot<F> {
        &self.slots[position as usize & (self.slots.len() - 1)]
    }

    /// Packets held, first to last.
    pub fn iter(&self) -> impl Iterator<Item = F> + '_ {
        (self.head..self.tail).map(|position| self.at(position).frame)
    }

    #[cold]
    fn grow(&mut self, filler: Slot<F>) {
        let new = (self.slots.len() * 2).max(4);
        let mut slots = vec![filler; new];
        for position in self.head..self.tail {
            slots[position as usize & (new - 1)] = *self.at(position);
        }
        self.slots = slots;
    }
}
