//! A small growing ring of packets with the instant at which each arrives at the far end of its link.

use crate::Frame;
use duetime_core::Time;

/// Packets of one link in order of arrival at its far end: first those on the wire, then (FIFO ports) those queued.
#[derive(Clone, Debug)]
pub struct Ring<F> {
    /// A power of two of slots, or none.
    slots: Box<[Slot<F>]>,
    /// How many packets had been pushed when the ring was last empty.
    before: u64,
    /// How many have been taken since, modulo 2³²: the position of the first one.
    begin: u32,
    /// How many have been pushed since, modulo 2³²: the position after the last one. An empty ring starts again at the
    /// first slot, so that a link that carries little takes little of the processor's caches, however long its queue
    /// once was.
    end: u32,
}

/// A packet and its arrival at the far end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot<F> {
    pub(crate) arrival: Time,
    pub(crate) frame: F,
}

impl<F: Frame> Default for Ring<F> {
    fn default() -> Self {
        Self {
            slots: Box::default(),
            before: 0,
            begin: 0,
            end: 0,
        }
    }
}

impl<F: Frame> Ring<F> {
    /// Returns the index of the slot at a position. In 32 bits, it takes one instruction less than in 64.
    #[inline(always)]
    fn place(&self, position: u32) -> usize {
        (position & (self.slots.len() as u32).wrapping_sub(1)) as usize
    }

    /// Packets held.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.end.wrapping_sub(self.begin)
    }

    /// Whether no packet is held.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.begin == self.end
    }

    /// Whether the next packet takes more memory.
    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.len() as usize == self.slots.len()
    }

    /// How many packets have ever been pushed.
    pub fn pushed(&self) -> u64 {
        self.before + u64::from(self.end)
    }

    /// When the first packet arrives.
    #[inline(always)]
    pub fn next_arrival(&self) -> Option<Time> {
        if self.is_empty() {
            None
        } else {
            Some(self.slots[self.place(self.begin)].arrival)
        }
    }

    /// Takes the first packet.
    ///
    /// # Panics
    /// If there is none; unchecked in release builds.
    #[inline(always)]
    pub fn pop(&mut self) -> F {
        let frame = self.first();
        self.drop_first();
        frame
    }

    /// The first packet.
    ///
    /// # Panics
    /// If there is none; unchecked in release builds.
    #[inline(always)]
    pub(crate) fn first(&self) -> F {
        self.first_slot().frame
    }

    /// The same with its time.
    #[inline(always)]
    pub(crate) fn first_slot(&self) -> Slot<F> {
        debug_assert!(!self.is_empty(), "nothing is on the way");
        self.slots[self.place(self.begin)]
    }

    /// Forgets the first packet, which there must be; gives when the one after it arrives.
    #[inline(always)]
    pub(crate) fn drop_first(&mut self) -> Option<Time> {
        let begin = self.begin.wrapping_add(1);
        if begin == self.end {
            self.before += u64::from(self.end);
            (self.begin, self.end) = (0, 0);
            return None;
        }
        self.begin = begin;
        Some(self.slots[self.place(begin)].arrival)
    }

    /// Forgets all packets but the last `count`.
    #[inline]
    pub(crate) fn keep_last(&mut self, count: u32) {
        debug_assert!(count <= self.len());
        self.begin = self.end.wrapping_sub(count);
        if count == 0 {
            self.before += u64::from(self.end);
            (self.begin, self.end) = (0, 0);
        }
    }

    /// Appends a packet that arrives no earlier than those held.
    #[inline(always)]
    pub fn push(&mut self, arrival: Time, frame: F) {
        if self.is_full() {
            self.grow(Slot { arrival, frame });
        }
        let place = self.place(self.end);
        self.slots[place] = Slot { arrival, frame };
        self.end = self.end.wrapping_add(1);
    }

    /// Lets the last packet arrive at `arrival`, later than it would.
    pub(crate) fn delay_last(&mut self, arrival: Time) {
        let place = self.place(self.end.wrapping_sub(1));
        let last = &mut self.slots[place];
        debug_assert!(last.arrival <= arrival && self.begin != self.end);
        last.arrival = arrival;
    }

    /// The slot that is `count`-th from the end: 1 is the last packet.
    #[inline(always)]
    pub(crate) fn back(&self, count: u32) -> &Slot<F> {
        &self.slots[self.place(self.end.wrapping_sub(count))]
    }

    /// Reads the slots next to be left and to be filled; see [`crate::Port::prefetch_wire`].
    #[inline]
    pub(crate) fn prefetch(&self) -> u64 {
        if self.slots.is_empty() {
            return 0;
        }
        let [oldest, free] =
            [self.begin, self.end].map(|position| self.slots[self.place(position)]);
        free.arrival.as_ps() ^ oldest.arrival.as_ps()
    }

    /// Reads the slot of the first packet; see [`crate::Port::prefetch_first`].
    #[inline(always)]
    pub(crate) fn prefetch_first(&self) -> u64 {
        self.slots
            .get(self.place(self.begin))
            .map_or(0, |slot| slot.arrival.as_ps())
    }

    /// Packets held, first to last.
    pub fn iter(&self) -> impl Iterator<Item = F> + '_ {
        self.timed().map(|(_, frame)| frame)
    }

    /// The same with their times.
    pub(crate) fn timed(&self) -> impl Iterator<Item = (Time, F)> + '_ {
        let slots = (1..=self.len()).rev().map(|count| self.back(count));
        slots.map(|slot| (slot.arrival, slot.frame))
    }

    #[cold]
    fn grow(&mut self, filler: Slot<F>) {
        let new = (self.slots.len() * 2).max(4);
        let mut slots = vec![filler; new].into_boxed_slice();
        for count in 1..=self.len() {
            slots[self.end.wrapping_sub(count) as usize & (new - 1)] = *self.back(count);
        }
        self.slots = slots;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;
    use std::collections::VecDeque;

    #[test]
    fn grows_and_wraps_in_order() {
        let (mut ring, mut plain) = (Ring::default(), VecDeque::new());
        let mut pushed = 0;
        // Longer and longer bursts, taken down to one: every growth comes with the first packet anywhere in the slots.
        for burst in 1..100 {
            for _ in 0..burst {
                pushed += 1;
                ring.push(Time::from_ps(10 * u64::from(pushed)), Sample::of(pushed));
                plain.push_back(pushed);
                assert_eq!(ring.back(1).frame.bytes, pushed);
                assert_eq!(ring.back(ring.len()).frame.bytes, plain[0]);
            }
            assert!(
                ring.iter()
                    .map(|frame| frame.bytes)
                    .eq(plain.iter().copied())
            );
            if burst % 7 == 0 {
                let kept = if burst % 2 == 0 { burst / 2 } else { 0 };
                ring.keep_last(kept);
                plain.drain(..plain.len() - kept as usize);
            }
            while plain.len() > 1 {
                assert_eq!(
                    ring.next_arrival(),
                    Some(Time::from_ps(10 * u64::from(plain[0])))
                );
                assert_eq!(Some(ring.pop().bytes), plain.pop_front());
                assert_eq!(ring.len() as usize, plain.len());
            }
        }
        assert_eq!(ring.pushed(), u64::from(pushed));
        assert_eq!(
            ring.slots.len(),
            128,
            "the largest burst and the one that stayed"
        );
    }

    #[test]
    fn a_new_ring_takes_no_memory() {
        let ring = Ring::<Sample>::default();
        assert!(ring.is_empty() && ring.next_arrival().is_none() && ring.iter().next().is_none());
        assert_eq!(ring.slots.len(), 0);
    }
}
