//! Growable ring buffer of packets with their arrival times at the far end of the link.

use crate::Frame;
use duetime_core::Time;
use duetime_core::prefetch::prefetch;

/// Packets of one link in order of arrival at its far end: first those on the wire, then (FIFO ports) those queued.
#[derive(Clone, Debug)]
pub struct Ring<F> {
    /// The length is zero or a power of two.
    slots: Box<[Slot<F>]>,
    /// Number of packets pushed before the ring was last empty.
    before: u64,
    /// Number of packets removed since then, modulo 2³²: the position of the first packet.
    begin: u32,
    /// Number of packets pushed since then, modulo 2³²: the position after the last packet. An empty ring restarts at
    /// the first slot, so a lightly loaded link uses few cache lines even if its queue was once long.
    end: u32,
}

/// Packet and its arrival time at the far end.
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
    /// Returns the index of the slot at a position. 32-bit arithmetic takes one instruction less than 64-bit.
    #[inline(always)]
    fn place(&self, position: u32) -> usize {
        (position & (self.slots.len() as u32).wrapping_sub(1)) as usize
    }

    /// Returns the number of packets in the ring.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.end.wrapping_sub(self.begin)
    }

    /// Returns true if the ring holds no packets.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.begin == self.end
    }

    /// Returns true if the next push must allocate.
    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.len() as usize == self.slots.len()
    }

    /// Returns the number of packets ever pushed.
    pub fn pushed(&self) -> u64 {
        self.before + u64::from(self.end)
    }

    /// Returns the arrival time of the first packet, or `None` if the ring is empty.
    #[inline(always)]
    pub fn next_arrival(&self) -> Option<Time> {
        if self.is_empty() {
            None
        } else {
            Some(self.slots[self.place(self.begin)].arrival)
        }
    }

    /// Removes and returns the first packet.
    ///
    /// # Panics
    /// Panics if the ring is empty; unchecked in release builds.
    #[inline(always)]
    pub fn pop(&mut self) -> F {
        let frame = self.first();
        self.drop_first();
        frame
    }

    /// Returns the first packet.
    ///
    /// # Panics
    /// Panics if the ring is empty; unchecked in release builds.
    #[inline(always)]
    pub(crate) fn first(&self) -> F {
        self.first_slot().frame
    }

    /// Returns the first packet and its time.
    #[inline(always)]
    pub(crate) fn first_slot(&self) -> Slot<F> {
        debug_assert!(!self.is_empty(), "the ring is empty");
        self.slots[self.place(self.begin)]
    }

    /// Removes the first packet and returns the arrival time of the next. The ring must not be empty.
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

    /// Removes the packets that arrive before `end` and passes them to `take` in order, with their arrival times and
    /// their positions from the end: 1 is the last packet. Returns the arrival time of the next packet, or `None` if the
    /// ring is empty.
    #[inline(always)]
    pub(crate) fn take_before(
        &mut self,
        end: Time,
        mut take: impl FnMut(Time, F, u32),
    ) -> Option<Time> {
        let mut begin = self.begin;
        while begin != self.end {
            let Slot { arrival, frame } = self.slots[self.place(begin)];
            if arrival >= end {
                self.begin = begin;
                return Some(arrival);
            }
            take(arrival, frame, self.end.wrapping_sub(begin));
            begin = begin.wrapping_add(1);
        }
        self.before += u64::from(self.end);
        (self.begin, self.end) = (0, 0);
        None
    }

    /// Removes all packets except the last `count`.
    #[inline]
    pub(crate) fn keep_last(&mut self, count: u32) {
        debug_assert!(count <= self.len());
        self.begin = self.end.wrapping_sub(count);
        if count == 0 {
            self.before += u64::from(self.end);
            (self.begin, self.end) = (0, 0);
        }
    }

    /// Removes the last `count` packets, which must not be all.
    pub(crate) fn drop_last(&mut self, count: u32) {
        debug_assert!(count < self.len());
        self.end = self.end.wrapping_sub(count);
    }

    /// Appends a packet that arrives no earlier than the packets in the ring.
    #[inline(always)]
    pub fn push(&mut self, arrival: Time, frame: F) {
        if self.is_full() {
            self.grow(Slot { arrival, frame });
        }
        let place = self.place(self.end);
        self.slots[place] = Slot { arrival, frame };
        self.end = self.end.wrapping_add(1);
    }

    /// Postpones the arrival of the last packet to `arrival`.
    pub(crate) fn delay_last(&mut self, arrival: Time) {
        let place = self.place(self.end.wrapping_sub(1));
        let last = &mut self.slots[place];
        debug_assert!(last.arrival <= arrival && self.begin != self.end);
        last.arrival = arrival;
    }

    /// Returns the slot at position `count` from the end; 1 is the last packet.
    #[inline(always)]
    pub(crate) fn back(&self, count: u32) -> &Slot<F> {
        &self.slots[self.place(self.end.wrapping_sub(count))]
    }

    /// Prefetches the slot at position `count` from the end and the slot of the next packet to be added; see
    /// [`crate::Port::prefetch_wire`].
    #[inline]
    pub(crate) fn prefetch_back(&self, count: u32) {
        for position in [self.end.wrapping_sub(count), self.end] {
            if let Some(slot) = self.slots.get(self.place(position)) {
                prefetch(slot);
            }
        }
    }

    /// Prefetches the slots of the first `count` packets. Two slots share a cache line.
    #[inline(always)]
    pub(crate) fn prefetch_front(&self, count: u32) {
        for ahead in (0..count).step_by(2) {
            if let Some(slot) = self.slots.get(self.place(self.begin.wrapping_add(ahead))) {
                prefetch(slot);
            }
        }
    }

    /// Prefetches the slot of the first packet; see [`crate::Port::prefetch_first`].
    #[inline(always)]
    pub(crate) fn prefetch_first(&self) {
        if let Some(slot) = self.slots.get(self.place(self.begin)) {
            prefetch(slot);
        }
    }

    /// Returns the packets in the ring, first to last.
    pub fn iter(&self) -> impl Iterator<Item = F> + '_ {
        self.timed().map(|(_, frame)| frame)
    }

    /// Returns the packets with their times, first to last.
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
        // Growing bursts, drained to one packet each, so that the ring grows with its first packet at every position.
        for burst in 1..100 {
            for _ in 0..burst {
                pushed += 1;
                ring.push(Time::from_ps(10 * u64::from(pushed)), Sample::new(pushed));
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
            "the largest burst and the remaining packet"
        );
    }

    #[test]
    fn packets_before_a_time_are_taken_in_order() {
        let mut ring = Ring::default();
        for number in 1..=10 {
            ring.push(Time::from_ps(u64::from(number)), Sample::new(number));
        }
        ring.pop();
        let mut taken = Vec::new();
        let mut take_before = |end| {
            ring.take_before(Time::from_ps(end), |at, frame, position| {
                taken.push((at.as_ps(), frame.bytes, position));
            })
        };
        assert_eq!(take_before(2), Some(Time::from_ps(2)));
        assert_eq!(take_before(5), Some(Time::from_ps(5)));
        assert_eq!(take_before(11), None);
        let expected = (2..=10).map(|number| (u64::from(number), number, 11 - number));
        assert_eq!(taken, expected.collect::<Vec<_>>());
        assert!(ring.is_empty() && ring.pushed() == 10);
    }

    #[test]
    fn new_ring_allocates_nothing() {
        let ring = Ring::<Sample>::default();
        assert!(ring.is_empty() && ring.next_arrival().is_none() && ring.iter().next().is_none());
        assert_eq!(ring.slots.len(), 0);
    }
}
