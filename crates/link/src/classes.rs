//! Strict priority: one queue per class, lowest class number first. All classes share the port's memory.

use crate::ring::Slot;
use crate::{Frame, Ring};
use duetime_core::Time;

/// The waiting packets of a strict-priority port.
#[derive(Clone, Debug)]
pub(crate) struct Classes<F> {
    /// One queue per class. Each slot holds the packet's arrival time at the port in place of its arrival at the far
    /// end.
    queues: Vec<Ring<F>>,
    /// Bit mask of classes with waiting packets.
    waiting: u32,
}

impl<F: Frame> Classes<F> {
    /// Creates at most 32 empty classes.
    pub(crate) fn new(classes: usize) -> Self {
        assert!(classes <= 32, "{classes} classes");
        Self {
            queues: (0..classes).map(|_| Ring::default()).collect(),
            waiting: 0,
        }
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, now: Time, frame: F) {
        let class = frame.class().min(self.queues.len() - 1);
        self.queues[class].push(now, frame);
        self.waiting |= 1 << class;
    }

    /// Removes and returns the first packet of the highest-priority non-empty class, with its arrival time at the port.
    /// At least one packet must be waiting.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Slot<F> {
        let queue = &mut self.queues[self.waiting.trailing_zeros() as usize];
        let first = queue.first_slot();
        if queue.drop_first().is_none() {
            self.waiting &= self.waiting - 1;
        }
        first
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Time, F)> + '_ {
        self.queues.iter().flat_map(Ring::timed)
    }
}
