//! Strict priority: one queue per class, served first class first; the memory is the port's, shared by all classes.

use crate::ring::Slot;
use crate::{Frame, Ring};
use duetime_core::Time;

/// The waiting packets of a strict-priority port.
#[derive(Clone, Debug)]
pub(crate) struct Classes<F> {
    /// With the instant at which each packet came, in the place of its arrival at the far end.
    queues: Vec<Ring<F>>,
    /// One bit per class with a packet.
    waiting: u32,
}

impl<F: Frame> Classes<F> {
    /// At most 32 classes.
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

    /// Takes the first packet of the first class that has one, which there must be, with the instant at which it came.
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
