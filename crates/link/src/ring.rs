//! A small growing ring of packets with the instant at which each arrives at the far end of its link.

use crate::Frame;
use duetime_core::Time;

/// Packets of one link in order of arrival at its far end: first those on the wire, then (FIFO ports) those queued.
#[derive(Clone, Debug)]
pub struct Ring<F> {
    slots: Vec<Slot<F>>,
    head: u32,
    tail: u32,
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
        self.tail.wrapping_sub(self.head)
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
    #[inline]
    pub fn pop(&mut self) -> Option<F> {
        if self.is_empty() {
            return None;
        }
        let frame = self.at(self.head).frame;
        self.head = self.head.wrapping_add(1);
        Some(frame)
    }

    /// Appends a packet that arrives no earlier than those held.
    #[inline]
    pub fn push(&mut self, arrival: Time, frame: F) {
        if self.len() as usize == self.slots.len() {
            self.grow(Slot { arrival, frame });
        }
        let mask = self.slots.len() - 1;
        self.slots[self.tail as usize & mask] = Slot { arrival, frame };
        self.tail = self.tail.wrapping_add(1);
    }

    /// The position after the last packet; positions grow by one per packet and wrap.
    #[inline]
    pub(crate) fn end(&self) -> u32 {
        self.tail
    }

    /// The slot at a position between head and tail.
    #[inline]
    pub(crate) fn at(&self, position: u32) -> &Slot<F> {
        &self.slots[position as usize & (self.slots.len() - 1)]
    }

    /// Packets held, first to last.
    pub fn iter(&self) -> impl Iterator<Item = F> + '_ {
        (0..self.len()).map(|i| self.at(self.head.wrapping_add(i)).frame)
    }

    #[cold]
    fn grow(&mut self, filler: Slot<F>) {
        let (old, new) = (self.slots.len(), (self.slots.len() * 2).max(4));
        let mut slots = Vec::with_capacity(new);
        slots.resize(new, filler);
        for i in 0..old as u32 {
            let position = self.head.wrapping_add(i);
            slots[position as usize & (new - 1)] = *self.at(position);
        }
        self.slots = slots;
    }
}
