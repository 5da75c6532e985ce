//! Order in which a host sends its messages.

use std::collections::{BTreeMap, BTreeSet};

/// Position of a message: packets left, rounded, and number.
pub(super) type Position = (u64, u64);

/// Messages with packets to send. Every other packet is of the message with the fewest packets left; the others are of
/// all receivers in turn, so that half of the link is shared fairly.
#[derive(Debug, Default)]
pub(super) struct Ready {
    all: BTreeSet<Position>,
    /// Messages by receiver. A receiver without messages has no entry.
    by_receiver: BTreeMap<u32, BTreeSet<Position>>,
    /// Receiver of the last packet in turn.
    last: u32,
    is_fair_turn: bool,
}

impl Ready {
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn insert(&mut self, receiver: u32, position: Position) {
        self.all.insert(position);
        self.by_receiver
            .entry(receiver)
            .or_default()
            .insert(position);
    }

    pub fn remove(&mut self, receiver: u32, position: Position) {
        self.all.remove(&position);
        if let Some(positions) = self.by_receiver.get_mut(&receiver) {
            positions.remove(&position);
            if positions.is_empty() {
                self.by_receiver.remove(&receiver);
            }
        }
    }

    /// Returns the number of the message that sends the next packet.
    pub fn next(&mut self) -> Option<u64> {
        let shortest = self.all.first()?.1;
        if self.by_receiver.len() < 2 {
            return Some(shortest);
        }
        self.is_fair_turn = !self.is_fair_turn;
        if !self.is_fair_turn {
            return Some(shortest);
        }
        let after = self.last.checked_add(1);
        let next = after.and_then(|from| self.by_receiver.range(from..).next());
        let (&receiver, positions) = next.or_else(|| self.by_receiver.first_key_value())?;
        self.last = receiver;
        Some(positions.first()?.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_packet_is_of_the_shortest_message() {
        let mut ready = Ready::default();
        for (receiver, left) in [(1, 30), (2, 10), (3, 20)] {
            ready.insert(receiver, (left, u64::from(receiver)));
        }
        let order: Vec<_> = (0..8).filter_map(|_| ready.next()).collect();
        assert_eq!(order, [1, 2, 2, 2, 3, 2, 1, 2]);
        ready.remove(2, (10, 2));
        let order: Vec<_> = (0..4).filter_map(|_| ready.next()).collect();
        assert_eq!(order, [3, 3, 1, 3]);
        ready.remove(3, (20, 3));
        assert_eq!((ready.next(), ready.is_empty()), (Some(1), false));
        ready.remove(1, (30, 1));
        assert_eq!((ready.next(), ready.is_empty()), (None, true));
    }
}
