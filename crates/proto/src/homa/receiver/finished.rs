//! Messages that have ended, so that a repeated packet does not start them again.

use crate::homa::MessageId;
use duetime_core::{Span, Time};
use std::collections::{BTreeSet, VecDeque};

/// Set of ended messages, limited by age and number.
#[derive(Debug)]
pub(super) struct Finished {
    lifetime: Span,
    max: usize,
    known: BTreeSet<MessageId>,
    /// Messages with their expiry, oldest first.
    queue: VecDeque<(Time, MessageId)>,
}

impl Finished {
    pub const fn new(lifetime: Span, max: usize) -> Self {
        Self {
            lifetime,
            max,
            known: BTreeSet::new(),
            queue: VecDeque::new(),
        }
    }

    pub fn insert(&mut self, now: Time, id: MessageId) {
        while let Some(&(expiry, oldest)) = self.queue.front()
            && (self.queue.len() >= self.max || expiry <= now)
        {
            self.queue.pop_front();
            self.known.remove(&oldest);
        }
        if self.known.insert(id) {
            self.queue.push_back((now + self.lifetime, id));
        }
    }

    pub fn contains(&self, id: &MessageId) -> bool {
        self.known.contains(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_and_excess_messages_are_forgotten() {
        let at = |us| Time::ZERO + Span::from_us(us);
        let id = |number| MessageId { source: 0, number };
        let mut finished = Finished::new(Span::from_us(10), 2);
        for number in 1..=3 {
            finished.insert(at(number), id(number));
        }
        assert_eq!(
            [1, 2, 3].map(|n| finished.contains(&id(n))),
            [false, true, true]
        );
        finished.insert(at(20), id(4));
        assert_eq!(
            [2, 3, 4].map(|n| finished.contains(&id(n))),
            [false, false, true]
        );
    }
}
