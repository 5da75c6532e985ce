//! Order of the messages that wait for grants: fewest ungranted bytes first, at most one message of each sender.

use std::collections::BTreeSet;

/// Position of a message: ungranted bytes, then the order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    /// Bytes that need a grant.
    pub bytes: u64,
    /// Number of the message at its receiver.
    pub serial: u64,
}

/// Messages with ungranted packets. Messages are named by their index at the receiver.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// All messages by sender.
    all: BTreeSet<(u32, Key, u32)>,
    /// First message of each sender.
    first: BTreeSet<(Key, u32)>,
}

impl Order {
    /// Adds the message `index` of a sender.
    pub fn insert(&mut self, source: u32, key: Key, index: u32) {
        let before = self.first_of(source);
        self.all.insert((source, key, index));
        self.update(source, before);
    }

    /// Removes a message.
    pub fn remove(&mut self, source: u32, key: Key, index: u32) {
        let before = self.first_of(source);
        self.all.remove(&(source, key, index));
        self.update(source, before);
    }

    /// Returns the first messages of at most `number` senders, in order. Overcommitment is for senders that do not
    /// respond, so two messages of one sender would not help (Homa §3.5).
    pub fn first(&self, number: usize) -> impl Iterator<Item = u32> + '_ {
        self.first.iter().take(number).map(|&(_, index)| index)
    }

    fn first_of(&self, source: u32) -> Option<(Key, u32)> {
        let lowest = Key {
            bytes: 0,
            serial: 0,
        };
        let &(of, key, index) = self.all.range((source, lowest, 0)..).next()?;
        (of == source).then_some((key, index))
    }

    fn update(&mut self, source: u32, before: Option<(Key, u32)>) {
        let after = self.first_of(source);
        if before == after {
            return;
        }
        if let Some(before) = before {
            self.first.remove(&before);
        }
        self.first.extend(after);
    }
}
