//! Strict priority: one queue per class, served first class first; the memory is the port's, shared by all classes.

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

    /// The first packet of the first class that has one, and when it came.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<(Time, F)> {
        let queue = self
            .queues
            .get_mut(self.waiting.trailing_zeros() as usize)?;
        let since = queue.next_arrival()?;
        let frame = queue.first();
        if queue.drop_first().is_none() {
            self.waiting &= self.waiting - 1;
        }
        Some((since, frame))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Time, F)> + '_ {
        self.queues.iter().flat_map(Ring::timed)
    }
}
