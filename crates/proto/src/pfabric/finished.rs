//! Finished messages, which a receiver remembers to acknowledge their late packets.

use super::MessageId;
use duetime_core::{Span, Time};
use std::collections::{BTreeSet, VecDeque};

/// Maximum number of remembered messages; the oldest are forgotten.
const MAX: usize = 1 << 18;

/// Set of finished messages.
#[derive(Debug)]
pub(super) struct Finished {
    lifetime: Span,
    known: BTreeSet<MessageId>,
    /// Messages with their expiry, oldest first.
    queue: VecDeque<(Time, MessageId)>,
}

impl Finished {
    pub const fn new(lifetime: Span) -> Self {
        Self {
            lifetime,
            known: BTreeSet::new(),
            queue: VecDeque::new(),
        }
    }

    pub fn insert(&mut self, now: Time, id: MessageId) {
        while self.queue.len() >= MAX
            || self.queue.front().is_some_and(|&(expiry, _)| expiry <= now)
        {
            let Some((_, oldest)) = self.queue.pop_front() else {
                break;
            };
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
