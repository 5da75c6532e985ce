//! Strict priority: one queue per class, served first class first; the memory is the port's, shared by all classes.

use crate::Frame;
use duetime_core::Time;
use std::collections::VecDeque;

/// The waiting packets of a strict-priority port.
#[derive(Clone, Debug)]
pub(crate) struct Classes<F> {
    /// With the instant at which each packet came.
    queues: Vec<VecDeque<(Time, F)>>,
    /// A departure event is due at `busy_until`.
    pub(crate) wake_pending: bool,
}

impl<F: Frame> Classes<F> {
    pub(crate) fn new(classes: usize) -> Self {
        Self { queues: (0..classes).map(|_| VecDeque::new()).collect(), wake_pending: false }
    }

    pub(crate) fn push(&mut self, now: Time, frame: F) {
        let class = frame.class().min(self.queues.len() - 1);
        self.queues[class].push_back((now, frame));
    }

    pub(crate) fn pop(&mut self) -> Option<(Time, F)> {
        self.queues.iter_mut().find_map(VecDeque::pop_front)
    }

    pub(crate) fn len(&self) -> u32 {
        self.queues.iter().map(|queue| queue.len() as u32).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queues.iter().all(VecDeque::is_empty)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Time, F)> + '_ {
        self.queues.iter().flatten().copied()
    }
}
